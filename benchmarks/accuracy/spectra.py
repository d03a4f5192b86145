"""The five public spectra and draws from them. A spectrum is a vector of standard deviations, largest first."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DISTANCE = 10.0  # of the mean from the origin, in units of sqrt(tr Σ)
SMALLEST = 1e-9  # floor of S5: a covariance must stay invertible


def _ranks(dimension: int) -> Floats:
    return np.arange(1, dimension + 1, dtype=np.float64)


def _ten_large(dimension: int) -> Floats:
    return np.where(_ranks(dimension) <= 10, 1.0, 1.0 / dimension)


def _geometric(dimension: int) -> Floats:
    return np.maximum(np.exp(1.0 - _ranks(dimension)), SMALLEST)


SPECTRA: dict[str, Callable[[int], Floats]] = {
    "S1": _ten_large,  # 10 ones, then 1/d
    "S2": lambda dimension: 1 / _ranks(dimension),
    "S3": lambda dimension: _ranks(dimension) ** -0.5,
    "S4": np.ones,
    "S5": _geometric,
}


def draw(stddevs: Floats, count: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """(X, mean): Gaussian records about a mean at DISTANCE · sqrt(tr Σ) in a random direction."""
    direction = generator.normal(size=len(stddevs))
    mean = direction * (DISTANCE * np.linalg.norm(stddevs) / np.linalg.norm(direction))
    X = generator.normal(size=(count, len(stddevs)))
    X *= stddevs
    X += mean
    return X, mean
