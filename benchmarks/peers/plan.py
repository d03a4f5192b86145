"""PLAN: noise shaped by known standard deviations, about coordinate-wise private medians.

After "PLAN: Variance-Aware Private Mean Estimation" (Aumüller, Lebeda, Nelson, Pagh, 2023), Algorithm 1 for Euclidean
error. With σ the standard deviations: a median of every coordinate inside a public range, records about it divided by
σ^{1/2}, a private quantile of their lengths as clipping radius, and noise in proportion to σ^{1/2}.
"""

import math

import numpy as np

from benchmarks.peers.gaussians import Gaussians
from benchmarks.peers.searches import crossing, medians, queries
from benchmarks.peers.sums import clipped_mean, lengths
from dimfree._types import Floats
from dimfree.accounting.budget import Neighbors

CENTRE, LENGTH, NOISE = 1 / 4, 3 / 16, 9 / 16  # shares of the precision: the experiments of the paper, σ given
_WIDTH = 0.5  # of a median's bracket, in standard deviations
_SHORTEST = 1 / 64  # the clipping radius that is looked for, in units of the length expected about the true mean
_RATIO = 2 ** (1 / 32)
_FAILURE = 0.1  # of the paper's experiments, for the rank that the radius aims at


def plan(
    X: Floats,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    radius: float,
    stddevs: Floats,
    neighbors: str = "add-remove",
) -> Floats | None:
    """Told: every coordinate's median lies in [-radius, radius]; the standard deviations of the columns."""
    noise = Gaussians(epsilon, delta, rng, neighbors)
    count, _ = noise.count(len(X))
    if count < 1:
        return None
    mu, root = noise.left, np.sqrt(stddevs)
    center = medians(X, radius, _WIDTH * stddevs, noise, mu * math.sqrt(CENTRE))
    clipping = _clipping_radius(
        lengths(X, center, root), _lengths(radius, stddevs), count, noise, mu * math.sqrt(LENGTH)
    )
    return clipped_mean(X, center, clipping, count, noise, mu * math.sqrt(NOISE), scale=root)


def _lengths(radius: float, stddevs: Floats) -> Floats:
    """The search range of a clipping radius: up to the length of a record within bounds in every coordinate."""
    usual = math.sqrt(stddevs.sum())  # about the true mean
    low, high = usual * _SHORTEST, max(2 * radius * math.sqrt((1 / stddevs).sum()), usual / _SHORTEST)
    return np.asarray(low * _RATIO ** np.arange(math.ceil(math.log(high / low) / math.log(_RATIO)) + 1))


def _clipping_radius(found: Floats, grid: Floats, count: float, noise: Gaussians, mu: float) -> float:
    """PrivQuantile of the lengths of rescaled records: all but n^{1/2}, and what the noise of the search may miss.

    #{inside} - level·#{records}: one record moves it by the level or by 1 - level under add-remove, else by one.
    """
    asked = queries(len(grid) - 1)
    missed = math.sqrt(asked) / mu * math.sqrt(math.log(asked / _FAILURE))
    level = max(0.5, 1 - (math.sqrt(count) + missed) / count)
    moves = max(level, 1 - level) if noise.relation is Neighbors.ADD_REMOVE else 1.0
    return crossing(lambda length: np.count_nonzero(found <= length) - level * len(found), grid, moves, noise, mu)
