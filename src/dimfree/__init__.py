"""dimfree: the mean of a high-dimensional data set under differential privacy, with noise that follows its shape.

A map of the rooms, in the order records walk through them:
  records     the front door: arrays, frames, sparse matrices; read-only
  shape       the public covariance as its verbs: rescale, restore
  grid        records as integers, one by one
  core        friend counts, weights, sensitivities (private arithmetic, no noise)
  mechanisms  the only rooms that draw noise: count, bit, mean
  accounting  what it costs; budgets become precisions, ladders, branches
  tuning      public choice of thresholds and radii
  release     the hall: release_mean, one screen per estimator
  result      Release: mean or refusal, guarantee, ledger
"""

from dimfree.budget import Budget, Neighbours
from dimfree.errors import DimfreeError, InvalidFile, InvalidParameter, InvalidRecords, NoiseMisuse, RefusedRelease
from dimfree.estimator import PrivateMean
from dimfree.noise import SeededNoise, SystemNoise
from dimfree.release import release_mean
from dimfree.result import Guarantee, Release
from dimfree.shape import Dense, Diagonal, Isotropic, LowRank

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "Dense",
    "Diagonal",
    "DimfreeError",
    "Guarantee",
    "InvalidFile",
    "InvalidParameter",
    "InvalidRecords",
    "Isotropic",
    "LowRank",
    "Neighbours",
    "NoiseMisuse",
    "PrivateMean",
    "RefusedRelease",
    "Release",
    "SeededNoise",
    "SystemNoise",
    "release_mean",
]
