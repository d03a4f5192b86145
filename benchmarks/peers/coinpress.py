"""CoinPress: a ball that holds the mean, made smaller step by step by clipped noisy means.

After "CoinPress: Practical Private Mean and Covariance Estimation" (Biswas, Dong, Kamath, Ullman, 2020), the
multivariate mean of records whose covariance is at most stddev²·I, in the constants of the authors' experiments: four
steps, three of a twelfth of the precision and one of three quarters, tails at one in a hundred.
"""

import math

import numpy as np

from benchmarks.peers.gaussians import Gaussians
from benchmarks.peers.sums import clipped_mean
from dimfree._types import Floats

SHARES = (1 / 12, 1 / 12, 1 / 12, 3 / 4)  # of the precision, step by step
_FAILURE = 0.01  # of one tail bound
_SIDEWAYS = 3.0  # a record strays so many stddevs along the line from the center to the mean; for sqrt(log(2/β))
_MISCOUNT = 2.6  # standard deviations of a noisy count, exceeded with that probability


def coinpress(
    X: Floats,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    radius: float,
    stddev: float,
    neighbors: str = "add-remove",
) -> Floats | None:
    """Told: the mean lies within `radius` of the origin; `stddev` bounds the standard deviation in every direction."""
    noise = Gaussians(epsilon, delta, rng, neighbors)
    count, spread = noise.count(len(X))
    if count < 1:
        return None
    dimension, mu, miscount = X.shape[1], noise.left, _MISCOUNT * spread / count
    center = np.zeros(dimension)
    for share in SHARES:
        step, ball = mu * math.sqrt(share), clipping_radius(dimension, radius, stddev)
        center = clipped_mean(X, center, ball, count, noise, step)
        drawn = noise.changed * ball / step / count
        # Off by the tail of sampling and noise, as in the paper; and by the noisy count's relative error.
        radius = tail(dimension) * math.sqrt(stddev**2 / count + drawn**2) + miscount * radius
    return center


def tail(dimension: int) -> float:
    """A standard Gaussian vector is longer with probability at most β [Laurent, Massart]."""
    x = math.log(1 / _FAILURE)
    return math.sqrt(dimension + 2 * math.sqrt(dimension * x) + 2 * x)


def clipping_radius(dimension: int, radius: float, stddev: float) -> float:
    """Most records lie so near the center: min(r + s·t, (r² + 2·3·r·s + (s·t)²)^{1/2})."""
    length = stddev * tail(dimension)
    return min(radius + length, math.sqrt(radius**2 + 2 * _SIDEWAYS * radius * stddev + length**2))
