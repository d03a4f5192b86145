"""PLAN: noise shaped by known standard deviations, about coordinate-wise private medians.

After "PLAN: Variance-Aware Private Mean Estimation" (Aumüller, Lebeda, Nelson, Pagh, 2023), Algorithm 1 for Euclidean
error. With σ the standard deviations: a median of every coordinate inside a public range, records about it divided by
σ^{1/2}, a private quantile of their lengths as clipping radius C, and noise of standard deviation ∝ C·σ^{1/2}.
Proof: proofs/comparison/baselines/plan.md.
"""

import math
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from dimfree._types import Floats
from dimfree._validate import check_between
from dimfree.accounting.budget import Neighbours
from dimfree.comparison.baselines.frame import Frame, open_frame, unspoken
from dimfree.kernel.rows.clip import norms
from dimfree.kernel.statistics.clipped_sum import Ball, noisy_clipped_mean
from dimfree.mechanisms.medians import noisy_medians
from dimfree.mechanisms.search import STEPS, count_stddev, geometric_grid, noisy_search, queries
from dimfree.noise import Noise
from dimfree.paper.charged import Measured
from dimfree.results.release import Release

CENTRE, LENGTH, NOISE = 1 / 4, 3 / 16, 9 / 16  # shares of the precision: the experiments of the paper, σ given
_WIDTH = 0.5  # of a median's bracket, in standard deviations
_SHORTEST = 1 / 64  # the clipping radius that is looked for, in units of the length expected about the true mean
_RATIO = 2 ** (1 / 32)
_OCTAVES = 2.0**8  # lengths are measured on a grid 2^-20 of the next power of this
_FAILURE = 0.1  # β of the paper's experiments, for the rank that the radius aims at
_TOO_FEW = "PLAN needs a record: the number of records is, or seems to be, below one."


@unspoken
def plan(
    X: object,
    *,
    epsilon: float,
    delta: float,
    radius: float,
    stddevs: ArrayLike,
    neighbours: str | Neighbours = "add-remove",
    on_missing: str = "raise",
    noise: Noise | None = None,
) -> Release:
    """The mean of records whose coordinates have (about) these standard deviations.

    Guarantee: (epsilon, delta) in total, medians and clipping radius included. Proof:
    proofs/comparison/baselines/plan.md. Priors: every coordinate's median lies in [-radius, radius]; `stddevs`, one per
    coordinate, true or estimated from other data. Wrong ones cost accuracy, never privacy. With doubtful estimates add
    their average to each, as the paper's experiments do.
    """
    frame = open_frame(X, epsilon, delta, neighbours, on_missing, noise)
    reach, spread = check_between("radius", radius, 1e-60, 1e60), np.maximum(frame.stddevs(stddevs), 1e-60)
    count_mu, mu = frame.count_mu(frame.mu)
    count, costs = frame.count(count_mu)
    if count < 1:
        return frame.refused("plan", _TOO_FEW, costs, radius=reach)
    centre = _medians(frame, reach, spread, mu * math.sqrt(CENTRE))
    ball = Ball(centre.value, np.sqrt(spread), math.inf)
    length = _searched_length(frame, ball, _lengths(reach, spread), count, mu * math.sqrt(LENGTH))
    ball = replace(ball, radius=length.value)
    offset = noisy_clipped_mean(
        frame.space, ball, count, mu * math.sqrt(NOISE), frame.relation, "clipped sum", noise=frame.noise
    )
    mean = ball.centre + offset.value * ball.scale
    stddev = offset.event.stddev * offset.event.step / count * np.sqrt(spread)
    costs += [centre.event, length.event, offset.event]
    return frame.released("plan", mean, stddev, costs, radius=reach, count=count, clipping_radius=ball.radius)


def _medians(frame: Frame, reach: float, spread: Floats, mu: float) -> Measured[Floats]:
    """A rough centre: PrivQuantile at 1/2 in every coordinate, by bisection."""
    rows, purpose = frame.space.valid_blocks, "median of every coordinate"
    return noisy_medians(rows, reach, _WIDTH * spread, mu, frame.relation, purpose, noise=frame.noise)


def _lengths(reach: float, spread: Floats) -> Floats:
    """Where a clipping radius is looked for: up to the length of a record within reach in every coordinate."""
    usual = math.sqrt(spread.sum())  # about the true mean
    longest = 2 * reach * math.sqrt((1 / spread).sum())
    return geometric_grid(usual * _SHORTEST, max(longest, usual / _SHORTEST), _RATIO)


def _searched_length(frame: Frame, ball: Ball, grid: Floats, count: float, mu: float) -> Measured[float]:
    """PrivQuantile of the lengths of rescaled records, at all but k of them (`_level`)."""
    level, add_remove = _level(count, len(grid) - 1, mu), frame.relation is Neighbours.ADD_REMOVE

    @cache
    def lengths(largest: float) -> Floats:
        parts = [norms(rows, largest, ball.offsets) for rows in frame.space.valid_blocks()]
        return np.concatenate(parts) if parts else np.zeros(0)

    def balance(radius: float) -> int:
        return length_balance(lengths(_OCTAVES ** math.ceil(math.log(radius, _OCTAVES))), radius, level)

    moves = max(level, STEPS - level) if add_remove else STEPS
    return noisy_search(balance, grid, moves / STEPS, mu, "clipping radius", noise=frame.noise)


def length_balance(lengths: Floats, radius: float, level: int) -> int:
    """#{inside} - level·#{records}, in 1/STEPS of a record: one record moves it by `level` or 1 - `level`. Private."""
    return int(np.count_nonzero(lengths <= radius)) * STEPS - len(lengths) * level


def _level(count: float, cells: int, mu: float) -> int:
    """(n - k)/n in 1/STEPS: k = n^{1/2} records and what the noise of the search may miss; never below a half."""
    missed = count_stddev(cells, 1.0, mu) * math.sqrt(math.log(queries(cells) / _FAILURE))
    return round(STEPS * max(0.5, 1 - (math.sqrt(count) + missed) / count))
