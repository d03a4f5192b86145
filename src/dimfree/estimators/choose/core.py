"""The public optimiser: which branch, which thresholds, which radius. It sees public numbers only and adds no cost.

Letters: n = the number of records (replace-one) or its released estimate (add/remove); K = steps of a ladder;
o = records that may lack friends; B = K + o; b = friend share of a full weight.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from weakref import ref

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.calibrate import Calibration, bound_distance, remaining_mu
from dimfree.accounting.events import Bounded, Tested
from dimfree.core import soft, stable
from dimfree.estimators.choose.friend_radius import FriendRadii, friend_radii, tolerated_losers

HEAVY_FACTOR = 1.5  # tails="heavy": the radius over its Gaussian optimum
HEAVY_SHARE = 0.87  # and the share of friends it may ask of an honest record: a long tail sees fewer
_FULL_SHARES = tuple(Fraction(k, stable.THOUSANDTHS) for k in range(560, 996, 15))
_EXTRA_LOSERS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_BOUND_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)  # of a branch's precision, for the noisy lower bound
_DEFAULT_BOUND_SHARE = 0.3
_FAR_OFF = 7.0  # deviations


@dataclass(frozen=True)
class HonestModel:
    """What the user believes of honest records: their spectrum after rescaling, outliers and tails. Public."""

    radii: FriendRadii
    outliers: float
    factor: float

    @classmethod
    def of(cls, spectrum: NDArray[np.float64], outliers: float, tails: str) -> "HonestModel":
        return cls(friend_radii(spectrum), outliers, HEAVY_FACTOR if tails == "heavy" else 1.0)

    @classmethod
    def unknown(cls, outliers: float) -> "HonestModel":
        """No spectrum is believed; radii are searched."""
        return cls(FriendRadii.none(), outliers, HEAVY_FACTOR)


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


@dataclass(frozen=True)
class BoundedChoice:
    """Parameters of one run of the soft or the basic core."""

    branch: Bounded
    radius: float
    bound_mu: float  # precision spent on the lower bound
    noise: float = math.inf  # predicted, where the number of records is known

    @property
    def distance(self) -> float:
        return bound_distance(self.branch)

    @property
    def mean_mu(self) -> float:
        return remaining_mu(self.branch, self.bound_mu)


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
        """More records than a share `rate` of all will be, but for a chance of one in a million. Public.

        It sizes buffers before any record is looked at, so that their size tells nothing but n̂.
        """
        if self.stddev is None:
            return math.ceil(rate * self.count)
        expected = rate * max(self.count + _FAR_OFF * self.stddev, 1.0)
        return math.ceil(expected + (_FAR_OFF * math.sqrt(expected) if rate < 1 else 0.0)) + 1

    def bound(self, steps: int, failure: float) -> tuple[int | None, int]:
        """(n_0, n_low) of the core's sample: add/remove neighbours that both have T* >= 2 have n >= n_low (P5')."""
        if self.stddev is None:
            return None, min(int(self.count), self.core_sample)
        z = -float(ndtri(failure / 4))
        coins = z * math.sqrt(self.core_sample) if self.rate < 1 else 0.0
        floor = math.floor(self.rate * (self.count - z * self.stddev) - coins - steps)
        return floor, floor + 3


def default_core_sample(menu: Calibration) -> int:
    """Enough records for the shortest ladder of the menu, and for a good centre. Public."""
    return max(4096, 12 * min((branch.ladder.length for branch in menu.tested), default=0))


def core_sample_suffices(core_sample: int, menu: Calibration, failure: float, outliers: float) -> bool:
    """Whether the core would have enough records at this sample size if the table had no end. Public."""
    if not menu.tested:
        return True
    steps = min(branch.ladder.length for branch in menu.tested)
    size = Size(1e15, menu.count_stddev, core_sample)
    _, count = size.bound(steps, failure)
    allowed = steps + math.ceil(outliers * core_sample)
    return stable.admissible(count, Fraction(3, 4), allowed, size.relation) and steps + allowed < count / 4


def stable_choices(menu: tuple[Tested, ...], size: Size, failure: float, model: HonestModel) -> list[StableChoice]:
    """The stable core with the least noise for each branch of the menu; none where no parameters are admissible."""
    return [choice for branch in menu if (choice := _best_stable(branch, size, failure, model)) is not None]


@dataclass(frozen=True)
class _Room:
    """All that the choice of a branch takes from the number of records: whole numbers, the same for many of them."""

    relation: Neighbours
    floor: int | None  # n_0
    count: int  # n_low
    budget: int  # B, before records that lack friends for want of luck

    @classmethod
    def of(cls, size: Size, steps: int, failure: float, outliers: float) -> "_Room":
        expected = math.ceil(outliers * max(size.count, 0) * size.rate)
        return cls(size.relation, *size.bound(steps, failure), steps + expected)


def _best_stable(branch: Tested, size: Size, failure: float, model: HonestModel) -> StableChoice | None:
    room = _Room.of(size, branch.ladder.length, failure, model.outliers)
    return _searched(branch, room, failure, model.outliers, model.factor, ref(model.radii))


@lru_cache(maxsize=2048)  # public numbers; the reference is weak, so that no simulation is kept for this
def _searched(
    branch: Tested, room: _Room, failure: float, outliers: float, factor: float, radii: "ref[FriendRadii]"
) -> StableChoice | None:
    held = radii()
    if held is None:  # never: the caller holds it
        raise ReferenceError
    model = HonestModel(held, outliers, factor)
    choices = (
        _stable_choice(branch, share, extra, room, failure, model) for share in _FULL_SHARES for extra in _EXTRA_LOSERS
    )
    return min((c for c in choices if c is not None), key=lambda choice: choice.noise, default=None)


def _stable_choice(
    branch: Tested, share: Fraction, extra: int, room: _Room, failure: float, model: HonestModel
) -> StableChoice | None:
    count, budget = room.count, room.budget + extra
    if count < 1 or extra > count // 8 or not stable.admissible(count, share, budget, room.relation):
        return None
    needed = (float(share) + branch.ladder.length / count) / (1 - model.outliers)  # friends among the honest records
    if needed >= (HEAVY_SHARE if model.factor > 1 else 1):
        return None
    radius = model.factor * model.radii.radius(needed, tolerated_losers(extra, failure / 4), count)
    moves = stable.sensitivity(count, share, budget, room.relation)
    return StableChoice(branch, share, budget, room.floor, radius, moves, radius * moves / branch.mu)


def choose_soft(branch: Bounded, count: float, model: HonestModel) -> BoundedChoice | None:
    """The soft core for an estimated number of records, or None if its lower bound would likely be refused."""
    radius, weight = _typical_radius(model)
    choices = []
    for share in _BOUND_SHARES:
        bound_mu = math.sqrt(share) * branch.mu
        choice = BoundedChoice(branch, radius, bound_mu)
        lowest = weight * count - (choice.distance + 3) * soft.TOTAL_SENSITIVITY / bound_mu
        if lowest > soft.SMALLEST_TOTAL:
            noise = soft.MEAN_SENSITIVITY * radius / lowest / choice.mean_mu
            choices.append(BoundedChoice(branch, radius, bound_mu, noise))
    return min(choices, key=lambda choice: choice.noise, default=None)


def default_bounded(branch: Bounded, model: HonestModel) -> BoundedChoice:
    """The soft or basic core when nothing is known about the number of records."""
    return BoundedChoice(branch, _typical_radius(model)[0], math.sqrt(_DEFAULT_BOUND_SHARE) * branch.mu)


def _typical_radius(model: HonestModel) -> tuple[float, float]:
    radius, weight = model.radii.best_ratio(1 - model.outliers)
    return model.factor * radius, weight
