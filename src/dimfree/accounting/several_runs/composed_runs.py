"""The joint (epsilon, delta) of several runs about the same people (M9).

Gaussian releases before each run's choice add up by precision, in any order; the choice of a branch enters by its
profile D*. The result is far less than the sum of the epsilons. Proof: proofs/accounting/composition.md.
"""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial, reduce

from dimfree.accounting.composition import EDGE, Composition
from dimfree.accounting.discrete import reserve
from dimfree.accounting.dots import Dots, around, between, spread
from dimfree.accounting.events import Costs, Gaussian
from dimfree.accounting.losses import Approximate
from dimfree.accounting.precision import compose, hockey_stick
from dimfree.accounting.several_runs.branch_choice import BranchChoice

_FINEST, _COARSEST = 1024, 2**17  # the interval: this part of the least epsilon, but not of the sum of all losses
_TOLERANCE = 1e-4  # relative, of an epsilon that is searched

_Other = BranchChoice | Approximate
_Loss = Gaussian | _Other


@dataclass(frozen=True)
class ComposedRuns:
    """The costs of runs about the same people; the costs of each run were fixed before it began."""

    costs: tuple[Costs | Composition, ...]

    def delta(self, epsilon: float) -> float:
        """The delta at which all of them together are (epsilon, delta)-private, rounded up."""
        if len(self.costs) == 1 and epsilon == self.costs[0].budget.usable_epsilon:
            return self.costs[0].budget.delta  # its own promise
        return min(1.0, self._added(epsilon), self._composed(epsilon))

    def epsilon(self, delta: float) -> float:
        """The epsilon at which all of them together are (epsilon, delta)-private, rounded up; infinite without one.

        The returned epsilon was checked.
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
        """The sum of the epsilons of all runs, rounded up."""
        return float(self._sum_of_promises()) * (1 + 1e-15)

    def _sum_of_promises(self) -> Fraction:
        return sum((Fraction(run.budget.usable_epsilon) for run in self.costs), Fraction(0))

    def _added(self, epsilon: float) -> float:
        """Basic composition: the promised deltas summed, once the promised epsilons sum to at most this epsilon."""
        if self._sum_of_promises() > Fraction(epsilon):
            return 1.0
        return _float_from(sum((Fraction(run.budget.delta) for run in self.costs), Fraction(0)))

    def _composed(self, epsilon: float) -> float:
        """The convolution of all losses at what M8 leaves of the level, and the reserve of M8 for every tested run."""
        budgets = [run.budget for run in self.costs if _is_tested(run)]
        slacks = [reserve(budget.usable_epsilon, budget.delta) for budget in budgets]
        rest = self._curve(epsilon - sum(each.epsilon for each in slacks))
        return math.exp(sum(each.ratio for each in slacks)) * rest + sum(each.tail for each in slacks)

    def _curve(self, level: float) -> float:
        """delta at this level, of the continuous releases."""
        return float(hockey_stick(self._mu, level)) if self._dots is None else self._dots.delta(level)

    @cached_property
    def _losses(self) -> Counter[_Loss]:
        return Counter(loss for run in self.costs for loss in _losses_of(run))

    @cached_property
    def _mu(self) -> float:
        """mu of all Gaussians together."""
        return compose(loss.mu for loss in self._losses.elements() if isinstance(loss, Gaussian))

    @cached_property
    def _dots(self) -> Dots | None:
        """All choices and other runs convolved with the one Gaussian; None if there is only the Gaussian."""
        others = {loss: count for loss, count in self._losses.items() if not isinstance(loss, Gaussian)}
        if not others:
            return None
        return _convolved(tuple(others.items()), self._mu, self._interval(others))

    def _interval(self, others: dict[_Other, int]) -> float:
        """The grid interval of the losses. Any is sound; a finer one is tighter."""
        finest = min(run.budget.usable_epsilon for run in self.costs) / _FINEST
        reach = sum(_reach(loss) * count for loss, count in others.items())
        return max(finest, (EDGE * self._mu + self._mu**2 / 2 + reach) / _COARSEST)


def _float_from(total: Fraction) -> float:
    """The least float that is not below: parts of a split budget add up to the budget, not to a little more."""
    found = float(total)
    return found if Fraction(found) >= total else math.nextafter(found, math.inf)


def _is_tested(run: Costs | Composition) -> bool:
    """Whether a run drew noise and has costs that are the same on every path: Gaussians and branches."""
    return isinstance(run, Costs) and not run.filtered and bool(run.events)


def _losses_of(run: Costs | Composition) -> list[_Loss]:
    """The losses of a run that cover every path it could have taken, without the discrete slack.

    A tested run states its count and all its branches, whatever happened. Any other run states only what happened, and
    that may depend on its outputs: it counts as one (epsilon, delta)-private release of its whole budget.
    """
    if not run.events:
        return []  # a public refusal
    if isinstance(run, Costs) and not run.filtered:
        return [*run.before, *([BranchChoice(run.menu)] if run.menu else [])]
    return [Approximate("one run", run.budget.usable_epsilon, run.budget.delta)]


@lru_cache(maxsize=64)
def _reach(loss: _Other) -> float:
    return loss.edge() if isinstance(loss, BranchChoice) else loss.epsilon


@lru_cache(maxsize=16)  # the same for many groups, and at every step of a search for epsilon
def _convolved(others: tuple[tuple[_Other, int], ...], mu: float, interval: float) -> Dots:
    dots = [_dots(loss, interval).repeated(count) for loss, count in others]
    if mu:  # all Gaussians together are one Gaussian, in any order
        steps = between(EDGE * mu + mu**2 / 2, interval)
        dots.append(Dots.connecting(partial(hockey_stick, mu), steps, interval))
    return reduce(Dots.then, dots)


@lru_cache(maxsize=64)  # the same budget has the same branches
def _dots(loss: _Other, interval: float) -> Dots:
    if isinstance(loss, BranchChoice):
        return Dots.connecting(loss.profile, spread(loss.edge(), loss.scale(), interval), interval)  # P9
    return Dots.connecting(loss.profile, around(loss.epsilon, interval), interval)
