"""The ball version of the paper: its Algorithm 1 with M = I, filter by plain distance and spherical noise.

Dagan, Jordan, Yang, Zakynthinou and Zhivotovskiy, "Dimension-free private mean estimation for anisotropic
distributions" (2024), section on known covariance: with M = I and λ about sqrt(tr Σ) the algorithm finds the folklore
rate sqrt(d·tr Σ)/(nε) without the sqrt(d)/ε records that locating every coordinate takes.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.losses import Approximate
from dimfree.comparison.baselines.frame import Event, open_frame, unspoken
from dimfree.noise import Noise
from dimfree.paper.algorithm2 import FAR
from dimfree.paper.averaging import CoordinateBlock, average
from dimfree.paper.shares import Shares
from dimfree.programs.choose.friend_radius import friend_radii
from dimfree.programs.run import LOW_WEIGHT
from dimfree.results.release import Release

METHOD = "ball"
_ROUNDING = 1e-9


@unspoken
def ball(
    X: object,
    *,
    epsilon: float,
    delta: float,
    stddevs: ArrayLike,
    neighbours: str | Neighbours = "add-remove",
    on_missing: str = "raise",
    noise: Noise | None = None,
) -> Release:
    """The paper's Avg with M = I: keep records that are within λ of most others, average, add spherical noise.

    Guarantee: (epsilon, delta) in total. Proof: proofs/comparison/baselines/ball.md.
    Prior knowledge: `stddevs`, from which λ is simulated as release_mean does for its basic core: the radius that asks
    for the least noise, about sqrt(2·tr Σ). Nothing is known of the mean. Time grows with the square of the number of
    records. Under replace-one the filter is proved through the common records, which halves epsilon.
    """
    frame = open_frame(X, epsilon, delta, neighbours, on_missing, noise)
    spread = frame.stddevs(stddevs)
    radius = friend_radius(spread)
    whole = Budget(frame.budget.usable_epsilon, frame.budget.delta * (1 - _ROUNDING))
    shares = Shares(None, whole, frame.relation)
    block = CoordinateBlock(np.arange(frame.dimension), np.ones(frame.dimension), radius)
    everybody = np.ones(frame.space.count, dtype=np.bool_)
    found = average(frame.space.records, everybody, block, shares.average(1), noise=frame.noise)
    costs: list[Event] = [Approximate("filtered average", whole.epsilon, whole.delta)]
    if found is None or found.far:
        return frame.refused(METHOD, LOW_WEIGHT if found is None else FAR, costs, radius=radius)
    return frame.released(METHOD, found.mean, np.sqrt(found.variance), costs, radius=radius)


def friend_radius(stddevs: Floats) -> float:
    """λ: the radius, in the plain metric, with the least ratio to the share of N(0, Σ) that is kept. Public."""
    variances = np.sort(stddevs**2)[::-1]
    largest = float(variances[0])
    return math.sqrt(largest) * friend_radii(variances / largest).best_ratio(1.0)[0]
