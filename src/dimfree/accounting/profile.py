"""Composition of Gaussian releases with everything that is decided after them (P9).

What follows the Gaussians has a profile D(x): an upper bound, convex in e^x, on its hockey-stick
divergence at every real level x, whatever the earlier outputs led to. Proof: proofs/accounting/profile.md.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Profile = Callable[[NDArray[np.float64]], NDArray[np.float64]]

_EDGE = 8.5
FINE, COARSE = 300, 90  # chords; any number is sound, more are tighter: excess 0.03 % and 0.4 %
_ROUNDING = 1e-13


def total_delta(epsilon: float, mu_before: float, profile: Profile, chords: int = FINE) -> float:
    """delta(epsilon) of Gaussian releases of precision mu_before² followed by `profile`, rounded up.

    The expectation of P9 over the earlier loss is bounded by chords of the convex profile.
    """
    if mu_before == 0:
        return float(profile(np.array([epsilon]))[0])
    t = np.linspace(-_EDGE, _EDGE, chords + 1)
    loss = mu_before**2 / 2 + mu_before * t
    a = np.exp(-loss)  # the level e^x of the rest, in units of e^epsilon
    d = profile(epsilon - loss) + _ROUNDING
    here = _mass(t)  # of the loss under the one data set …
    there = _mass(t + mu_before)  # … and E[a] over the same piece
    pieces = d[:-1] * here + np.diff(d) / np.diff(a) * (there - a[:-1] * here)
    return float(ndtr(-_EDGE) * (1 + d[0]) + pieces.sum())


def after_gaussians(mu: float, profile: Profile, x: NDArray[np.float64], chords: int = FINE) -> NDArray[np.float64]:
    """The profile, at levels x, of Gaussian releases of precision mu² followed by `profile`, rounded up.

    The same chords as in `total_delta`, on one grid of levels that serves every x.
    """
    if mu == 0:
        return profile(x)
    centre, reach = mu**2 / 2, _EDGE * mu
    y = np.linspace(float(x.max()) - centre + reach, float(x.min()) - centre - reach, chords + 1)  # falling
    d = profile(y) + _ROUNDING
    t = (x[:, None] - y - centre) / mu
    here, there = _mass(t), _mass(t + mu)
    a = np.exp(y - y[0])  # levels e^y in units of the largest
    scale = np.exp(x - y[0])[:, None]
    pieces = d[:-1] * here + np.diff(d) / np.diff(a) * (scale * there - a[:-1] * here)
    return pieces.sum(axis=1) + ndtr(t[:, 0]) * d[0] + ndtr(-t[:, -1])


def _mass(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Φ(t_{i+1}) - Φ(t_i) for rising t, from the side that loses fewer digits: slopes multiply the error."""
    tail = ndtr(-np.abs(t))  # Φ(t) up to 0, 1 - Φ(t) beyond
    mass = np.diff(tail)
    right = t > 0
    np.negative(mass, out=mass, where=right[..., :-1])
    across = right[..., 1:] & ~right[..., :-1]
    mass[across] = ndtr(t[..., 1:][across]) - tail[..., :-1][across]
    return mass
