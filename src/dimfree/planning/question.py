"""A question before there are records, and its answer: public numbers only."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_at_least, check_choice, check_columns, check_count, check_magnitude, check_variances
from dimfree.accounting.budget import SMALLEST_DELTA, SMALLEST_EPSILON, Budget, Neighbours
from dimfree.errors import InvalidParameter
from dimfree.options import Options, Tails

Objective = Literal["auto", "relative", "total"]
Knowledge = Literal["nothing", "covariance"]
Tell: TypeAlias = Callable[[str, int, int], None]  # (what is being done, steps done, steps in all)
MAX_RECORDS = 10**10


def planned_objective(objective: str, knowledge: str, spectrum: object) -> str:
    """Return what "auto" stands for: "relative", as for a table with named columns, unless the SDs are given.

    Standard deviations, or a known covariance, ask for the Euclidean error, as for an array without names.
    """
    if check_choice("objective", objective, get_args(Objective)) != "auto":
        return objective
    return "relative" if spectrum is None and knowledge == "nothing" else "total"


@dataclass(frozen=True, eq=False)
class Question:
    """Sample size, standard deviations and budget of a release whose error is to be predicted.

    `stddevs` are those of the columns, in any order; columns are uncorrelated and Gaussian. Equal questions are equal
    keys. With objective "relative" units do not matter: each column has SD d^{-1/2}, so that a Euclidean length is a
    root mean square over the columns, each in its own standard deviations.
    """

    count: int
    stddevs: Floats
    budget: Budget
    relation: Neighbours = Neighbours.ADD_REMOVE
    knowledge: str = "nothing"
    outliers: float = 0.03
    tails: Tails = "heavy"
    failure_probability: float = 0.01
    objective: str = "total"

    def __post_init__(self) -> None:
        spread = check_magnitude("stddevs", check_variances("stddevs", self.stddevs))
        check_at_least("epsilon", self.budget.epsilon, SMALLEST_EPSILON)
        check_at_least("delta", self.budget.delta, SMALLEST_DELTA)
        check_choice("knowledge", self.knowledge, get_args(Knowledge))
        if check_choice("objective", self.objective, ("total", "relative")) == "relative":
            if self.knowledge != "nothing":
                raise InvalidParameter(
                    "Expected knowledge='nothing' with objective='relative', which learns the spread of every column."
                )
            spread = np.full(len(spread), len(spread) ** -0.5)
        checked = {"count": check_count("n", self.count, most=MAX_RECORDS), "stddevs": spread}
        checked |= {"relation": Neighbours.parse(self.relation)}
        checked |= {name: getattr(self.options, name) for name in ("outliers", "tails", "failure_probability")}
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        check_columns(len(spread), self.budget.epsilon)

    @property
    def options(self) -> Options:
        """The options that the release will be given, checked."""
        return Options(outliers=self.outliers, tails=self.tails, failure_probability=self.failure_probability)

    @property
    def dimension(self) -> int:
        return len(self.stddevs)

    @property
    def sampling(self) -> float:
        """(tr Σ / n)^{1/2}: the error of the sample mean, which is not private."""
        return float(np.linalg.norm(self.stddevs)) / float(np.sqrt(self.count))

    @cached_property
    def _key(self) -> tuple[object, ...]:
        rest = (getattr(self, field.name) for field in fields(self) if field.name != "stddevs")
        return self.stddevs.tobytes(), *rest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@dataclass(frozen=True)
class Prediction:
    """The expected error of a release: root mean square Euclidean lengths, and a length that is rarely exceeded.

    error² = sampling² + noise² + bias². If the release would be refused, error and noise are infinite and `remark` is
    the reason.
    """

    sampling: float
    noise: float
    bias: float
    error: float
    error_within: float
    refused: bool = False
    remark: str = ""
