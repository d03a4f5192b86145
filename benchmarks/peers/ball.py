"""The ball version of the paper: its Algorithm 1 with M = I, filter by plain distance and spherical noise.

Dagan, Jordan, Yang, Zakynthinou and Zhivotovskiy, "Dimension-free private mean estimation for anisotropic
distributions" (2024), section on known covariance: with M = I and λ about sqrt(tr Σ) the algorithm finds the folklore
rate sqrt(d·tr Σ)/(nε) without the sqrt(d)/ε records that locating every coordinate takes.
"""

import math

import numpy as np

from benchmarks.peers.friendly_core import FEWEST, distance, noisy_mean
from benchmarks.peers.friends import best_radius, friend_counts
from benchmarks.peers.gaussians import Gaussians
from dimfree._types import Floats
from dimfree.accounting.budget import MAX_EPSILON, Neighbors
from dimfree.accounting.discrete import before_lifting

_LARGEST = 20.0  # no filtered release costs more than this
_BOUND_FAILURE = 0.1  # of delta: that the lower bound on the number kept is too high
_BOUND_SHARE = 0.3  # of the precision, for that bound


def ball(
    X: Floats,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    stddevs: Floats,
    neighbors: str = "add-remove",
) -> Floats | None:
    """Told: the standard deviations, from which λ is simulated: the radius that asks for the least noise.

    The random filter is proved for add-remove, at the price of lifting. Replace-one goes through the common records,
    which halves epsilon.
    """
    radius = best_radius(stddevs)
    friendly = filtered_budget(epsilon, delta, neighbors)
    failure = _BOUND_FAILURE * friendly[1]
    noise = Gaussians(*friendly, rng, "add-remove", failure=failure)
    kept = rng.random(len(X)) * len(X) < 2 * friend_counts(X, radius) - len(X)
    mu = noise.mu * math.sqrt(_BOUND_SHARE)
    lowest = float(noise.release(float(kept.sum()), 1.0, mu)) - distance(failure) / mu
    return None if lowest <= FEWEST else noisy_mean(X, kept, radius, lowest, noise)


def filtered_budget(epsilon: float, delta: float, neighbors: str) -> tuple[float, float]:
    """What the releases after the filter may cost on friendly neighbors, for a total of (epsilon, delta)."""
    epsilon = min(epsilon, MAX_EPSILON)
    if Neighbors.parse(neighbors) is Neighbors.REPLACE_ONE:
        epsilon = min(epsilon / 2, _LARGEST)
        delta /= 1 + math.exp(epsilon)
    return before_lifting(epsilon, delta)


def algorithm_1(
    X: Floats,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    stddevs: Floats,
    neighbors: str = "add-remove",
) -> Floats | None:
    """The paper's Algorithm 1 with M = Σ^{1/2}: the ball of records divided by σ^{1/2}, multiplied back."""
    root = np.sqrt(stddevs)
    found = ball(X / root, epsilon, delta, rng, stddevs=root, neighbors=neighbors)
    return None if found is None else found * root
