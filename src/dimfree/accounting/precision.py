"""Gaussian releases compose by precision: the squares of their noise multiples add up, exactly.

Letters: mu = sensitivity / stddev of one release; x = a privacy loss, any real number.
Proof: proofs/accounting/precision.md.
"""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr

_ROUNDING = 1e-14  # times 1 + |x| + argument²: covers the relative errors of ndtr, log_ndtr, exp and their arguments
_THIN = 40.0  # standard deviations beyond which a tail is 0 in floats


def hockey_stick(mu: float, x: ArrayLike) -> NDArray[np.float64]:
    """The divergence of N(mu, 1) from N(0, 1) at level e^x, rounded up (where it exceeds 1e-300)."""
    x = np.asarray(x, dtype=np.float64)
    if mu == 0:
        return -np.expm1(np.minimum(x, 0.0))
    with np.errstate(under="ignore"):  # a tail too thin for floats is 0
        argument = -x / mu + mu / 2
        first, second = ndtr(argument), np.exp(x + log_ndtr(-x / mu - mu / 2))
        rounding = _ROUNDING * (1 + np.abs(x) + np.clip(-argument, 0.0, _THIN) ** 2)
        return np.minimum(1.0, np.maximum(0.0, first - second) + rounding * first)


def compose(mus: Iterable[float]) -> float:
    """The mu of adaptively composed Gaussian releases, rounded up."""
    total = float(np.sqrt(sum(mu * mu for mu in mus)))
    return total * (1 + 1e-15) if total else 0.0


@lru_cache(maxsize=256)
def largest_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose Gaussian release is (epsilon, delta)-private, rounded down."""
    low, high = 0.0, 1.0
    while hockey_stick(high, epsilon) <= delta:
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if hockey_stick(middle, epsilon) <= delta else (low, middle)
    return low
