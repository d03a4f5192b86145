"""The folklore estimator for unknown location: Karwa and Vadhan, one coordinate at a time.

Karwa and Vadhan, "Finite sample differentially private confidence intervals" (2018), find a Gaussian mean of known
variance in a stable histogram with cells one standard deviation wide, then clip to an interval around that cell. Done
for every coordinate, with spherical noise, this is the folklore estimator that the paper improves upon: it needs about
sqrt(d)/ε records to find anything, and its noise has length about sqrt(d·tr Σ)/(nε).
"""

import math

import numpy as np
from scipy.special import ndtri

from benchmarks.peers.gaussians import Gaussians
from benchmarks.peers.sums import clipped_mean
from dimfree._types import Floats, Integers

FAILURE = 0.01  # that some typical record is clipped
LONE_SHARE = 0.1  # of delta, for publishing a cell that one record has to itself
SHARES = (0.02, 0.8)  # of the precision, for finding the location: as much as the count asks for, within these
FOUND_MASS = 0.3413  # Φ(1) - 1/2: some cell of width σ holds at least this share of N(μ, σ²), wherever μ lies
OFF = 1.5  # the center of the heaviest cell is within this of the mean, in standard deviations
OFF_SQUARED = 0.5  # and its square within this on average over coordinates: twice the worst expectation, 1/4
_FAR = 2.0**48  # a cell that far from zero is too coarse, in floats, to be a location
_ENTRIES = 2**22  # of a working block


def karwa_vadhan(
    X: Floats,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    stddevs: Floats,
    neighbors: str = "add-remove",
) -> Floats | None:
    """Told: a bound on the standard deviation of every coordinate; nothing of the mean.

    All histograms are one Gaussian release: one record moves one count in each coordinate, two under replace-one.
    """
    lone = LONE_SHARE * delta
    noise = Gaussians(epsilon, delta, rng, neighbors, failure=lone)
    count, _ = noise.count(len(X))
    if count < 1:
        return None
    mu = noise.left
    moved = X.shape[1] * noise.changed  # counts that move by one between neighbors
    cells = heaviest_cells(X, stddevs, moved, lone, noise, _location_mu(count, X.shape[1], moved, mu, lone))
    if cells is None or np.abs(cells).max() >= _FAR:
        return None
    clipping, radius = _box(stddevs, count)
    return clipped_mean(X, (cells + 0.5) * stddevs, radius, count, noise, noise.left, clipping=clipping)


def _location_mu(count: float, dimension: int, moved: int, mu: float, lone: float) -> float:
    """The least precision at which every coordinate is likely found, if the released count allows for it."""
    z = float(-ndtri(FAILURE / (2 * dimension)))
    surely = FOUND_MASS * count - z * math.sqrt(FOUND_MASS * (1 - FOUND_MASS) * count) - 1
    stddev = max(surely, 1e-9 * count) / (z + tail_distance(lone, moved))
    return mu * math.sqrt(min(max(moved / stddev**2 / mu**2, SHARES[0]), SHARES[1]))


def tail_distance(failure: float, cells: int) -> float:
    """How many standard deviations a noise exceeds with probability failure / cells."""
    return float(-ndtri(failure / cells))


def heaviest_cells(X: Floats, stddevs: Floats, moved: int, lone: float, noise: Gaussians, mu: float) -> Floats | None:
    """⌊x/σ⌋ of the cell with the largest noisy count in every coordinate; None if some coordinate publishes none.

    Of `moved` cells with one record each, one is published with probability `lone` at most.
    """
    least = 1 + math.sqrt(moved) / mu * tail_distance(lone, moved)
    step, found = max(1, _ENTRIES // max(1, len(X))), [np.zeros(0)]
    for start in range(0, X.shape[1], step):
        some = slice(start, start + step)
        rows, cells, counts = _histograms(np.floor(X[:, some] / stddevs[some]).T)
        share = math.sqrt(len(stddevs[some]) / X.shape[1])  # of the precision: all columns get the same noise
        noisy = noise.release(counts, math.sqrt(moved) * share, mu * share)
        found.append(_peaks(rows, cells, noisy, least))
    peaks = np.concatenate(found)
    return peaks if len(peaks) == X.shape[1] else None


def _peaks(rows: Integers, cells: Floats, noisy: Floats, least: float) -> Floats:
    """Of every row that publishes a cell, the one with the largest noisy count."""
    published = np.flatnonzero(noisy >= least)
    best = published[np.lexsort((-noisy[published], rows[published]))]
    _, first = np.unique(rows[best], return_index=True)
    return cells[best[first]]


def _histograms(table: Floats) -> tuple[Integers, Floats, Integers]:
    """(row, cell, count) of every occupied cell."""
    ordered = np.sort(table, axis=1)
    begins = np.ones(ordered.shape, dtype=bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    starts = np.flatnonzero(begins)
    return starts // max(1, table.shape[1]), ordered.ravel()[starts], np.diff(starts, append=ordered.size)


def _box(stddevs: Floats, count: float) -> tuple[Floats, float]:
    """Intervals of all typical values, and a ball of all typical records, each except for FAILURE.

    Entries: |x - c| <= (OFF + sqrt(2 log(2nd/β)))·σ_i. Records: a norm of Gaussians stays within sqrt(2‖Σ‖ log(n/β))
    of its root mean square, which is at most sqrt((1 + OFF_SQUARED)·tr Σ).
    """
    records = max(count, 2.0) / FAILURE
    clipping = OFF + math.sqrt(2 * math.log(2 * records * len(stddevs)))
    length = float(np.linalg.norm(stddevs))
    norm = math.sqrt(1 + OFF_SQUARED) * length + float(stddevs.max()) * math.sqrt(2 * math.log(records))
    return clipping * stddevs, min(clipping * length, norm)
