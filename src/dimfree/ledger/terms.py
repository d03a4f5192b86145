"""What a ledger promises in total, and about whom: fixed when it is opened."""

from dataclasses import dataclass
from typing import Any

from dimfree._validate import check_at_least
from dimfree.accounting.budget import SMALLEST_DELTA, SMALLEST_EPSILON, Budget, Neighbours
from dimfree.errors import InvalidParameter
from dimfree.ledger.chain import OPENED, Entry

RULE = 1  # raise it whenever an older version would add up differently


@dataclass(frozen=True)
class Terms:
    """What a ledger promises in total, and about whom."""

    budget: Budget
    neighbours: Neighbours
    unit: str  # "row", or "person": all rows with the same key
    unit_column: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "rule": RULE,
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "neighbours": self.neighbours.value,
            "unit": self.unit,
            "unit_column": self.unit_column,
        }

    @classmethod
    def from_entry(cls, entry: Entry) -> "Terms":
        """The terms that the first entry of a ledger states."""
        said = entry.content
        named = said["unit_column"] is None or isinstance(said["unit_column"], str)
        if entry.event != OPENED or said["rule"] != RULE or said["unit"] not in ("row", "person") or not named:
            raise ValueError("The first entry of a ledger states its terms.")
        return cls(
            Budget(said["epsilon"], said["delta"]), Neighbours(said["neighbours"]), said["unit"], said["unit_column"]
        )

    @property
    def who(self) -> str:
        """What one person is."""
        if self.unit == "row":
            return "one row = one person"
        return f"one person = all rows with the same {'key' if self.unit_column is None else repr(self.unit_column)}"


def given_terms(epsilon: object, delta: object, neighbours: str | Neighbours | None, unit: object) -> Terms | None:
    if epsilon is None and delta is None:
        return None
    if epsilon is None or delta is None:
        raise InvalidParameter(
            "Expected epsilon and delta together: the total of the ledger. Leave out both to reopen."
        )
    budget = Budget(epsilon, delta)  # type: ignore[arg-type]
    check_at_least("epsilon", budget.epsilon, SMALLEST_EPSILON)
    check_at_least("delta", budget.delta, SMALLEST_DELTA)
    return Terms(budget, Neighbours.parse(Neighbours.ADD_REMOVE if neighbours is None else neighbours), *_unit(unit))


def _unit(unit: object) -> tuple[str, str | None]:
    if unit is None:
        return "row", None
    if not isinstance(unit, str):
        raise InvalidParameter("Expected unit to name the column that says whose each row is, or '' for unnamed keys.")
    return "person", unit or None


def check_agreement(found: Terms, asked: Terms | None, neighbours: Any, unit: object, dataset: str) -> None:
    """Terms given again when a ledger is reopened must be those it was opened with."""
    if asked is not None and asked.budget != found.budget:
        raise InvalidParameter(
            f"The ledger of {dataset!r} was opened with epsilon={found.budget.epsilon!r}, "
            f"delta={found.budget.delta!r}, and a total never changes: got epsilon={asked.budget.epsilon!r}, "
            f"delta={asked.budget.delta!r}. Leave both out to reopen it."
        )
    if neighbours is not None and Neighbours.parse(neighbours) is not found.neighbours:
        raise InvalidParameter(f"The ledger of {dataset!r} was opened for {found.neighbours} neighbours: leave it out.")
    if unit is not None and _unit(unit) != (found.unit, found.unit_column):
        raise InvalidParameter(f"The ledger of {dataset!r} was opened with {found.who}: leave unit out to reopen it.")
