"""What a noisy sum of outer products says: directions that stand out of its noise, and how much lies along each (P12).

Post-processing of one released matrix; sees no record. The noise is a Wigner matrix, whose eigenvalues end at 2·s_w and
which pulls a direction of true eigenvalue θ > s_w up to θ + s_w²/θ and turns it by an angle of cosine² 1 - s_w²/θ²
(Benaych-Georges and Nadakuditi). Letters: s = noise on the diagonal, s_w = s·sqrt(d/2), h = an eigenvalue seen.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from dimfree._types import Floats

MOST_COLUMNS = 6000  # eigenvectors of a larger matrix would take many minutes
MOST_SPIKES = 256
_BEYOND = 1.5  # widths of the edge of the noise's spectrum that an eigenvalue has to lie beyond it
_SMALLEST_TAIL = 0.02  # of the squared length, that is never believed to lie along the directions found
_SURE = 2.0  # deviations on the unfavourable side, of an eigenvalue and of the noise beside it, for a bound of an angle


@dataclass(frozen=True)
class Spikes:
    """Orthonormal directions (d, r), what share of a record's squared length lies along each, and how far each may be
    turned, in radians."""

    directions: Floats
    shares: Floats
    angles: Floats

    @property
    def tail(self) -> float:
        """The share that lies along none of them."""
        return max(_SMALLEST_TAIL, 1 - float(self.shares.sum()))


def found_spikes(noisy: Floats, noise: float, count: float, prior: Floats) -> Spikes:
    """Directions beyond the noise of a matrix that is count·diag(prior), plus what is looked for, plus noise."""
    size = len(noisy)
    edge = noise * math.sqrt(size / 2)
    visible = 2 * edge + _BEYOND * noise / math.sqrt(2) * size ** (-1 / 6)
    most = min(MOST_SPIKES, size - 1)
    seen, vectors = eigh(noisy - count * np.diag(prior), subset_by_index=(size - most, size - 1))
    kept = np.flatnonzero(seen > visible)[::-1]
    seen, directions = seen[kept], vectors[:, kept]
    true = _unpulled(seen, edge)
    shares = (true - edge**2 / true) / count + (directions**2 * prior[:, None]).sum(axis=0)
    return Spikes(directions, np.clip(shares, 0.0, 1.0), _angles(seen, edge, noise))


def _unpulled(seen: Floats, edge: float) -> Floats:
    """θ from h = θ + s_w²/θ."""
    return (seen + np.sqrt(np.maximum(seen**2 - 4 * edge**2, 0.0))) / 2


def _angles(seen: Floats, edge: float, noise: float) -> Floats:
    """By which angle, at most, noise has turned a direction away from those of the noiseless matrix.

    Its sine is the length of a noise vector over θ. That length is s_w give or take s/2: chi of d entries of s/√2 each.
    """
    lowered = _unpulled(np.maximum(seen - _SURE * noise, 2 * edge), edge)
    return np.asarray(np.arcsin(np.minimum((edge + _SURE * noise / 2) / lowered, 1.0)))


def without_offset(spikes: Spikes, offset: Floats, length: float) -> Spikes:
    """What is left when the records were seen from `offset` away from their mean, `length` being their mean squared
    length: that adds offset·offsetᵀ/(length + |offset|²) to the shares, and turns a direction by its part beside it.

    A direction that is mostly the offset's is none of the records'.
    """
    total = length + float(offset @ offset)
    along = offset @ spikes.directions
    shares = spikes.shares - along**2 / total
    turned = np.abs(along) * float(np.linalg.norm(offset)) / total / np.maximum(shares, np.finfo(np.float64).tiny)
    angles = np.arcsin(np.minimum(np.sin(spikes.angles) + turned, 1.0))
    kept = shares > spikes.shares / 2
    return Spikes(spikes.directions[:, kept], shares[kept], angles[kept])


def smallest_share(dimension: int, mu: float, count: float) -> float:
    """λ_k/tr Σ of the weakest direction that a release of this precision finds."""
    return math.sqrt(dimension / 2) / (mu * count)


def promised_gain(spikes: Spikes, spread: Floats) -> float:
    """How many times less noise than without the directions; `spread` = the diagonal D of the shape they refine."""
    along = _counting(spikes, spread)
    rest = float(spread.sum()) - float(along.sum())
    used = float(np.sqrt(spikes.shares * along).sum()) + math.sqrt(spikes.tail * rest)
    return math.sqrt(float(spread.sum())) / used


def _counting(spikes: Spikes, spread: Floats) -> Floats:
    """w_k = q_kᵀ D q_k: what noise along a direction costs in the original space."""
    return np.asarray((spikes.directions**2 * spread[:, None]).sum(axis=0))


def coordinate_weights(spikes: Spikes, spread: Floats) -> Floats:
    """sqrt(w) for the directions, then for each of the coordinates that complete them."""
    along = _counting(spikes, spread)
    others = len(spread) - len(along)
    rest = (float(spread.sum()) - float(along.sum())) / others
    return np.sqrt(np.concatenate([along, np.full(others, rest)]))


def coordinate_shares(spikes: Spikes, dimension: int) -> Floats:
    """Of a record's squared length: along the directions, then in each other coordinate."""
    others = dimension - len(spikes.shares)
    return np.concatenate([spikes.shares, np.full(others, spikes.tail / others)])
