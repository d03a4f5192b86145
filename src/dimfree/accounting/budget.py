"""The total (epsilon, delta) of a release, the neighbouring relation it holds for, and how weak a guarantee may be."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from dimfree._validate import check_at_least, check_choice, check_count, check_positive, check_probability
from dimfree.errors import InvalidParameter

LARGEST_EPSILON = 100.0
SMALLEST_EPSILON = 1e-3  # below it no table that fits a machine is released
SMALLEST_DELTA = 1e-12  # the accounting rounds up by 1e-13
LARGE_EPSILON = 10.0  # above it a warning: who guesses whether a person is in the data may be right 99.995% of the time
LARGE_EXPECTED_ROWS = 0.1  # delta·n from which a warning: records published in full, on average, at the same guarantee
FEW_RECORDS = 100.0  # stands for n where n is private: with fewer there is hardly a release. So above delta = 1e-3


class Neighbours(StrEnum):
    """The neighbouring relation: which pairs of data sets the guarantee compares.

    Attributes
    ----------
    ADD_REMOVE : "add-remove"
        One record more or less. The number of records is private.
    REPLACE_ONE : "replace-one"
        One record differs. The number of records is public.
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    @classmethod
    def parse(cls, value: "str | Neighbours") -> "Neighbours":
        """The relation with this name.

        Parameters
        ----------
        value : str or Neighbours
            "add-remove" or "replace-one".

        Returns
        -------
        Neighbours
            The relation.

        Raises
        ------
        InvalidParameter
            If there is none.
        """
        return cls(check_choice("neighbours", value, [member.value for member in cls]))


CHANGED_RECORDS = {Neighbours.ADD_REMOVE: 1, Neighbours.REPLACE_ONE: 2}  # one comes or goes; one goes and one comes


@dataclass(frozen=True)
class Budget:
    """The total privacy budget of one release; nothing is added on top of it.

    Parameters
    ----------
    epsilon : float
        Above 0. Values above 100 are accepted and used as 100.
    delta : float
        Strictly between 0 and 1.

    Raises
    ------
    InvalidParameter
        If a number is out of range.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", check_probability("delta", self.delta))

    @property
    def usable_epsilon(self) -> float:
        """The epsilon that the accounting uses, at most 100: a release that keeps it keeps any larger one."""
        return min(self.epsilon, LARGEST_EPSILON)

    def split(self, shares: int | Sequence[float]) -> "tuple[Budget, ...]":
        """Parts that add up to at most this budget.

        Releases made with the parts keep the whole budget together, since epsilons and deltas add up. Releases of this
        package spend less than the sum: `dimfree.compose` says how much.

        Parameters
        ----------
        shares : int or sequence of float
            A number of equal parts, or one positive share for each part.

        Returns
        -------
        tuple of Budget

        Raises
        ------
        InvalidParameter
            If `shares` is neither.

        Examples
        --------
        >>> [round(part.epsilon, 9) for part in Budget(1.0, 1e-6).split([1, 3])]
        [0.25, 0.75]
        """
        weights = [1.0] * check_count("shares", shares) if isinstance(shares, int) else _shares(shares)
        total, kept = sum(weights), 1.0
        while True:  # until the exact sums, which those of floats may round down, are within the budget
            parts = [Budget(self.epsilon * part / total * kept, self.delta * part / total * kept) for part in weights]
            sums = sum(Fraction(part.epsilon) for part in parts), sum(Fraction(part.delta) for part in parts)
            if sums[0] <= self.epsilon and sums[1] <= self.delta:
                return tuple(parts)
            kept *= 1 - 1e-15


_LARGE_DELTA = (
    "delta = {delta:g} is large{what}: publishing each record in full with that probability would keep the same "
    "guarantee. Choose delta far below 1 / n, such as 1e-6."
)


class WeakGuaranteeWarning(UserWarning):
    """Epsilon or delta is so large that the guarantee protects little. Raised before anything is read or charged."""


def weak_guarantee(epsilon: float, delta: float, records: float | None = None) -> list[str]:
    """Sentences about an epsilon or delta that protects little; `records`: a public or released number of records."""
    large_epsilon = (
        f"epsilon = {epsilon:g} gives little protection: a guess whether one person is in the data may be right more "
        f"than 99.99% of the time. Choose epsilon of about 1, at most {LARGE_EPSILON:g}."
    )
    found = large_epsilon if epsilon > LARGE_EPSILON else None, large_delta(delta, records)
    return [sentence for sentence in found if sentence]


def large_delta(delta: float, records: float | None = None) -> str | None:
    """A sentence if delta is not far below 1 / records; None: below 1 / FEW_RECORDS."""
    if records is None:
        return _LARGE_DELTA.format(delta=delta, what="") if delta > LARGE_EXPECTED_ROWS / FEW_RECORDS else None
    rows = delta * max(records, 1.0)
    if rows < LARGE_EXPECTED_ROWS:
        return None
    return (
        f"delta = {delta:g} is large for about {max(records, 1.0):.3g} records: publishing each record in full with "
        f"that probability, {rows:.2g} records on average, would keep the same guarantee. Choose delta far "
        "below 1 / records."
    )


def check_budget(epsilon: Any, delta: Any, parts: int = 1) -> Budget:
    """A budget that the accounting can divide into so many parts."""
    budget = Budget(epsilon, delta)
    check_at_least("epsilon", budget.epsilon, parts * SMALLEST_EPSILON)
    check_at_least("delta", budget.delta, parts * SMALLEST_DELTA)
    return budget


def warn_of_weak_guarantee(budget: Budget, records: float | None = None, *, stacklevel: int = 4) -> None:
    """Warn of each sentence of `weak_guarantee`; `records`: of what this public number adds to those without it."""
    found = weak_guarantee(budget.epsilon, budget.delta)
    if records is not None:
        is_new = large_delta(budget.delta, records) and not large_delta(budget.delta)
        found = [_LARGE_DELTA.format(delta=budget.delta, what=" for the public number of records")] if is_new else []
    for sentence in found:
        warnings.warn(sentence, WeakGuaranteeWarning, stacklevel=stacklevel)


def _shares(shares: object) -> list[float]:
    expected = InvalidParameter("Expected shares to be a whole number of parts, or a list of positive numbers.")
    if isinstance(shares, str) or not isinstance(shares, Sequence) or not shares:
        raise expected
    try:
        return [check_positive("shares", share) for share in shares]
    except InvalidParameter:  # an entry is not quoted
        raise expected from None
