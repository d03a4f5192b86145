"""The public choices by the number of records: the core's branch, thresholds and radius, and the early sample.

Public numbers only; costs nothing. Letters: n = the number of records (replace-one) or its released estimate n̂
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
from dimfree.accounting.budget import CHANGED_RECORDS, Neighbours
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import Tested
from dimfree.kernel import admissible, core_sensitivity
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.friend_radius import FriendRadii, friend_radii, tolerated_losers

N_LOW = 3  # n_low = n_0 + 3: the least size of the larger of two neighbours whose T* is 2 or more (P5')


@dataclass(frozen=True)
class HonestModel:
    """What the user believes of honest records: their spectrum after rescaling, outliers and tails. Public."""

    radii: FriendRadii
    outliers: float
    factor: float

    @classmethod
    def of(cls, spectrum: Floats, outliers: float, tails: str) -> "HonestModel":
        return cls(friend_radii(spectrum), outliers, c.HEAVY_FACTOR if tails == "heavy" else 1.0)

    @classmethod
    def unknown(cls, outliers: float) -> "HonestModel":
        """No spectrum is assumed; radii are searched."""
        return cls(FriendRadii(np.zeros((0, 0))), outliers, c.HEAVY_FACTOR)


@dataclass(frozen=True)
class StableChoice:
    """Parameters of one run of the stable core."""

    branch: Tested
    full_share: Fraction  # b
    budget: int  # B
    floor: int | None  # n_0 of P5'; None where the number of records is public
    radius: float
    sensitivity: float  # of the mean, in units of the radius
    noise: float  # predicted stddev per coordinate after rescaling

    @property
    def needs(self) -> int:
        """From so many records on their number does not keep the test from passing: n_0 + K (P14)."""
        return (self.floor or 0) + self.branch.ladder.length


@dataclass(frozen=True)
class Size:
    """What is public about the number of records: itself, or a released estimate and its standard deviation."""

    count: float
    stddev: float | None
    core_sample: int  # the quadratic core looks at about this many records

    @property
    def relation(self) -> Neighbours:
        return Neighbours.REPLACE_ONE if self.stddev is None else Neighbours.ADD_REMOVE

    @property
    def rate(self) -> float:
        """Share of the records that the core looks at."""
        return min(1.0, self.core_sample / max(self.count, 1.0))

    def combined(self, count: float, stddev: float) -> "Size":
        """With a second, independent noisy count: the average weighted by inverse variances."""
        assert self.stddev is not None  # a public number needs no second one
        first, second = self.stddev**-2, stddev**-2
        average = (first * self.count + second * count) / (first + second)
        return replace(self, count=max(average, 1.0), stddev=(first + second) ** -0.5)

    def after_pass(self, choice: StableChoice) -> "Size":
        """A test that passes says that there are n_0 + K records, or hardly fewer, however small n̂ is (P14)."""
        return self if choice.floor is None else replace(self, count=max(self.count, float(choice.needs)))

    @property
    def public(self) -> dict[str, float]:
        """For the release: the count, and what it exceeds with high probability."""
        return {"count": self.count, "count_at_least": max(1.0, self.count - 2 * (self.stddev or 0.0))}

    @property
    def looked_at_least(self) -> float:
        """What the number of records that the core looks at exceeds with high probability. Public."""
        expected = self.rate * self.public["count_at_least"]
        coins = 2 * math.sqrt(expected) if self.rate < 1 and self.stddev is not None else 0.0
        return max(1.0, expected - coins)

    def capacity(self, rate: float) -> int:
        """What a share `rate` of all rarely exceeds: the size of buffers, before any record is read. Public."""
        if self.stddev is None:
            return math.ceil(rate * self.count)
        expected = rate * max(self.count + c.CAPACITY_DEVIATIONS * self.stddev, 1.0)
        return math.ceil(expected + (c.CAPACITY_DEVIATIONS * math.sqrt(expected) if rate < 1 else 0.0)) + 1

    def surely(self, failure: float) -> float:
        """What the number of records in the core's sample exceeds but for a share of `failure`. Public."""
        z = -float(ndtri(failure / 4))
        coins = z * math.sqrt(self.core_sample) if self.rate < 1 else 0.0
        return self.rate * (self.count - z * (self.stddev or 0.0)) - coins

    @property
    def possibly(self) -> float:
        """A number of records in the core's sample that cannot be excluded. Public."""
        return self.rate * (self.count + c.POSSIBLE * (self.stddev or 0.0))

    def bound(self, steps: int, failure: float) -> tuple[int | None, int]:
        """(n_0, n_low) of the core's sample: add/remove neighbours that both have T* >= 2 have n >= n_low (P5')."""
        if self.stddev is None:
            return None, min(int(self.count), self.core_sample)
        floor = math.floor(self.surely(failure) - steps)
        return floor, floor + N_LOW


def strength(count: float, relation: Neighbours, precision: float, columns: int) -> float:
    """n̂·√(P/d), P = precision of the branch, d = coordinates, with the noise of the relation; infinite for d = 0."""
    return math.inf if not columns else max(count, 0.0) * math.sqrt(precision / (columns * CHANGED_RECORDS[relation]))


def early_rate(size: Size, precision: float, columns: int, present: float = 1.0) -> float:
    """The share of the records that is enough for centres, scales and coordinates; 1: all of them are looked at.

    `present`: the released share of the records that have an entry in every column: so many more are looked at.
    """
    strong = c.EARLY_STRENGTH / strength(1.0, size.relation, precision, columns)
    enough = math.ceil(max(strong / present, c.EARLY_LEAST / present, size.core_sample))
    few = size.count < c.EARLY_WORTH * enough or 8 * enough * columns > c.EARLY_BYTES
    return 1.0 if few else enough / size.count


def are_few(count: float, mu: float, relation: Neighbours) -> bool:
    """Whether so many records are too few to learn variances or coordinates from, beside their mean. Public."""
    return count * mu < (c.FEW if relation is Neighbours.ADD_REMOVE else 2 * c.FEW)


def core_alone(count: float, mu: float, relation: Neighbours, dimension: int) -> bool:
    """Whether stages after the core would not improve on its mean. Public."""
    moves = 1 if relation is Neighbours.ADD_REMOVE else 2
    return count * mu < c.CORE_ALONE * moves * math.sqrt(dimension)


def default_core_sample(calibration: Calibration) -> int:
    """Enough records for the shortest ladder, and for a good centre. Public."""
    shortest = min((branch.ladder.length for branch in calibration.tested), default=0)
    return max(c.CORE_SAMPLE_LEAST, c.CORE_SAMPLE_PER_STEP * shortest)


def core_sample_suffices(core_sample: int, calibration: Calibration, failure: float, outliers: float) -> bool:
    """Whether a sample of this size is enough for the core, however many records there are. Public."""
    if not calibration.tested:
        return True
    steps = min(branch.ladder.length for branch in calibration.tested)
    size = Size(1e15, calibration.count_stddev, core_sample)
    _, count = size.bound(steps, failure)
    allowed = steps + math.ceil(outliers * core_sample)
    return admissible(count, Fraction(3, 4), allowed, size.relation) and steps + allowed < count / 4


def stable_choices(branches: Sequence[Tested], size: Size, failure: float, model: HonestModel) -> list[StableChoice]:
    """The stable core with the least noise for each branch; none where no parameters are admissible."""
    choices = [choice for branch in branches if (choice := _best_stable(branch, size, failure, model)) is not None]
    return with_enough_records(choices, size, failure)


def with_enough_records(choices: list[StableChoice], size: Size, failure: float) -> list[StableChoice]:
    """Those that surely have enough records; else the one that needs the fewest, if so many are possible (P14)."""
    if size.stddev is None:
        return choices
    sure = [choice for choice in choices if choice.needs <= size.surely(failure)]
    fewest = sorted(choices, key=lambda choice: choice.needs)[:1]
    return sure or [choice for choice in fewest if choice.needs <= size.possibly]


def is_of_use(choice: StableChoice | None) -> bool:
    """Whether a core exists, and moves little enough to be a centre for what follows."""
    return choice is not None and choice.sensitivity <= c.MOST_SENSITIVE_CORE


def smallest_of_use(steps: int, at: Callable[[int], StableChoice | None]) -> StableChoice | None:
    """The core of use with the smallest n_0 above the steps of the ladder, N_K; None: there is none (P14)."""
    low, high = steps, c.LARGEST_FLOOR * steps
    if not is_of_use(at(high)):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_of_use(at(middle)) else (middle, high)
    return at(high)


@dataclass(frozen=True)
class _Counts:
    """All that a choice depends on of the number of records: integers, so that nearby numbers share a cached choice."""

    relation: Neighbours
    floor: int | None  # n_0
    count: int  # n_low
    budget: int  # B, without the honest records that lack friends by chance


def _best_stable(branch: Tested, size: Size, failure: float, model: HonestModel) -> StableChoice | None:
    steps, believed = branch.ladder.length, (failure, model.outliers, model.factor, ref(model.radii))
    expected = math.ceil(model.outliers * max(size.count, 0) * size.rate)
    choice = _searched(branch, _Counts(size.relation, *size.bound(steps, failure), steps + expected), *believed)

    def above(floor: int) -> StableChoice | None:
        """With n_0 given, for a test that n_0 + K records may pass."""
        count = floor + N_LOW
        budget = steps + math.ceil(model.outliers * (count + steps))
        return _searched(branch, _Counts(Neighbours.ADD_REMOVE, floor, count, budget), *believed)

    return choice if size.stddev is None or is_of_use(choice) else smallest_of_use(steps, above)


@lru_cache(maxsize=2048)  # public numbers; a weak reference, so that the cache keeps no simulation alive
def _searched(
    branch: Tested, counts: _Counts, failure: float, outliers: float, factor: float, held: "ref[FriendRadii]"
) -> StableChoice | None:
    """The choice of the least noise among all shares b and numbers of honest records that lack friends by chance."""
    radii, found = held(), list[StableChoice]()
    relation, count, least = counts.relation, counts.count, counts.budget
    assert radii is not None  # the caller holds it
    for share in c.FULL_SHARES if count >= 1 else ():
        needed = friends_needed(float(share), branch.ladder.length, count, relation) / (1 - outliers)
        for extra in c.EXTRA_LOSERS if needed < (c.HEAVY_SHARE if factor > 1 else 1) else ():
            if extra <= count // 8 and admissible(count, share, least + extra, relation):
                radius = factor * radii.radius(needed, tolerated_losers(extra, failure / 4), count)
                moves = core_sensitivity(count, share, least + extra, relation)
                noise = radius * moves / branch.mu
                found.append(StableChoice(branch, share, least + extra, counts.floor, radius, moves, noise))
    return min(found, key=lambda choice: choice.noise, default=None)


def friends_needed(share: float, steps: int, count: int, relation: Neighbours) -> float:
    """The share of friends of a stable record: (b·n + K)/n; add/remove: b·(n + K)/n at n = n_low + K records (P13)."""
    if relation is Neighbours.REPLACE_ONE:
        return share + steps / count
    return share * (count + 2 * steps) / (count + steps)
