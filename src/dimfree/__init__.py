"""dimfree: the mean of a high-dimensional data set under differential privacy, with noise that follows its shape.

The packages. Each imports only those above it in this list (`tach.toml`):
  errors, threads, progress, arguments   exceptions, threads, how far a pass is, the table of all arguments
  _validate    checks of parameters, and the texts of their errors
  options      the expert options
  accounting   budgets, guarantees, charged events, branches, and how charges compose
  noise        random numbers: the operating system's, or seeded for tests
  data         tables of records: in memory, files, Dask, GPU; which rows belong to one person or group
  shapes       public covariances that rescale records
  kernel       the privacy kernel: alone holds records, coins and noise; answers a closed set of charged queries
  results      Release, Means, Composed; confidence sets; writing files
  paper        the paper's algorithms and their subroutines, and the variance profile
  request, beliefs   everything a caller asks for, checked once, and what is known beforehand
  programs     estimators: they ask the kernel queries and see released values alone
  ledger       a persistent budget: a release is charged, on disk, before it draws noise
  release, release_groups   release_mean and release_means
  interop      scikit-learn and OpenDP; opendp is the public name of the latter
  planning     before any record is read: error to expect, records needed
  report       an HTML page about a release
  audit        attacks on the public calls; checks of the installation
  cli          the command `dimfree`

What must be trusted: docs/architecture.md.
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
    from dimfree.shapes.dense import Dense as Dense
    from dimfree.shapes.diagonal import Diagonal as Diagonal
    from dimfree.shapes.diagonal import Isotropic as Isotropic
    from dimfree.shapes.from_public import shape_from as shape_from
    from dimfree.shapes.low_rank import LowRank as LowRank

__version__ = "0.1.0"

_MODULES = {
    "Composed": "results.composed",
    "compose": "results.composed",
    "Means": "results.grouped",
    "release_means": "release_groups",
    "Plan": "planning.plan",
    "plan": "planning.plan",
    "Tradeoff": "planning.tradeoff",
    "tradeoff": "planning.tradeoff",
    "Budget": "accounting.budget",
    "Neighbours": "accounting.budget",
    "BudgetExceeded": "errors",
    "DimfreeError": "errors",
    "InstallationError": "errors",
    "InvalidFile": "errors",
    "InvalidParameter": "errors",
    "InvalidRecords": "errors",
    "NoiseMisuse": "errors",
    "LostWorkers": "errors",
    "OutOfMemory": "errors",
    "RefusedRelease": "errors",
    "Options": "options",
    "PrivateMean": "interop.mean",
    "PrivateStandardScaler": "interop.scaler",
    "SeededNoise": "noise",
    "SystemNoise": "noise",
    "LearnedDirections": "results.error_model",
    "LearnedShape": "results.error_model",
    "Ledger": "ledger.ledger",
    "read_table": "data.read",
    "release_mean": "release",
    "shape_from": "shapes.from_public",
    "Guarantee": "accounting.guarantee",
    "Release": "results.release",
    "Reach": "results.error_model",
    "write_report": "report.page",
    "Dense": "shapes.dense",
    "Diagonal": "shapes.diagonal",
    "Isotropic": "shapes.diagonal",
    "LowRank": "shapes.low_rank",
}

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
