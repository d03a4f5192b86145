"""What a variance release says of each column's spread, once the mean is known, and how sure that is. Sees no record.

A released score resolves a column whose variance stands out of the noise. Of others it only says how wide they are at
most. Letters: H, τ = released mean scores and their noise; u = variance that scores one; c = centre of the scores;
σ = standard deviation of a column; e = c less the mean.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from dimfree._types import Floats
from dimfree.mechanisms.scores import phi_inverse
from dimfree.results.error_model import LearnedShape

VAGUE = 1.0  # of ln σ: a column less sure than this is not learned
_MODEL_ERROR = 0.3  # of ln σ: records are neither normal nor all unclipped; twice this covers any light-tailed law
_TAIL = 0.0228  # on either side, as beyond two standard deviations of a normal law
_RESOLVED = 0.5  # of the noise: how much of it a variance may lie below before nothing tells it from 0
_ANY = 2.0  # columns: what the prior holds of spreads that the fitted columns do not show
_ATOMS, _STEPS, _NODES = 64, 60, 5
_BLOCK = 2048  # columns at a time


@dataclass(frozen=True)
class VarianceLook:
    """One variance release in some coordinates: all public. `variances` are those that shaped the noise."""

    variances: Floats
    centre: Floats
    scores: Floats
    noise: float
    unit: Floats


def learned_shape(look: VarianceLook, mean: Floats, mean_variance: Floats) -> LearnedShape:
    """The variances that shaped the noise, with what the scores and the released mean say about how wrong they are.

    A score tells of σ² + e². The last released mean tells e up to its own error, of variance `mean_variance`.
    """
    with np.errstate(all="ignore"):  # quotients out of range end at 0 or infinity: not resolved
        least, most = _quantiles(*_posterior(look, look.centre - mean, mean_variance))
        resolved = least >= _RESOLVED * (look.noise + mean_variance / look.unit)
        believed = np.log(look.variances / look.unit)
        below = np.where(resolved, 0.25 * (believed - np.log(least)), np.inf)
        above = 0.25 * (np.log(most) - believed)
    log_above = np.hypot(np.maximum(above, 0.0), _MODEL_ERROR)
    log_stddev = np.maximum(log_above, np.hypot(np.maximum(below, 0.0), _MODEL_ERROR))
    return LearnedShape(look.variances, np.where(log_stddev > VAGUE, np.inf, log_stddev), log_above=log_above)


def _posterior(look: VarianceLook, offset: Floats, offset_variance: Floats) -> tuple[Floats, Floats]:
    """Atoms of σ²/u, 0 the first, and their probabilities in each column, (d, atoms).

    The prior is fitted to all columns, as if there were some more whose spread is anything: half of them 0.
    """
    highest = 4 * float(phi_inverse(np.array(max(float(look.scores.max()), look.noise))))
    atoms = np.concatenate([[0.0], np.geomspace(look.noise / 8, highest, _ATOMS)])
    anything = np.concatenate([[0.5], np.full(_ATOMS, 0.5 / _ATOMS)])
    density = np.concatenate(list(_densities(look, atoms, offset, offset_variance)))
    weights, joint = anything, np.empty_like(density)
    for _ in range(_STEPS):
        np.multiply(density, weights, out=joint)
        joint /= (density @ weights)[:, None]
        weights = (joint.sum(axis=0) + _ANY * anything) / (len(density) + _ANY)
    np.multiply(density, weights, out=joint)
    joint /= joint.sum(axis=1, keepdims=True)
    return atoms, joint


def _densities(look: VarianceLook, atoms: Floats, offset: Floats, offset_variance: Floats) -> Iterator[Floats]:
    """Of the score at every atom, up to a factor for each column; e is normal about `offset`."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    stddev = np.sqrt(offset_variance)
    for start in range(0, len(look.scores), _BLOCK):
        part = slice(start, start + _BLOCK)
        logs = np.full((len(look.scores[part]), len(atoms)), -np.inf)
        for node, weight in zip(nodes, weights, strict=True):
            away = (offset[part] + node * stddev[part]) / np.sqrt(look.unit[part])
            off = (look.scores[part, None] - expected_score(np.sqrt(atoms), away[:, None])) / look.noise
            logs = np.logaddexp(logs, np.log(weight) - 0.5 * off**2)
        yield np.exp(logs - logs.max(axis=1, keepdims=True))


def _quantiles(atoms: Floats, posterior: Floats) -> tuple[Floats, Floats]:
    """The atoms that leave `_TAIL` on either side, moved outwards by one: the grid knows no better."""
    cumulated = posterior.cumsum(axis=1)
    lower, upper = ((cumulated >= level).argmax(axis=1) for level in (_TAIL, 1 - _TAIL))
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
