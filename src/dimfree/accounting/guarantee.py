"""The privacy guarantee of one release, in numbers and as a sentence."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from dimfree._validate import check_choice, check_count, check_positive, check_probability, quoted
from dimfree.accounting.budget import Neighbours
from dimfree.errors import InvalidParameter

UNITS = ("row", "person")  # one person is one row, or all rows with the same key

_CHANGE = {
    ("row", Neighbours.ADD_REMOVE): "adding or removing any one person",
    ("row", Neighbours.REPLACE_ONE): "replacing any one person by anyone else",
    ("person", Neighbours.ADD_REMOVE): "adding or removing any one person with all their rows",
    ("person", Neighbours.REPLACE_ONE): "replacing any one person with all their rows by anyone else with theirs",
}
_COUNT = {
    ("row", Neighbours.ADD_REMOVE): "The number of rows is protected as well.",
    ("row", Neighbours.REPLACE_ONE): "The number of rows is public: it is not protected.",
    ("person", Neighbours.ADD_REMOVE): "The number of persons is protected as well, and how many rows each has.",
    ("person", Neighbours.REPLACE_ONE): "The number of persons is public; how many rows each has is protected.",
}


def who(unit: str, column: str | None) -> str:
    """What one person is, as a phrase."""
    if unit == "row":
        return "one row = one person"
    return f"one person = all rows with the same {'key' if column is None else repr(column)}"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The privacy guarantee of one release.

    Parameters
    ----------
    epsilon, delta : float
        The total of the release.
    neighbours : Neighbours or str
        The neighbouring relation.
    private : bool
        False if the noise was seeded: then there is no guarantee.
    unit : {"row", "person"}
        "row": one row is one person. "person": all rows with the same key are one person.
    unit_column : str, optional
        The column that the keys come from, if it has a name. Only with unit="person".
    unit_rows : int, optional
        None: each person counts with the mean of their rows. A number: with the sum of that many first rows. Only with
        unit="person".
    each_column : bool
        Whether a column counts the persons who have an entry in it (on_missing="column"), instead of all.

    Raises
    ------
    InvalidParameter
        If a value is out of range, or does not go with `unit`.
    """

    epsilon: float
    delta: float
    neighbours: Neighbours
    private: bool
    unit: str = "row"
    unit_column: str | None = None
    unit_rows: int | None = None
    each_column: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", check_probability("delta", self.delta))
        object.__setattr__(self, "neighbours", Neighbours.parse(self.neighbours))
        object.__setattr__(self, "unit", check_choice("unit", self.unit, UNITS))
        for name in ("private", "each_column"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidParameter(f"Expected {name}={quoted(getattr(self, name))} to be True or False.")
        if self.unit == "row" and (self.unit_column is not None or self.unit_rows is not None):
            raise InvalidParameter("Expected unit_column and unit_rows with unit='person' only.")
        if not isinstance(self.unit_column, str | None):
            raise InvalidParameter("Expected unit_column to be the name of a column.")
        if self.unit_rows is not None:
            object.__setattr__(self, "unit_rows", check_count("unit_rows", self.unit_rows))

    @property
    def estimates(self) -> str:
        """What the released mean estimates, as a phrase."""
        if self.each_column:
            counts = "" if self.unit == "row" else ": each person counts once, with the mean of their rows that have it"
            return f"each column's mean over the people who have it{counts}"
        if self.unit == "row":
            return "the mean of the rows"
        if self.unit_rows is None:
            return "the mean of person means: each person counts once, with the mean of their rows"
        rows = "first row" if self.unit_rows == 1 else f"first {self.unit_rows} rows at most"
        return f"the mean of capped person totals: each person counts once, with the sum of their {rows}"

    def statement(self) -> str:
        """The guarantee as a sentence. Numbers are printed in full: rounded down they would promise too much.

        Returns
        -------
        str
            One sentence.
        """
        what = "" if self.unit == "row" and not self.each_column else f"What is estimated is {self.estimates}. "
        promise = (
            f"differential privacy with epsilon={self.epsilon!r} and delta={self.delta!r}, {self.who}: "
            f"{_CHANGE[self.unit, self.neighbours]} changes the probability of any outcome by at most a factor "
            f"exp({self.epsilon!r}), plus {self.delta!r}. {_COUNT[self.unit, self.neighbours]} {what}"
            "The promise covers this release alone; releases about the same people add up."
        )
        if self.private:
            return promise[0].upper() + promise[1:]
        return f"not private: seeded noise. With system noise the promise would be {promise}"

    @property
    def who(self) -> str:
        """What one person is, as a phrase."""
        return who(self.unit, self.unit_column)

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values.

        Returns
        -------
        dict
            What `from_dict` reads.
        """
        found = {**asdict(self), "neighbours": self.neighbours.value}
        return found if self.each_column else {name: found[name] for name in found if name != "each_column"}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """The guarantee that `to_dict` wrote.

        Parameters
        ----------
        document : dict
            The fields.

        Returns
        -------
        Guarantee
            The same promise.

        Raises
        ------
        InvalidParameter
            If an entry is missing or unknown.
        """
        names = {field.name for field in fields(cls)}
        if not isinstance(document, dict) or not names - {"each_column"} <= set(document) <= names:
            raise InvalidParameter("Expected exactly the entries of a guarantee.")
        return cls(**document)
