"""The public optimiser: which branch, which thresholds, which radius. It sees public numbers only and adds no cost.

Letters: n = the number of records (replace-one) or its released estimate (add/remove); K = steps of a ladder;
o = records that may lack friends; B = K + o; b = friend share of a full weight.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dimfree.accounting.calibrate import CountFirst, bound_distance, remaining_mu
from dimfree.accounting.events import Bounded, Tested
from dimfree.budget import Neighbours
from dimfree.core import soft, stable
from dimfree.radius import FriendRadii, friend_radii, tolerated_losers

HEAVY_FACTOR = 1.5  # tails="heavy": the radius over its Gaussian optimum
_FULL_SHARES = tuple(Fraction(k, stable.THOUSANDTHS) for k in range(560, 996, 10))
_EXTRA_LOSERS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_BOUND_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)  # of a branch's precision, for the noisy lower bound
_DEFAULT_BOUND_SHARE = 0.3


@dataclass(frozen=True)
class HonestModel:
    """What the user believes of honest records: their spectrum after rescaling, outliers and tails. Public."""

    radii: FriendRadii
    outliers: float
    factor: float

    @classmethod
    def of(cls, spectrum: NDArray[np.float64], outliers: float, tails: str) -> "HonestModel":
        return cls(friend_radii(spectrum), outliers, HEAVY_FACTOR if tails == "heavy" else 1.0)


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


def choose_core(
    plan: CountFirst, count: float, failure: float, model: HonestModel
) -> StableChoice | BoundedChoice | None:
    """The core with the least predicted noise for a released count, or None (a public refusal)."""
    hard = choose_stable(plan.tested, count, plan.count_stddev, failure, model)
    gentle = choose_soft(plan.bounded, count, model) if plan.bounded else None
    return min((c for c in (hard, gentle) if c is not None), key=lambda choice: choice.noise, default=None)


def choose_stable(
    menu: tuple[Tested, ...], count: float, count_stddev: float | None, failure: float, model: HonestModel
) -> StableChoice | None:
    """The stable core with the least predicted noise, or None if no branch is admissible (a public refusal)."""
    choices = [
        choice
        for branch in menu
        for share in _FULL_SHARES
        for extra in _EXTRA_LOSERS
        if (choice := _stable_choice(branch, share, extra, count, count_stddev, failure, model)) is not None
    ]
    return min(choices, key=lambda choice: choice.noise, default=None)


def _stable_choice(
    branch: Tested,
    share: Fraction,
    extra: int,
    count: float,
    count_stddev: float | None,
    failure: float,
    model: HonestModel,
) -> StableChoice | None:
    steps = branch.ladder.length
    floor, size = _size_bound(count, count_stddev, steps, failure)
    budget = steps + math.ceil(model.outliers * max(count, 0)) + extra
    relation = Neighbours.REPLACE_ONE if floor is None else Neighbours.ADD_REMOVE
    if size < 1 or extra > size // 8 or not stable.admissible(size, share, budget, relation):
        return None
    needed = (float(share) + steps / size) / (1 - model.outliers)  # friends among the honest records
    if needed >= 1:
        return None
    radius = model.factor * model.radii.radius(needed, tolerated_losers(extra, failure / 4), size)
    moves = stable.sensitivity(size, share, budget, relation)
    return StableChoice(branch, share, budget, floor, radius, moves, radius * moves / branch.mu)


def _size_bound(count: float, count_stddev: float | None, steps: int, failure: float) -> tuple[int | None, int]:
    """(n_0, n_low): under add/remove n >= n_low wherever both neighbours have T* >= 2 (P5'); else the public n."""
    if count_stddev is None:
        return None, int(count)
    floor = math.floor(count - steps + float(ndtri(failure / 4)) * count_stddev)
    return floor, floor + 3


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
