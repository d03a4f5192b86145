"""Frozen costs that are not Gaussian: what a choice, or a count that is published only if large, may give away.

Each is a curve: an upper bound on the hockey-stick divergence between the outputs of neighbours at every real level x,
in both directions. Proof: proofs/accounting/composition.md (M9; M3 for the bounded range).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_count, check_positive, check_probability

Curve = NDArray[np.float64]

_ORDERS = 1 + np.logspace(-2, 5, 300)[:, None]  # of Rényi divergence; each one gives a bound, the least is taken


@dataclass(frozen=True)
class Pure:
    """One release whose log-likelihood ratio never exceeds epsilon."""

    purpose: str
    epsilon: float

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)

    def profile(self, x: Curve) -> Curve:
        return response_profile(self.epsilon, 0.0, x)


@dataclass(frozen=True)
class Approximate:
    """One release that is (epsilon, delta)-private, and of which nothing else is known."""

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
    """With probability delta everything is told, otherwise nothing."""

    purpose: str
    delta: float

    def __post_init__(self) -> None:
        check_probability("delta", self.delta)

    def profile(self, x: Curve) -> Curve:
        return _up(self.delta + (1 - self.delta) * _trivial(x))


@dataclass(frozen=True)
class Ranged:
    """`times` adaptive choices; the losses of each lie in an interval of length eta (M3, M5)."""

    purpose: str
    eta: float
    times: int = 1

    def __post_init__(self) -> None:
        check_positive("eta", self.eta)
        check_count("times", self.times)

    @property
    def rho(self) -> float:
        """All the choices together are rho-zCDP: eta²/8 each [Hoeffding], rounded up."""
        return self.times * self.eta**2 / 8 * (1 + 1e-15)

    def profile(self, x: Curve) -> Curve:
        """Of one choice."""
        return range_profile(self.eta, x)

    def concentrated(self, x: Curve) -> Curve:
        """Of all the choices together, by their concentration; nothing is lost beyond times · eta."""
        return np.where(x >= self.times * self.eta * (1 + 1e-15), 0.0, concentrated_profile(self.rho, x))


Loss = Pure | Approximate | Failure | Ranged


def response_profile(epsilon: float, delta: float, x: Curve) -> Curve:
    """The largest curve of an (epsilon, delta)-private release: all is told, or else a randomised response."""
    inside = -np.expm1(np.minimum(x - epsilon, 0.0)) / (1 + math.exp(-epsilon))
    return _up(delta + (1 - delta) * np.where(x <= -epsilon, _trivial(x), inside))


def range_profile(eta: float, x: Curve) -> Curve:
    """(1 - e^((x - eta)/2))² / (1 - e^-eta) from -eta to eta: the worst pair of losses that are eta apart (M3)."""
    inside = np.expm1(np.minimum(x - eta, 0.0) / 2) ** 2 / -math.expm1(-eta)
    return _up(np.where(x <= -eta, _trivial(x), inside))


def concentrated_profile(rho: float, x: Curve) -> Curve:
    """What rho-zCDP leaves possible at level x (M9)."""
    exponent = (_ORDERS - 1) * (_ORDERS * rho - np.abs(x)) + _ORDERS * np.log1p(-1 / _ORDERS) - np.log(_ORDERS - 1)
    with np.errstate(under="ignore"):  # a bound too small for floats is 0
        above = np.exp(np.minimum(exponent.min(axis=0), 0.0))
        return _up(np.where(x >= 0, above, _trivial(x) + np.exp(np.minimum(x, 0.0)) * above))


def _trivial(x: Curve) -> Curve:
    """(1 - e^x)_+, the curve of two equal outputs; none lies below it."""
    return -np.expm1(np.minimum(x, 0.0))


def _up(curve: Curve) -> Curve:
    """Rounded up by more than the floating-point errors above; no divergence exceeds 1."""
    return np.minimum(curve * (1 + 1e-11), 1.0)
