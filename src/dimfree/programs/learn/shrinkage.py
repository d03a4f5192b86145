"""Empirical Bayes on released vectors: better centres, and variances from scores. Post-processing; sees no record.

Both fits are mixtures on a fixed grid, by a fixed number of EM steps from a fixed start: deterministic.
Letters: y, V = released means and their noise variances; H, τ = released scores and their noise.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from dimfree._types import Floats
from dimfree.kernel import phi_inverse
from dimfree.programs.choose.constants import MEAN_STEPS, PRIOR_ATOMS, SCORE_STEPS, SHAPE_MODEL_ERROR


def denoised(y: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """(E[m | y], Var[m | y]) under m_i - m_0 ~ Σ π_k N(0, s_k²), s_0 = 0, π fitted; m_0 the weighted median.

    For centres of clipping: a stage is unbiased for any centre (P8), so that shrinking costs nothing.
    """
    offset = y - _weighted_median(y, 1 / variance)
    smallest = float(np.median(variance)) / 16
    largest = max(float((offset**2).max()), 16 * smallest)
    rungs = max(1, math.ceil(math.log(min(largest / smallest, 1e300), 4)) + 1)
    spreads = np.concatenate([[0.0], smallest * 4.0 ** np.arange(1, rungs + 1)])
    total = variance[:, None] + spreads
    log_density = -0.5 * (np.log(total) + offset[:, None] ** 2 / total)
    found = _fit(log_density, MEAN_STEPS)
    shrink = spreads / total
    centre = (found * shrink).sum(axis=1) * offset
    apart = shrink * offset[:, None] - centre[:, None]
    left = (found * (shrink * variance[:, None] + apart**2)).sum(axis=1)
    anchor = math.pi / 2 / float((1 / variance).sum())  # the variance of the median
    return y - offset + centre, np.clip(left + anchor, 1e-3 * variance, variance)


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values)
    cumulated = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(cumulated, cumulated[-1] / 2)]])


def _fit(log_density: Floats, steps: int) -> Floats:
    """Posterior probabilities of the atoms after so many EM steps from equal weights."""
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    atoms = density.shape[1]
    return posterior(density, np.full(atoms, 1 / atoms), steps)


@dataclass(frozen=True)
class LearnedVariances:
    """Second moments about the centre, and the variances of ln σ."""

    second_moments: Floats
    log_stddev_variance: Floats


def learned_variances(scores: Floats, noise: Floats | float, unit: Floats | float) -> LearnedVariances:
    """Second moments from mean scores H = μ + N(0, τ²), μ from a fitted prior on a grid of moments q, μ = E[φ(q·Z²)].

    The uncertainty: variance of the posterior, width of a grid cell, error of the Gaussian model.
    """
    least, each = float(np.min(noise)), np.broadcast_to(noise, scores.shape)
    highest = 2 * float(phi_inverse(np.array(max(float(scores.max()), least))))
    moments = np.concatenate([[least / 64], np.geomspace(least / 8, highest, PRIOR_ATOMS)])
    found = _fit(-0.5 * ((scores[:, None] - mean_score(moments)) / each[:, None]) ** 2, SCORE_STEPS)
    logs = 0.5 * np.log(moments)
    spread = (found * (logs - (found @ logs)[:, None]) ** 2).sum(axis=1)
    return LearnedVariances((found @ moments) * unit, spread + (logs[2] - logs[1]) ** 2 / 12 + SHAPE_MODEL_ERROR**2)


def mean_score(moments: Floats) -> Floats:
    """E[φ(q·Z²)], Z standard normal."""
    edge = 1 / np.sqrt(moments)  # |Z| where φ changes
    density, beyond = np.exp(-(edge**2) / 2) / math.sqrt(2 * math.pi), 2 * ndtr(-edge)
    return moments * (1 - beyond - 2 * edge * density) + 4 * np.sqrt(moments) * density - beyond


_BLOCK = 2**16  # entries worked on at a time, near a core


def posterior(density: Floats, start: Floats, steps: int, pseudo: float = 0.0) -> Floats:
    """Probabilities of the atoms for each row of densities (rows, atoms), after so many EM steps from `start`.

    `pseudo`: so many rows more are taken to be distributed as `start`.
    """
    weights = start
    for _ in range(steps):
        weights = (_sums(density, weights) + pseudo * start) / (len(density) + pseudo)
    joint = density * weights
    joint /= joint.sum(axis=1, keepdims=True)
    return joint


def _sums(density: Floats, weights: Floats) -> Floats:
    """Σ over the rows of the probabilities of the atoms, a block of rows at a time.

    The first row of the table is the sum so far: rows are added in their order, wherever a block ends.
    """
    rows, each = max(1, _BLOCK // len(weights)), (density @ weights)[:, None]
    table = np.zeros((min(rows, len(density)) + 1, len(weights)))
    for first in range(0, len(density), rows):
        block = density[first : first + rows]
        joint = np.multiply(block, weights, out=table[1 : len(block) + 1])
        joint /= each[first : first + rows]
        table[0] = np.einsum("ij->j", table[: len(block) + 1])
    return table[0]
