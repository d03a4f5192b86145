"""The price of a release: moments of its privacy loss, and a reserve for an infinite loss (L1).

The price depends on the budget, on public options and on the remaining budget, never on the outcome of the run. It
covers every path, a refusal included. Notation: x = a level of loss, a = e^x. Proof: proofs/ledger/spending.md.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import logsumexp

from dimfree._types import Floats
from dimfree.accounting.budget import Budget
from dimfree.accounting.discrete import reserve
from dimfree.accounting.events import Costs, OnlyGaussian
from dimfree.accounting.precision import compose, hockey_stick

GAUSSIAN, NO_GAUSSIAN = 1.0, 2.0**60  # stands for an order: there a price is mu², or this if no Gaussian dominates
_BELOW, _ABOVE = 60, 42  # levels below epsilon and above; any number is valid, more are tighter: these to 0.5 %
_FARTHEST = 3.0  # times epsilon: larger losses count as infinite
# Times the limit: where the curve may be cut. What is beyond counts as an infinite loss.
_TRUNCATIONS = (1.0005, 1.01, 1.05, 1.2, 1.5, 2.0, 4.0, 10.0)
_ROUNDING = 1e-12
_UP = 1 + _ROUNDING


@dataclass(frozen=True)
class Room:
    """The remaining budget of a filter, or its limits: for the moment of each order, and for infinite losses."""

    orders: tuple[float, ...]
    moments: tuple[float, ...]
    reserve: float


@dataclass(frozen=True)
class Price:
    """At each order of a filter: ln E[e^{(order - 1) L}], except with probability `reserve` (infinite loss)."""

    moments: tuple[float, ...]
    reserve: float

    def times(self, room: Room) -> float:
        """Return how often this price fits, by the order that allows it most often and the reserve."""
        by_order = (left / paid for left, paid in zip(room.moments, self.moments, strict=True) if left > 0 and paid > 0)
        most = max(by_order, default=0.0)
        return most if self.reserve == 0 else min(most, room.reserve / self.reserve)


@dataclass(frozen=True)
class Charge:
    """The charge of a release: its guarantee and, if known, its runs."""

    budget: Budget
    runs: tuple[Costs, ...] = ()

    def prepare(self) -> "Charge":
        """Do the slow computations before the file is locked."""
        for run in self.runs:
            losses_of(run)
        return self

    def price(self, room: Room) -> Price:
        """Return the price at the orders of a filter: of several valid prices the one that fits most often.

        Moments and reserves of several runs add up.
        """

        def best(prices: Iterable[Price]) -> Price:
            return max(prices, key=lambda price: price.times(room))

        guaranteed = price_guarantee(self.budget, room.orders)
        if not self.runs:
            return guaranteed
        each = [best(Price(found.moments(room.orders), found.infinite) for found in losses_of(r)) for r in self.runs]
        moments = zip(*(price.moments for price in each), strict=True)
        together = Price(tuple(sum(parts) * _UP for parts in moments), sum(price.reserve for price in each) * _UP)
        return best((guaranteed, together))


def price_guarantee(budget: Budget, orders: tuple[float, ...]) -> Price:
    """Return the price of any (epsilon, delta)-private release: randomized response with odds e^epsilon, rounded up.

    The whole epsilon counts: of a release of other software only the guarantee is known.
    """
    epsilon, less = budget.epsilon, np.array(orders) - 1
    with np.errstate(over="ignore", under="ignore"):  # an infinite price; odds that are certain
        bent = np.log1p(np.exp(-(2 * less + 1) * epsilon)) - math.log1p(math.exp(-epsilon))
        return Price(_round_up(less * epsilon + bent, orders), budget.delta)


def _round_up(moments: Floats, orders: tuple[float, ...]) -> tuple[float, ...]:
    """Round up moments of losses that no Gaussian is known to dominate."""
    found = np.where(np.array(orders) == GAUSSIAN, NO_GAUSSIAN, np.maximum(0.0, moments) * _UP + _ROUNDING)
    return tuple(found.tolist())


@dataclass(frozen=True, eq=False)
class Losses:
    """A distribution of privacy losses that dominates a run: atoms with their masses, and the mass of infinity."""

    levels: Floats
    masses: Floats
    infinite: float

    def moments(self, orders: tuple[float, ...]) -> tuple[float, ...]:
        """Return ln E[e^{(order - 1) L}] given a finite loss, rounded up; infinite if the loss is always infinite."""
        if self.infinite >= 1:
            return (math.inf,) * len(orders)
        totals = logsumexp(np.outer(np.array(orders) - 1, self.levels), b=self.masses, axis=1)
        return _round_up(totals - math.log1p(-self.infinite), orders)

    def behind(self, mu: float, x: Floats) -> Floats:
        """Return the curve, at levels x, of Gaussian releases of precision mu² and a release with these losses."""
        return self.infinite + hockey_stick(mu, x[:, None] - self.levels) @ self.masses * _UP


@dataclass(frozen=True)
class GaussianLosses:
    """The privacy losses of N(mu, 1) against N(0, 1)."""

    mu: float
    infinite: float

    def moments(self, orders: tuple[float, ...]) -> tuple[float, ...]:
        """Return order·(order - 1)·mu²/2, rounded up; mu² at the order `GAUSSIAN`."""
        factors = (1.0 if order == GAUSSIAN else order * (order - 1) / 2 for order in orders)
        return tuple(factor * self.mu**2 * _UP for factor in factors)


@lru_cache(maxsize=64)  # a function of public numbers
def losses_of(run: Costs) -> tuple[Losses | GaussianLosses, ...]:
    """Return distributions that all dominate the run; more mass on an infinite loss leaves smaller finite losses."""
    x = _levels(run.budget.usable_epsilon)
    values = run_profile(run, x)
    ends = {int(np.argmax(values <= factor * values[-1])) for factor in _TRUNCATIONS}  # beyond, it counts as constant
    return (*_gaussian_losses(run), *(_chords(x[: end + 1], values[: end + 1]) for end in sorted(ends, reverse=True)))


def _gaussian_losses(run: Costs) -> list[GaussianLosses]:
    """Return the losses of a run of Gaussian releases only, discrete noise included: a larger mu and a reserve."""
    if not run.branches or not all(isinstance(branch, OnlyGaussian) for branch in run.branches):
        return []
    mu = compose((*(event.mu for event in run.before), max(branch.mu for branch in run.branches)))
    slack = reserve(run.budget.usable_epsilon, run.budget.delta)
    larger = (mu + 1.26 * slack.epsilon) * math.exp(2 * slack.ratio) * _UP
    return [GaussianLosses(larger, 4 * slack.tail)] if larger <= 2 and slack.epsilon <= mu**2 / 2 else []


def run_profile(run: Costs, x: Floats) -> Floats:
    """Return D at levels x >= 0 (P9), discrete noise included (M8): Gaussians before the branch, then all branches.

    An upper bound on the divergence in both directions. Each branch is evaluated once, at few levels; its chords take
    the place of its curve.
    """
    if run.filtered:
        raise ValueError("A run behind the filter of P1 is charged by its guarantee.")
    levels, slack = _levels(run.budget.usable_epsilon), reserve(run.budget.usable_epsilon, run.budget.delta)
    worst = np.zeros(len(levels))
    for branch in run.branches:
        values = branch.without_searches(levels)
        worst = np.maximum(worst, _chords(levels, values).behind(branch.search_mu, levels))
    mu = compose(event.mu for event in run.before)
    ideal = _chords(levels, worst).behind(mu, x - slack.epsilon)
    return math.exp(slack.ratio) * ideal * _UP + slack.tail


def _levels(epsilon: float) -> Floats:
    """Return levels from 0 to above epsilon, densest just above it."""
    above = 1 + (_FARTHEST - 1) * np.linspace(0.0, 1.0, _ABOVE) ** 2
    return epsilon * np.concatenate([np.linspace(0.0, 1.0, _BELOW, endpoint=False), above])


def _chords(x: Floats, values: Floats) -> Losses:
    """Return chords of these values, mirrored to negative levels, as atoms: a change of slope at a is mass on ln a."""
    values = np.minimum.accumulate(np.minimum(values, 1.0))  # a divergence falls with the level
    levels = np.concatenate([-x[:0:-1], x])
    mirrored = -np.expm1(-x[:0:-1]) + np.exp(-x[:0:-1]) * values[:0:-1]  # D(1/a) = 1 - 1/a + D(a)/a
    a, heights = np.exp(levels), np.concatenate([mirrored, values])
    gaps = np.diff(a, prepend=0.0)
    slopes = np.append(np.diff(heights, prepend=1.0) / gaps, 0.0)
    masses = np.maximum(np.diff(slopes), 0.0) * a + _ROUNDING * heights * a / gaps  # rounding may have made it concave
    return Losses(levels, masses, float(heights[-1]) * _UP)
