"""dimfree: the mean of a high-dimensional data set under differential privacy, with noise that follows its shape.

A map of the rooms, in the order records walk through them:
  records     the front door: arrays, frames, sparse matrices; read-only
  shape       a covariance as its verbs: rescale, restore
  bases       public coordinates to shape the noise in: rotations of each record by itself
  space       rescaled records; grid, clip, sample, grouping: what may be done with them
  core        friend counts, weights, sensitivities (private arithmetic, no noise)
  mechanisms  the only rooms that draw noise: count, bit, mean, clipped sum, search, scores, histogram, …
  accounting  what it costs; budgets become precisions, ladders, branches
  tuning      public choice of thresholds and radii; schedule: of stages
  stages      recentring around everything released so far; scale: how far apart records are
  learn       better centres and variances from released ones; adapt: stages in a learned shape
  menu        which coordinates to learn that shape in: forecasts, learned directions; original: the way back
  release     the hall: release_mean sends records to known, unknown, bounded or paper; release_means: a mean a group
  ledger      a persistent budget: every release charged, and on disk, before it draws noise
  planning    before any record is seen: how many records, how much noise; compose: several looks at the same people
  result      Release: mean or refusal, guarantee, ledger; report: one page about it
  sources     tables that do not fit memory: files read in blocks, dask; device: the same on a GPU
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dimfree.accounting.budget import Budget as Budget
    from dimfree.accounting.budget import Neighbours as Neighbours
    from dimfree.accounting.guarantee import Guarantee as Guarantee
    from dimfree.comparison.outcome import Comparison as Comparison
    from dimfree.comparison.trials import compare as compare
    from dimfree.data.read import read_table as read_table
    from dimfree.errors import (
        BudgetExceeded as BudgetExceeded,
    )
    from dimfree.errors import (
        DimfreeError as DimfreeError,
    )
    from dimfree.errors import (
        InvalidFile as InvalidFile,
    )
    from dimfree.errors import (
        InvalidParameter as InvalidParameter,
    )
    from dimfree.errors import (
        InvalidRecords as InvalidRecords,
    )
    from dimfree.errors import (
        LostWorkers as LostWorkers,
    )
    from dimfree.errors import (
        NoiseMisuse as NoiseMisuse,
    )
    from dimfree.errors import (
        OutOfMemory as OutOfMemory,
    )
    from dimfree.errors import (
        RefusedRelease as RefusedRelease,
    )
    from dimfree.geometry.shape import Dense as Dense
    from dimfree.geometry.shape import Diagonal as Diagonal
    from dimfree.geometry.shape import Isotropic as Isotropic
    from dimfree.geometry.shape import LowRank as LowRank
    from dimfree.geometry.shape_from import shape_from as shape_from
    from dimfree.interop.mean import PrivateMean as PrivateMean
    from dimfree.interop.scaler import PrivateStandardScaler as PrivateStandardScaler
    from dimfree.ledger.ledger import Ledger as Ledger
    from dimfree.mechanisms.paper.sparse_vector import sparse_vector as sparse_vector
    from dimfree.mechanisms.paper.stable_histogram import heaviest_cell as heaviest_cell
    from dimfree.mechanisms.paper.stable_histogram import stable_histogram as stable_histogram
    from dimfree.noise import SeededNoise as SeededNoise
    from dimfree.noise import SystemNoise as SystemNoise
    from dimfree.options import Options as Options
    from dimfree.paper.group_variances import coordinate_variances as coordinate_variances
    from dimfree.paper.group_variances import find_kth_largest_variance as find_kth_largest_variance
    from dimfree.paper.group_variances import group_variances as group_variances
    from dimfree.paper.group_variances import top_variances as top_variances
    from dimfree.paper.group_variances import variance_sum as variance_sum
    from dimfree.paper.profile_result import VarianceProfile as VarianceProfile
    from dimfree.paper.variance_profile import variance_profile as variance_profile
    from dimfree.planning.plan import plan as plan
    from dimfree.planning.plan_card import Plan as Plan
    from dimfree.planning.tradeoff import Tradeoff as Tradeoff
    from dimfree.planning.tradeoff import tradeoff as tradeoff
    from dimfree.release import release_mean as release_mean
    from dimfree.release_groups import release_means as release_means
    from dimfree.report.page import write_report as write_report
    from dimfree.results.composed import Composed as Composed
    from dimfree.results.composed import compose as compose
    from dimfree.results.error_model import LearnedDirections as LearnedDirections
    from dimfree.results.error_model import LearnedShape as LearnedShape
    from dimfree.results.grouped import Means as Means
    from dimfree.results.release import Release as Release

__version__ = "0.1.0"

_ROOMS = {
    "Comparison": "comparison.outcome",
    "compare": "comparison.trials",
    "Composed": "results.composed",
    "compose": "results.composed",
    "Means": "results.grouped",
    "release_means": "release_groups",
    "Plan": "planning.plan_card",
    "plan": "planning.plan",
    "Tradeoff": "planning.tradeoff",
    "tradeoff": "planning.tradeoff",
    "Budget": "accounting.budget",
    "Neighbours": "accounting.budget",
    "BudgetExceeded": "errors",
    "DimfreeError": "errors",
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
    "heaviest_cell": "mechanisms.paper.stable_histogram",
    "sparse_vector": "mechanisms.paper.sparse_vector",
    "stable_histogram": "mechanisms.paper.stable_histogram",
    "coordinate_variances": "paper.group_variances",
    "find_kth_largest_variance": "paper.group_variances",
    "group_variances": "paper.group_variances",
    "top_variances": "paper.group_variances",
    "variance_sum": "paper.group_variances",
    "variance_profile": "paper.variance_profile",
    "VarianceProfile": "paper.profile_result",
    "LearnedDirections": "results.error_model",
    "LearnedShape": "results.error_model",
    "Ledger": "ledger.ledger",
    "read_table": "data.read",
    "release_mean": "release",
    "shape_from": "geometry.shape_from",
    "Guarantee": "accounting.guarantee",
    "Release": "results.release",
    "write_report": "report.page",
    "Dense": "geometry.shape",
    "Diagonal": "geometry.shape",
    "Isotropic": "geometry.shape",
    "LowRank": "geometry.shape",
}

__all__ = sorted(_ROOMS)


def __getattr__(name: str) -> Any:
    """Each public name is imported from its room when first used, so that `dimfree --help` is quick."""
    if name == "opendp":  # a room of its own: dimfree.interop.opendp.make_private_mean
        return importlib.import_module("dimfree.interop.opendp")
    if name not in _ROOMS:
        raise AttributeError(f"module 'dimfree' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dimfree.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_ROOMS]
