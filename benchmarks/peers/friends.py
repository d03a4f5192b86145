"""How many records lie near each record, and how far apart Gaussian records are."""

import math
from functools import lru_cache

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.simulation import public_simulation

_ROWS = 1024  # whose distances to all others are held at once
_PROBES, _OTHERS, _PAIRS = 64, 1024, 4000  # simulated


def friend_counts(X: Floats, radius: float) -> Integers:
    """How many records, itself included, lie within the radius of each record."""
    offsets = X - X.mean(axis=0) if len(X) else X  # smaller numbers round less
    squares = np.einsum("ij,ij->i", offsets, offsets)
    counts = np.zeros(len(X), dtype=np.int64)
    for start in range(0, len(X), _ROWS):
        some = slice(start, start + _ROWS)
        squared = squares[some, None] + squares - 2 * offsets[some] @ offsets.T
        counts[some] = np.count_nonzero(squared <= radius**2, axis=1)
    return counts


def pair_distance(stddevs: Floats, share: float) -> float:
    """Within which so large a share of the pairs of N(·, diag(stddevs²)) lies. By public simulation."""
    return _pair_distance(np.asarray(stddevs, dtype=np.float64).tobytes(), share)


def best_radius(stddevs: Floats) -> float:
    """The friend radius that asks for the least noise: the least ratio to the share of records that are kept."""
    return _best_radius(np.asarray(stddevs, dtype=np.float64).tobytes())


@lru_cache(maxsize=32)
def _pair_distance(stddevs: bytes, share: float) -> float:
    spread, coins, squared = np.frombuffer(stddevs), public_simulation(), np.zeros(_PAIRS)
    for start in range(0, len(spread), _ROWS):
        some = spread[start : start + _ROWS]
        squared += 2 * (coins.normal(size=(_PAIRS, len(some))) ** 2) @ some**2
    return math.sqrt(float(np.quantile(squared, share)))


@lru_cache(maxsize=32)
def _best_radius(stddevs: bytes) -> float:
    spread, coins = np.frombuffer(stddevs), public_simulation()
    squared = np.zeros((_PROBES, _OTHERS))
    for start in range(0, len(spread), _ROWS):
        some = spread[start : start + _ROWS]
        probes, others = (coins.normal(size=(size, len(some))) * some for size in (_PROBES, _OTHERS))
        squared += (probes**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * probes @ others.T
    tried = np.sqrt(np.quantile(squared, np.linspace(0.5, 1, 51)))
    kept = np.array([np.clip(2 * (squared <= radius**2).mean(axis=1) - 1, 0, 1).mean() for radius in tried])
    return float(tried[np.argmin(tried / np.maximum(kept, 1e-9))])
