"""Empirical Bayes on released values: better centers, variances from scores, and their uncertainty.

Post-processing; reads no record. Fits are mixtures on a fixed grid, by a fixed number of EM steps from a fixed start:
deterministic. A score resolves a column whose variance exceeds the noise; for others it only gives an upper bound.
Letters: y, V = released means and their noise variances; H, τ = released mean scores and their noise; u = variance that
scores one; c = center of the scores; σ = SD of a column; e = c less the mean.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dimfree._types import Floats
from dimfree.kernel import phi_inverse
from dimfree.programs.choose import constants as c
from dimfree.results.error_model import EstimatedVariances
from dimfree.threads import cores, in_order

_BLOCK = 2**16  # entries at a time, in a core's cache


def denoise(y: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Compute (E[m | y], Var[m | y]) under m_i - m_0 ~ Σ π_k N(0, s_k²), s_0 = 0, π fitted; m_0 the weighted median.

    For centers of clipping: a refinement step is unbiased for any center (P8), so shrinkage costs nothing.
    """
    order = np.argsort(y)
    weights = np.cumsum((1 / variance)[order])
    offset = y - float(y[order[np.searchsorted(weights, weights[-1] / 2)]])
    smallest = float(np.median(variance)) / 16
    largest = max(float((offset**2).max()), 16 * smallest)
    rungs = max(1, math.ceil(math.log(min(largest / smallest, 1e300), 4)) + 1)
    prior_variances = np.concatenate([[0.0], smallest * 4.0 ** np.arange(1, rungs + 1)])
    total = variance[:, None] + prior_variances
    log_density = -0.5 * (np.log(total) + offset[:, None] ** 2 / total)
    found = _fit(log_density, c.MEAN_STEPS)
    shrink = prior_variances / total
    center = (found * shrink).sum(axis=1) * offset
    apart = shrink * offset[:, None] - center[:, None]
    left = (found * (shrink * variance[:, None] + apart**2)).sum(axis=1)
    anchor = math.pi / 2 / float((1 / variance).sum())  # the variance of the median
    return y - offset + center, np.clip(left + anchor, 1e-3 * variance, variance)


def _fit(log_density: Floats, steps: int) -> Floats:
    """Fit posterior probabilities of the atoms by EM steps from equal weights."""
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    return posterior(density, np.full(density.shape[1], 1 / density.shape[1]), steps)


@dataclass(frozen=True)
class LearnedVariances:
    """Second moments about the center, and the variances of ln σ."""

    second_moments: Floats
    log_stddev_variance: Floats


def learn_moments(scores: Floats, noise: Floats | float, unit: Floats | float) -> LearnedVariances:
    """Estimate second moments from mean scores H = μ + N(0, τ²), μ = E[φ(q·Z²)], with a fitted prior of moments q.

    The uncertainty: variance of the posterior, width of a grid cell, error of the Gaussian model.
    """
    least, each = float(np.min(noise)), np.broadcast_to(noise, scores.shape)
    highest = 2 * float(phi_inverse(np.array(max(float(scores.max()), least))))
    moments = np.concatenate([[least / 64], np.geomspace(least / 8, highest, c.PRIOR_ATOMS)])
    found = _fit(-0.5 * ((scores[:, None] - compute_mean_score(moments)) / each[:, None]) ** 2, c.SCORE_STEPS)
    logs = 0.5 * np.log(moments)
    log_variance = (found * (logs - (found @ logs)[:, None]) ** 2).sum(axis=1)
    return LearnedVariances(
        (found @ moments) * unit, log_variance + (logs[2] - logs[1]) ** 2 / 12 + c.SHAPE_MODEL_ERROR**2
    )


def choose_score_norm(strength: float, dimension: int) -> float:
    """Choose C: at most the noise limit of one common coordinate, and a typical score; `strength`: count over noise."""
    over_noise = c.SCORE_NOISE_SHARE * strength / math.sqrt(2 * math.log(max(dimension, 2)))
    return min(over_noise, c.SCORE_LENGTH * math.sqrt(dimension))


def compute_mean_score(moments: Floats) -> Floats:
    """Compute E[φ(q·Z²)], Z standard normal."""
    edge = 1 / np.sqrt(moments)  # |Z| where φ changes
    density, beyond = np.exp(-(edge**2) / 2) / math.sqrt(2 * math.pi), 2 * ndtr(-edge)
    return moments * (1 - beyond - 2 * edge * density) + 4 * np.sqrt(moments) * density - beyond


def posterior(density: Floats, start: Floats, steps: int, pseudo: float = 0.0) -> Floats:
    """Compute probabilities of the atoms by row, by EM from `start`, with `pseudo` additional rows equal to `start`."""
    weights = start
    for _ in range(steps):
        weights = (_sum_posterior(density, weights) + pseudo * start) / (len(density) + pseudo)
    joint = density * weights
    joint /= joint.sum(axis=1, keepdims=True)
    return joint


def _sum_posterior(density: Floats, weights: Floats) -> Floats:
    """Sum the probabilities of the atoms over the rows, in the order of the rows for any block size."""
    rows, each = max(1, _BLOCK // len(weights)), (density @ weights)[:, None]
    table = np.zeros((min(rows, len(density)) + 1, len(weights)))
    for first in range(0, len(density), rows):
        block = density[first : first + rows]
        joint = np.multiply(block, weights, out=table[1 : len(block) + 1])
        joint /= each[first : first + rows]
        table[0] = np.einsum("ij->j", table[: len(block) + 1])
    return table[0]


@dataclass(frozen=True)
class VarianceRelease:
    """One variance release in some coordinates: released values. `variances` are those that shaped the noise.

    `center`: of the scores; None: differences of pairs. `which`: the released coordinates; None: all.
    """

    variances: Floats
    center: Floats | None
    scores: Floats
    noise: Floats | float
    unit: Floats
    which: NDArray[np.intp] | None = None


@dataclass(frozen=True)
class EarlierSDs:
    """SDs from releases before the scores, and the variances of their logarithms; infinite: no estimate."""

    stddev: Floats
    log_variance: Floats

    def log_density(self, variances: Floats) -> Floats:
        """Compute the log density of variances (d, any number), up to a constant; none is excluded."""
        off = np.clip(0.5 * np.log(variances) - np.log(self.stddev)[:, None], -100.0, 100.0)  # ln 0, too
        normal = -0.5 * off**2 / (self.log_variance[:, None] + c.STATED_MODEL_ERROR**2)
        return np.asarray(np.logaddexp(normal, np.log(c.CONTRADICTION_RATIO)))


def learn_shape(
    release: VarianceRelease, mean: Floats, mean_variance: Floats, earlier: EarlierSDs | None = None
) -> EstimatedVariances:
    """Estimate the error of the variances that scaled the noise, by the scores and the released mean.

    A score measures σ² + e². The final mean gives e up to its own error, of variance `mean_variance`. `earlier`:
    independent earlier releases of the same columns.
    """
    with np.errstate(all="ignore"):  # quotients out of range become 0 or infinity: not resolved
        offset = np.zeros_like(mean) if release.center is None else release.center - mean
        mean_variance = np.zeros_like(mean) if release.center is None else mean_variance
        atoms, probabilities = _posterior(release, offset, mean_variance, earlier)
        cumulated = probabilities.cumsum(axis=1)  # SD_TAIL is left on either side, and one atom: the grid's error
        lower, upper = ((cumulated >= level).argmax(axis=1) for level in (c.SD_TAIL, 1 - c.SD_TAIL))
        least, most = atoms[np.maximum(lower - 1, 0)], atoms[np.minimum(upper + 1, len(atoms) - 1)]
        seen = c.RESOLVED_SHARE * (release.noise + mean_variance / release.unit)
        known = np.inf if earlier is None else earlier.log_variance
        resolved = (least >= seen) | (np.isfinite(known) & (least > 0))
        believed = np.log(release.variances / release.unit)
        below = np.where(resolved, 0.25 * (believed - np.log(least)), np.inf)
        above = 0.25 * (np.log(most) - believed)
    log_above = np.hypot(np.maximum(above, 0.0), c.STATED_MODEL_ERROR)
    log_stddev = np.maximum(log_above, np.hypot(np.maximum(below, 0.0), c.STATED_MODEL_ERROR))
    return EstimatedVariances(
        release.variances, np.where(log_stddev > c.UNRESOLVED_ERROR, np.inf, log_stddev), log_above=log_above
    )


def _posterior(
    release: VarianceRelease, offset: Floats, offset_variance: Floats, earlier: EarlierSDs | None
) -> tuple[Floats, Floats]:
    """Compute atoms of σ²/u, 0 the first, and their probabilities by column, (d, atoms); e is normal about `offset`.

    The prior is fitted to all columns and to some pseudo-columns of any SD, half of them constant.
    """
    noise = float(np.min(release.noise))
    highest = 4 * float(phi_inverse(np.array(max(float(release.scores.max()), noise))))
    atoms = np.concatenate([[0.0], np.geomspace(noise / 8, highest, c.PRIOR_ATOMS)])
    anything = np.concatenate([[0.5], np.full(c.PRIOR_ATOMS, 0.5 / c.PRIOR_ATOMS)])
    parts = [slice(start, start + c.SD_BLOCK) for start in range(0, len(release.scores), c.SD_BLOCK)]
    some = partial(_compute_densities, release, atoms, offset, np.sqrt(offset_variance))
    density = np.concatenate(list(in_order(some, parts, cores())))
    if earlier is not None:
        density *= np.exp(earlier.log_density(atoms * release.unit[:, None]))
    return atoms, posterior(density, anything, c.SD_STEPS, c.FLAT_PRIOR_COLUMNS)


def _compute_densities(release: VarianceRelease, atoms: Floats, offset: Floats, stddev: Floats, part: slice) -> Floats:
    """Compute densities of the scores of some columns at every atom, up to a factor for each column."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(c.SD_NODES)
    seen = slice(part.start, part.start + 1) if release.center is None else part  # without a center e is 0 everywhere
    noise = np.broadcast_to(release.noise, release.scores.shape)
    logs = np.full((len(release.scores[part]), len(atoms)), -np.inf)
    for node, weight in zip(nodes, weights, strict=True):
        away = (offset[seen] + node * stddev[seen]) / np.sqrt(release.unit[seen])
        off = (release.scores[part, None] - compute_expected_score(np.sqrt(atoms), away[:, None])) / noise[part, None]
        logs = np.logaddexp(logs, np.log(weight) - 0.5 * off**2)
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def compute_expected_score(stddev: Floats, offset: Floats) -> Floats:
    """Compute E[φ((σ·Z + e)²)], Z standard normal, φ(w²) = w² up to |w| = 1 and 2|w| - 1 beyond."""
    sd, away = np.maximum(stddev, 1e-150), np.abs(offset)
    high, low = (1 - away) / sd, (1 + away) / sd  # |w| <= 1 for Z between -low and high
    under, over = ndtr(high), ndtr(low)
    at_high, at_low = _compute_density(high), _compute_density(low)
    inside = under + over - 1
    squares = (away**2 + sd**2) * inside + 2 * away * sd * (at_low - at_high)
    squares -= sd**2 * (high * at_high + low * at_low)
    beyond = away * (over - under) + sd * (at_high + at_low)  # E|w| there
    return np.asarray(squares + 2 * beyond - (2 - under - over))


def _compute_density(z: Floats) -> Floats:
    held = np.clip(z, -40.0, 40.0)
    return np.asarray(np.exp(-0.5 * held**2) / np.sqrt(2 * np.pi))
