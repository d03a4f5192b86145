"""Differentially private means of tables, with confidence intervals.

docs/internals/architecture.md describes the packages and what must be trusted; `tach.toml` lists the allowed imports.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dimfree.data.read import read_table as read_table
    from dimfree.data.schema import Schema as Schema
    from dimfree.errors import BudgetExceededError as BudgetExceededError
    from dimfree.errors import DimfreeError as DimfreeError
    from dimfree.errors import InvalidDataError as InvalidDataError
    from dimfree.errors import InvalidFileError as InvalidFileError
    from dimfree.errors import InvalidParameterError as InvalidParameterError
    from dimfree.errors import RefusedReleaseError as RefusedReleaseError
    from dimfree.errors import WeakGuaranteeWarning as WeakGuaranteeWarning
    from dimfree.interop.mean import PrivateMean as PrivateMean
    from dimfree.interop.scaler import PrivateStandardScaler as PrivateStandardScaler
    from dimfree.ledger.ledger import PrivacyLedger as PrivacyLedger
    from dimfree.options import Options as Options
    from dimfree.planning.tradeoff import plan as plan
    from dimfree.release import release_mean as release_mean
    from dimfree.release_groups import release_group_means as release_group_means
    from dimfree.results.composed import compose as compose
    from dimfree.results.grouped import GroupMeans as GroupMeans
    from dimfree.results.load import load as load
    from dimfree.results.release import Release as Release
    from dimfree.shapes.base import Covariance as Covariance

__version__ = "0.1.0"

_NAMES = {  # the public names of each module
    "data.read": "read_table",
    "data.schema": "Schema",
    "errors": "BudgetExceededError DimfreeError InvalidDataError InvalidFileError InvalidParameterError "
    "RefusedReleaseError WeakGuaranteeWarning",
    "interop.mean": "PrivateMean",
    "interop.scaler": "PrivateStandardScaler",
    "ledger.ledger": "PrivacyLedger",
    "options": "Options",
    "planning.tradeoff": "plan",
    "release": "release_mean",
    "release_groups": "release_group_means",
    "results.composed": "compose",
    "results.grouped": "GroupMeans",
    "results.load": "load",
    "results.release": "Release",
    "shapes.base": "Covariance",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
_PACKAGES = ("opendp", "paper", "testing")

__all__ = sorted([*_MODULES, *_PACKAGES])


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `dimfree --help` starts quickly."""
    if name in _PACKAGES:
        return importlib.import_module(f"dimfree.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'dimfree' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dimfree.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*__all__, "__doc__", "__name__", "__version__"])
