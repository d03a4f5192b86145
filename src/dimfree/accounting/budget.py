"""The total (epsilon, delta) of a release, the neighboring relation it holds for, and how weak a guarantee may be."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from dimfree._validate import check_at_least, check_choice, check_count, check_positive, check_probability
from dimfree.errors import InvalidParameterError, WeakGuaranteeWarning

MAX_EPSILON = 100.0
MIN_EPSILON = 1e-3  # below it no table that fits a machine is released
MIN_DELTA = 1e-12  # the accounting rounds up by 1e-13
LARGE_EPSILON = 10.0  # above it a warning: a guess whether a person is in the data may be right 99.995% of the time
LARGE_EXPECTED_ROWS = 0.1  # delta·n from which a warning: records published in full, on average, at the same guarantee
FEW_RECORDS = 100.0  # used for n if n is private: with fewer there is hardly a release. So above delta = 1e-3


class Neighbors(StrEnum):
    """The neighboring relation: which pairs of data sets the guarantee compares.

    Attributes
    ----------
    ADD_REMOVE : "add-remove"
        One data set has one record more. The number of records is private.
    REPLACE_ONE : "replace-one"
        One record differs. The number of records is public.
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    @classmethod
    def parse(cls, value: "str | Neighbors") -> "Neighbors":
        """Return the neighboring relation with this name.

        Parameters
        ----------
        value : str or Neighbors
            "add-remove" or "replace-one".

        Returns
        -------
        Neighbors
            The relation.

        Raises
        ------
        InvalidParameterError
            If there is no such relation.
        """
        return cls(check_choice("neighbors", value, [member.value for member in cls]))


CHANGED_RECORDS = {Neighbors.ADD_REMOVE: 1, Neighbors.REPLACE_ONE: 2}  # records that appear or disappear


@dataclass(frozen=True)
class Budget:
    """The total privacy budget of one release.

    Parameters
    ----------
    epsilon : float
        Above 0. Values above 100 are accepted and used as 100.
    delta : float
        Strictly between 0 and 1.

    Raises
    ------
    InvalidParameterError
        If a number is out of range.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", check_probability("delta", self.delta))

    @property
    def usable_epsilon(self) -> float:
        """The epsilon that the accounting uses, at most 100: a release within it is within any larger one."""
        return min(self.epsilon, MAX_EPSILON)

    def split(self, shares: int | Sequence[float]) -> "tuple[Budget, ...]":
        """Split the budget into parts whose sum is at most this budget.

        By basic composition, releases with the parts are together within the whole budget. Releases of this package
        compose to less than the sum: `dimfree.compose` returns how much.

        Parameters
        ----------
        shares : int or sequence of float
            A number of equal parts, or one positive share for each part.

        Returns
        -------
        tuple of Budget

        Raises
        ------
        InvalidParameterError
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
    "delta = {delta:g} is large{what}: publishing each record in full with that probability would have the same "
    "guarantee. Choose delta far below 1 / n, such as 1e-6."
)


def explain_weak_guarantee(epsilon: float, delta: float, records: float | None = None) -> list[str]:
    """Return sentences about an epsilon or delta that protects little; `records`: their public or released number."""
    large_epsilon = (
        f"epsilon = {epsilon:g} gives little protection: a guess whether one person is in the data may be right more "
        f"than 99.99% of the time. Choose epsilon of about 1, at most {LARGE_EPSILON:g}."
    )
    found = large_epsilon if epsilon > LARGE_EPSILON else None, explain_large_delta(delta, records)
    return [sentence for sentence in found if sentence]


def explain_large_delta(delta: float, records: float | None = None) -> str | None:
    """Return a sentence if delta is not far below 1 / records; `records` None: below 1 / FEW_RECORDS."""
    if records is None:
        return _LARGE_DELTA.format(delta=delta, what="") if delta > LARGE_EXPECTED_ROWS / FEW_RECORDS else None
    rows = delta * max(records, 1.0)
    if rows < LARGE_EXPECTED_ROWS:
        return None
    return (
        f"delta = {delta:g} is large for about {max(records, 1.0):.3g} records: publishing each record in full with "
        f"that probability, {rows:.2g} records on average, would have the same guarantee. Choose delta far "
        "below 1 / records."
    )


def check_budget(epsilon: Any, delta: Any, parts: int = 1) -> Budget:
    """Return a budget that the accounting can divide into this number of parts."""
    budget = Budget(epsilon, delta)
    check_at_least("epsilon", budget.epsilon, parts * MIN_EPSILON)
    check_at_least("delta", budget.delta, parts * MIN_DELTA)
    return budget


def warn_of_weak_guarantee(budget: Budget, records: float | None = None, *, stacklevel: int = 4) -> None:
    """Warn with each sentence of `explain_weak_guarantee`; with `records`, only with what that public number adds."""
    found = explain_weak_guarantee(budget.epsilon, budget.delta)
    if records is not None:
        is_new = explain_large_delta(budget.delta, records) and not explain_large_delta(budget.delta)
        found = [_LARGE_DELTA.format(delta=budget.delta, what=" for the public number of records")] if is_new else []
    for sentence in found:
        warnings.warn(sentence, WeakGuaranteeWarning, stacklevel=stacklevel)


def _shares(shares: object) -> list[float]:
    expected = InvalidParameterError("`shares` must be a whole number of parts, or a list of positive numbers.")
    if isinstance(shares, str) or not isinstance(shares, Sequence) or not shares:
        raise expected
    try:
        return [check_positive("shares", share) for share in shares]
    except InvalidParameterError:  # an entry is not quoted
        raise expected from None
