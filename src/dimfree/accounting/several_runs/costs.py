"""The costs of a release of any kind: one tested run, a sequence of other releases, or several runs in one release."""

from dataclasses import dataclass
from typing import Any

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.composition import Composition
from dimfree.accounting.events import Branch, Costs, Gaussian
from dimfree.accounting.several_runs.composed_runs import ComposedRuns


@dataclass(frozen=True)
class Runs:
    """The costs of several runs about the same people under one budget; has the methods of `Costs`."""

    budget: Budget
    neighbours: Neighbours
    runs: tuple[Costs, ...]

    def __post_init__(self) -> None:
        if not self.runs or any(run.neighbours is not self.neighbours for run in self.runs):
            raise ValueError("Runs under one promise have one neighbouring relation.")
        if not all(run.delta() <= run.budget.delta for run in self.runs):  # the sum of budgets is used
            raise ValueError("A run exceeds its own budget.")

    @property
    def events(self) -> tuple[Gaussian | Branch, ...]:
        return tuple(event for run in self.runs for event in run.events)

    def delta(self) -> float:
        """The delta at the promised epsilon, rounded up (M9)."""
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
        return cls(
            budget=Budget(data["epsilon"], data["delta"]),
            neighbours=Neighbours(data["neighbours"]),
            runs=tuple(Costs.from_dict(run) for run in data["runs"]),
        )


AnyCosts = Costs | Composition | Runs


def costs_from_dict(data: dict[str, Any]) -> AnyCosts:
    """The costs that any `to_dict` of this module wrote."""
    kinds: dict[str | None, type[Composition | Runs]] = {"composition": Composition, "runs": Runs}
    kind = kinds.get(data.get("kind"))
    return Costs.from_dict(data) if kind is None else kind.from_dict(data)


def runs_of(ledger: AnyCosts) -> tuple[Costs | Composition, ...]:
    """The single runs, as `ComposedRuns` wants them."""
    return ledger.runs if isinstance(ledger, Runs) else (ledger,)
