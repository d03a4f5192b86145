"""What the user promises: a total (epsilon, delta) and the neighbouring relation it holds for."""

from dataclasses import dataclass
from enum import StrEnum

from dimfree._validate import check_choice, check_positive, check_probability

LARGEST_EPSILON = 100.0
SMALLEST_EPSILON = 1e-3  # below it no table that fits a machine is released
SMALLEST_DELTA = 1e-12  # the accounting rounds up by 1e-13


class Neighbours(StrEnum):
    """Which pairs of data sets must look alike. An explicit value, never implied."""

    ADD_REMOVE = "add-remove"  # one record more or less; the number of records is private
    REPLACE_ONE = "replace-one"  # one record differs; the number of records is public

    @classmethod
    def parse(cls, value: "str | Neighbours") -> "Neighbours":
        return cls(check_choice("neighbours", value, [member.value for member in cls]))


@dataclass(frozen=True)
class Budget:
    """The total privacy budget of one release; nothing is added on top of it."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", check_probability("delta", self.delta))

    @property
    def usable_epsilon(self) -> float:
        """What the accounting works with: a larger promise is kept by keeping this one."""
        return min(self.epsilon, LARGEST_EPSILON)
