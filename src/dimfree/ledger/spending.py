"""What one release costs a ledger: moments of its privacy loss, and a reserve for an infinite loss (L1).

The price depends on the budget, on public options and on what is left: nothing that happens in the run changes it. It
holds on every path, a refusal included. Proof: proofs/ledger/spending.md.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dimfree.accounting.budget import Budget
from dimfree.accounting.events import Costs
from dimfree.ledger.curves import losses_of

_ROUNDING = 1e-12


class Room(NamedTuple):
    """What a filter has left: for the moment of each order, and for infinite losses."""

    orders: tuple[float, ...]
    moments: tuple[float, ...]
    reserve: float


@dataclass(frozen=True)
class Price:
    """At each order of a filter: ln E[e^{(order - 1) L}], except with probability `reserve` (infinite loss)."""

    moments: tuple[float, ...]
    reserve: float

    def times(self, room: Room) -> float:
        """How often this fits: by the order that allows it most often, as long as the reserve lasts."""
        by_order = (left / paid for left, paid in zip(room.moments, self.moments, strict=True) if left > 0 and paid > 0)
        most = max(by_order, default=0.0)
        return most if self.reserve == 0 else min(most, room.reserve / self.reserve)


@dataclass(frozen=True)
class Charge:
    """What a release is charged for: its guarantee and, if known, the runs it consists of."""

    budget: Budget
    runs: tuple[Costs, ...] = ()

    def prepare(self) -> "Charge":
        """Compute everything that takes time before the file is locked."""
        for run in self.runs:
            losses_of(run)
        return self

    def price(self, room: Room) -> Price:
        """The price at the orders of a filter: of several valid prices the one that fits most often."""
        prices = [guaranteed_price(self.budget, room.orders)]
        if self.runs:
            prices.append(_sum_of_prices(_run_price(run, room) for run in self.runs))
        return max(prices, key=lambda price: price.times(room))


def guaranteed_price(budget: Budget, orders: tuple[float, ...]) -> Price:
    """The price of any (epsilon, delta)-private release: that of randomized response with odds e^epsilon, rounded up.

    The whole epsilon counts: of a release made with other software nothing is known beyond its guarantee.
    """
    epsilon, less = budget.epsilon, np.array(orders) - 1
    with np.errstate(over="ignore", under="ignore"):  # an infinite price; odds that are certain
        bent = np.log1p(np.exp(-(2 * less + 1) * epsilon)) - math.log1p(math.exp(-epsilon))
        return Price(tuple(((less * epsilon + bent) * (1 + _ROUNDING) + _ROUNDING).tolist()), budget.delta)


def _run_price(run: Costs, room: Room) -> Price:
    prices = [Price(losses.moments(room.orders), losses.told) for losses in losses_of(run)]
    return max(prices, key=lambda price: price.times(room))


def _sum_of_prices(prices: Iterable[Price]) -> Price:
    """The price of several runs: moments and reserves add up."""
    listed, up = list(prices), 1 + _ROUNDING
    moments = zip(*(price.moments for price in listed), strict=True)
    return Price(tuple(sum(each) * up for each in moments), sum(price.reserve for price in listed) * up)
