"""The privacy guarantee of one release, in numbers and as a sentence."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from dimfree._validate import check_choice, check_count, check_positive, check_probability, quote
from dimfree.accounting.budget import Neighbors
from dimfree.errors import InvalidParameterError

UNITS = ("row", "person")  # one person is one row, or all rows with the same privacy ID

_CHANGE = {
    ("row", Neighbors.ADD_REMOVE): "adding or removing any one person",
    ("row", Neighbors.REPLACE_ONE): "replacing any one person by anyone else",
    ("person", Neighbors.ADD_REMOVE): "adding or removing any one person with all their rows",
    ("person", Neighbors.REPLACE_ONE): "replacing any one person with all their rows by anyone else with theirs",
}
_COUNT = {
    ("row", Neighbors.ADD_REMOVE): "The number of rows is protected as well.",
    ("row", Neighbors.REPLACE_ONE): "The number of rows is public: it is not protected.",
    ("person", Neighbors.ADD_REMOVE): "The number of persons is protected as well, and how many rows each has.",
    ("person", Neighbors.REPLACE_ONE): "The number of persons is public; how many rows each has is protected.",
}


def describe_privacy_unit(privacy_unit: str, column: str | None) -> str:
    """Describe in a phrase what one person is."""
    if privacy_unit == "row":
        return "one row = one person"
    return f"one person = all rows with the same {'privacy ID' if column is None else repr(column)}"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The privacy guarantee of one release.

    Parameters
    ----------
    epsilon, delta : float
        The total of the release.
    neighbors : Neighbors or str
        The neighboring relation.
    private : bool
        False if the noise was seeded: then there is no guarantee.
    privacy_unit : {"row", "person"}
        "row": one row is one person. "person": all rows with the same privacy ID are one person.
    privacy_id : str, optional
        The column of privacy IDs, if it has a name. Only with privacy_unit="person".
    max_contributions : int, optional
        None: each person counts with the mean of their rows. A number: with the sum of their first rows, up to this
        number. Only with privacy_unit="person".
    each_column : bool
        Whether a column counts only the persons with a value in it (missing="available-case").

    Raises
    ------
    InvalidParameterError
        If a value is out of range, or does not go with `privacy_unit`.
    """

    epsilon: float
    delta: float
    neighbors: Neighbors
    private: bool
    privacy_unit: str = "row"
    privacy_id: str | None = None
    max_contributions: int | None = None
    each_column: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", check_probability("delta", self.delta))
        object.__setattr__(self, "neighbors", Neighbors.parse(self.neighbors))
        object.__setattr__(self, "privacy_unit", check_choice("privacy_unit", self.privacy_unit, UNITS))
        for name in ("private", "each_column"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidParameterError(f"`{name}` must be True or False, got {quote(getattr(self, name))}.")
        if self.privacy_unit == "row" and (self.privacy_id is not None or self.max_contributions is not None):
            raise InvalidParameterError("`privacy_id` and `max_contributions` need privacy_unit='person'.")
        if not isinstance(self.privacy_id, str | None):
            raise InvalidParameterError("`privacy_id` must be the name of a column.")
        if self.max_contributions is not None:
            object.__setattr__(self, "max_contributions", check_count("max_contributions", self.max_contributions))

    @property
    def estimates(self) -> str:
        """The estimand of the released mean, as a phrase."""
        if self.each_column and self.privacy_unit == "row":
            return "the mean of each column over the people with a value in it"
        if self.each_column:
            return (
                "the mean of each column over the people with a value in it: each person counts once, with the mean of "
                "their rows that have one"
            )
        if self.privacy_unit == "row":
            return "the mean of the rows"
        if self.max_contributions is None:
            return "the mean of person means: each person counts once, with the mean of their rows"
        rows = "first row" if self.max_contributions == 1 else f"first rows, up to {self.max_contributions}"
        return f"the mean of bounded person totals: each person counts once, with the sum of their {rows}"

    def statement(self) -> str:
        """Return the guarantee in sentences. Numbers are printed in full: rounded down they would overstate it.

        Returns
        -------
        str
            The relation, epsilon, delta, who is protected, and the estimand.
        """
        what = "" if self.privacy_unit == "row" and not self.each_column else f"It estimates {self.estimates}. "
        guarantee = (
            f"differential privacy with epsilon={self.epsilon!r} and delta={self.delta!r}, {self.who}: "
            f"{_CHANGE[self.privacy_unit, self.neighbors]} changes the probability of any outcome by at most a factor "
            f"exp({self.epsilon!r}), plus {self.delta!r}. {_COUNT[self.privacy_unit, self.neighbors]} {what}"
            "The guarantee covers this release alone; releases about the same people compose."
        )
        if self.private:
            return guarantee[0].upper() + guarantee[1:]
        return f"Not private: seeded noise. With system noise the guarantee would be {guarantee}"

    @property
    def who(self) -> str:
        """The privacy unit, as a phrase."""
        return describe_privacy_unit(self.privacy_unit, self.privacy_id)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values.

        Returns
        -------
        dict
            The document that `from_dict` reads.
        """
        found = {**asdict(self), "neighbors": self.neighbors.value}
        return found if self.each_column else {name: found[name] for name in found if name != "each_column"}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """Read the guarantee that `to_dict` wrote.

        Parameters
        ----------
        document : dict
            The fields.

        Returns
        -------
        Guarantee
            The same guarantee.

        Raises
        ------
        InvalidParameterError
            If an entry is missing or unknown.
        """
        names = {field.name for field in fields(cls)}
        if not isinstance(document, dict) or not names - {"each_column"} <= set(document) <= names:
            raise InvalidParameterError("A guarantee has missing or unknown entries. Export it again with to_dict().")
        return cls(**document)
