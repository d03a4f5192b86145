"""The privacy filter: whether a charge fits into the total, also if it depends on earlier outputs (L2).

A filter composes charges by three rules, each with its own share of delta: it sums the (epsilon, delta) of the charges,
their moments of several orders, or the squared mu of Gaussian releases. It admits a charge if one rule holds. If delta
is too small to be shared, (epsilon, delta) are summed until a filter admits as many of the next charges; the rest of
the total then goes to the filter. All sums are exact. Proof: proofs/ledger/filter.md.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from dimfree.accounting.budget import MAX_EPSILON, MIN_DELTA, MIN_EPSILON, Budget
from dimfree.accounting.events import has_fine_noise
from dimfree.accounting.precision import hockey_stick, largest_mu
from dimfree.accounting.sharing import gaussian_budget, price_gaussian_opening
from dimfree.ledger.spending import GAUSSIAN, NO_GAUSSIAN, Charge, Price, Room

# Shares of delta: for sums of (epsilon, delta), for infinite losses, for Gaussians; the rest for moments. The first
# order is the best one of Gaussian releases only; the others are for larger losses.
SHARES = ((0.5, 0.1, 0.0), (0.4, 0.4, 0.0), (0.1, 0.7, 0.0), (0.25, 0.05, 0.5))
_ORDERS, _RATIO, _WEIGHT = 10, 1.5, 0.5
_MIN_ORDER = 2.0**-20  # less 1; below it 1 - 1/order is rounded
_ROUNDING = 1e-12
_MIN_EPSILON = 1e-9  # a filter needs this much
_HALVINGS = 40  # in the search for the largest epsilon that fits
_ZERO = Fraction(0)


@dataclass(frozen=True)
class Filter(Room):
    """Fixed limits: on the sum of moments of one of these orders and of reserves, or on the sum of deltas."""

    delta: float = 0.0  # of charges that add up; the sum of their epsilons is limited by the total

    @classmethod
    def holding(cls, epsilon: float, delta: float, adding: float, reserve: float, gaussian: float = 0.0) -> "Filter":
        """Return the largest limits with these shares of delta that keep (epsilon, delta), rounded down (L2).

        Rounded further than necessary, so that they are valid on a machine with another rounding of the logarithm.
        """
        tail = delta * reserve
        log_rest = math.log(delta * (1 - adding - reserve - gaussian) / (1 - tail))
        most = max(1.0, -log_rest)
        best = (most + math.sqrt(most * most + epsilon * most)) / epsilon  # for Gaussians (any order is sound)
        orders = tuple(1 + max(best, _MIN_ORDER) * _RATIO**place for place in range(_ORDERS))
        shares = (log_rest + math.log((1 - _WEIGHT) * _WEIGHT**place) for place in range(_ORDERS))
        terms = [((a - 1) * epsilon, share, -_log_factor(a)) for a, share in zip(orders, shares, strict=True)]
        limits = tuple(sum(each) - 4 * _ROUNDING * (1 + sum(map(abs, each))) for each in terms)
        if gaussian and epsilon <= MAX_EPSILON:
            mu = largest_mu(epsilon, delta * gaussian)
            orders, limits = (GAUSSIAN, *orders), (mu**2 * (1 - 1e-9), *limits)
        return cls(orders, limits, tail, delta * adding)

    def spends(self, epsilon: float) -> float:
        """Return the delta at this epsilon of all charges that the limits admit."""
        rest = sum(_spent(order, limit, epsilon) for order, limit in zip(self.orders, self.moments, strict=True))
        return self.delta + self.reserve + (1 - self.reserve) * rest


def _spent(order: float, limit: float, epsilon: float) -> float:
    """Return the delta at this epsilon of losses whose moment of this order is at most the limit."""
    if order == GAUSSIAN:
        return float(hockey_stick(math.sqrt(limit), epsilon)) if 0 <= limit < NO_GAUSSIAN else math.inf
    return math.exp(min(0.0, limit - (order - 1) * epsilon + _log_factor(order)))


def _log_factor(order: float) -> float:
    """Return ln c with (1 - e^x)_+ <= c e^{-(order - 1) x} at every x."""
    return order * math.log1p(-1 / order) - math.log(order - 1)


@lru_cache(maxsize=64)
def filters(epsilon: float, delta: float) -> tuple[Filter, ...]:
    """Return the filters that may be opened with this remaining budget."""
    if epsilon < _MIN_EPSILON or delta <= 0:
        return ()
    found = (Filter.holding(epsilon, delta, *shares) for shares in SHARES)
    return tuple(limits for limits in found if is_within(limits, epsilon, delta))


def is_within(limits: Filter, epsilon: float, delta: float) -> bool:
    """Return whether the limits of a filter keep the remaining budget."""
    orders, moments = all(1 <= order < math.inf for order in limits.orders), all(map(math.isfinite, limits.moments))
    valid = epsilon >= _MIN_EPSILON and orders and moments and limits.reserve >= 0 and limits.delta >= 0
    return valid and limits.spends(epsilon) <= delta


@dataclass(frozen=True)
class Debit:
    """One admitted charge: summed, or charged to the filter, which it may have opened."""

    budget: Budget
    price: Price | None = None  # None: its (epsilon, delta) is summed
    opens: Filter | None = None
    private: bool = True  # False: the noise was seeded


@dataclass(frozen=True)
class Account:
    """The total of a ledger and its charges. All numbers are public."""

    total: Budget
    added_epsilon: Fraction = _ZERO  # before a filter was opened
    added_delta: Fraction = _ZERO
    filter: Filter | None = None
    moments: tuple[Fraction, ...] = (_ZERO,)  # since then
    reserve: Fraction = _ZERO
    epsilon: Fraction = _ZERO
    delta: Fraction = _ZERO
    debits: int = 0
    private: bool = True  # whether every debit was for system noise

    def decide(self, charge: Charge) -> Debit | None:
        """Return the debit of a charge; None if it exceeds the remaining budget."""
        if (limits := self.filter) is not None:
            pairs = zip(limits.moments, self.moments, strict=True)
            left = tuple(limit - float(spent) for limit, spent in pairs)
            price = charge.price(Room(limits.orders, left, limits.reserve - float(self.reserve)))
            debit = Debit(charge.budget, price)
            return debit if self.admit(debit) else None
        times, added = self._times_added(charge.budget, self.left_delta), Debit(charge.budget)
        openings = [self._opening(limits, charge) for limits in filters(*self._rest())]
        admitted = [found for found in openings if self.admit(found[1])]
        best = max(admitted, key=lambda found: found[0], default=((-1, 0), added))
        debit = best[1] if best[0] >= (times, times) else added
        return debit if self.admit(debit) else None

    def admit(self, debit: Debit) -> "Account | None":
        """Return the account after the debit, in exact arithmetic; None if it would exceed the total."""
        if debit.opens is not None and (self.filter is not None or not is_within(debit.opens, *self._rest())):
            return None
        limits, price = debit.opens or self.filter, debit.price
        if price is None and limits is None:
            after = self.after(debit)
            return after if after.left_epsilon >= 0 and after.left_delta >= 0 else None
        if price is None or limits is None or len(price.moments) != len(limits.orders):
            return None
        if not all(map(math.isfinite, (*price.moments, price.reserve))):
            return None
        after = self.after(debit)
        return after if after._fits(limits) else None

    def after(self, debit: Debit) -> "Account":
        """Return the account after the debit, without a check."""
        epsilon, delta = Fraction(debit.budget.epsilon), Fraction(debit.budget.delta)
        counted = replace(self, debits=self.debits + 1, private=self.private and debit.private)
        if debit.price is None:
            return replace(counted, added_epsilon=self.added_epsilon + epsilon, added_delta=self.added_delta + delta)
        before = self.moments if debit.opens is None else (_ZERO,) * len(debit.opens.orders)
        return replace(
            counted,
            filter=debit.opens or self.filter,
            moments=tuple(spent + Fraction(each) for spent, each in zip(before, debit.price.moments, strict=True)),
            reserve=self.reserve + Fraction(debit.price.reserve),
            epsilon=self.epsilon + epsilon,
            delta=self.delta + delta,
        )

    @property
    def left_epsilon(self) -> Fraction:
        """The epsilon of the filter, or that remains for sums."""
        return Fraction(self.total.epsilon) - self.added_epsilon

    @property
    def left_delta(self) -> Fraction:
        """The same of delta."""
        return Fraction(self.total.delta) - self.added_delta

    @property
    def spent_epsilon(self) -> float:
        """The composed epsilon of all charges at the delta of the total."""
        return float(self.added_epsilon + (0 if self.filter is None else min(self._compose_deltas(self.filter))))

    @property
    def left_deltas(self) -> list[float]:
        """The largest deltas that a next charge may have, by each rule."""
        if self.filter is None:
            return [float(self.left_delta)]
        limits = ((self.filter.delta, self.delta), (self.filter.reserve, self.reserve))
        return [float(Fraction(limit) - spent) for limit, spent in limits if spent < Fraction(limit)]

    def _fits(self, limits: Filter) -> bool:
        """Return whether one of the rules holds."""
        if limits.delta and self.delta <= Fraction(limits.delta) and self.epsilon <= self.left_epsilon:
            return True
        pairs = zip(self.moments, limits.moments, strict=True)
        return self.reserve <= Fraction(limits.reserve) and any(spent <= Fraction(limit) for spent, limit in pairs)

    def _compose_deltas(self, limits: Filter) -> list[float | Fraction]:
        """Return the epsilon of the charges in the filter by each rule that holds, and infinity."""
        found: list[float | Fraction] = [math.inf]
        if limits.delta and self.delta <= Fraction(limits.delta):
            found.append(self.epsilon)
        if self.reserve > Fraction(limits.reserve):
            return found
        for order, limit, spent in zip(limits.orders, limits.moments, self.moments, strict=True):
            if order != GAUSSIAN:
                found.append(self.left_epsilon + (spent - Fraction(limit)) / Fraction(order - 1))
            elif spent <= Fraction(limit):
                left = float(self.left_epsilon)
                found.append(gaussian_budget(math.sqrt(spent), _spent(order, limit, left), left).epsilon)
        return found

    def _rest(self) -> tuple[float, float]:
        """Return the budget that remains for sums, as floats, rounded down."""
        return float(self.left_epsilon) * (1 - _ROUNDING), float(self.left_delta) * (1 - _ROUNDING)

    def _opening(self, limits: Filter, charge: Charge) -> tuple[tuple[int, int], Debit]:
        """Return the debit that opens this filter, and how many such charges fit: by any rule, and by sums."""
        price, added = charge.price(limits), self._times_added(charge.budget, Fraction(limits.delta))
        return (max(added, math.floor(price.times(limits))), added), Debit(charge.budget, price, limits)

    def _times_added(self, budget: Budget, delta: Fraction) -> int:
        """Return how many such releases fit by sums of (epsilon, delta)."""
        return math.floor(min(self.left_epsilon / Fraction(budget.epsilon), delta / Fraction(budget.delta)))


# ---- what remains


@dataclass(frozen=True)
class Status:
    """The spent and the remaining budget of a ledger. `PrivacyLedger.status` returns it; `str` of it is one line.

    Attributes
    ----------
    total : Budget
        The total of the ledger.
    spent_epsilon : float
        The privacy loss of all charges, composed, at the delta of the total.
    next_budget : Budget or None
        The largest epsilon of the next charge, for any release, and its delta: that of the last charge, or of the total
        if there is none, or less if less remains. None if nothing fits.
    next_gaussian : Budget or None
        The same for a release with Gaussian noise only (the per-column estimator), if that is more.
    charges : int
        The number of charges.
    private : bool
        False if the noise of any release was seeded: then nothing is guaranteed.
    """

    total: Budget
    spent_epsilon: float
    next_budget: Budget | None
    next_gaussian: Budget | None
    charges: int
    private: bool

    def __str__(self) -> str:
        count = "1 charge" if self.charges == 1 else f"{self.charges} charges"
        spent = f"epsilon {self.spent_epsilon:.4g} of {self.total.epsilon:.6g} is spent at delta {self.total.delta:.6g}"
        conditions = (
            ("", self.next_budget),
            ("with Gaussian noise alone (the per-column estimator) ", self.next_gaussian),
        )
        ways = [f"{how}up to epsilon {each.epsilon!r} (delta {each.delta!r})" for how, each in conditions if each]
        following = f"the next release may use {', or '.join(ways)}" if ways else "no further release fits"
        return f"{count}: {spent}; {following}"


def status_of(account: Account, delta: float | None) -> Status:
    """Return the status; `delta` is that of the next release, None for that of the total."""
    delta = delta or account.total.delta
    following, gaussian = largest_next(account, delta), _largest_gaussian(account, delta)
    if following and gaussian and gaussian.epsilon <= following.epsilon:
        gaussian = None
    return Status(account.total, account.spent_epsilon, following, gaussian, account.debits, account.private)


def largest_next(account: Account, delta: float) -> Budget | None:
    """Return the largest epsilon that fits, for any release: at this delta, or at a lower one that a rule has left.

    Rounded down to four digits, and checked to fit.
    """
    deltas = (delta, *(_round_down(left) for left in account.left_deltas if 0 < left < delta))
    usable = [each for each in deltas if each >= MIN_DELTA and _fits(account, MIN_EPSILON, each)]
    found = [Budget(_largest_epsilon(account, each), each) for each in usable]
    return max(found, key=lambda budget: budget.epsilon, default=None)


def _largest_gaussian(account: Account, delta: float) -> Budget | None:
    """Return the largest epsilon that the rule for Gaussian releases has left at this delta, if it fits."""
    if account.filter is None or account.filter.orders[0] != GAUSSIAN:
        return None
    left = float(Fraction(account.filter.moments[0]) - account.moments[0])
    epsilon = gaussian_budget(math.sqrt(max(left, 0.0)), delta, account.total.epsilon).epsilon
    budget = Budget(_round_down(epsilon), delta)
    if epsilon <= MIN_EPSILON or not has_fine_noise(budget):
        return None
    return budget if account.decide(Charge(budget, (price_gaussian_opening(budget),))) is not None else None


def _largest_epsilon(account: Account, delta: float) -> float:
    low, high = MIN_EPSILON, account.total.epsilon
    if _fits(account, high, delta):
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _fits(account, middle, delta) else (low, middle)
    near = float(f"{low:.4g}")  # prefer a round number that fits
    return near if _fits(account, near, delta) else max(_round_down(low), MIN_EPSILON)


def _fits(account: Account, epsilon: float, delta: float) -> bool:
    return account.decide(Charge(Budget(epsilon, delta))) is not None


def _round_down(number: float) -> float:
    """Round down to four digits."""
    step = 10.0 ** (math.floor(math.log10(number)) - 3)
    return float(f"{math.floor(number / step) * step:.4g}")
