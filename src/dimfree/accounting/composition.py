"""Releases of any kind, one after another, composed to one (epsilon, delta) (M9).

Gaussians compose by precision. Other costs (Laplace counts, thresholded histograms) are composed here by convolving the
distributions of their privacy losses. Proof: proofs/accounting/composition.md.
"""

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial, reduce
from typing import Any

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.discrete import MOST_RELEASES, Slack, slack
from dimfree.accounting.events import Gaussian
from dimfree.accounting.losses import Approximate, Dots, Failure, Loss, Pure, around, between
from dimfree.accounting.precision import compose, hockey_stick
from dimfree.errors import AccountingError

_KINDS: dict[str, type[Gaussian | Loss]] = {
    "gaussian": Gaussian,
    "pure": Pure,
    "approximate": Approximate,
    "failure": Failure,
}
_FINEST, _COARSEST = 2048, 2**15  # the interval: this part of epsilon, but not of the sum of all losses
EDGE = 12.0  # standard deviations of a Gaussian loss that are resolved; the mass beyond counts as delta


@dataclass(frozen=True)
class Composition:
    """Everything charged by a sequence of adaptive releases; has the methods of `Costs`."""

    budget: Budget
    neighbours: Neighbours
    losses: tuple[Gaussian | Loss, ...]

    @property
    def events(self) -> tuple[Gaussian | Loss, ...]:
        return self.losses

    def delta(self) -> float:
        """The delta spent at the promised epsilon, rounded up: the lower of two upper bounds."""
        slacks = self._slacks()
        level = self.budget.usable_epsilon - sum(each.epsilon for each in slacks)
        rest = min(self._added(), self._composed(level))
        ideal = rest + (1 - rest) * self._failed()  # a failure reveals everything, whatever the rest does
        spent = math.exp(sum(each.ratio for each in slacks)) * ideal + sum(each.tail for each in slacks)
        return min(1.0, spent)

    def fits(self) -> bool:
        """Whether the delta spent is at most that of the budget."""
        return self.delta() <= self.budget.delta

    def _slacks(self) -> list[Slack]:
        """The extra cost of each discrete Gaussian over the continuous one (M8)."""
        gaussians = [loss for loss in self.losses if isinstance(loss, Gaussian)]
        if len(gaussians) > MOST_RELEASES or any(g.stddev < 1 for g in gaussians):
            raise AccountingError("More Gaussian releases, or coarser ones, than the discrete noise was charged for.")
        return [slack(g.stddev, g.sensitivity, g.dimension, self.budget.delta) for g in gaussians]

    def _failed(self) -> float:
        """The probability that anything fails, rounded up."""
        failures = (loss.delta for loss in self.losses if isinstance(loss, Failure))
        return -math.expm1(sum(math.log1p(-each) for each in failures)) * (1 + 1e-14)

    def _unfailed(self) -> list[Pure | Approximate]:
        """The costs that are neither Gaussian nor a failure."""
        return [loss for loss in self.losses if not isinstance(loss, Gaussian | Failure)]

    def _added(self) -> float:
        """The deltas summed, if the epsilons sum to at most the promise and none is a Gaussian; 1 otherwise."""
        others = self._unfailed()
        total = sum((Fraction(loss.epsilon) for loss in others), Fraction(0))
        if any(isinstance(loss, Gaussian) for loss in self.losses) or total > Fraction(self.budget.usable_epsilon):
            return 1.0
        failures = sum(Fraction(loss.delta) for loss in others if isinstance(loss, Approximate))
        return float(failures) * (1 + 1e-15)

    def _composed(self, level: float) -> float:
        """delta at this level, of the continuous releases."""
        mu = compose(loss.mu for loss in self.losses if isinstance(loss, Gaussian))
        others = self._unfailed()
        if not others:
            return float(hockey_stick(mu, level)) if mu else 0.0  # one Gaussian, exactly
        interval = _interval(self.budget.usable_epsilon, mu, others)
        dots = [Dots.connecting(loss.profile, around(loss.epsilon, interval), interval) for loss in others]
        return reduce(Dots.then, [*dots, *gaussian_dots(mu, interval)]).delta(level)

    def summary_rows(self) -> list[tuple[str, str, str]]:
        """(what, how, cost) for a table; public numbers only."""
        return [_row(loss) for loss in self.losses]

    def to_dict(self) -> dict[str, Any]:
        names = {kind: name for name, kind in _KINDS.items()}
        return {
            "kind": "composition",
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "neighbours": self.neighbours.value,
            "losses": [{"kind": names[type(loss)], **asdict(loss)} for loss in self.losses],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Composition":
        losses = ({**loss} for loss in data["losses"])
        return cls(
            budget=Budget(data["epsilon"], data["delta"]),
            neighbours=Neighbours(data["neighbours"]),
            losses=tuple(_KINDS[loss.pop("kind")](**loss) for loss in losses),
        )


def gaussian_dots(mu: float, interval: float) -> list[Dots]:
    """The losses of all Gaussians together, which are one Gaussian, in any order; nothing at mu = 0."""
    if not mu:
        return []
    return [Dots.connecting(partial(hockey_stick, mu), between(EDGE * mu + mu**2 / 2, interval), interval)]


def _interval(epsilon: float, mu: float, others: list[Pure | Approximate]) -> float:
    """The grid interval of the losses. Any is sound; a finer one is tighter."""
    finest = min([epsilon / _FINEST, *([mu / 4] if mu else []), *(loss.epsilon / 8 for loss in others)])
    total = EDGE * mu + mu**2 / 2 + sum(loss.epsilon for loss in others)
    return max(finest, total / _COARSEST)


def _row(loss: Gaussian | Loss) -> tuple[str, str, str]:
    if isinstance(loss, Gaussian):
        return loss.purpose, f"discrete Gaussian, {loss.dimension} value(s)", f"mu = {loss.mu:.4g}"
    if isinstance(loss, Failure):
        return loss.purpose, "fails", f"delta = {loss.delta:.2g}"
    if isinstance(loss, Approximate):
        return loss.purpose, "approximate", f"epsilon = {loss.epsilon:.4g}, delta = {loss.delta:.2g}"
    return loss.purpose, "pure", f"epsilon = {loss.epsilon:.4g}"
