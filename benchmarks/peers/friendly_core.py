"""FriendlyCore averaging with spherical noise: keep the records that seem to have enough friends, average those.

After "FriendlyCore: Practical Differentially Private Aggregation" (Tsfadia, Cohen, Kaplan, Mansour, Stemmer, 2022), the
filter for concentrated privacy: friend counts get Gaussian noise and are compared with a threshold that no record
without a friendly majority is likely to reach. Filter and average then compose like any two Gaussians; nothing is
lifted, unlike with the coins of `core.basic`. Quadratic in the number of records, like the original.
Constants are derived in proofs/comparison/baselines/friendly_core.md. Notation: n records, c_j friends of record j.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import ndtr

from dimfree._types import Integers
from dimfree._validate import check_between
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.calibrate import bound_distance
from dimfree.accounting.events import Bounded, Gaussian, charged_gaussian
from dimfree.accounting.losses import Failure
from dimfree.comparison.baselines.frame import Event, open_frame, unspoken
from dimfree.kernel.rows.grid import RADIUS, on_grid
from dimfree.kernel.statistics.count import noisy_total
from dimfree.kernel.statistics.friends import all_counts
from dimfree.kernel.statistics.weighted_mean import noisy_mean
from dimfree.noise import Noise
from dimfree.paper.basic import COUNT_SENSITIVITY, MEAN_SENSITIVITY
from dimfree.paper.soft import SMALLEST_TOTAL
from dimfree.results.release import Release

STEPS = 2**14  # grid steps to one friend
MOVES = {Neighbours.ADD_REMOVE: 1, Neighbours.REPLACE_ONE: 2}  # of a majority 2·c_j - n
UNFRIENDLY = {Neighbours.ADD_REMOVE: 0, Neighbours.REPLACE_ONE: 1}  # the largest majority that must not pass
_FAILURE = 0.03  # of delta, for each of three bounds: number of records, threshold, number kept
_KEPT = 0.1  # of the precision that the filter leaves, for the number kept
_FRIENDS = 0.95  # share of all records that are expected to be close to a typical record, where shares are chosen
_SHARES = tuple(k / 100 for k in range(2, 96))
_TOO_FEW = "Too few records have a friendly majority, or seem to."


@unspoken
def friendly_core(
    X: object,
    *,
    epsilon: float,
    delta: float,
    radius: float,
    neighbours: str | Neighbours = "add-remove",
    on_missing: str = "raise",
    noise: Noise | None = None,
) -> Release:
    """The mean of the records that lie within `radius` of most others.

    Guarantee: (epsilon, delta) in total, filter included. Proof: proofs/comparison/baselines/friendly_core.md.
    Prior: honest records lie pairwise within `radius`, wherever they are. A wrong one costs accuracy, never privacy.
    """
    frame = open_frame(X, epsilon, delta, neighbours, on_missing, noise)
    reach = check_between("radius", radius, 1e-60, 1e60)
    fails, failure = _failures(frame.budget.delta)
    count_mu, mu = frame.count_mu(frame.mu_beside(fails))
    count, costs = frame.count(count_mu)
    bar = _chosen_bar(count, count + _above(costs, failure), mu, failure, frame.relation)
    integers = on_grid(frame.space, reach)
    kept = bar.passing(all_counts(integers), frame.noise)
    mu *= math.sqrt(1 - bar.share) * (1 - 1e-12)
    total = noisy_total(
        Fraction(int(kept.sum())), COUNT_SENSITIVITY, mu * math.sqrt(_KEPT), "number kept", noise=frame.noise
    )
    costs += [fails, bar.event, total.event]
    lowest = total.value - _above([total.event], failure)
    public = {"radius": reach, "count": count, "filter_share": bar.share, "kept_lower_bound": lowest}
    if lowest <= SMALLEST_TOTAL:
        return frame.refused("friendly-core", _TOO_FEW, costs, **public)
    kept, moves = kept[: len(integers.values)], MEAN_SENSITIVITY * RADIUS / lowest
    mean = noisy_mean(integers.values, kept, moves, mu * math.sqrt(1 - _KEPT), reach / RADIUS, noise=frame.noise)
    stddev = np.full(frame.dimension, mean.event.stddev * mean.event.step)
    return frame.released("friendly-core", mean.value, stddev, [*costs, mean.event], **public)


def _failures(delta: float) -> tuple[Failure, float]:
    """What the three bounds cost together, and with which probability each may fail."""
    each = _FAILURE * delta * (1 - delta)
    return Failure("bounds that may fail", 3 * each / (1 - delta) * (1 + 1e-12)), each


def _above(costs: list[Event], failure: float) -> float:
    """How far a noisy count may be off, but for `failure`; zero if nothing was drawn: the count is public."""
    events = [event for event in costs if isinstance(event, Gaussian)]
    return sum((_distance(failure) * event.stddev + 1) * event.step for event in events)


def _distance(failure: float) -> float:
    """In standard deviations of discrete Gaussian noise: exceeded with at most this probability."""
    return bound_distance(Bounded(0.0, failure))


@dataclass(frozen=True)
class Bar:
    """What a noisy majority 2·c_j - n is compared with. Public; `most` is above n - 1, but for a failure."""

    most: float
    mu: float
    failure: float  # that some unfriendly record passes
    relation: Neighbours
    share: float  # of the precision, that the filter takes

    @property
    def event(self) -> Gaussian:
        """All noisy majorities but that of the record in question, as one release."""
        steps = MOVES[self.relation] * math.sqrt(self.most) * STEPS * (1 + 1e-15)
        dimension = math.ceil(self.most)
        return charged_gaussian(steps, self.mu, dimension, 1 / STEPS, "friends of every record")

    @property
    def height(self) -> int:
        """In grid steps: a record of majority UNFRIENDLY reaches it with probability failure / (most + 1)."""
        distance = _distance(self.failure / (self.most + 1))
        return math.ceil(UNFRIENDLY[self.relation] * STEPS + distance * self.event.stddev)

    def passing(self, counts: Integers, noise: Noise) -> Integers:
        """0/1 for every record. Private: it goes into the number kept and the mean, nowhere else."""
        drawn = noise.gaussian(self.event.stddev, len(counts))
        return ((2 * counts - len(counts)) * STEPS + drawn >= self.height).astype(np.int64)

    def sharpness(self, count: float, mu: float) -> float:
        """Of the mean, as expected for honest records: how many will surely be kept, times the precision left."""
        majority, left = (2 * _FRIENDS - 1) * count * STEPS, mu * math.sqrt(1 - self.share)
        kept = count * float(ndtr((majority - self.height) / self.event.stddev))
        return (kept - _distance(self.failure) / (left * math.sqrt(_KEPT))) * left


def _chosen_bar(count: float, most: float, mu: float, failure: float, relation: Neighbours) -> Bar:
    """The share of the precision after which the mean should be sharpest: few records lost, little precision spent."""
    bars = [Bar(max(most, 1.0), mu * math.sqrt(share), failure, relation, share) for share in _SHARES]
    return max(bars, key=lambda bar: bar.sharpness(count, mu))
