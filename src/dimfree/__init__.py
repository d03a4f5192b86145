"""dimfree: the mean of a high-dimensional data set under differential privacy, with noise that follows its shape.

A map of the rooms, in the order records walk through them:
  records     the front door: arrays, frames, sparse matrices; read-only
  shape       the public covariance as its verbs: rescale, restore
  grid        records as integers, one by one
  space       rescaled records; clip, sample: what may be done with them one by one
  core        friend counts, weights, sensitivities (private arithmetic, no noise)
  mechanisms  the only rooms that draw noise: count, bit, mean, clipped sum, search
  accounting  what it costs; budgets become precisions, ladders, branches
  tuning      public choice of thresholds and radii; schedule: of stages
  stages      recentring around everything released so far; scale: an unknown factor
  release     the hall: release_mean, one screen per estimator
  result      Release: mean or refusal, guarantee, ledger
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dimfree.budget import Budget as Budget
    from dimfree.budget import Neighbours as Neighbours
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
        NoiseMisuse as NoiseMisuse,
    )
    from dimfree.errors import (
        RefusedRelease as RefusedRelease,
    )
    from dimfree.estimator import PrivateMean as PrivateMean
    from dimfree.noise import SeededNoise as SeededNoise
    from dimfree.noise import SystemNoise as SystemNoise
    from dimfree.release import release_mean as release_mean
    from dimfree.result import Guarantee as Guarantee
    from dimfree.result import Release as Release
    from dimfree.shape import Dense as Dense
    from dimfree.shape import Diagonal as Diagonal
    from dimfree.shape import Isotropic as Isotropic
    from dimfree.shape import LowRank as LowRank

__version__ = "0.1.0"

_ROOMS = {
    "Budget": "budget",
    "Neighbours": "budget",
    "DimfreeError": "errors",
    "InvalidFile": "errors",
    "InvalidParameter": "errors",
    "InvalidRecords": "errors",
    "NoiseMisuse": "errors",
    "RefusedRelease": "errors",
    "PrivateMean": "estimator",
    "SeededNoise": "noise",
    "SystemNoise": "noise",
    "release_mean": "release",
    "Guarantee": "result",
    "Release": "result",
    "Dense": "shape",
    "Diagonal": "shape",
    "Isotropic": "shape",
    "LowRank": "shape",
}

__all__ = sorted(_ROOMS)


def __getattr__(name: str) -> Any:
    """Each public name is imported from its room when first used, so that `dimfree --help` is quick."""
    if name not in _ROOMS:
        raise AttributeError(f"module 'dimfree' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dimfree.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_ROOMS]
