"""Several runs about the same people: what they compose to, and the costs of a release made of them (M9).

A run is Gaussian releases, then one of several branches, chosen by public numbers. The Gaussians of all runs add up by
precision, in any order; the choice of each run enters by its profile D*, the worst branch at every level (P9). The
result is far less than the sum of the epsilons. Proof: proofs/accounting/composition.md.
"""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.composition import EDGE, Composition, gaussian_dots
from dimfree.accounting.discrete import reserve
from dimfree.accounting.events import Branch, Costs, Gaussian, branches_profile
from dimfree.accounting.losses import Approximate, Dots, around, spread
from dimfree.accounting.precision import compose, hockey_stick

_FAR = 600.0  # a level above every finite loss that floats resolve
_PIECE, _SPAN = 130, 8.0  # levels at a time at most, and how far apart: each piece has a grid of its own
_SETTLED = 1e-3  # how far above its limit, relatively, a profile may be at its edge
_TAIL = 6.0  # standard deviations of the searches' loss by which they move the edge
_FINEST, _COARSEST = 1024, 2**17  # the interval: this part of the least epsilon, but not of the sum of all losses
_TOLERANCE = 1e-4  # relative, of an epsilon that is searched


@dataclass(frozen=True)
class BranchChoice:
    """One public choice among branches, or a refusal."""

    branches: tuple[Branch, ...]

    def profile(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """D*(x), an upper bound on the divergence at every real level x, in both directions.

        Below 0 from the level -x of the other direction: H(P, Q; -x) = 1 - e^-x + e^-x H(Q, P; x).
        """
        levels, places = np.unique(np.abs(x), return_inverse=True)
        cuts = np.flatnonzero(np.diff(np.arange(len(levels)) // _PIECE) + np.diff(levels // _SPAN)) + 1
        parts = [branches_profile(self.branches, piece) for piece in np.split(levels, cuts)]
        values = np.minimum(np.concatenate(parts), 1.0)[places]
        below = np.minimum(x, 0.0)
        return np.minimum(-np.expm1(below) + np.exp(below) * values * (1 + 1e-14), 1.0)

    def edge(self) -> float:
        """A level at which the profile is within 0.1 % of its limit. Any level is sound; a larger one is tighter."""
        levels = np.append(np.geomspace(_FAR / 2**10, _FAR, 33), _FAR)
        values = np.max([branch.without_searches(levels) for branch in self.branches], axis=0)
        level = float(levels[np.argmax(values <= values[-1] * (1 + _SETTLED) + 1e-16)])
        searches = max(branch.search_mu for branch in self.branches)
        return level + searches * (_TAIL + searches / 2)

    def steps(self, interval: float) -> NDArray[np.int64]:
        """Where the profile is evaluated: up to the edge, the closest where a loss is likely."""
        return spread(self.edge(), 6 * max(branch.mu for branch in self.branches), interval)


_Other = BranchChoice | Approximate


@dataclass(frozen=True)
class ComposedRuns:
    """The costs of runs about the same people; the costs of each run were fixed before it began."""

    costs: tuple[Costs | Composition, ...]

    def delta(self, epsilon: float) -> float:
        """The delta at which all of them together are (epsilon, delta)-private, rounded up."""
        if len(self.costs) == 1 and epsilon == self.costs[0].budget.usable_epsilon:
            return self.costs[0].budget.delta  # its own guarantee
        return min(1.0, self._added(epsilon), self._composed(epsilon))

    def epsilon(self, delta: float) -> float:
        """The epsilon at which all of them together are (epsilon, delta)-private, rounded up; infinite without one.

        The returned epsilon was checked.
        """
        low, high = 0.0, self.added_epsilon
        while not self.delta(high) <= delta:
            if low > 0 and high > 1e3 * (1 + self.added_epsilon):
                return math.inf
            low, high = high, 2 * high
        while high - low > _TOLERANCE * high:
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high

    @property
    def added_epsilon(self) -> float:
        """The sum of the epsilons of all runs, rounded up."""
        return float(self._sum_of_budgets()) * (1 + 1e-15)

    def _sum_of_budgets(self) -> Fraction:
        return sum((Fraction(run.budget.usable_epsilon) for run in self.costs), Fraction(0))

    def _added(self, epsilon: float) -> float:
        """Basic composition: the deltas summed, once the epsilons sum to at most this epsilon.

        The least float that is not below: parts of a split budget add up to the budget, not to a little more.
        """
        if self._sum_of_budgets() > Fraction(epsilon):
            return 1.0
        total = sum((Fraction(run.budget.delta) for run in self.costs), Fraction(0))
        found = float(total)
        return found if Fraction(found) >= total else math.nextafter(found, math.inf)

    def _composed(self, epsilon: float) -> float:
        """The convolution of all losses at what M8 leaves of the level, and the reserve of M8 for every tested run."""
        budgets = [run.budget for run in self.costs if _is_tested(run)]
        slacks = [reserve(budget.usable_epsilon, budget.delta) for budget in budgets]
        level = epsilon - sum(each.epsilon for each in slacks)
        rest = float(hockey_stick(self._mu, level)) if self._dots is None else self._dots.delta(level)
        return math.exp(sum(each.ratio for each in slacks)) * rest + sum(each.tail for each in slacks)

    @cached_property
    def _losses(self) -> Counter[Gaussian | _Other]:
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
        finest = min(run.budget.usable_epsilon for run in self.costs) / _FINEST  # any is sound; a finer one is tighter
        reach = sum(_reach(loss) * count for loss, count in others.items())
        interval = max(finest, (EDGE * self._mu + self._mu**2 / 2 + reach) / _COARSEST)
        return _convolved(tuple(others.items()), self._mu, interval)


def _is_tested(run: Costs | Composition) -> bool:
    """Whether a run drew noise and has costs that are the same on every path: Gaussians and branches."""
    return isinstance(run, Costs) and not run.filtered and bool(run.events)


def _losses_of(run: Costs | Composition) -> list[Gaussian | _Other]:
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
    return reduce(Dots.then, [*dots, *gaussian_dots(mu, interval)])


@lru_cache(maxsize=64)  # the same budget has the same branches
def _dots(loss: _Other, interval: float) -> Dots:
    steps = loss.steps(interval) if isinstance(loss, BranchChoice) else around(loss.epsilon, interval)
    return Dots.connecting(loss.profile, steps, interval)


@dataclass(frozen=True)
class Runs:
    """The costs of several runs about the same people under one budget; has the methods of `Costs`."""

    budget: Budget
    neighbours: Neighbours
    runs: tuple[Costs, ...]

    def __post_init__(self) -> None:
        if not self.runs or any(run.neighbours is not self.neighbours for run in self.runs):
            raise ValueError("Runs under one guarantee have one neighboring relation.")
        if not all(run.delta() <= run.budget.delta for run in self.runs):  # the sum of budgets is used
            raise ValueError("A run exceeds its own budget.")

    @property
    def events(self) -> tuple[Gaussian | Branch, ...]:
        return tuple(event for run in self.runs for event in run.events)

    def delta(self) -> float:
        """The delta at the epsilon of the budget, rounded up (M9)."""
        return ComposedRuns(self.runs).delta(self.budget.usable_epsilon)

    def summary_rows(self) -> list[tuple[str, str, str]]:
        """(what, how, cost) for a table; public numbers only."""
        return [row for run in self.runs for row in run.summary_rows()]

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "runs",
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "neighbours": self.neighbours.value,
            "runs": [run.to_dict() for run in self.runs],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Runs":
        budget, relation = Budget(data["epsilon"], data["delta"]), Neighbours(data["neighbours"])
        return cls(budget, relation, tuple(Costs.from_dict(run) for run in data["runs"]))


AnyCosts = Costs | Composition | Runs


def costs_from_dict(data: dict[str, Any]) -> AnyCosts:
    """The costs that any `to_dict` of this package wrote."""
    kinds: dict[str | None, type[AnyCosts]] = {"composition": Composition, "runs": Runs}
    return kinds.get(data.get("kind"), Costs).from_dict(data)


def runs_of(ledger: AnyCosts) -> tuple[Costs | Composition, ...]:
    """The single runs, as `ComposedRuns` takes them."""
    return ledger.runs if isinstance(ledger, Runs) else (ledger,)
