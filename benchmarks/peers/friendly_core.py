"""FriendlyCore averaging with spherical noise: keep the records that seem to have enough friends, average those.

After "FriendlyCore: Practical Differentially Private Aggregation" (Tsfadia, Cohen, Kaplan, Mansour, Stemmer, 2022), the
filter for concentrated privacy: friend counts get Gaussian noise and are compared with a threshold that no record
without a friendly majority is likely to reach. Filter and average then compose like any two Gaussians. Quadratic in the
number of records, like the original. n records, c_j friends of record j, its majority 2·c_j - n.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from benchmarks.peers.friends import friend_counts
from benchmarks.peers.gaussians import Gaussians
from benchmarks.peers.sums import blocks
from dimfree._types import Floats
from dimfree.accounting.budget import Neighbors

UNFRIENDLY = {Neighbors.ADD_REMOVE: 0, Neighbors.REPLACE_ONE: 1}  # the largest majority that must not pass
_FAILURE = 0.03  # of delta, for each of three bounds: number of records, threshold, number kept
_KEPT = 0.1  # of the precision that the filter leaves, for the number kept
_FRIENDS = 0.95  # share of all records that are expected to be close to a typical record, where shares are chosen
_SHARES = tuple(k / 100 for k in range(2, 96))
FEWEST = 2.0  # kept, for a mean whose sensitivity is known


def friendly_core(
    X: Floats, epsilon: float, delta: float, rng: np.random.Generator, *, radius: float, neighbors: str = "add-remove"
) -> Floats | None:
    """Given: typical records lie pairwise within `radius`, at any location."""
    failure = _FAILURE * delta
    noise = Gaussians(epsilon, delta, rng, neighbors, failure=3 * failure)
    count, spread = noise.count(len(X))
    bar = _chosen_bar(count, count + distance(failure) * spread, noise.left, failure, noise)
    majorities = noise.release(2.0 * friend_counts(X, radius) - len(X), bar.moves, bar.mu)
    kept, mu = majorities >= bar.height, noise.left
    total = float(noise.release(float(kept.sum()), 1.0, mu * math.sqrt(_KEPT)))
    lowest = total - distance(failure) / (mu * math.sqrt(_KEPT))
    return None if lowest <= FEWEST else noisy_mean(X, kept, radius, lowest, noise)


def noisy_mean(
    X: Floats, kept: "np.ndarray[tuple[int], np.dtype[np.bool_]]", radius: float, lowest: float, noise: Gaussians
) -> Floats:
    """Friendly records lie within twice the radius of each other: one moves their mean by 2·radius / lowest."""
    total = sum((chosen.sum(axis=0) for chosen in blocks(X[kept])), np.zeros(X.shape[1]))
    return noise.release(total / max(1, kept.sum()), 2 * radius / lowest, noise.left)


def distance(failure: float) -> float:
    """In standard deviations: Gaussian noise exceeds it with this probability."""
    return float(-ndtri(failure))


@dataclass(frozen=True)
class Bar:
    """What a noisy majority is compared with. Public; `most` is above n - 1, but for a failure."""

    most: float
    mu: float
    share: float  # of the precision
    failure: float  # that some unfriendly record passes
    relation: Neighbors
    changed: int

    @property
    def moves(self) -> float:
        """All majorities but that of the record in question move by `changed` each."""
        return self.changed * math.sqrt(self.most)

    @property
    def height(self) -> float:
        """A record of majority UNFRIENDLY reaches it with probability failure / (most + 1)."""
        return UNFRIENDLY[self.relation] + distance(self.failure / (self.most + 1)) * self.moves / self.mu

    def sharpness(self, count: float, mu: float) -> float:
        """Of the mean, as expected for typical records: how many will surely be kept, times the precision left."""
        left = mu * math.sqrt(1 - self.share)
        kept = count * float(ndtr(((2 * _FRIENDS - 1) * count - self.height) * self.mu / self.moves))
        return (kept - distance(self.failure) / (left * math.sqrt(_KEPT))) * left


def _chosen_bar(count: float, most: float, mu: float, failure: float, noise: Gaussians) -> Bar:
    """The share of the precision after which the mean should be sharpest: few records lost, little precision spent."""
    bars = [
        Bar(max(most, 1.0), mu * math.sqrt(share), share, failure, noise.relation, noise.changed) for share in _SHARES
    ]
    return max(bars, key=lambda bar: bar.sharpness(count, mu))
