"""Costs that are not Gaussian: of Laplace noise, of thresholded counts, of events that fail with small probability.

Each has a curve, its profile: an upper bound on the hockey-stick divergence between the outputs of neighbours at
every real level x, in both directions. Proof: proofs/accounting/composition.md (M9).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_positive, check_probability

Curve = NDArray[np.float64]


@dataclass(frozen=True)
class Pure:
    """One release that is epsilon-private (delta = 0)."""

    purpose: str
    epsilon: float

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)

    def profile(self, x: Curve) -> Curve:
        return response_profile(self.epsilon, 0.0, x)


@dataclass(frozen=True)
class Approximate:
    """One release that is (epsilon, delta)-private; nothing else is known of it."""

    purpose: str
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_probability("delta", self.delta)

    def profile(self, x: Curve) -> Curve:
        return response_profile(self.epsilon, self.delta, x)


@dataclass(frozen=True)
class Failure:
    """With probability delta everything is revealed, otherwise nothing."""

    purpose: str
    delta: float

    def __post_init__(self) -> None:
        check_probability("delta", self.delta)

    def profile(self, x: Curve) -> Curve:
        return _up(self.delta + (1 - self.delta) * _trivial(x))


Loss = Pure | Approximate | Failure


def response_profile(epsilon: float, delta: float, x: Curve) -> Curve:
    """The largest possible profile of an (epsilon, delta)-private release: a failure, or a randomised response."""
    inside = -np.expm1(np.minimum(x - epsilon, 0.0)) / (1 + math.exp(-epsilon))
    return _up(delta + (1 - delta) * np.where(x <= -epsilon, _trivial(x), inside))


def _trivial(x: Curve) -> Curve:
    """(1 - e^x)_+, the profile of two equal outputs; no profile is below it."""
    return -np.expm1(np.minimum(x, 0.0))


def _up(curve: Curve) -> Curve:
    """Rounded up by more than the float errors above; at most 1."""
    return np.minimum(curve * (1 + 1e-11), 1.0)
