"""Quantiles of Gaussian errors: of the length of a vector with given variances, and of many coordinates together.

Notation: Q = Σ λ_i g_i², g_i standard normal; K(s) = log E exp(sQ) = -½ Σ log(1 - 2 λ_i s), finite for
s < 1/(2 max λ).
"""

import math

import numpy as np
import scipy  # its parts load when they are first used
from scipy.special import ndtr, ndtri

from dimfree._types import Floats

_NODES = 320
_DECAY = 38.0  # the integral stops after the integrand has decayed by e^-38
_BEND = 0.3
_GROUP = 0.01  # variances within 1% are replaced by their mean: error 1e-5 of the variance of Q, its mean exact
_NEGLIGIBLE = 1e-60  # of the total; the squares of smaller ones underflow
_HALVINGS = 50
_NEAR = 25  # halvings that bring the path near the saddle; any path gives the same integral
_HERMITE = 15  # nodes for an uncertain logarithm; the outermost lie 6 standard deviations out


def length_quantile(variances: Floats, confidence: float) -> float:
    """Return the quantile of the length of a Gaussian vector with these variances; infinite on overflow."""
    total = float(variances.sum())
    if not 0 < total < math.inf:
        return math.inf
    law = _QuadraticLaw(variances / total)
    high = 2.0
    while law.exceedance(high) > 1 - confidence:
        high *= 2
    found = scipy.optimize.brentq(lambda x: law.exceedance(x) - (1 - confidence), 0.0, high, xtol=1e-15, rtol=1e-12)
    return math.sqrt(total * found)


class _QuadraticLaw:
    """The distribution of Q: variances λ with sum about 1, nearly equal ones merged, and their multiplicities."""

    def __init__(self, variances: Floats) -> None:
        order = np.argsort(variances)[(variances <= _NEGLIGIBLE).sum() :]
        keys = np.floor(np.log(variances[order]) / _GROUP)
        _, starts, counts = np.unique(keys, return_index=True, return_counts=True)
        self.values, self.counts = np.add.reduceat(variances[order], starts) / counts, counts.astype(np.float64)

    def exceedance(self, x: float) -> float:
        """Return P(Q > x): integrate exp(K(s) - s·x)/s along a path near the saddle point.

        The path s = c + w(i·t + b·t²) bends away from the singularity at 0 and avoids those on the real axis beyond
        1/(2 max λ), so the integral equals the one along the vertical line through c (Cauchy).
        """
        mean, proxy = float((self.counts * self.values).sum()), float((self.counts * self.values**2).sum())
        if x <= 0 or max(0.0, mean - x) ** 2 > 128 * proxy:  # P(Q <= x) < e^-32 (Laurent–Massart)
            return 1.0
        center = self._saddle(x)
        width = 1 / math.sqrt(self._curvature(center))
        bend = _BEND / max(1.0, width * x)  # a nearly Gaussian Q decays along the straight line already
        end = math.asinh(1 + math.sqrt(2 * _DECAY) + math.sqrt(_DECAY / (_BEND * width * x)))
        v = (np.arange(_NODES) + 0.5) * (end / _NODES)
        t = np.sinh(v)  # fine near the saddle, far-reaching where the decay is slow
        s = center + width * (1j * t + bend * t**2)
        step = width * (1j + 2 * bend * t) * np.cosh(v)
        # real and imaginary parts of K(s): 15 times faster than the complex logarithm
        real, imaginary = 1 - 2 * self.values[:, None] * s.real, -2 * self.values[:, None] * s.imag
        size, angle = 0.5 * np.log(real**2 + imaginary**2), np.arctan2(imaginary, real)
        log_moment = -0.5 * (self.counts @ size) - 0.5j * (self.counts @ angle)
        integrand = np.exp(log_moment - s * x) / s * step / 1j
        return float(np.clip(integrand.real.sum() * (end / _NODES) / math.pi, 0.0, 1.0))

    def _curvature(self, s: float) -> float:
        return float((2 * self.counts * (self.values / (1 - 2 * self.values * s)) ** 2).sum())

    def _saddle(self, x: float) -> float:
        """Return about the s with K'(s) = x, at least half a width away from the pole at 0."""
        limit = 1 / (2 * float(self.values.max()))
        low, high = min(0.1 * limit, 0.5 / math.sqrt(self._curvature(0.0))), limit * (1 - 1e-9)
        for _ in range(_NEAR):
            middle = (low + high) / 2
            slope = float((self.counts * self.values / (1 - 2 * self.values * middle)).sum())
            low, high = (middle, high) if slope < x else (low, middle)
        return low


def coordinate_quantile(confidence: float, coordinates: int = 1) -> float:
    """Return the number of SDs that covers all Gaussian coordinates simultaneously (Šidák, any correlation)."""
    return float(ndtri(0.5 + 0.5 * math.exp(math.log(confidence) / coordinates)))


def uncertain_quantile(noise: Floats, sampling: Floats, log_stddev: Floats, confidence: float) -> Floats:
    """Return the half-width that covers each Gaussian coordinate separately, with uncertain variances.

    The variance is noise² + (sampling·e^(log_stddev·Z))², Z standard normal: `sampling` is known up to a factor.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_HERMITE)
    stddevs = [np.hypot(noise, sampling * np.exp(log_stddev * node)) for node in nodes]
    alone = coordinate_quantile(confidence)
    low, high = alone * stddevs[0], alone * stddevs[-1]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        with np.errstate(under="ignore"):  # of a chance of nearly 0
            each = (2 * ndtr(-middle / stddev) for stddev in stddevs)
            outside = sum(share * part for share, part in zip(weights / weights.sum(), each, strict=True))
        low, high = np.where(outside > 1 - confidence, (middle, high), (low, middle))
    return high
