"""Two references that are not private: the sample mean, and an oracle that knows the true mean."""

import numpy as np

from benchmarks.peers.gaussians import Gaussians
from benchmarks.peers.sums import clipped_mean
from dimfree._types import Floats


def empirical_mean(X: Floats, *_: object, **__: object) -> Floats:
    return np.asarray(X.mean(axis=0))


def oracle_floor(
    X: Floats,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    mean: Floats,
    stddevs: Floats,
    neighbors: str = "add-remove",
) -> Floats:
    """Clipped about the true `mean` in the shape of the true `stddevs`, noise at the full budget, the true count."""
    noise, root, count = Gaussians(epsilon, delta, rng, neighbors), np.sqrt(stddevs), max(1, len(X))
    return clipped_mean(X, mean, floor_radius(stddevs, count), count, noise, noise.mu, scale=root)


def floor_radius(stddevs: Floats, count: int) -> float:
    """sqrt(tr A) + sqrt(2‖A‖ log n), A = Σ^{1/2}: hardly any rescaled Gaussian record lies farther from its mean."""
    return float(np.sqrt(stddevs.sum()) + np.sqrt(2 * stddevs.max() * np.log(count)))
