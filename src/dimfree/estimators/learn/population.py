"""What a released histogram of lengths adds to the learned variances, for error bars about the population.

Scores count large entries little, so learned variances are too small where tails are long, and they say nothing of
correlation. The lengths do: their mean square is the sum of all variances, and their squares vary the more, the fewer
directions the records spread over. Sees public and released numbers only. Letters: z = a record's offset from the
centre, rescaled; R = clipping radius; v = variances of the coordinates of z.
"""

import math
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.estimators.choose.constants import POPULATION_LEVEL, POPULATION_RADII
from dimfree.estimators.learn.tail import Tail
from dimfree.mechanisms.clipped_sum import Ball


@dataclass(frozen=True)
class Lengths:
    """What was released of the records' lengths about the centre of a ball; the radius of the ball is R."""

    tail: Tail
    ball: Ball


@dataclass(frozen=True)
class Population:
    """`widening`: factor of the learned variances, at least 1. `correlation`: of any two coordinates, at least 0."""

    widening: float
    correlation: float


def learned_population(
    seen: Lengths, mean: Floats, variances: Floats, *, directions: bool = False
) -> Population | None:
    """What the lengths add to these variances; None where records stand out beyond the last edge: how far is not known.

    What lies beyond R moves the population mean away from that of the records drawn in: by at most the mean excess,
    whose square is added to the variance of the mean (as a variance it widens an interval enough for a shift).
    `directions`: the coordinates were turned to, so what looks like correlation is likely their widest one, learned too
    narrow.
    """
    tail, ball = seen.tail, seen.ball
    if tail.bumps[-1] > 0:
        return None
    count, square, fourth = drawn_in_moments(tail, ball.radius)
    stretch = np.broadcast_to(ball.scale, variances.shape) * ball.radius
    shares = variances / stretch**2
    known, offset = float(shares.sum()), float((((mean - ball.centre) / stretch) ** 2).sum())
    trace = max(square - offset, known)
    excess = float(tail.excess(np.array([ball.radius]), POPULATION_LEVEL)[0]) / ball.radius / count
    widening = (trace + count * excess**2) / known
    together = correlation(shares * (trace / known), fourth - square**2)
    if directions:
        widening *= 1 + together * (float(stretch.max()) ** 2 * known / float(variances.sum()) - 1)
    return Population(widening, together)


def drawn_in_moments(tail: Tail, radius: float) -> tuple[float, float, float]:
    """(number of records, means of min(|z|/R, 1)² and of its square), at a pessimistic reading of the tail."""
    places = np.append(0.0, np.geomspace(1e-3, 1.0, POPULATION_RADII))
    beyond = tail.beyond(radius * places, POPULATION_LEVEL)
    middle = (beyond[1:] + beyond[:-1]) / 2 / beyond[0]
    return float(beyond[0]), float(middle @ np.diff(places**2)), float(middle @ np.diff(places**4))


def correlation(variances: Floats, spread: float) -> float:
    """Of any two coordinates, so that |z|² has this variance if z is normal: twice the sum of squared covariances."""
    alone = float((variances**2).sum())
    together = float(variances.sum()) ** 2 - alone
    return 0.0 if together <= 0 else math.sqrt(min(max((spread / 2 - alone) / together, 0.0), 1.0))
