"""What one release costs a ledger: a moment of its privacy loss, and a reserve for an infinite loss (L1).

The price depends on the budget and on public options only: nothing that happens in the run changes it. It holds on
every path, a refusal included. Proof: proofs/ledger/spending.md.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dimfree.accounting.budget import Budget
from dimfree.accounting.events import Costs
from dimfree.ledger.curves import losses_of

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Price:
    """At the order of a box: ln E[e^{(order - 1) L}] <= `moment`, except with probability `reserve` (infinite loss)."""

    moment: float
    reserve: float

    def share(self, moment: float, reserve: float) -> float:
        """How much of a total this is: the larger share of the two."""
        if moment <= 0 or reserve <= 0:
            return math.inf
        return max(self.moment / moment, self.reserve / reserve)


@dataclass(frozen=True)
class Charge:
    """What a release is charged for: its promise, and, where they are known, the runs it consists of.

    `again` makes the charge of the same release with another budget: an error then says what would fit.
    """

    budget: Budget
    runs: tuple[Costs, ...] = ()
    again: "Callable[[Budget], Charge] | None" = field(default=None, compare=False, repr=False)

    def prepare(self) -> "Charge":
        """Compute everything that takes time before the file is locked."""
        for run in self.runs:
            losses_of(run)
        return self

    def price(self, order: float, moment: float, reserve: float) -> Price:
        """The price at this order; of several valid prices the one with the smallest share of (moment, reserve)."""
        prices = [promised_price(self.budget, order)]
        if self.runs:
            prices.append(_added(_run_price(run, order, moment, reserve) for run in self.runs))
        return min(prices, key=lambda price: price.share(moment, reserve))


def promised_price(budget: Budget, order: float) -> Price:
    """The price of any (epsilon, delta)-private release: that of randomised response with odds e^epsilon, rounded up.

    The whole epsilon counts: nothing is known of a release made with other software beyond its promise.
    """
    epsilon = budget.epsilon
    bent = math.log1p(math.exp(-(2 * order - 1) * epsilon)) - math.log1p(math.exp(-epsilon))
    return Price(((order - 1) * epsilon + bent) * (1 + _ROUNDING) + _ROUNDING, budget.delta)


def _run_price(run: Costs, order: float, moment: float, reserve: float) -> Price:
    prices = [Price(losses.moment(order), losses.told) for losses in losses_of(run)]
    return min(prices, key=lambda price: price.share(moment, reserve))


def _added(prices: Iterable[Price]) -> Price:
    """The price of several runs: both parts add up."""
    listed = list(prices)
    up = 1 + _ROUNDING
    return Price(sum(price.moment for price in listed) * up, sum(price.reserve for price in listed) * up)
