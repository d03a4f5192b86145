"""The stated spread of each column and its uncertainty, from a variance release and the final mean. Sees no record.

A score resolves a column whose variance stands out of the noise. For others it only gives an upper bound. Letters:
H, τ = released mean scores and their noise; u = variance that scores one; c = centre of the scores; σ = standard
deviation of a column; e = c less the mean.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dimfree._types import Floats
from dimfree.kernel import phi_inverse
from dimfree.programs.choose import constants as c
from dimfree.programs.learn.shrinkage import posterior
from dimfree.results.error_model import LearnedShape
from dimfree.threads import cores, in_order


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
    """Standard deviations from earlier releases than the scores, and the variances of their logarithms.

    Infinite: nothing is known from there.
    """

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
        least, most = _quantiles(*_posterior(release, offset, mean_variance, earlier))
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
    """Atoms of σ²/u, 0 the first, and their probabilities in each column, (d, atoms).

    The prior is fitted to all columns and to some pseudo-columns of any spread, half of them constant.
    """
    noise = float(np.min(release.noise))
    highest = 4 * float(phi_inverse(np.array(max(float(release.scores.max()), noise))))
    atoms = np.concatenate([[0.0], np.geomspace(noise / 8, highest, c.PRIOR_ATOMS)])
    anything = np.concatenate([[0.5], np.full(c.PRIOR_ATOMS, 0.5 / c.PRIOR_ATOMS)])
    density = np.concatenate(list(_densities(release, atoms, offset, offset_variance)))
    if earlier is not None:
        density *= np.exp(earlier.log_density(atoms * release.unit[:, None]))
    return atoms, posterior(density, anything, c.SPREAD_STEPS, c.ANY_SPREAD_COLUMNS)


def _densities(release: VarianceRelease, atoms: Floats, offset: Floats, offset_variance: Floats) -> Iterator[Floats]:
    """Densities of the score at every atom, up to a factor for each column; e is normal about `offset`."""
    parts = [slice(start, start + c.SPREAD_BLOCK) for start in range(0, len(release.scores), c.SPREAD_BLOCK)]
    return in_order(partial(_densities_of, release, atoms, offset, np.sqrt(offset_variance)), parts, cores())


def _densities_of(release: VarianceRelease, atoms: Floats, offset: Floats, stddev: Floats, part: slice) -> Floats:
    """The same of some columns, entry by entry."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(c.SPREAD_NODES)
    seen = (
        slice(part.start, part.start + 1) if release.centre is None else part
    )  # without a centre e is 0 in all columns
    noise = np.broadcast_to(release.noise, release.scores.shape)
    logs = np.full((len(release.scores[part]), len(atoms)), -np.inf)
    for node, weight in zip(nodes, weights, strict=True):
        away = (offset[seen] + node * stddev[seen]) / np.sqrt(release.unit[seen])
        off = (release.scores[part, None] - expected_score(np.sqrt(atoms), away[:, None])) / noise[part, None]
        logs = np.logaddexp(logs, np.log(weight) - 0.5 * off**2)
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _quantiles(atoms: Floats, probabilities: Floats) -> tuple[Floats, Floats]:
    """The atoms that leave `SPREAD_TAIL` on either side, moved outwards by one: the error of the grid."""
    cumulated = probabilities.cumsum(axis=1)
    lower, upper = ((cumulated >= level).argmax(axis=1) for level in (c.SPREAD_TAIL, 1 - c.SPREAD_TAIL))
    return atoms[np.maximum(lower - 1, 0)], atoms[np.minimum(upper + 1, len(atoms) - 1)]


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
