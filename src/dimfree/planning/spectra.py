"""Standard deviations of columns before there are records: spectra by name, numbers, or those of a public table.

S1: ten ones, then 1/d. S2: 1/i. S3: i^-1/2. S4, or isotropic: ones. S5: e^-(i-1). Families take a number after a colon:
power:a is i^-a, exponential:a is e^-a(i-1). None goes below SMALLEST.
"""

import math
from collections.abc import Callable

import numpy as np

from dimfree._types import Floats
from dimfree._validate import (
    check_count,
    check_lengths,
    check_magnitude,
    check_positive,
    check_variances,
    quoted,
)
from dimfree.data.records import as_records
from dimfree.errors import InvalidParameter

DISTANCE = 10.0  # of the mean from the origin, in units of sqrt(tr Σ)
SMALLEST = 1e-9  # a covariance must stay invertible
_LARGE = 10  # directions of S1 that are not small
GIVEN = "given standard deviations"  # the name of a spectrum that has none
ANY_UNITS = "any units"  # where every column counts by its own SD


def _power(dimension: int, exponent: float) -> Floats:
    return np.maximum(np.arange(1.0, dimension + 1) ** -exponent, SMALLEST)


def _exponential(dimension: int, rate: float) -> Floats:
    return np.maximum(np.exp(rate * (1.0 - np.arange(1.0, dimension + 1))), SMALLEST)


SPECTRA: dict[str, Callable[[int], Floats]] = {
    "S1": lambda dimension: np.where(np.arange(dimension) < _LARGE, 1.0, 1.0 / dimension),
    "S2": lambda dimension: _power(dimension, 1.0),
    "S3": lambda dimension: _power(dimension, 0.5),
    "S4": np.ones,
    "S5": lambda dimension: _exponential(dimension, 1.0),
}
ALIASES = {"isotropic": "S4"}
FAMILIES: dict[str, Callable[[int, float], Floats]] = {"power": _power, "exponential": _exponential}


def spectrum(name: str, dimension: int) -> Floats:
    """The standard deviations of a named spectrum in so many dimensions.

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
        raise InvalidParameter(
            f"Expected spectrum={quoted(name)} to be one of {listed}, power:NUMBER or exponential:NUMBER."
        )
    try:
        parameter = float(number)
    except ValueError:
        raise InvalidParameter(f"Expected spectrum={quoted(name)} to end in a number, as in power:0.7.") from None
    return FAMILIES[family](columns, check_positive(family, parameter))


def draw(stddevs: Floats, count: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """(X, mean): Gaussian records about a mean at DISTANCE · sqrt(tr Σ) in a random direction."""
    direction = generator.normal(size=len(stddevs))
    mean = direction * (DISTANCE * np.linalg.norm(stddevs) / np.linalg.norm(direction))
    X = generator.normal(size=(count, len(stddevs)))
    X *= stddevs
    X += mean
    return X, mean


def stddevs_of_public(table: object) -> Floats:
    """The standard deviations of the columns of a public table; a constant column gets a tiny one.

    The numbers are exact and not private, so the table has to be public.
    """
    with np.errstate(all="ignore"):  # what overflows is refused in the next line
        stddevs = public_rows(table).std(axis=0)
    if not 0 < stddevs.max() < math.inf:
        raise InvalidParameter("Expected the public table to vary, in units that fit floating-point numbers.")
    return np.maximum(stddevs, SMALLEST * stddevs.max())


def public_rows(table: object) -> Floats:
    """The rows of any table that `release_mean` accepts; every entry has to be finite."""
    records = as_records(table)
    if not records.count:
        raise InvalidParameter("Expected the public table to have rows.")
    blocks = list(records.blocks())
    if not all(valid.all() for _, valid in blocks):
        raise InvalidParameter("Expected the public table to be finite in every entry: drop the other rows.")
    return np.concatenate([rows for rows, _ in blocks])


def spread_of(given: object, dimension: int | None) -> tuple[Floats, str]:
    """(standard deviations, name): of a named spectrum in so many dimensions, or as given."""
    if isinstance(given, str):
        columns = check_count("d", dimension)
        return np.ones(columns) if given == ANY_UNITS else spectrum(given, columns), given
    spread = check_magnitude("spectrum", check_variances("spectrum", given))
    if dimension is not None:
        check_lengths("spectrum", len(spread), "column", dimension)
    return np.asarray(spread), GIVEN
