"""The release that a plan asks about, and the predicted error: public numbers only.

SDs of the columns are given by name, as numbers, or by a public table. S1: ten ones, then 1/d. S2: 1/i.
S3: i^-1/2. S4, or isotropic: ones. S5: e^-(i-1). Families take a number after a colon: power:a is i^-a; exponential:a
is e^-a(i-1). No SD is below SMALLEST.
"""

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias, cast, get_args

import numpy as np

from dimfree._types import Floats
from dimfree._validate import (
    check_at_least,
    check_choice,
    check_columns,
    check_count,
    check_lengths,
    check_magnitude,
    check_positive,
    check_variances,
    quote,
)
from dimfree.accounting.budget import MIN_DELTA, MIN_EPSILON, Budget, Neighbors
from dimfree.data.records import as_records
from dimfree.errors import InvalidParameterError
from dimfree.options import Options, Tails

Objective = Literal["auto", "relative", "total"]
Knowledge = Literal["nothing", "covariance"]
Tell: TypeAlias = Callable[[str, int, int], None]  # (step, steps done, total steps)
MAX_RECORDS = 10**10
DISTANCE = 10.0  # of the mean from the origin, in units of sqrt(tr Σ)
SMALLEST = 1e-9  # a covariance must stay invertible
GIVEN = "given standard deviations"  # the name of an array of SDs
ANY_UNITS = "any units"  # errors are relative to the SD of each column


def _power(dimension: int, exponent: float) -> Floats:
    return np.maximum(np.arange(1.0, dimension + 1) ** -exponent, SMALLEST)


def _exponential(dimension: int, rate: float) -> Floats:
    return np.maximum(np.exp(rate * (1.0 - np.arange(1.0, dimension + 1))), SMALLEST)


SPECTRA: dict[str, Callable[[int], Floats]] = {
    "S1": lambda dimension: np.where(np.arange(dimension) < 10, 1.0, 1.0 / dimension),
    "S2": lambda dimension: _power(dimension, 1.0),
    "S3": lambda dimension: _power(dimension, 0.5),
    "S4": np.ones,
    "S5": lambda dimension: _exponential(dimension, 1.0),
}
ALIASES = {"isotropic": "S4"}
FAMILIES: dict[str, Callable[[int, float], Floats]] = {"power": _power, "exponential": _exponential}


def spectrum(name: str, dimension: int) -> Floats:
    """Return the SDs of a named spectrum in `dimension` columns.

    >>> spectrum("power:2", 3).round(3).tolist()
    [1.0, 0.25, 0.111]
    """
    columns = check_count("d", dimension)
    family, colon, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    known = ALIASES.get(family, family)
    if known in SPECTRA and not colon:
        return SPECTRA[known](columns)
    if family not in FAMILIES or not colon:
        listed = ", ".join((*SPECTRA, *ALIASES))
        raise InvalidParameterError(
            f"`spectrum` must be one of {listed}, power:NUMBER or exponential:NUMBER, got {quote(name)}."
        )
    try:
        parameter = float(number)
    except ValueError:
        raise InvalidParameterError(f"`spectrum` must end in a number, as in power:0.7, got {quote(name)}.") from None
    return FAMILIES[family](columns, check_positive(family, parameter))


def draw(stddevs: Floats, count: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Return (X, mean): Gaussian records about a mean at DISTANCE · sqrt(tr Σ) in a random direction."""
    direction = generator.normal(size=len(stddevs))
    mean = direction * (DISTANCE * np.linalg.norm(stddevs) / np.linalg.norm(direction))
    X = generator.normal(size=(count, len(stddevs)))
    X *= stddevs
    X += mean
    return X, mean


def measure_public_stddevs(table: object) -> Floats:
    """Compute the SDs of the columns of a public table; a constant column gets a tiny one.

    The SDs are exact, so the table must be public.
    """
    with np.errstate(all="ignore"):  # what overflows is refused in the next line
        stddevs = read_public_rows(table).std(axis=0)
    if not 0 < stddevs.max() < math.inf:
        raise InvalidParameterError("The public table must vary, in units that fit floating-point numbers.")
    return np.maximum(stddevs, SMALLEST * stddevs.max())


def read_public_rows(table: object) -> Floats:
    """Return the rows of any table that `release_mean` accepts; every entry must be finite."""
    records = as_records(table)
    if not records.count:
        raise InvalidParameterError("The public table must have rows, got none.")
    blocks = list(records.blocks())
    if not all(valid.all() for _, valid in blocks):
        raise InvalidParameterError("Every entry of the public table must be finite: drop the other rows.")
    return np.concatenate([rows for rows, _ in blocks])


def resolve_stddevs(given: object, dimension: int | None) -> Floats:
    """Return the SDs of the columns: of a named spectrum in so many dimensions, or as given."""
    if isinstance(given, str):
        columns = check_count("d", dimension)
        return np.ones(columns) if given == ANY_UNITS else spectrum(given, columns)
    stddevs = check_magnitude("spectrum", check_variances("spectrum", given))
    if dimension is not None:
        check_lengths("spectrum", len(stddevs), "column", dimension)
    return np.asarray(stddevs)


def resolve_objective(objective: str, knowledge: str, spectrum: object) -> str:
    """Resolve "auto": "relative", as for a table with named columns, unless SDs or a covariance are given."""
    if check_choice("objective", objective, get_args(Objective)) != "auto":
        return objective
    return "relative" if spectrum is None and knowledge == "nothing" else "total"


@dataclass(frozen=True, eq=False)
class Question:
    """Sample size, standard deviations and budget of a release whose error is to be predicted.

    Columns are uncorrelated and Gaussian; equal questions are equal keys. With objective "relative" each column has
    SD d^{-1/2}, so that a Euclidean length is a root mean square over the columns in their SDs.
    """

    count: int
    stddevs: Floats
    budget: Budget
    relation: Neighbors = Neighbors.ADD_REMOVE
    knowledge: str = "nothing"
    outliers: float = 0.03
    tails: Tails = "heavy"
    failure_probability: float = 0.01
    objective: str = "total"

    def __post_init__(self) -> None:
        stddevs = check_magnitude("stddevs", check_variances("stddevs", self.stddevs))
        check_at_least("epsilon", self.budget.epsilon, MIN_EPSILON)
        check_at_least("delta", self.budget.delta, MIN_DELTA)
        check_choice("knowledge", self.knowledge, get_args(Knowledge))
        if check_choice("objective", self.objective, ("total", "relative")) == "relative":
            if self.knowledge != "nothing":
                raise InvalidParameterError(
                    "`knowledge` must be 'nothing' with objective='relative', which estimates the SD of every column."
                )
            stddevs = np.full(len(stddevs), len(stddevs) ** -0.5)
        checked = {"count": check_count("n", self.count, most=MAX_RECORDS), "stddevs": stddevs}
        checked |= {"relation": Neighbors.parse(self.relation)}
        checked |= {name: getattr(self.options, name) for name in ("outliers", "tails", "failure_probability")}
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        check_columns(len(stddevs), self.budget.epsilon)

    @property
    def options(self) -> Options:
        """The checked options of the release."""
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


class Document:
    """A dataclass of public numbers that converts to JSON."""

    _format: ClassVar[int]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; infinite values, such as the error of a refusal, are None.

        Returns
        -------
        dict
        """
        return {"format": self._format, **_plain(asdict(cast(Any, self)))}

    def to_json(self) -> str:
        """Return JSON text.

        Returns
        -------
        str
        """
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Prediction:
    """The expected error of a release: root mean square Euclidean lengths, and a length that is rarely exceeded.

    error² = sampling² + noise² + bias². If the release would be refused, error and noise are infinite, and `remark`
    states the reason.
    """

    sampling: float
    noise: float
    bias: float
    error: float
    error_within: float
    refused: bool = False
    remark: str = ""
