"""Frozen costs, and the ledger that composes them. A cost never changes its meaning; a ledger never forgets one.

The promise of a run is: Gaussian releases `before`, one public choice from a `menu` of branches, and on the chosen
branch Gaussian releases `after` whose precisions sum to at most what the branch declares (P9).
"""

import math
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree.accounting.discrete import EPSILON_SHARE, MOST_RELEASES, Slack, slack
from dimfree.accounting.ladder import Ladder, tested_profile
from dimfree.accounting.lifting import after_lifting, before_lifting
from dimfree.accounting.precision import compose, hockey_stick
from dimfree.accounting.profile import total_delta
from dimfree.budget import Budget, Neighbours


@dataclass(frozen=True)
class Gaussian:
    """One release with discrete Gaussian noise; sensitivity and stddev in steps of its grid."""

    purpose: str
    sensitivity: float
    stddev: float
    dimension: int
    step: float  # one grid step, in units of the released quantity

    @property
    def mu(self) -> float:
        return self.sensitivity / self.stddev * (1 + 1e-15)


@dataclass(frozen=True)
class Tested:
    """A branch behind the stability bit: pass by the ladder, then Gaussian releases of total mu (P6)."""

    ladder: Ladder
    mu: float

    def profile(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return tested_profile(self.ladder, self.mu, x)


@dataclass(frozen=True)
class Bounded:
    """A branch whose noise rests on a noisy lower bound that fails with probability `failure` (P3)."""

    mu: float
    failure: float

    def profile(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return hockey_stick(self.mu, x) + self.failure


Branch = Tested | Bounded


def menu_profile(menu: tuple[Branch, ...], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The profile of a public choice from the menu, a refusal included: the largest at every level (P9)."""
    return np.max([hockey_stick(0.0, x), *(branch.profile(x) for branch in menu)], axis=0)


@dataclass(frozen=True)
class Ledger:
    """Everything charged by one release, composing to at most its budget."""

    budget: Budget
    neighbours: Neighbours
    before: tuple[Gaussian, ...]
    menu: tuple[Branch, ...]
    chosen: int | None = None  # which branch of the menu was taken; None: a public refusal
    after: tuple[Gaussian, ...] = ()
    filtered: bool = False  # behind the paper's random filter: costs are lifted (P1)

    def __post_init__(self) -> None:
        if self.filtered and self.before:
            raise ValueError("The lifting of P1 covers only what follows the filter; nothing may be released before.")
        limit = self.menu[self.chosen].mu if self.chosen is not None else 0.0
        if compose(event.mu for event in self.after) > limit * (1 + 1e-12):
            raise ValueError("The releases after the choice exceed the precision that the chosen branch declares.")
        if len(self.before) + len(self.after) > MOST_RELEASES:
            raise ValueError("More Gaussian releases than the discrete noise was charged for.")
        if sum(loss.epsilon for loss in self._slacks()) > EPSILON_SHARE * self._inner[0]:
            raise ValueError("The discrete noise is too coarse for this epsilon.")

    @property
    def events(self) -> tuple[Gaussian | Branch, ...]:
        return (*self.before, *self.menu, *self.after)

    def delta(self) -> float:
        """The delta actually spent at the promised epsilon, rounded up."""
        epsilon, _ = self._inner
        losses = self._slacks()
        ideal = total_delta(
            epsilon - sum(loss.epsilon for loss in losses),
            compose(event.mu for event in self.before),
            partial(menu_profile, self.menu),
        )
        spent = math.exp(sum(loss.ratio for loss in losses)) * ideal + sum(loss.tail for loss in losses)
        return after_lifting(epsilon, spent)[1] if self.filtered else spent

    @property
    def _inner(self) -> tuple[float, float]:
        """The budget of what is charged here: behind a filter, what the lifting leaves of the promise."""
        promise = self.budget.usable_epsilon, self.budget.delta
        return before_lifting(*promise) if self.filtered else promise

    def _slacks(self) -> list[Slack]:
        """What each discrete release costs beyond its continuous ideal (M8)."""
        return [slack(g.stddev, g.sensitivity, g.dimension, self._inner[1]) for g in (*self.before, *self.after)]

    def summary_rows(self) -> list[tuple[str, str, str]]:
        """(what, how, cost) for a table; public numbers only."""
        rows = [(g.purpose, f"discrete Gaussian, {g.dimension} value(s)", f"mu = {g.mu:.4g}") for g in self.before]
        rows += [_branch_row(branch) for branch in self.menu]
        rows += [(g.purpose, f"discrete Gaussian, {g.dimension} value(s)", f"mu = {g.mu:.4g}") for g in self.after]
        return rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "neighbours": self.neighbours.value,
            "before": [asdict(event) for event in self.before],
            "menu": [_branch_to_dict(branch) for branch in self.menu],
            "chosen": self.chosen,
            "after": [asdict(event) for event in self.after],
            "filtered": self.filtered,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Ledger":
        return cls(
            budget=Budget(data["epsilon"], data["delta"]),
            neighbours=Neighbours(data["neighbours"]),
            before=tuple(Gaussian(**event) for event in data["before"]),
            menu=tuple(_branch_from_dict(branch) for branch in data["menu"]),
            chosen=data["chosen"],
            after=tuple(Gaussian(**event) for event in data["after"]),
            filtered=data["filtered"],
        )


def _branch_row(branch: Branch) -> tuple[str, str, str]:
    if isinstance(branch, Tested):
        return "stability test", f"one bit, ladder of {branch.ladder.length} steps", f"then mu <= {branch.mu:.4g}"
    return "noisy lower bound", f"fails with probability {branch.failure:.2g}", f"mu <= {branch.mu:.4g}"


def _branch_to_dict(branch: Branch) -> dict[str, Any]:
    if isinstance(branch, Tested):
        return {"kind": "tested", "mu": branch.mu, "rungs": [f"{rung:x}" for rung in branch.ladder.rungs]}
    return {"kind": "bounded", "mu": branch.mu, "failure": branch.failure}


def _branch_from_dict(data: dict[str, Any]) -> Branch:
    if data["kind"] == "tested":
        return Tested(Ladder(tuple(int(rung, 16) for rung in data["rungs"])), data["mu"])
    return Bounded(data["mu"], data["failure"])
