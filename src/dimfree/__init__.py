"""dimfree: the mean of a high-dimensional data set under differential privacy, with noise that follows its shape.

docs/architecture.md states what each package does and what must be trusted; `tach.toml` states which may import which.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dimfree.accounting.budget import Budget as Budget
    from dimfree.accounting.budget import Neighbours as Neighbours
    from dimfree.accounting.guarantee import Guarantee as Guarantee
    from dimfree.data.read import read_table as read_table
    from dimfree.errors import BudgetExceeded as BudgetExceeded
    from dimfree.errors import DimfreeError as DimfreeError
    from dimfree.errors import InstallationError as InstallationError
    from dimfree.errors import InvalidFile as InvalidFile
    from dimfree.errors import InvalidParameter as InvalidParameter
    from dimfree.errors import InvalidRecords as InvalidRecords
    from dimfree.errors import LostWorkers as LostWorkers
    from dimfree.errors import NoiseMisuse as NoiseMisuse
    from dimfree.errors import OutOfMemory as OutOfMemory
    from dimfree.errors import RefusedRelease as RefusedRelease
    from dimfree.interop.mean import PrivateMean as PrivateMean
    from dimfree.interop.scaler import PrivateStandardScaler as PrivateStandardScaler
    from dimfree.ledger.ledger import Ledger as Ledger
    from dimfree.noise import SeededNoise as SeededNoise
    from dimfree.noise import SystemNoise as SystemNoise
    from dimfree.options import Options as Options
    from dimfree.planning.plan import Plan as Plan
    from dimfree.planning.plan import plan as plan
    from dimfree.planning.tradeoff import Tradeoff as Tradeoff
    from dimfree.planning.tradeoff import tradeoff as tradeoff
    from dimfree.release import release_mean as release_mean
    from dimfree.release_groups import release_means as release_means
    from dimfree.report.page import write_report as write_report
    from dimfree.results.composed import Composed as Composed
    from dimfree.results.composed import compose as compose
    from dimfree.results.error_model import LearnedDirections as LearnedDirections
    from dimfree.results.error_model import LearnedShape as LearnedShape
    from dimfree.results.error_model import Reach as Reach
    from dimfree.results.grouped import Means as Means
    from dimfree.results.release import Release as Release
    from dimfree.shapes.from_public import shape_from as shape_from
    from dimfree.shapes.kinds import Dense as Dense
    from dimfree.shapes.kinds import Diagonal as Diagonal
    from dimfree.shapes.kinds import Isotropic as Isotropic
    from dimfree.shapes.kinds import LowRank as LowRank

__version__ = "0.1.0"

_NAMES = {  # the public names of each module
    "accounting.budget": "Budget Neighbours",
    "accounting.guarantee": "Guarantee",
    "data.read": "read_table",
    "errors": "BudgetExceeded DimfreeError InstallationError InvalidFile InvalidParameter InvalidRecords LostWorkers "
    "NoiseMisuse OutOfMemory RefusedRelease",
    "interop.mean": "PrivateMean",
    "interop.scaler": "PrivateStandardScaler",
    "ledger.ledger": "Ledger",
    "noise": "SeededNoise SystemNoise",
    "options": "Options",
    "planning.plan": "Plan plan",
    "planning.tradeoff": "Tradeoff tradeoff",
    "release": "release_mean",
    "release_groups": "release_means",
    "report.page": "write_report",
    "results.composed": "Composed compose",
    "results.error_model": "LearnedDirections LearnedShape Reach",
    "results.grouped": "Means",
    "results.release": "Release",
    "shapes.from_public": "shape_from",
    "shapes.kinds": "Dense Diagonal Isotropic LowRank",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `dimfree --help` starts quickly."""
    if name == "opendp":  # a module: dimfree.opendp.make_private_mean
        return importlib.import_module("dimfree.opendp")
    if name not in _MODULES:
        raise AttributeError(f"module 'dimfree' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dimfree.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """The public names only."""
    return sorted([*__all__, "__doc__", "__name__", "__version__"])
