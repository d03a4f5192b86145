"""Empirical Bayes on released values: better centres, variances from scores, and how certain these are.

Post-processing; sees no record. Fits are mixtures on a fixed grid, by a fixed number of EM steps from a fixed start:
deterministic. A score resolves a column whose variance stands out of the noise; for others it only gives an upper
bound. Letters: y, V = released means and their noise variances; H, τ = released mean scores and their noise; u =
variance that scores one; c = centre of the scores; σ = standard deviation of a column; e = c less the mean.
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
from dimfree.results.error_model import LearnedShape
from dimfree.threads import cores, in_order

_BLOCK = 2**16  # entries worked on at a time, near a core


def denoised(y: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """(E[m | y], Var[m | y]) under m_i - m_0 ~ Σ π_k N(0, s_k²), s_0 = 0, π fitted; m_0 the weighted median.

    For centres of clipping: a stage is unbiased for any centre (P8), so that shrinking costs nothing.
    """
    order = np.argsort(y)
    weights = np.cumsum((1 / variance)[order])
    offset = y - float(y[order[np.searchsorted(weights, weights[-1] / 2)]])
    smallest = float(np.median(variance)) / 16
    largest = max(float((offset**2).max()), 16 * smallest)
    rungs = max(1, math.ceil(math.log(min(largest / smallest, 1e300), 4)) + 1)
    spreads = np.concatenate([[0.0], smallest * 4.0 ** np.arange(1, rungs + 1)])
    total = variance[:, None] + spreads
    log_density = -0.5 * (np.log(total) + offset[:, None] ** 2 / total)
    found = _fit(log_density, c.MEAN_STEPS)
    shrink = spreads / total
    centre = (found * shrink).sum(axis=1) * offset
    apart = shrink * offset[:, None] - centre[:, None]
    left = (found * (shrink * variance[:, None] + apart**2)).sum(axis=1)
    anchor = math.pi / 2 / float((1 / variance).sum())  # the variance of the median
    return y - offset + centre, np.clip(left + anchor, 1e-3 * variance, variance)


def _fit(log_density: Floats, steps: int) -> Floats:
    """Posterior probabilities of the atoms after so many EM steps from equal weights."""
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    return posterior(density, np.full(density.shape[1], 1 / density.shape[1]), steps)


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
    moments = np.concatenate([[least / 64], np.geomspace(least / 8, highest, c.PRIOR_ATOMS)])
    found = _fit(-0.5 * ((scores[:, None] - mean_score(moments)) / each[:, None]) ** 2, c.SCORE_STEPS)
    logs = 0.5 * np.log(moments)
    spread = (found * (logs - (found @ logs)[:, None]) ** 2).sum(axis=1)
    return LearnedVariances((found @ moments) * unit, spread + (logs[2] - logs[1]) ** 2 / 12 + c.SHAPE_MODEL_ERROR**2)


def score_norm(strength: float, dimension: int) -> float:
    """C: at most what noise lets one common coordinate reach, and a typical score; `strength`: count over noise."""
    over_noise = c.SCORE_NOISE_SHARE * strength / math.sqrt(2 * math.log(max(dimension, 2)))
    return min(over_noise, c.SCORE_LENGTH * math.sqrt(dimension))


def mean_score(moments: Floats) -> Floats:
    """E[φ(q·Z²)], Z standard normal."""
    edge = 1 / np.sqrt(moments)  # |Z| where φ changes
    density, beyond = np.exp(-(edge**2) / 2) / math.sqrt(2 * math.pi), 2 * ndtr(-edge)
    return moments * (1 - beyond - 2 * edge * density) + 4 * np.sqrt(moments) * density - beyond


def posterior(density: Floats, start: Floats, steps: int, pseudo: float = 0.0) -> Floats:
    """Probabilities of the atoms for each row of densities, by EM from `start`; `pseudo` rows more are as `start`."""
    weights = start
    for _ in range(steps):
        weights = (_sums(density, weights) + pseudo * start) / (len(density) + pseudo)
    joint = density * weights
    joint /= joint.sum(axis=1, keepdims=True)
    return joint


def _sums(density: Floats, weights: Floats) -> Floats:
    """Σ over the rows of the probabilities of the atoms; rows are added in their order, wherever a block ends."""
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

    `centre`: what scores were seen from; None: from each other. `which`: the coordinates it is about; None: all.
    """

    variances: Floats
    centre: Floats | None
    scores: Floats
    noise: Floats | float
    unit: Floats
    which: NDArray[np.intp] | None = None


@dataclass(frozen=True)
class EarlierSpreads:
    """SDs from earlier releases than the scores, and the variances of their logarithms; infinite: not known."""

    stddev: Floats
    log_variance: Floats

    def log_density(self, variances: Floats) -> Floats:
        """Of variances (d, any number), up to a constant. Earlier releases may mislead, so none is excluded."""
        off = np.clip(0.5 * np.log(variances) - np.log(self.stddev)[:, None], -100.0, 100.0)  # ln 0, too
        normal = -0.5 * off**2 / (self.log_variance[:, None] + c.STATED_MODEL_ERROR**2)
        return np.asarray(np.logaddexp(normal, np.log(c.MISLED)))


def learned_shape(
    release: VarianceRelease, mean: Floats, mean_variance: Floats, earlier: EarlierSpreads | None = None
) -> LearnedShape:
    """The variances that shaped the noise, and how far off the scores and the released mean allow them to be.

    A score measures σ² + e². The final mean gives e up to its own error, of variance `mean_variance`. `earlier`: what
    independent releases said of the same columns before.
    """
    with np.errstate(all="ignore"):  # quotients out of range become 0 or infinity: not resolved
        offset = np.zeros_like(mean) if release.centre is None else release.centre - mean
        mean_variance = np.zeros_like(mean) if release.centre is None else mean_variance
        atoms, probabilities = _posterior(release, offset, mean_variance, earlier)
        cumulated = probabilities.cumsum(axis=1)  # SPREAD_TAIL is left on either side, and one atom: the grid's error
        lower, upper = ((cumulated >= level).argmax(axis=1) for level in (c.SPREAD_TAIL, 1 - c.SPREAD_TAIL))
        least, most = atoms[np.maximum(lower - 1, 0)], atoms[np.minimum(upper + 1, len(atoms) - 1)]
        seen = c.RESOLVED * (release.noise + mean_variance / release.unit)
        known = np.inf if earlier is None else earlier.log_variance
        resolved = (least >= seen) | (np.isfinite(known) & (least > 0))
        believed = np.log(release.variances / release.unit)
        below = np.where(resolved, 0.25 * (believed - np.log(least)), np.inf)
        above = 0.25 * (np.log(most) - believed)
    log_above = np.hypot(np.maximum(above, 0.0), c.STATED_MODEL_ERROR)
    log_stddev = np.maximum(log_above, np.hypot(np.maximum(below, 0.0), c.STATED_MODEL_ERROR))
    return LearnedShape(release.variances, np.where(log_stddev > c.VAGUE, np.inf, log_stddev), log_above=log_above)


def _posterior(
    release: VarianceRelease, offset: Floats, offset_variance: Floats, earlier: EarlierSpreads | None
) -> tuple[Floats, Floats]:
    """Atoms of σ²/u, 0 the first, and their probabilities in each column, (d, atoms); e is normal about `offset`.

    The prior is fitted to all columns and to some pseudo-columns of any spread, half of them constant.
    """
    noise = float(np.min(release.noise))
    highest = 4 * float(phi_inverse(np.array(max(float(release.scores.max()), noise))))
    atoms = np.concatenate([[0.0], np.geomspace(noise / 8, highest, c.PRIOR_ATOMS)])
    anything = np.concatenate([[0.5], np.full(c.PRIOR_ATOMS, 0.5 / c.PRIOR_ATOMS)])
    parts = [slice(start, start + c.SPREAD_BLOCK) for start in range(0, len(release.scores), c.SPREAD_BLOCK)]
    some = partial(_densities, release, atoms, offset, np.sqrt(offset_variance))
    density = np.concatenate(list(in_order(some, parts, cores())))
    if earlier is not None:
        density *= np.exp(earlier.log_density(atoms * release.unit[:, None]))
    return atoms, posterior(density, anything, c.SPREAD_STEPS, c.ANY_SPREAD_COLUMNS)


def _densities(release: VarianceRelease, atoms: Floats, offset: Floats, stddev: Floats, part: slice) -> Floats:
    """Densities of the scores of some columns at every atom, up to a factor for each column."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(c.SPREAD_NODES)
    seen = slice(part.start, part.start + 1) if release.centre is None else part  # without a centre e is 0 everywhere
    noise = np.broadcast_to(release.noise, release.scores.shape)
    logs = np.full((len(release.scores[part]), len(atoms)), -np.inf)
    for node, weight in zip(nodes, weights, strict=True):
        away = (offset[seen] + node * stddev[seen]) / np.sqrt(release.unit[seen])
        off = (release.scores[part, None] - expected_score(np.sqrt(atoms), away[:, None])) / noise[part, None]
        logs = np.logaddexp(logs, np.log(weight) - 0.5 * off**2)
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def expected_score(stddev: Floats, offset: Floats) -> Floats:
    """E[φ((σ·Z + e)²)], Z standard normal, φ(w²) = w² up to |w| = 1 and 2|w| - 1 beyond."""
    spread, away = np.maximum(stddev, 1e-150), np.abs(offset)
    high, low = (1 - away) / spread, (1 + away) / spread  # |w| <= 1 for Z between -low and high
    under, over = ndtr(high), ndtr(low)
    at_high, at_low = _density(high), _density(low)
    inside = under + over - 1
    squares = (away**2 + spread**2) * inside + 2 * away * spread * (at_low - at_high)
    squares -= spread**2 * (high * at_high + low * at_low)
    beyond = away * (over - under) + spread * (at_high + at_low)  # E|w| there
    return np.asarray(squares + 2 * beyond - (2 - under - over))


def _density(z: Floats) -> Floats:
    held = np.clip(z, -40.0, 40.0)
    return np.asarray(np.exp(-0.5 * held**2) / np.sqrt(2 * np.pi))
