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
    from dimfree.beliefs import LearnedDirections as LearnedDirections
    from dimfree.beliefs import LearnedShape as LearnedShape
    from dimfree.budget import Budget as Budget
    from dimfree.budget import Neighbours as Neighbours
    from dimfree.comparison.outcome import Comparison as Comparison
    from dimfree.comparison.trials import compare as compare
    from dimfree.composing import Composed as Composed
    from dimfree.composing import compose as compose
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
    from dimfree.estimator import PrivateMean as PrivateMean
    from dimfree.files import read_table as read_table
    from dimfree.groups import release_means as release_means
    from dimfree.guarantee import Guarantee as Guarantee
    from dimfree.ledger.book import Ledger as Ledger
    from dimfree.means import Means as Means
    from dimfree.mechanisms.quantile import private_quantile as private_quantile
    from dimfree.mechanisms.sparse_vector import sparse_vector as sparse_vector
    from dimfree.mechanisms.stable_histogram import heaviest_cell as heaviest_cell
    from dimfree.mechanisms.stable_histogram import stable_histogram as stable_histogram
    from dimfree.mechanisms.top_k import top_k as top_k
    from dimfree.noise import SeededNoise as SeededNoise
    from dimfree.noise import SystemNoise as SystemNoise
    from dimfree.planning.plan import plan as plan
    from dimfree.planning.plan_card import Plan as Plan
    from dimfree.planning.tradeoff import Tradeoff as Tradeoff
    from dimfree.planning.tradeoff import tradeoff as tradeoff
    from dimfree.profile_of_variances import variance_profile as variance_profile
    from dimfree.public_shape import shape_from as shape_from
    from dimfree.release import release_mean as release_mean
    from dimfree.report.page import write_report as write_report
    from dimfree.result import Release as Release
    from dimfree.scaler import PrivateStandardScaler as PrivateStandardScaler
    from dimfree.shape import Dense as Dense
    from dimfree.shape import Diagonal as Diagonal
    from dimfree.shape import Isotropic as Isotropic
    from dimfree.shape import LowRank as LowRank
    from dimfree.variance_histogram import VarianceProfile as VarianceProfile
    from dimfree.variances import coordinate_variances as coordinate_variances
    from dimfree.variances import find_kth_largest_variance as find_kth_largest_variance
    from dimfree.variances import group_variances as group_variances
    from dimfree.variances import top_variances as top_variances
    from dimfree.variances import variance_sum as variance_sum

__version__ = "0.1.0"

_ROOMS = {
    "Comparison": "comparison.outcome",
    "compare": "comparison.trials",
    "Composed": "composing",
    "compose": "composing",
    "Means": "means",
    "release_means": "groups",
    "Plan": "planning.plan_card",
    "plan": "planning.plan",
    "Tradeoff": "planning.tradeoff",
    "tradeoff": "planning.tradeoff",
    "Budget": "budget",
    "Neighbours": "budget",
    "BudgetExceeded": "errors",
    "DimfreeError": "errors",
    "InvalidFile": "errors",
    "InvalidParameter": "errors",
    "InvalidRecords": "errors",
    "NoiseMisuse": "errors",
    "LostWorkers": "errors",
    "OutOfMemory": "errors",
    "RefusedRelease": "errors",
    "PrivateMean": "estimator",
    "PrivateStandardScaler": "scaler",
    "SeededNoise": "noise",
    "SystemNoise": "noise",
    "heaviest_cell": "mechanisms.stable_histogram",
    "private_quantile": "mechanisms.quantile",
    "sparse_vector": "mechanisms.sparse_vector",
    "stable_histogram": "mechanisms.stable_histogram",
    "top_k": "mechanisms.top_k",
    "coordinate_variances": "variances",
    "find_kth_largest_variance": "variances",
    "group_variances": "variances",
    "top_variances": "variances",
    "variance_sum": "variances",
    "variance_profile": "profile_of_variances",
    "VarianceProfile": "variance_histogram",
    "LearnedDirections": "beliefs",
    "LearnedShape": "beliefs",
    "Ledger": "ledger.book",
    "read_table": "files",
    "release_mean": "release",
    "shape_from": "public_shape",
    "Guarantee": "guarantee",
    "Release": "result",
    "write_report": "report.page",
    "Dense": "shape",
    "Diagonal": "shape",
    "Isotropic": "shape",
    "LowRank": "shape",
}

__all__ = sorted(_ROOMS)


def __getattr__(name: str) -> Any:
    """Each public name is imported from its room when first used, so that `dimfree --help` is quick."""
    if name == "opendp":  # a room of its own: dimfree.opendp.make_private_mean
        return importlib.import_module("dimfree.opendp")
    if name not in _ROOMS:
        raise AttributeError(f"module 'dimfree' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dimfree.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_ROOMS]
