"""What the user promises: a total (epsilon, delta) and the neighbouring relation it holds for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from dimfree._validate import check_choice, check_count, check_positive, check_probability
from dimfree.errors import InvalidParameter

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


CHANGED_RECORDS = {Neighbours.ADD_REMOVE: 1, Neighbours.REPLACE_ONE: 2}  # one comes or goes; one goes and one comes


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

    def split(self, shares: int | Sequence[float]) -> "tuple[Budget, ...]":
        """So many equal parts, or parts in proportion to the shares, that add up to at most the whole.

        Whatever is released with the parts keeps the whole promise, since epsilons and deltas add up. Releases of this
        package spend less together: `dimfree.compose` says how much.

        >>> [part.epsilon for part in Budget(1.0, 1e-6).split([1, 3])]
        [0.25, 0.75]
        """
        weights = [1.0] * check_count("shares", shares) if isinstance(shares, int) else _shares(shares)
        total = sum(weights)
        parts = [Budget(self.epsilon * weight / total, self.delta * weight / total) for weight in weights]
        while _sum(part.epsilon for part in parts) > self.epsilon or _sum(part.delta for part in parts) > self.delta:
            parts = [Budget(part.epsilon * (1 - 1e-15), part.delta * (1 - 1e-15)) for part in parts]  # rounded up: down
        return tuple(parts)


_SHARES = "Expected shares to be a whole number of parts, or a list of positive numbers."


def _shares(shares: object) -> list[float]:
    if isinstance(shares, str) or not isinstance(shares, Sequence) or not shares:
        raise InvalidParameter(_SHARES)
    try:
        return [check_positive("shares", share) for share in shares]
    except InvalidParameter:  # an entry is not quoted
        raise InvalidParameter(_SHARES) from None


def _sum(parts: Iterable[float]) -> Fraction:
    """Exactly: a sum of floats may round down."""
    return sum(map(Fraction, parts), Fraction(0))
