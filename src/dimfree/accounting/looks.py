"""Several runs about the same people, one after another: what they promise together (M9).

Gaussian releases ahead of each run's choice add up by precision, wherever they stand; every menu enters by its curve
D*. That is far less than the sum of the epsilons. Proof: proofs/accounting/looks.md.
"""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial, reduce

from dimfree.accounting.composition import EDGE, AnyLedger, dots_of, largest_loss, times_of
from dimfree.accounting.dots import Dots, between
from dimfree.accounting.events import Gaussian, Ledger
from dimfree.accounting.losses import Approximate, Failure, Loss, Pure, Ranged
from dimfree.accounting.menus import Menu
from dimfree.accounting.precision import compose, hockey_stick

_FINEST, _COARSEST = 1024, 2**17  # the interval: this part of the least epsilon, but not of the sum of all losses
_TOLERANCE = 1e-4  # relative, of an epsilon that is searched

_Other = Menu | Pure | Approximate | Ranged  # neither Gaussian nor failure


@dataclass(frozen=True)
class Looks:
    """The ledgers of runs about the same people; each run's costs were fixed before it began."""

    ledgers: tuple[AnyLedger, ...]

    def delta(self, epsilon: float) -> float:
        """The delta at which all of them together are (epsilon, delta)-private, rounded up."""
        if len(self.ledgers) == 1 and epsilon == self.ledgers[0].budget.usable_epsilon:
            return self.ledgers[0].delta()  # its own promise
        return min(1.0, self._added(epsilon), self._composed(epsilon))

    def epsilon(self, delta: float) -> float:
        """The epsilon at which all of them together are (epsilon, delta)-private, rounded up; infinite without one.

        What is returned has been seen to hold: the private side.
        """
        low, high = 0.0, self.added_epsilon
        if not self.delta(high) <= delta:
            low, high = high, 2 * high
            while not self.delta(high) <= delta:
                if high > 1e3 * (1 + self.added_epsilon):
                    return math.inf
                low, high = high, 2 * high
        while high - low > _TOLERANCE * high:
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high

    @property
    def added_epsilon(self) -> float:
        """What adding up the promises would say, rounded up."""
        return float(self._sum_of_promises()) * (1 + 1e-15)

    def _sum_of_promises(self) -> Fraction:
        return sum((Fraction(ledger.budget.usable_epsilon) for ledger in self.ledgers), Fraction(0))

    def _added(self, epsilon: float) -> float:
        """Basic composition: the deltas summed, once the promised epsilons sum to at most this one."""
        if self._sum_of_promises() > Fraction(epsilon):
            return 1.0
        return sum(ledger.delta() for ledger in self.ledgers) * (1 + 1e-15)

    def _composed(self, epsilon: float) -> float:
        """The convolution of all losses at what M8 leaves of the level, failures and the slack of M8 added."""
        slacks = [slack for ledger in self.ledgers for slack in ledger.slacks() if not _is_lifted(ledger)]
        rest = self._curve(epsilon - sum(each.epsilon for each in slacks))
        ideal = rest + (1 - rest) * self._failed
        return math.exp(sum(each.ratio for each in slacks)) * ideal + sum(each.tail for each in slacks)

    def _curve(self, level: float) -> float:
        """delta at this level of the continuous ideals, less the failures."""
        return float(hockey_stick(self._mu, level)) if self._dots is None else self._dots.delta(level)

    @cached_property
    def _losses(self) -> Counter[Menu | Gaussian | Loss]:
        return Counter(loss for ledger in self.ledgers for loss in _losses_of(ledger))

    @cached_property
    def _mu(self) -> float:
        """Gaussians are one Gaussian, wherever they stand."""
        return compose(loss.mu for loss in self._losses.elements() if isinstance(loss, Gaussian))

    @cached_property
    def _failed(self) -> float:
        """The chance that anything fails, rounded up."""
        failures = (loss.delta for loss in self._losses.elements() if isinstance(loss, Failure))
        return -math.expm1(sum(math.log1p(-each) for each in failures)) * (1 + 1e-14)

    @cached_property
    def _dots(self) -> Dots | None:
        """All that is neither a Gaussian nor a failure, then the one Gaussian; None where that stands alone."""
        others = {loss: count for loss, count in self._losses.items() if not isinstance(loss, Gaussian | Failure)}
        if not others:
            return None
        interval = self._interval(others)
        dots = [_dots(loss, interval).repeated(count) for loss, count in others.items()]
        if self._mu:
            steps = between(EDGE * self._mu + self._mu**2 / 2, interval)
            dots.append(Dots.connecting(partial(hockey_stick, self._mu), steps, interval))
        return reduce(Dots.then, dots)

    def _interval(self, others: dict[_Other, int]) -> float:
        """One interval for all; any is sound, a finer one is tighter."""
        finest = min(ledger.budget.usable_epsilon for ledger in self.ledgers) / _FINEST
        reach = sum(_reach(loss) * count for loss, count in others.items())
        return max(finest, (EDGE * self._mu + self._mu**2 / 2 + reach) / _COARSEST)


def _is_lifted(ledger: AnyLedger) -> bool:
    """Behind the paper's random filter a run counts as its (epsilon, delta): slack and lifting are in that (P1)."""
    return isinstance(ledger, Ledger) and ledger.filtered


def _losses_of(ledger: AnyLedger) -> list[Menu | Gaussian | Loss]:
    """What a run may give away, ahead of the discrete slack: Gaussians, its menu, and whatever else it charged."""
    if not isinstance(ledger, Ledger):
        return list(ledger.losses)
    if ledger.filtered:
        return [Approximate("one run", ledger.budget.usable_epsilon, max(ledger.delta(), 1e-300))]
    return [*ledger.before, *([Menu(ledger.menu)] if ledger.menu else [])]


def _reach(loss: _Other) -> float:
    return loss.edge() if isinstance(loss, Menu) else largest_loss(loss) * times_of(loss)


@lru_cache(maxsize=64)  # the same budget asked for again has the same menu
def _dots(loss: _Other, interval: float) -> Dots:
    if isinstance(loss, Menu):
        return Dots.connecting(loss.profile, between(loss.edge(), interval), interval)  # P9
    return dots_of(loss, interval, concentrated=times_of(loss) > 8)
