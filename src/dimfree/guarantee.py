"""The promise of one release, in numbers and in plain words."""

from dataclasses import dataclass
from typing import Any

from dimfree._validate import check_positive, check_probability
from dimfree.budget import Neighbours
from dimfree.errors import InvalidParameter

_CHANGE = {
    Neighbours.ADD_REMOVE: "adding or removing any one person",
    Neighbours.REPLACE_ONE: "replacing any one person by anyone else",
}
_COUNT = {
    Neighbours.ADD_REMOVE: "The number of rows is protected as well.",
    Neighbours.REPLACE_ONE: "The number of rows is public: it is not protected.",
}


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The promise of one release: (epsilon, delta) in total, and the neighbouring relation it holds for."""

    epsilon: float
    delta: float
    neighbours: Neighbours
    private: bool  # False when the noise was seeded: then nothing is promised

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", check_probability("delta", self.delta))
        object.__setattr__(self, "neighbours", Neighbours.parse(self.neighbours))
        if not isinstance(self.private, bool):
            raise InvalidParameter(f"Expected private={self.private!r} to be True or False.")

    def statement(self) -> str:
        """The promise in plain words; numbers are printed in full, since rounding down would promise too much."""
        promise = (
            f"differential privacy with epsilon={self.epsilon!r} and delta={self.delta!r}, one row = one person: "
            f"{_CHANGE[self.neighbours]} changes the probability of any outcome by at most a factor "
            f"exp({self.epsilon!r}), plus {self.delta!r}. {_COUNT[self.neighbours]} "
            "The promise covers this release alone; releases about the same people add up."
        )
        if self.private:
            return promise[0].upper() + promise[1:]
        return f"not private: seeded noise. With system noise the promise would be {promise}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours.value,
            "private": self.private,
        }
