"""Quantiles of Gaussian errors: the length of a vector with given variances, and many coordinates at once.

Letters: Q = Σ λ_i χ²_i; K(s) = log E exp(sQ) = -½ Σ log(1 - 2 λ_i s), finite for s < 1/(2 max λ).
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri

_NODES = 320
_DECAY = 38.0  # the integrand is followed until it has fallen by e^-38
_BEND = 0.3
_GROUP = 0.01  # variances within 1 % of each other are counted at their mean: 1e-5 of the variance of Q, its mean exact

Floats = NDArray[np.float64]


def length_quantile(variances: Floats, confidence: float) -> float:
    """The radius that a centred Gaussian vector with these principal variances stays within with given confidence."""
    total = float(variances.sum())
    values, counts = _grouped(variances / total)
    high = 2.0
    while exceedance(values, counts, high) > 1 - confidence:
        high *= 2
    found = brentq(lambda x: exceedance(values, counts, x) - (1 - confidence), 0.0, high, xtol=1e-15, rtol=1e-12)
    return math.sqrt(total * found)


def exceedance(values: Floats, counts: Floats, x: float) -> float:
    """P(Q > x), by integrating exp(K(s) - s·x)/s along a path through (nearly) the saddle point.

    The path s = c + w(i·t + b·t²) bends away from the singularity at 0 and never meets those on the real axis beyond
    1/(2 max λ), so the integral is the one along the vertical line through c (Cauchy).
    """
    short = max(0.0, float((counts * values).sum()) - x)
    if x <= 0 or short**2 > 128 * float((counts * values**2).sum()):  # Laurent–Massart: P(Q <= x) < e^-32
        return 1.0
    centre = _saddle(values, counts, x)
    width = 1 / math.sqrt(float((counts * 2 * (values / (1 - 2 * values * centre)) ** 2).sum()))
    bend = _BEND / max(1.0, width * x)  # a nearly Gaussian Q decays along the straight line already
    reach = math.asinh(1 + math.sqrt(2 * _DECAY) + math.sqrt(_DECAY / (_BEND * width * x)))
    v = (np.arange(_NODES) + 0.5) * (reach / _NODES)
    t = np.sinh(v)  # fine near the saddle, far-reaching where the decay is slow
    s = centre + width * (1j * t + bend * t**2)
    log_moment = -0.5 * (counts[:, None] * np.log(1 - 2 * values[:, None] * s)).sum(axis=0)
    step = width * (1j + 2 * bend * t) * np.cosh(v)
    integrand = np.exp(log_moment - s * x) / s * step / 1j
    return float(np.clip(integrand.real.sum() * (reach / _NODES) / math.pi, 0.0, 1.0))


def _saddle(values: Floats, counts: Floats, x: float) -> float:
    """Where K'(s) = x, held away from the pole at 0 by half the width there."""
    limit = 1 / (2 * float(values.max()))
    low = min(0.1 * limit, 0.5 / math.sqrt(float((2 * counts * values**2).sum())))
    high = limit * (1 - 1e-9)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (counts * values / (1 - 2 * values * middle)).sum() < x else (low, middle)
    return low


def _grouped(variances: Floats) -> tuple[Floats, Floats]:
    """Distinct positive variances and how often each occurs; nearly equal ones as their mean."""
    ordered = np.sort(variances[variances > 0])
    keys = np.floor(np.log(ordered) / _GROUP)
    _, starts, counts = np.unique(keys, return_index=True, return_counts=True)
    return np.add.reduceat(ordered, starts) / counts, counts.astype(np.float64)


def coordinate_quantile(confidence: float, coordinates: int = 1) -> float:
    """How many standard deviations cover all of so many Gaussian coordinates at once (Šidák, any correlation)."""
    return float(ndtri(0.5 + 0.5 * math.exp(math.log(confidence) / coordinates)))
