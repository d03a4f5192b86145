"""Gaussian releases compose by precision, the squares of their noise multiples; then a choice after them (P9).

Letters: mu = sensitivity / stddev of one release; x = a privacy loss, any real number. What follows the Gaussians has
a profile D(x): an upper bound, convex in e^x, on its hockey-stick divergence at every real level x, whatever the
earlier outputs were. Proofs: proofs/accounting/precision.md, profile.md.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr

from dimfree._types import Floats

Profile = Callable[[Floats], Floats]

FINE, COARSE = 300, 90  # chords; any number is sound, more are tighter: excess 0.03 % and 0.4 %
_EDGE = 8.5
_PROFILE_ROUNDING = 1e-13
_ROUNDING = 1e-14  # times 1 + |x| + argument²: covers the relative errors of ndtr, log_ndtr, exp and their arguments
_THIN = 40.0  # standard deviations beyond which a tail is 0 in floats


def hockey_stick(mu: float, x: ArrayLike) -> Floats:
    """Return the divergence of N(mu, 1) from N(0, 1) at level e^x, rounded up (where it exceeds 1e-300)."""
    x = np.asarray(x, dtype=np.float64)
    if mu == 0:
        return -np.expm1(np.minimum(x, 0.0))
    with np.errstate(under="ignore"):  # a tail too thin for floats is 0
        argument = -x / mu + mu / 2
        first, second = ndtr(argument), np.exp(x + log_ndtr(-x / mu - mu / 2))
        rounding = _ROUNDING * (1 + np.abs(x) + np.clip(-argument, 0.0, _THIN) ** 2)
        return np.minimum(1.0, np.maximum(0.0, first - second) + rounding * first)


def compose(mus: Iterable[float]) -> float:
    """Return the mu of adaptively composed Gaussian releases, rounded up."""
    total = float(np.sqrt(sum(mu * mu for mu in mus)))
    return total * (1 + 1e-15) if total else 0.0


@lru_cache(maxsize=256)
def largest_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu whose Gaussian release is (epsilon, delta)-private, rounded down."""
    low, high = 0.0, 1.0
    while hockey_stick(high, epsilon) <= delta:
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if hockey_stick(middle, epsilon) <= delta else (low, middle)
    return low


def total_delta(epsilon: float, mu_before: float, profile: Profile, chords: int = FINE) -> float:
    """Return delta(epsilon) of Gaussian releases of precision mu_before² followed by `profile`, rounded up.
    The expectation of P9 over the earlier loss is bounded by chords of the convex profile."""
    if mu_before == 0:
        return float(profile(np.array([epsilon]))[0])
    t = np.linspace(-_EDGE, _EDGE, chords + 1)
    loss = mu_before**2 / 2 + mu_before * t
    a = np.exp(-loss)  # the level e^x of the rest, in units of e^epsilon
    d = profile(epsilon - loss) + _PROFILE_ROUNDING
    here = _mass(t)  # of the loss under the one data set …
    there = _mass(t + mu_before)  # … and E[a] over the same piece
    pieces = d[:-1] * here + np.diff(d) / np.diff(a) * (there - a[:-1] * here)
    return float(ndtr(-_EDGE) * (1 + d[0]) + pieces.sum())


def after_gaussians(mu: float, profile: Profile, x: Floats, chords: int = FINE) -> Floats:
    """Return the profile, at levels x, of Gaussian releases of precision mu² followed by `profile`, rounded up.
    The same chords as in `total_delta`, on one grid of levels that serves every x."""
    if mu == 0:
        return profile(x)
    center, half_width = mu**2 / 2, _EDGE * mu
    y = np.linspace(float(x.max()) - center + half_width, float(x.min()) - center - half_width, chords + 1)  # falling
    d = profile(y) + _PROFILE_ROUNDING
    t = (x[:, None] - y - center) / mu
    here, there = _mass(t), _mass(t + mu)
    a = np.exp(y - y[0])  # levels e^y in units of the largest
    scale = np.exp(x - y[0])[:, None]
    pieces = d[:-1] * here + np.diff(d) / np.diff(a) * (scale * there - a[:-1] * here)
    return pieces.sum(axis=1) + ndtr(t[:, 0]) * d[0] + ndtr(-t[:, -1])


def _mass(t: Floats) -> Floats:
    """Return Φ(t_{i+1}) - Φ(t_i) for rising t, from the side that loses fewer digits: slopes multiply the error."""
    tail = ndtr(-np.abs(t))  # Φ(t) up to 0, 1 - Φ(t) beyond
    mass = np.diff(tail)
    right = t > 0
    np.negative(mass, out=mass, where=right[..., :-1])
    across = right[..., 1:] & ~right[..., :-1]
    mass[across] = ndtr(t[..., 1:][across]) - tail[..., :-1][across]
    return mass
