"""Public spectra by name: vectors of standard deviations, largest first, and Gaussian records drawn from them.

S1: ten ones, then 1/d. S2: 1/i. S3: i^-1/2. S4, or isotropic: ones. S5: e^-(i-1). Families take a number after a colon:
power:a is i^-a, exponential:a is e^-a(i-1). None goes below SMALLEST.
"""

from collections.abc import Callable

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_count, check_positive, quoted
from dimfree.errors import InvalidParameter

DISTANCE = 10.0  # of the mean from the origin, in units of sqrt(tr Σ)
SMALLEST = 1e-9  # a covariance must stay invertible
_LARGE = 10  # directions of S1 that are not small


def _ranks(dimension: int) -> Floats:
    return np.arange(1, dimension + 1, dtype=np.float64)


def _few_large(dimension: int) -> Floats:
    return np.where(_ranks(dimension) <= _LARGE, 1.0, 1.0 / dimension)


def _power(dimension: int, exponent: float) -> Floats:
    return np.maximum(_ranks(dimension) ** -exponent, SMALLEST)


def _exponential(dimension: int, rate: float) -> Floats:
    return np.maximum(np.exp(rate * (1.0 - _ranks(dimension))), SMALLEST)


SPECTRA: dict[str, Callable[[int], Floats]] = {
    "S1": _few_large,
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
    if not isinstance(name, str):
        raise _no_spectrum(name)
    known = ALIASES.get(name, name)
    if known in SPECTRA:
        return SPECTRA[known](columns)
    family, colon, number = name.partition(":")
    if family not in FAMILIES or not colon:
        raise _no_spectrum(name)
    return FAMILIES[family](columns, check_positive(family, _parsed(name, number)))


def _no_spectrum(name: object) -> InvalidParameter:
    listed = ", ".join((*SPECTRA, *ALIASES))
    return InvalidParameter(
        f"Expected spectrum={quoted(name)} to be one of {listed}, power:NUMBER or exponential:NUMBER."
    )


def _parsed(name: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise InvalidParameter(f"Expected spectrum={quoted(name)} to end in a number, as in power:0.7.") from None


def draw(stddevs: Floats, count: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """(X, mean): Gaussian records about a mean at DISTANCE · sqrt(tr Σ) in a random direction."""
    direction = generator.normal(size=len(stddevs))
    mean = direction * (DISTANCE * np.linalg.norm(stddevs) / np.linalg.norm(direction))
    X = generator.normal(size=(count, len(stddevs)))
    X *= stddevs
    X += mean
    return X, mean
