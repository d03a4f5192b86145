"""Public choices by the number of records: the core's branch, thresholds and radius, and the pilot sample.

Public numbers only; no cost. Letters: n = the number of records (replace-one) or its released estimate n̂
(add/remove); K = steps of a ladder; o = records that may lack friends; B = K + o; b = friend share of a full weight.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from weakref import ref

import numpy as np
from scipy.special import ndtri

from dimfree._types import Floats
from dimfree.accounting.budget import CHANGED_RECORDS, Neighbors
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import Tested
from dimfree.kernel import admissible, core_sensitivity
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.friend_radius import FriendRadii, simulate_friend_radii, tolerate_friendless

N_LOW = 3  # n_low = n_0 + 3: the least size of the larger of two neighbors whose T* is 2 or more (P5')


@dataclass(frozen=True)
class DataModel:
    """The model of the data: spectrum after rescaling, outliers and tails. Public."""

    radii: FriendRadii
    outliers: float
    factor: float

    @classmethod
    def of(cls, spectrum: Floats, outliers: float, tails: str) -> "DataModel":
        return cls(simulate_friend_radii(spectrum), outliers, c.HEAVY_RADIUS_FACTOR if tails == "heavy" else 1.0)

    @classmethod
    def unknown(cls, outliers: float) -> "DataModel":
        """Assume no spectrum: radii are searched."""
        return cls(FriendRadii(np.zeros((0, 0))), outliers, c.HEAVY_RADIUS_FACTOR)


@dataclass(frozen=True)
class StableChoice:
    """Parameters of one run of the stable core."""

    branch: Tested
    full_share: Fraction  # b
    budget: int  # B
    floor: int | None  # n_0 of P5'; None where the number of records is public
    radius: float
    sensitivity: float  # of the mean, in units of the radius
    noise: float  # predicted SD per coordinate after rescaling

    @property
    def needs(self) -> int:
        """The number of records that the test needs to pass: n_0 + K (P14)."""
        return (self.floor or 0) + self.branch.ladder.length


@dataclass(frozen=True)
class Size:
    """The number of records: public, or a released estimate and its SD."""

    count: float
    stddev: float | None
    core_sample: int  # number of records that the quadratic core reads

    @property
    def relation(self) -> Neighbors:
        return Neighbors.REPLACE_ONE if self.stddev is None else Neighbors.ADD_REMOVE

    @property
    def rate(self) -> float:
        """Share of the records that the core reads."""
        return min(1.0, self.core_sample / max(self.count, 1.0))

    def combined(self, count: float, stddev: float) -> "Size":
        """Combine with a second, independent noisy count, weighted by inverse variances."""
        assert self.stddev is not None  # a public number needs no second one
        first, second = self.stddev**-2, stddev**-2
        average = (first * self.count + second * count) / (first + second)
        return replace(self, count=max(average, 1.0), stddev=(first + second) ** -0.5)

    def after_pass(self, choice: StableChoice) -> "Size":
        """Raise the count after a passed test: there are about n_0 + K records or more, however small n̂ is (P14)."""
        return self if choice.floor is None else replace(self, count=max(self.count, float(choice.needs)))

    @property
    def public(self) -> dict[str, float]:
        """For the release: the count, and a lower bound of high probability."""
        return {"count": self.count, "count_at_least": max(1.0, self.count - 2 * (self.stddev or 0.0))}

    @property
    def sample_size_lower_bound(self) -> float:
        """A lower bound, of high probability, of the number of records that the core reads. Public."""
        expected = self.rate * self.public["count_at_least"]
        coins = 2 * math.sqrt(expected) if self.rate < 1 and self.stddev is not None else 0.0
        return max(1.0, expected - coins)

    def capacity(self, rate: float) -> int:
        """Return the size of buffers for a share `rate` of all records, rarely exceeded. Public."""
        if self.stddev is None:
            return math.ceil(rate * self.count)
        expected = rate * max(self.count + c.CAPACITY_DEVIATIONS * self.stddev, 1.0)
        return math.ceil(expected + (c.CAPACITY_DEVIATIONS * math.sqrt(expected) if rate < 1 else 0.0)) + 1

    def surely(self, failure: float) -> float:
        """Return a lower bound of the number of records in the core's sample, at a share of `failure`. Public."""
        z = -float(ndtri(failure / 4))
        coins = z * math.sqrt(self.core_sample) if self.rate < 1 else 0.0
        return self.rate * (self.count - z * (self.stddev or 0.0)) - coins

    @property
    def possibly(self) -> float:
        """An upper bound of the number of records in the core's sample. Public."""
        return self.rate * (self.count + c.POSSIBLE_DEVIATIONS * (self.stddev or 0.0))

    def bound(self, steps: int, failure: float) -> tuple[int | None, int]:
        """Return (n_0, n_low) of the core's sample: add/remove neighbors with T* >= 2 have n >= n_low (P5')."""
        if self.stddev is None:
            return None, min(int(self.count), self.core_sample)
        floor = math.floor(self.surely(failure) - steps)
        return floor, floor + N_LOW


def compute_snr(count: float, relation: Neighbors, precision: float, columns: int) -> float:
    """Compute the SNR n̂·√(P/d), P = precision of the branch, with the noise of the relation; infinite for d = 0."""
    return math.inf if not columns else max(count, 0.0) * math.sqrt(precision / (columns * CHANGED_RECORDS[relation]))


def choose_pilot_rate(size: Size, precision: float, columns: int, present: float = 1.0) -> float:
    """Choose the share of the records that suffices for centers, scales and coordinates; 1: all of them are read.

    `present`: the released share of the records that have a value in every column; the sample grows by its inverse.
    """
    strong = c.PILOT_SAMPLE_SNR / compute_snr(1.0, size.relation, precision, columns)
    enough = math.ceil(max(strong / present, c.MIN_PILOT_SAMPLE / present, size.core_sample))
    few = size.count < c.MIN_SAMPLING_GAIN * enough or 8 * enough * columns > c.MAX_PILOT_SAMPLE_BYTES
    return 1.0 if few else enough / size.count


def has_few_records(count: float, mu: float, relation: Neighbors) -> bool:
    """Return whether there are too few records to estimate variances or coordinates. Public."""
    return count * mu < (c.MIN_LEARNING_RECORDS if relation is Neighbors.ADD_REMOVE else 2 * c.MIN_LEARNING_RECORDS)


def core_alone(count: float, mu: float, relation: Neighbors, dimension: int) -> bool:
    """Return whether refinement steps would not improve on the core's mean. Public."""
    sensitivity = 1 if relation is Neighbors.ADD_REMOVE else 2
    return count * mu < c.CORE_ALONE_SNR * sensitivity * math.sqrt(dimension)


def choose_core_sample(calibration: Calibration) -> int:
    """Choose enough records for the shortest ladder, and for a good center. Public."""
    shortest = min((branch.ladder.length for branch in calibration.tested), default=0)
    return max(c.MIN_CORE_SAMPLE, c.CORE_SAMPLE_PER_STEP * shortest)


def is_core_sample_enough(core_sample: int, calibration: Calibration, failure: float, outliers: float) -> bool:
    """Return whether a sample of this size is enough for the core, for any number of records. Public."""
    if not calibration.tested:
        return True
    steps = min(branch.ladder.length for branch in calibration.tested)
    size = Size(1e15, calibration.count_stddev, core_sample)
    _, count = size.bound(steps, failure)
    allowed = steps + math.ceil(outliers * core_sample)
    return admissible(count, Fraction(3, 4), allowed, size.relation) and steps + allowed < count / 4


def choose_stable_cores(branches: Sequence[Tested], size: Size, failure: float, model: DataModel) -> list[StableChoice]:
    """Choose the stable core with the least noise for each branch that has admissible parameters."""
    choices = [
        choice for branch in branches if (choice := _choose_stable_core(branch, size, failure, model)) is not None
    ]
    return keep_with_enough_records(choices, size, failure)


def keep_with_enough_records(choices: list[StableChoice], size: Size, failure: float) -> list[StableChoice]:
    """Keep choices that surely have enough records; else the one that needs the fewest, if possible (P14)."""
    if size.stddev is None:
        return choices
    sure = [choice for choice in choices if choice.needs <= size.surely(failure)]
    fewest = sorted(choices, key=lambda choice: choice.needs)[:1]
    return sure or [choice for choice in fewest if choice.needs <= size.possibly]


def is_usable_core(choice: StableChoice | None) -> bool:
    """Return whether a core exists, with a sensitivity small enough for a center."""
    return choice is not None and choice.sensitivity <= c.MAX_CORE_SENSITIVITY


def find_smallest_usable(steps: int, at: Callable[[int], StableChoice | None]) -> StableChoice | None:
    """Find the usable core with the smallest n_0 above the steps of the ladder; None: no such core (P14)."""
    low, high = steps, c.MAX_FLOOR_STEPS * steps
    if not is_usable_core(at(high)):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_usable_core(at(middle)) else (middle, high)
    return at(high)


@dataclass(frozen=True)
class _Counts:
    """The number of records as a choice depends on it: integers, so that nearby numbers share a cached choice."""

    relation: Neighbors
    floor: int | None  # n_0
    count: int  # n_low
    budget: int  # B, without the records that lack friends by chance


def _choose_stable_core(branch: Tested, size: Size, failure: float, model: DataModel) -> StableChoice | None:
    steps, believed = branch.ladder.length, (failure, model.outliers, model.factor, ref(model.radii))
    expected = math.ceil(model.outliers * max(size.count, 0) * size.rate)
    choice = _search_choices(branch, _Counts(size.relation, *size.bound(steps, failure), steps + expected), *believed)

    def above(floor: int) -> StableChoice | None:
        """Choose with n_0 given, for a test that n_0 + K records may pass."""
        count = floor + N_LOW
        budget = steps + math.ceil(model.outliers * (count + steps))
        return _search_choices(branch, _Counts(Neighbors.ADD_REMOVE, floor, count, budget), *believed)

    return choice if size.stddev is None or is_usable_core(choice) else find_smallest_usable(steps, above)


@lru_cache(maxsize=2048)  # public numbers; a weak reference, so that the cache keeps no simulation alive
def _search_choices(
    branch: Tested, counts: _Counts, failure: float, outliers: float, factor: float, held: "ref[FriendRadii]"
) -> StableChoice | None:
    """Choose the least noise among all shares b and numbers of records that lack friends by chance."""
    radii, found = held(), list[StableChoice]()
    relation, count, least = counts.relation, counts.count, counts.budget
    assert radii is not None  # the caller holds it
    for share in c.FULL_SHARES if count >= 1 else ():
        needed = count_friends_needed(float(share), branch.ladder.length, count, relation) / (1 - outliers)
        for extra in c.EXTRA_FRIENDLESS if needed < (c.MAX_HEAVY_FRIEND_SHARE if factor > 1 else 1) else ():
            if extra <= count // 8 and admissible(count, share, least + extra, relation):
                radius = factor * radii.radius(needed, tolerate_friendless(extra, failure / 4), count)
                sensitivity = core_sensitivity(count, share, least + extra, relation)
                noise = radius * sensitivity / branch.mu
                found.append(StableChoice(branch, share, least + extra, counts.floor, radius, sensitivity, noise))
    return min(found, key=lambda choice: choice.noise, default=None)


def count_friends_needed(share: float, steps: int, count: int, relation: Neighbors) -> float:
    """Return the share of friends of a stable record: (b·n + K)/n; add/remove: b·(n + K)/n, n = n_low + K (P13)."""
    if relation is Neighbors.REPLACE_ONE:
        return share + steps / count
    return share * (count + 2 * steps) / (count + steps)
