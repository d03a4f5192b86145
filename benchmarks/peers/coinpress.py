"""CoinPress: a ball that holds the mean, made smaller step by step by clipped noisy means.

After "CoinPress: Practical Private Mean and Covariance Estimation" (Biswas, Dong, Kamath, Ullman, 2020), the
multivariate mean of records whose covariance is at most stddev²·I, in the constants of the authors' experiments: four
steps, three of a twelfth of the precision and one of three quarters, tails at one in a hundred.
Notation: r = radius of the ball, s = stddev, t = what a Gaussian's length in units of its stddev rarely exceeds.
Proof: proofs/comparison/baselines/coinpress.md.
"""

import math
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_between
from dimfree.accounting.budget import Neighbours
from dimfree.comparison.baselines.frame import Event, Frame, open_frame, unspoken
from dimfree.kernel.statistics.clipped_sum import Ball, noisy_clipped_mean
from dimfree.noise import Noise
from dimfree.results.release import Release

SHARES = (1 / 12, 1 / 12, 1 / 12, 3 / 4)  # of the precision, step by step
_FAILURE = 0.01  # β: of one tail bound
_SIDEWAYS = 3.0  # a record strays so many stddevs along the line from the centre to the mean; for sqrt(log(2/β))
_MISCOUNT = 2.6  # standard deviations of a noisy count, exceeded with probability β
_TOO_FEW = "CoinPress needs a record: the number of records is, or seems to be, below one."


@unspoken
def coinpress(
    X: object,
    *,
    epsilon: float,
    delta: float,
    radius: float,
    stddev: float,
    neighbours: str | Neighbours = "add-remove",
    on_missing: str = "raise",
    noise: Noise | None = None,
) -> Release:
    """The mean of records that spread by at most `stddev` in every direction.

    Guarantee: (epsilon, delta) in total. Proof: proofs/comparison/baselines/coinpress.md.
    Priors: the mean lies within `radius` of the origin; `stddev` bounds the standard deviation along every direction.
    Wrong ones cost accuracy, never privacy.
    """
    frame = open_frame(X, epsilon, delta, neighbours, on_missing, noise)
    reach, bound = check_between("radius", radius, 1e-60, 1e60), check_between("stddev", stddev, 1e-60, 1e60)
    count_mu, mu = frame.count_mu(frame.mu)
    count, costs = frame.count(count_mu)
    if count < 1:
        return frame.refused("coinpress", _TOO_FEW, costs, radius=reach, stddev=bound)
    miscount = _MISCOUNT / count_mu / count if costs else 0.0
    known = Known(np.zeros(frame.dimension), reach, math.inf)
    for index, share in enumerate(SHARES):
        known, event = _smaller(frame, known, bound, count, miscount, mu * math.sqrt(share), f"step {index + 1}")
        costs.append(event)
    spread = np.full(frame.dimension, known.noise_stddev)
    return frame.released("coinpress", known.centre, spread, costs, radius=reach, stddev=bound, count=count)


@dataclass(frozen=True)
class Known:
    """Released: a ball that holds the mean, most likely, and the standard deviation of the noise of its centre."""

    centre: Floats
    radius: float
    noise_stddev: float


def tail(dimension: int) -> float:
    """t: a standard Gaussian vector is longer with probability at most β [Laurent, Massart]."""
    x = math.log(1 / _FAILURE)
    return math.sqrt(dimension + 2 * math.sqrt(dimension * x) + 2 * x)


def clipping_radius(dimension: int, radius: float, stddev: float) -> float:
    """Most records lie so near the centre: min(r + s·t, (r² + 2·3·r·s + (s·t)²)^{1/2})."""
    length = stddev * tail(dimension)
    return min(radius + length, math.sqrt(radius**2 + 2 * _SIDEWAYS * radius * stddev + length**2))


def _smaller(
    frame: Frame, known: Known, stddev: float, count: float, miscount: float, mu: float, purpose: str
) -> tuple[Known, Event]:
    """One step: clip to a ball that holds most records, average, and say how far off the average may be.

    Off by t·(s²/n + noise²)^{1/2} as in the paper; and by the noisy count's relative error times r, since the sum of
    offsets is divided by that count.
    """
    ball = Ball(known.centre, 1.0, clipping_radius(frame.dimension, known.radius, stddev))
    found = noisy_clipped_mean(frame.space, ball, count, mu, frame.relation, purpose, noise=frame.noise)
    spread = found.event.stddev * found.event.step / count
    radius = tail(frame.dimension) * math.sqrt(stddev**2 / count + spread**2) + miscount * known.radius
    return Known(known.centre + found.value, radius, spread), found.event
