"""Composition of releases of any kind, and of several runs about the same people (M9).

Gaussians compose by precision, other costs by convolving the distributions of their privacy losses. A run is Gaussian
releases, then one of several branches, chosen by public numbers: the choice enters by its profile D*, the worst branch
at every level (P9). The result is far less than the sum of the epsilons. Proof: proofs/accounting/composition.md.
"""

import math
from collections import Counter
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial, reduce
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.discrete import MAX_RELEASES, Slack, reserve, slack
from dimfree.accounting.events import Branch, Costs, Gaussian, branches_profile, header, read_header
from dimfree.accounting.losses import Approximate, Dots, Loss, Pure, around, between, space_levels
from dimfree.accounting.precision import compose, hockey_stick
from dimfree.errors import AccountingError

EDGE = 12.0  # standard deviations of a Gaussian loss that are resolved; the mass beyond counts as delta
_LOSSES: dict[str, type[Gaussian | Loss]] = {"gaussian": Gaussian, "pure": Pure, "approximate": Approximate}
_FINE, _COARSE = 2048, 2**15  # the interval of a composition: this part of epsilon, but not of the sum of all losses
_FAR = 600.0  # a level above every finite loss that floats resolve
_PIECE, _SPAN = 130, 8.0  # levels at a time at most, and how far apart: each piece has a grid of its own
_SETTLED = 1e-3  # how far above its limit, relatively, a profile may be at its edge
_TAIL = 6.0  # standard deviations of the searches' loss by which they move the edge
_FINEST, _COARSEST = 1024, 2**17  # the same of several runs, of the least epsilon
_TOLERANCE = 1e-4  # relative, of an epsilon that is searched


@dataclass(frozen=True)
class Composition:
    """Everything charged by a sequence of adaptive releases; has the methods of `Costs`."""

    budget: Budget
    neighbors: Neighbors
    losses: tuple[Gaussian | Loss, ...]

    @property
    def events(self) -> tuple[Gaussian | Loss, ...]:
        return self.losses

    def delta(self) -> float:
        """Return the delta spent at the epsilon of the budget, rounded up: the lower of two upper bounds."""
        slacks = self._slacks()
        level = self.budget.usable_epsilon - sum(each.epsilon for each in slacks)
        ideal = min(self._add_up(), self._compose_deltas(level))
        spent = math.exp(sum(each.ratio for each in slacks)) * ideal + sum(each.tail for each in slacks)
        return min(1.0, spent)

    def fits(self) -> bool:
        """Return whether the delta spent is at most that of the budget."""
        return self.delta() <= self.budget.delta

    def _slacks(self) -> list[Slack]:
        """Return the extra cost of each discrete Gaussian (M8)."""
        gaussians = [loss for loss in self.losses if isinstance(loss, Gaussian)]
        if len(gaussians) > MAX_RELEASES or any(g.stddev < 1 for g in gaussians):
            raise AccountingError("More Gaussian releases, or coarser ones, than the discrete noise was charged for.")
        return [slack(g.stddev, g.sensitivity, g.dimension, self.budget.delta) for g in gaussians]

    @property
    def _others(self) -> list[Loss]:
        """The costs that are not Gaussian."""
        return [loss for loss in self.losses if not isinstance(loss, Gaussian)]

    def _add_up(self) -> float:
        """Sum the deltas, if the epsilons sum to at most that of the budget and none is a Gaussian; else 1."""
        others = self._others
        total = sum((Fraction(loss.epsilon) for loss in others), Fraction(0))
        if len(others) < len(self.losses) or total > Fraction(self.budget.usable_epsilon):
            return 1.0
        failures = sum(Fraction(loss.delta) for loss in others if isinstance(loss, Approximate))
        return float(failures) * (1 + 1e-15)

    def _compose_deltas(self, level: float) -> float:
        """Return delta at this level, of the continuous releases."""
        mu = compose(loss.mu for loss in self.losses if isinstance(loss, Gaussian))
        others = self._others
        if not others:
            return float(hockey_stick(mu, level)) if mu else 0.0  # one Gaussian, exactly
        finest = min([self.budget.usable_epsilon / _FINE, *([mu / 4] if mu else []), *(x.epsilon / 8 for x in others)])
        losses = EDGE * mu + mu**2 / 2 + sum(loss.epsilon for loss in others)
        interval = max(finest, losses / _COARSE)  # any is sound; a finer one is tighter
        dots = [Dots.connect_levels(loss.profile, around(loss.epsilon, interval), interval) for loss in others]
        return reduce(Dots.then, [*dots, *gaussian_dots(mu, interval)]).delta(level)

    def to_dict(self) -> dict[str, Any]:
        names = {kind: name for name, kind in _LOSSES.items()}
        losses = [{"kind": names[type(loss)], **asdict(loss)} for loss in self.losses]
        return {"kind": "composition", **header(self.budget, self.neighbors), "losses": losses}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Composition":
        losses = ({**loss} for loss in data["losses"])
        return cls(*read_header(data), tuple(_LOSSES[loss.pop("kind")](**loss) for loss in losses))


def gaussian_dots(mu: float, interval: float) -> list[Dots]:
    """Return the losses of all Gaussians together, which are one Gaussian, in any order; none at mu = 0."""
    steps = between(EDGE * mu + mu**2 / 2, interval)
    return [Dots.connect_levels(partial(hockey_stick, mu), steps, interval)] if mu else []


@dataclass(frozen=True)
class BranchChoice:
    """One public choice among branches, or a refusal."""

    branches: tuple[Branch, ...]

    def profile(self, x: Floats) -> Floats:
        """Return D*(x), an upper bound on the divergence at every real level x, in both directions.
        Below 0 from the level -x of the other direction: H(P, Q; -x) = 1 - e^-x + e^-x H(Q, P; x)."""
        levels, places = np.unique(np.abs(x), return_inverse=True)
        cuts = np.flatnonzero(np.diff(np.arange(len(levels)) // _PIECE) + np.diff(levels // _SPAN)) + 1
        parts = [branches_profile(self.branches, piece) for piece in np.split(levels, cuts)]
        values = np.minimum(np.concatenate(parts), 1.0)[places]
        below = np.minimum(x, 0.0)
        return np.minimum(-np.expm1(below) + np.exp(below) * values * (1 + 1e-14), 1.0)

    def edge(self) -> float:
        """Return a level where the profile is within 0.1% of its limit. Any level is sound; a larger one is tighter."""
        levels = np.append(np.geomspace(_FAR / 2**10, _FAR, 33), _FAR)
        values = np.max([branch.without_searches(levels) for branch in self.branches], axis=0)
        level = float(levels[np.argmax(values <= values[-1] * (1 + _SETTLED) + 1e-16)])
        searches = max(branch.search_mu for branch in self.branches)
        return level + searches * (_TAIL + searches / 2)


_Other = BranchChoice | Approximate


@dataclass(frozen=True)
class ComposedRuns:
    """The costs of runs about the same people; the costs of each run were fixed before it began."""

    costs: tuple[Costs | Composition, ...]

    def delta(self, epsilon: float) -> float:
        """Return the delta at which all runs together are (epsilon, delta)-private, rounded up."""
        if len(self.costs) == 1 and epsilon == self.costs[0].budget.usable_epsilon:
            return self.costs[0].budget.delta  # its own guarantee
        return min(1.0, self._add_up(epsilon), self._compose_deltas(epsilon))

    def epsilon(self, delta: float) -> float:
        """Return the epsilon at which all are together (epsilon, delta)-private, rounded up; infinite if none."""
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
        return float(sum(Fraction(run.budget.usable_epsilon) for run in self.costs)) * (1 + 1e-15)

    def _add_up(self, epsilon: float) -> float:
        """Apply basic composition: the least float not below the sum of the deltas, if the epsilons sum to this."""
        if sum(Fraction(run.budget.usable_epsilon) for run in self.costs) > Fraction(epsilon):
            return 1.0
        total = sum((Fraction(run.budget.delta) for run in self.costs), Fraction(0))
        found = float(total)
        return found if Fraction(found) >= total else math.nextafter(found, math.inf)

    def _compose_deltas(self, epsilon: float) -> float:
        """Convolve all losses at the level that M8 leaves, and add the reserve of M8 for every tested run."""
        tested = (run for run in self.costs if isinstance(run, Costs) and not run.filtered and run.events)
        budgets = [run.budget for run in tested]  # their costs are the same on every path
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
        span = sum(_edge(loss) * count for loss, count in others.items())
        interval = max(finest, (EDGE * self._mu + self._mu**2 / 2 + span) / _COARSEST)
        return _convolve(tuple(others.items()), self._mu, interval)


def _losses_of(run: Costs | Composition) -> list[Gaussian | _Other]:
    """Return the losses of a run for every path it could have taken, without the discrete slack.
    A tested run lists all its branches. Any other lists only the path it took: it counts as its whole budget."""
    if not run.events:
        return []  # a public refusal
    if isinstance(run, Costs) and not run.filtered:
        return [*run.before, *([BranchChoice(run.branches)] if run.branches else [])]
    return [Approximate("one run", run.budget.usable_epsilon, run.budget.delta)]


@lru_cache(maxsize=64)
def _edge(loss: _Other) -> float:
    return loss.edge() if isinstance(loss, BranchChoice) else loss.epsilon


@lru_cache(maxsize=16)  # the same for many groups, and at every step of a search for epsilon
def _convolve(others: tuple[tuple[_Other, int], ...], mu: float, interval: float) -> Dots:
    dots = [_dots(loss, interval).compose_times(count) for loss, count in others]
    return reduce(Dots.then, [*dots, *gaussian_dots(mu, interval)])


@lru_cache(maxsize=64)  # the same budget has the same branches
def _dots(loss: _Other, interval: float) -> Dots:
    if isinstance(loss, Approximate):
        return Dots.connect_levels(loss.profile, around(loss.epsilon, interval), interval)
    scale = 6 * max(branch.mu for branch in loss.branches)  # the levels are closest where a loss is likely
    return Dots.connect_levels(loss.profile, space_levels(loss.edge(), scale, interval), interval)


@dataclass(frozen=True)
class Runs:
    """The costs of several runs about the same people under one budget; has the methods of `Costs`."""

    budget: Budget
    neighbors: Neighbors
    runs: tuple[Costs, ...]

    def __post_init__(self) -> None:
        if not self.runs or any(run.neighbors is not self.neighbors for run in self.runs):
            raise ValueError("Runs under one guarantee have one neighboring relation.")
        if not all(run.delta() <= run.budget.delta for run in self.runs):  # the sum of budgets is used
            raise ValueError("A run exceeds its own budget.")

    @property
    def events(self) -> tuple[Gaussian | Branch, ...]:
        return tuple(event for run in self.runs for event in run.events)

    def delta(self) -> float:
        """Return the delta at the epsilon of the budget, rounded up (M9)."""
        return ComposedRuns(self.runs).delta(self.budget.usable_epsilon)

    def to_dict(self) -> dict[str, Any]:
        runs = [run.to_dict() for run in self.runs]
        return {"kind": "runs", **header(self.budget, self.neighbors), "runs": runs}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Runs":
        return cls(*read_header(data), tuple(map(Costs.from_dict, data["runs"])))


AnyCosts = Costs | Composition | Runs


def costs_from_dict(data: dict[str, Any]) -> AnyCosts:
    """Read the costs that any `to_dict` of this package wrote."""
    kinds: dict[str | None, type[AnyCosts]] = {"composition": Composition, "runs": Runs}
    return kinds.get(data.get("kind"), Costs).from_dict(data)


def runs_of(ledger: AnyCosts) -> tuple[Costs | Composition, ...]:
    """Return the single runs, as `ComposedRuns` takes them."""
    return ledger.runs if isinstance(ledger, Runs) else (ledger,)
