"""Whether a charge fits into the total, whatever earlier outputs led to it: a privacy filter (L2).

A filter composes charges by two rules, each with a share of delta of its own: by one the (epsilon, delta) of the
charges add up, by the other their moments of several orders do. A charge is admitted while one rule holds. If delta is
too scarce to be shared, charges add up until a filter admits as many of the next; the rest of the total then goes to
the filter. All sums are exact. Proof: proofs/ledger/filter.md.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from dimfree.accounting.budget import Budget
from dimfree.ledger.spending import Charge, Price, Room

# Of delta: for adding up, and for infinite losses; the rest for the moments. Few orders, and more costly for what they
# serve less often: the first is the best one of Gaussian releases alone, the others serve fewer and larger losses.
SHARES = ((0.5, 0.1), (0.4, 0.4), (0.1, 0.7))
_ORDERS, _RATIO, _WEIGHT = 10, 1.5, 0.5
_LEAST_ORDER = 2.0**-20  # less 1; below it 1 - 1/order is rounded, and the total is beyond any use
_ROUNDING = 1e-12
_LEAST = 1e-9  # if less epsilon than this is left, no filter is opened

Exact = Fraction
_ZERO = Fraction(0)


@dataclass(frozen=True)
class Filter:
    """Fixed limits: on the sum of moments of one of these orders and of reserves, or on the sum of deltas."""

    orders: tuple[float, ...]
    moments: tuple[float, ...]
    reserve: float
    delta: float = 0.0  # of charges that add up; the sum of their epsilons is limited by the total

    @classmethod
    def holding(cls, epsilon: float, delta: float, adding: float, reserve: float) -> "Filter":
        """The largest limits with these shares of delta that keep (epsilon, delta), rounded down (L2).

        Rounded down further than necessary: a machine whose logarithm differs in the last bit must not find them too
        large.
        """
        tail = delta * reserve
        log_rest = math.log(delta * (1 - adding - reserve) / (1 - tail))
        most = max(1.0, -log_rest)
        best = (most + math.sqrt(most * most + epsilon * most)) / epsilon  # for Gaussians (any order is sound)
        orders = tuple(1 + max(best, _LEAST_ORDER) * _RATIO**place for place in range(_ORDERS))
        shares = (log_rest + math.log((1 - _WEIGHT) * _WEIGHT**place) for place in range(_ORDERS))
        terms = [((a - 1) * epsilon, share, -_log_factor(a)) for a, share in zip(orders, shares, strict=True)]
        limits = tuple(sum(each) - 4 * _ROUNDING * (1 + sum(map(abs, each))) for each in terms)
        return cls(orders, limits, tail, delta * adding)

    def spends(self, epsilon: float) -> float:
        """The delta at this epsilon of everything that the limits admit."""
        pairs = zip(self.orders, self.moments, strict=True)
        rest = sum(math.exp(min(0.0, most - (a - 1) * epsilon + _log_factor(a))) for a, most in pairs)
        return self.delta + self.reserve + (1 - self.reserve) * rest


def _log_factor(order: float) -> float:
    """ln c with (1 - e^x)_+ <= c e^{-(order - 1) x} at every x."""
    return order * math.log1p(-1 / order) - math.log(order - 1)


@dataclass(frozen=True)
class Debit:
    """One admitted charge: added up, or taken from the filter, which it may have opened."""

    budget: Budget
    price: Price | None = None  # None: added up
    opens: Filter | None = None


@dataclass(frozen=True)
class Account:
    """The total of a ledger and what was charged to it. All numbers are public."""

    total: Budget
    added_epsilon: Exact = _ZERO  # before a filter was opened
    added_delta: Exact = _ZERO
    filter: Filter | None = None
    moments: tuple[Exact, ...] = (_ZERO,)  # since then
    reserve: Exact = _ZERO
    epsilon: Exact = _ZERO
    delta: Exact = _ZERO
    debits: int = 0

    def decide(self, charge: Charge) -> Debit | None:
        """How a charge is debited; None if it exceeds what is left."""
        if self.filter is not None:
            debit = Debit(charge.budget, charge.price(self._room(self.filter)))
            return debit if self.admits(debit) else None
        added = Debit(charge.budget)
        times = self._times_added(charge.budget, self.left_delta)
        openings = [found for limits in self._filters() if self.admits((found := self._opening(limits, charge))[1])]
        best = max(openings, key=lambda found: found[0], default=None)
        if best is not None and best[0] >= (times, times):
            return best[1]
        return added if self.admits(added) else None

    def admits(self, debit: Debit) -> bool:
        """Whether the total holds after this debit, in exact arithmetic."""
        return self.admitted(debit) is not None

    def admitted(self, debit: Debit) -> "Account | None":
        """The account after the debit; None if it would exceed the total."""
        if debit.opens is not None and (self.filter is not None or not self._holds(debit.opens)):
            return None
        limits = debit.opens or self.filter
        if debit.price is not None and limits is not None:
            paid = (*debit.price.moments, debit.price.reserve)
            if len(paid) != len(limits.orders) + 1 or not all(map(math.isfinite, paid)):
                return None
            after = self.after(debit)
            return after if after._composed(limits) <= after.left_epsilon else None
        if debit.price is not None or limits is not None:
            return None
        after = self.after(debit)
        return after if after.left_epsilon >= 0 and after.left_delta >= 0 else None

    def after(self, debit: Debit) -> "Account":
        """The account after the debit, unchecked."""
        epsilon, delta = Exact(debit.budget.epsilon), Exact(debit.budget.delta)
        if debit.price is None:
            epsilon, delta = self.added_epsilon + epsilon, self.added_delta + delta
            return replace(self, added_epsilon=epsilon, added_delta=delta, debits=self.debits + 1)
        before = self.moments if debit.opens is None else (_ZERO,) * len(debit.opens.orders)
        return replace(
            self,
            filter=debit.opens or self.filter,
            moments=tuple(sum_ + Exact(each) for sum_, each in zip(before, debit.price.moments, strict=True)),
            reserve=self.reserve + Exact(debit.price.reserve),
            epsilon=self.epsilon + epsilon,
            delta=self.delta + delta,
            debits=self.debits + 1,
        )

    @property
    def left_epsilon(self) -> Exact:
        """What a filter holds, or adding up has left."""
        return Exact(self.total.epsilon) - self.added_epsilon

    @property
    def left_delta(self) -> Exact:
        return Exact(self.total.delta) - self.added_delta

    @property
    def spent_epsilon(self) -> float:
        """The epsilon that all charges compose to at the delta of the total: the least total that would admit them."""
        return float(self.added_epsilon + (0 if self.filter is None else self._composed(self.filter)))

    @property
    def left_deltas(self) -> list[float]:
        """The largest deltas that a next charge may have, by each rule."""
        if self.filter is None:
            return [float(self.left_delta)]
        limits = ((self.filter.delta, self.delta), (self.filter.reserve, self.reserve))
        return [float(Exact(limit) - spent) for limit, spent in limits if spent < Exact(limit)]

    def _composed(self, limits: Filter) -> float | Exact:
        """The epsilon of the charges in the filter, by the rule that gives less; infinite if neither holds."""
        found: list[float | Exact] = [math.inf]
        if limits.delta and self.delta <= Exact(limits.delta):
            found.append(self.epsilon)
        if self.reserve <= Exact(limits.reserve):
            each = zip(limits.orders, limits.moments, self.moments, strict=True)
            found.append(self.left_epsilon + min((s - Exact(limit)) / Exact(order - 1) for order, limit, s in each))
        return min(found)

    def _room(self, limits: Filter) -> Room:
        """What is left for moments and reserves."""
        pairs = zip(limits.moments, self.moments, strict=True)
        return Room(limits.orders, tuple(limit - float(s) for limit, s in pairs), limits.reserve - float(self.reserve))

    def _rest(self) -> tuple[float, float]:
        """What adding has left, as floats, rounded down."""
        return float(self.left_epsilon) * (1 - _ROUNDING), float(self.left_delta) * (1 - _ROUNDING)

    def _holds(self, limits: Filter) -> bool:
        """Whether a filter keeps what is left."""
        epsilon, delta = self._rest()
        if epsilon < _LEAST or not all(1 < order < math.inf for order in limits.orders):
            return False
        if not all(map(math.isfinite, limits.moments)) or limits.reserve < 0 or limits.delta < 0:
            return False
        return limits.spends(epsilon) <= delta

    def _filters(self) -> list[Filter]:
        """The filters that may be opened with what is left."""
        epsilon, delta = self._rest()
        if epsilon < _LEAST or delta <= 0:
            return []
        return [limits for shares in SHARES if self._holds(limits := Filter.holding(epsilon, delta, *shares))]

    def _opening(self, limits: Filter, charge: Charge) -> tuple[tuple[int, int], Debit]:
        """The debit that opens this filter, and how many like it fit: by either rule, and by adding up."""
        room = Room(limits.orders, limits.moments, limits.reserve)
        price, added = charge.price(room), self._times_added(charge.budget, Exact(limits.delta))
        return (max(added, math.floor(price.times(room))), added), Debit(charge.budget, price, limits)

    def _times_added(self, budget: Budget, delta: Exact) -> int:
        """How many such releases add up to what is left of epsilon, and to this delta."""
        return math.floor(min(self.left_epsilon / Exact(budget.epsilon), delta / Exact(budget.delta)))
