"""What a bound is asked about: checked numbers, with the spectrum in units of the accuracy.

Notation: σ = standard deviations, Σ = the covariance with eigenvalues σ², α = accuracy, β = failure probability.
Because only σ/α is kept, no bound that is built on it can depend on the units of the records.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._validate import (
    check_at_least,
    check_failure,
    check_magnitude,
    check_positive,
    check_probability,
    check_variances,
)

_SMALLEST = 1e-300  # below, parts of it leave the range of floats


@dataclass(frozen=True)
class Aim:
    """A Euclidean error of at most 1 with probability 1 − β, in units in which α = 1, at a total of (ε, δ)."""

    spread: NDArray[np.float64]  # σ/α, in the caller's order
    epsilon: float
    delta: float
    failure: float

    @classmethod
    def checked(
        cls, stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float = 0.5, failure_probability: float = 0.5
    ) -> Self:
        """Every number in its range, or an error that names it; a bound without δ or β leaves them out."""
        spread = check_magnitude("stddevs", check_variances("stddevs", stddevs))
        with np.errstate(all="ignore"):
            ratios = check_magnitude("stddevs / accuracy", spread / check_positive("accuracy", accuracy))
        return cls(
            ratios,
            check_at_least("epsilon", check_positive("epsilon", epsilon), _SMALLEST),
            check_at_least("delta", check_probability("delta", delta), _SMALLEST),
            check_failure(failure_probability),
        )

    @property
    def dimension(self) -> int:
        return len(self.spread)

    @property
    def total(self) -> float:
        """tr(Σ^1/2)/α, the sum of the standard deviations."""
        return float(self.spread.sum())

    @property
    def largest(self) -> float:
        return float(self.spread.max())

    @property
    def square(self) -> float:
        """tr Σ/α²."""
        return float((self.spread**2).sum())

    @property
    def secrecy(self) -> float:
        """log 1/δ."""
        return -math.log(self.delta)

    @property
    def sureness(self) -> float:
        """log 1/β."""
        return -math.log(self.failure)

    @property
    def log_dimension(self) -> float:
        """log d, but not below 1: a factor that stands for "some logarithm" must not vanish in one dimension."""
        return max(1.0, math.log(self.dimension))

    @property
    def sampling(self) -> float:
        """(tr Σ + ‖Σ‖·log 1/β)/α²: the records without privacy (lem:gaussianconcentr), the constant taken as 1."""
        return self.square + self.largest**2 * self.sureness
