"""Whether a debit fits into the total, whatever earlier outputs led to it: a privacy filter (L2).

A ledger begins by adding up promises. As soon as a box allows more such releases than adding does, the rest of the
budget becomes a box: a bound on the sum of moments of one order, and a bound on the sum of reserves. Every later debit
takes its price from both. All sums are exact. Proof: proofs/ledger/filter.md.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from dimfree.accounting.budget import Budget
from dimfree.ledger.spending import Charge, Price

SHARE = 0.2  # of delta, reserved for infinite losses
ORDERS = tuple(1 + 1.2**step for step in range(25))  # from 2 to about 80
_ROUNDING = 1e-12
_LEAST = 1e-9  # if less epsilon than this is left, no box is opened

Exact = Fraction
_ZERO = Fraction(0)


@dataclass(frozen=True)
class Box:
    """A fixed total: moments of this order sum to at most `moment`, reserves to at most `reserve`."""

    order: float
    moment: float
    reserve: float

    @classmethod
    def holding(cls, epsilon: float, delta: float, order: float, rounding: float = 2 * _ROUNDING) -> "Box":
        """The largest box whose releases together are (epsilon, delta)-private, rounded down (L2).

        Rounded down twice as far as necessary: a machine whose logarithm differs in the last bit must not find it too
        large.
        """
        reserve = SHARE * delta
        rest = (delta - reserve) / (1 - reserve)
        spread = order * math.log1p(-1 / order) - math.log(order - 1)
        moment = (order - 1) * epsilon + math.log(rest) - spread
        return cls(order, moment - rounding * (1 + abs(moment) + (order - 1) * epsilon), reserve)


@dataclass(frozen=True)
class Debit:
    """One admitted charge: added to the promises, or taken from the box, which it may have opened."""

    budget: Budget
    price: Price | None = None  # None: added
    opens: Box | None = None


@dataclass(frozen=True)
class Account:
    """The total of a ledger and what was spent of it. All numbers are public."""

    total: Budget
    added_epsilon: Exact = _ZERO
    added_delta: Exact = _ZERO
    box: Box | None = None
    moment: Exact = _ZERO
    reserve: Exact = _ZERO
    debits: int = 0

    def decide(self, charge: Charge) -> Debit | None:
        """How a charge is debited; None where it exceeds what is left."""
        if self.box is not None:
            debit = Debit(charge.budget, charge.price(*_limits(self.box)))
            return debit if self.admits(debit) else None
        added, boxed = Debit(charge.budget), self._open(charge)
        if boxed is not None and _whole_times(boxed) > self._times_added(charge.budget):
            return boxed
        return added if self.admits(added) else None

    def admits(self, debit: Debit) -> bool:
        """Whether the total holds after this debit, in exact arithmetic."""
        return self.admitted(debit) is not None

    def admitted(self, debit: Debit) -> "Account | None":
        """The account after the debit; None where it would exceed the total."""
        if debit.opens is not None and (self.box is not None or not self._holds(debit.opens)):
            return None
        if debit.price is not None and not math.isfinite(debit.price.moment):
            return None
        after = self.after(debit)
        if debit.price is None:
            kept = self.box is None and after.left_epsilon >= 0 and after.left_delta >= 0
        else:
            box = after.box
            kept = box is not None and after.moment <= Exact(box.moment) and after.reserve <= Exact(box.reserve)
        return after if kept else None

    def after(self, debit: Debit) -> "Account":
        """The account after the debit, unchecked."""
        if debit.price is None:
            epsilon = self.added_epsilon + Exact(debit.budget.epsilon)
            delta = self.added_delta + Exact(debit.budget.delta)
            return replace(self, added_epsilon=epsilon, added_delta=delta, debits=self.debits + 1)
        moment, reserve = self.moment + Exact(debit.price.moment), self.reserve + Exact(debit.price.reserve)
        box = debit.opens or self.box
        return replace(self, box=box, moment=moment, reserve=reserve, debits=self.debits + 1)

    @property
    def left_epsilon(self) -> Exact:
        return Exact(self.total.epsilon) - self.added_epsilon

    @property
    def left_delta(self) -> Exact:
        return Exact(self.total.delta) - self.added_delta

    @property
    def spent(self) -> float:
        """The share of the total that is spent: the larger of two shares."""
        if self.box is None:
            shares = (self.added_epsilon / Exact(self.total.epsilon), self.added_delta / Exact(self.total.delta))
        else:
            shares = (self.moment / Exact(self.box.moment), self.reserve / Exact(self.box.reserve))
        return float(max(shares))

    def _rest(self) -> tuple[float, float]:
        """What adding has left, as floats, rounded down."""
        return float(self.left_epsilon) * (1 - _ROUNDING), float(self.left_delta) * (1 - _ROUNDING)

    def _holds(self, box: Box) -> bool:
        """Whether a box is at most what is left."""
        epsilon, delta = self._rest()
        if epsilon < _LEAST or delta <= 0 or not 1 < box.order < math.inf:
            return False
        most = Box.holding(epsilon, delta, box.order, _ROUNDING)
        return 0 < box.moment <= most.moment and 0 < box.reserve <= most.reserve

    def _open(self, charge: Charge) -> Debit | None:
        """The box, over all orders, that allows this charge most often."""
        epsilon, delta = self._rest()
        if epsilon < _LEAST or delta <= 0:
            return None
        boxes = [Box.holding(epsilon, delta, order) for order in ORDERS]
        debits = [Debit(charge.budget, charge.price(*_limits(box)), box) for box in boxes if box.moment > 0]
        best = min(debits, key=_share, default=None)
        return best if best is not None and self.admits(best) else None

    def _times_added(self, budget: Budget) -> int:
        """How many such releases adding up allows."""
        times = min(self.left_epsilon / Exact(budget.epsilon), self.left_delta / Exact(budget.delta))
        return math.floor(times)


def _limits(box: Box) -> tuple[float, float, float]:
    return box.order, box.moment, box.reserve


def _share(debit: Debit) -> float:
    """Of the box that the debit opens."""
    if debit.price is None or debit.opens is None:
        return math.inf
    return debit.price.share(debit.opens.moment, debit.opens.reserve)


def _whole_times(debit: Debit) -> int:
    return math.floor(1 / _share(debit))
