"""Directions in a noisy sum of outer products: the eigenvectors above the noise, and their shares (P12).

Post-processing of one released matrix; reads no record. The noise is a Wigner matrix; its eigenvalues end at 2·s_w, and
it raises an eigenvalue θ > s_w to θ + s_w²/θ and turns its direction by an angle of cosine² 1 - s_w²/θ²
(Benaych-Georges and Nadakuditi). Letters: s = noise on the diagonal, s_w = s·sqrt(d/2), h = a released eigenvalue.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are first used

from dimfree._types import Floats
from dimfree.programs.choose import constants as c


@dataclass(frozen=True)
class Spikes:
    """Directions; in random matrix theory their eigenvalues are spikes."""

    directions: Floats  # (d, r), orthonormal
    shares: Floats  # of a record's squared length along each
    angles: Floats  # bounds on the rotation of each by noise, in radians

    @property
    def tail(self) -> float:
        """The share of the squared length along none of them."""
        return max(c.MIN_TAIL_SHARE, 1 - float(self.shares.sum()))


def find_spikes(noisy: Floats, noise: float, count: float, prior: Floats) -> Spikes:
    """Find the directions of M above the noise; `noisy` = count·diag(prior) + M + noise."""
    size = len(noisy)
    edge = noise * math.sqrt(size / 2)
    visible = 2 * edge + c.SPIKE_MARGIN * noise / math.sqrt(2) * size ** (-1 / 6)
    most = min(c.MAX_SPIKES, size - 1)
    seen, vectors = scipy.linalg.eigh(noisy - count * np.diag(prior), subset_by_index=(size - most, size - 1))
    kept = np.flatnonzero(seen > visible)[::-1]
    seen, directions = seen[kept], vectors[:, kept]
    true = _invert_eigenvalues(seen, edge)
    shares = (true - edge**2 / true) / count + (directions**2 * prior[:, None]).sum(axis=0)
    # The sine of an angle is the length of a noise vector over θ: s_w give or take s/2, chi of d entries of s/√2 each.
    lowered = _invert_eigenvalues(np.maximum(seen - c.ANGLE_DEVIATIONS * noise, 2 * edge), edge)
    angles = np.arcsin(np.minimum((edge + c.ANGLE_DEVIATIONS * noise / 2) / lowered, 1.0))
    return Spikes(directions, np.clip(shares, 0.0, 1.0), angles)


def _invert_eigenvalues(seen: Floats, edge: float) -> Floats:
    """Solve h = θ + s_w²/θ for θ."""
    return (seen + np.sqrt(np.maximum(seen**2 - 4 * edge**2, 0.0))) / 2


def remove_offset(spikes: Spikes, offset: Floats, length: float) -> Spikes:
    """Remove the effect of a center `offset` away from the mean; `length`: mean squared length of records."""
    total = length + float(offset @ offset)
    along = offset @ spikes.directions
    shares = spikes.shares - along**2 / total
    turned = np.abs(along) * float(np.linalg.norm(offset)) / total / np.maximum(shares, np.finfo(np.float64).tiny)
    angles = np.arcsin(np.minimum(np.sin(spikes.angles) + turned, 1.0))
    kept = shares > spikes.shares / 2
    return Spikes(spikes.directions[:, kept], shares[kept], angles[kept])


def find_smallest_share(dimension: int, mu: float, count: float) -> float:
    """Return the smallest share λ_k/tr Σ of a direction that a release at this mu detects."""
    return math.sqrt(dimension / 2) / (mu * count)


def forecast_gain(spikes: Spikes, scales: Floats) -> float:
    """Forecast the noise without the directions over that with them; `scales` = the diagonal D of the scales."""
    along = _cost_directions(spikes, scales)
    rest = float(scales.sum()) - float(along.sum())
    used = float(np.sqrt(spikes.shares * along).sum()) + math.sqrt(spikes.tail * rest)
    return math.sqrt(float(scales.sum())) / used


def _cost_directions(spikes: Spikes, scales: Floats) -> Floats:
    """Compute w_k = q_kᵀ D q_k: the cost, in the original space, of noise along each direction."""
    return np.asarray((spikes.directions**2 * scales[:, None]).sum(axis=0))


def weigh_coordinates(spikes: Spikes, scales: Floats) -> Floats:
    """Compute sqrt(w) for the directions, then for each coordinate that completes the basis."""
    along = _cost_directions(spikes, scales)
    others = len(scales) - len(along)
    rest = (float(scales.sum()) - float(along.sum())) / others
    return np.sqrt(np.concatenate([along, np.full(others, rest)]))


def divide_length(spikes: Spikes, dimension: int) -> Floats:
    """Divide a record's squared length: along the directions, then in each other coordinate."""
    others = dimension - len(spikes.shares)
    return np.concatenate([spikes.shares, np.full(others, spikes.tail / others)])
