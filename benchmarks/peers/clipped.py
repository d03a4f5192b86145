"""The clipped Gaussian mean about a public point: what one builds from a general library when a bound is known."""

import math

import numpy as np

from benchmarks.peers.gaussians import Gaussians
from benchmarks.peers.sums import clipped_mean
from dimfree._types import Floats


def clipped(
    X: Floats,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    radius: float,
    center: Floats | float = 0.0,
    neighbors: str = "add-remove",
) -> Floats | None:
    """The mean of the records, each clipped to the ball of `radius` about `center`; the whole budget is one Gaussian.

    Too small a ball biases the mean, too large a one is paid for in noise.
    """
    noise = Gaussians(epsilon, delta, rng, neighbors)
    count, _ = noise.count(len(X))
    if count < 1:
        return None
    return clipped_mean(X, np.broadcast_to(center, X.shape[1]), radius, count, noise, noise.left * math.sqrt(1 - 1e-12))
