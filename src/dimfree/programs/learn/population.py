"""What a released histogram of lengths adds to the learned variances, for error bars about the population.

Scores count large entries little, so learned variances are too small where tails are long, and they say nothing of
correlation. The lengths do: their mean square is the sum of all variances, and their squares vary the more, the fewer
directions the records spread over. Sees public and released numbers only. Letters: z = a record's offset from the
centre, rescaled, in units of the clipping radius; v = variances of the coordinates of z; w = (1 - 1/|z|)+, the share by
which a record is drawn in.
"""

import math
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.kernel import Ball
from dimfree.programs.choose.constants import FAR_LENGTH, POPULATION_LEVEL, POPULATION_RADII
from dimfree.programs.learn.tail import Tail


@dataclass(frozen=True)
class Lengths:
    """What was released of the records' lengths about the centre of a ball, at whose radius they are clipped."""

    tail: Tail
    ball: Ball
    bias: float = 0.0  # of clipping, in deviations of the noise of the answer


@dataclass(frozen=True)
class Population:
    """`widening`: factor of the learned variances, at least 1. `correlation`: of any two coordinates, at least 0.
    `unmeasured`: some records may lie farther out than the lengths measure."""

    widening: float = 1.0
    correlation: float = 0.0
    unmeasured: bool = True


# The learned variances as they are; columns may all move together.
NOT_MEASURED = Population(correlation=1.0)


@dataclass(frozen=True)
class LengthMoments:
    """The number of records, and means over them, at a pessimistic reading of the tail."""

    count: float
    square: float  # of min(|z|, 1)²
    excess: float  # of (|z| - 1)+
    drawn: float  # of w²
    spread: float  # variance of min(|z|, far)²

    @classmethod
    def of(cls, seen: Lengths, far: float) -> "LengthMoments":
        places = np.append(0.0, np.geomspace(*POPULATION_RADII))
        beyond = seen.tail.beyond(seen.ball.radius * places, POPULATION_LEVEL)
        middle, outer, inner = (beyond[1:] + beyond[:-1]) / 2, np.maximum(places, 1), np.minimum(places, far)
        powers = (np.minimum(places, 1) ** 2, outer, (1 - 1 / outer) ** 2, inner**2, inner**4)
        square, excess, drawn, second, fourth = (float(middle @ np.diff(each) / beyond[0]) for each in powers)
        return cls(float(beyond[0]), square, excess, drawn, fourth - second**2)


def learned_population(seen: Lengths, mean: Floats, variances: Floats, own: Floats | None = None) -> Population:
    """What the lengths add to these variances.

    `unmeasured` if records stand out beyond the last edge, or beyond the cap of the ball, where their entries may have
    been held, or if too few lie far out to see a tail: how far out they lie is not known, and they count at the edge.
    Nothing is added if squares leave the range of floats.
    Records that are drawn in move the mean. The square of that is added to its variance: an interval so widened is wide
    enough for a shift. `own`: learned variances of the columns, which are widened instead, where the coordinates were
    turned to; what looks like correlation is then likely their widest one, learned too narrow.
    """
    ball = seen.ball
    block = slice(None) if ball.block is None else ball.block  # lengths tell of no other coordinate
    stretch, variances = np.broadcast_to(ball.scale, variances.shape)[block] * ball.radius, variances[block]
    with np.errstate(all="ignore"):
        v, offset = variances / stretch**2, float((((mean - ball.centre)[block] / stretch) ** 2).sum())
    known = float(v.sum())
    if not (0 < known < math.inf and math.isfinite(offset)):
        return NOT_MEASURED
    found = LengthMoments.of(seen, max(1.0, FAR_LENGTH * math.sqrt(known)))
    trace = max(found.square - offset, known)
    together = correlation(v * (trace / known), found.spread)
    widening = (trace + found.count * squared_shift(found, v * (trace / known), together)) / known
    if own is not None:
        likely, most = float(variances.sum()), float(stretch.max()) ** 2 * known
        widening *= ((1 - together) * likely + together * most) / float(own.sum())
    if not math.isfinite(widening):
        return NOT_MEASURED
    return Population(max(widening, 1.0), together, some_unmeasured(seen) or not seen.tail.told)


def some_unmeasured(seen: Lengths) -> bool:
    """Whether records stand out in the last cell, which is open, or in one that reaches the cap of an entry."""
    tail = seen.tail
    unmeasured = tail.ends >= min(float(tail.ends[-1]), seen.ball.cap * (1 - 1e-9))  # the cap may be an edge
    return bool((tail.bumps[unmeasured] > 0).any())


def correlation(v: Floats, spread: float) -> float:
    """Of any two coordinates, so that |z|² has this variance if z is normal: twice the sum of squared covariances."""
    alone = float((v**2).sum())
    together = float(v.sum()) ** 2 - alone
    return 0.0 if together <= 0 else math.sqrt(min(max((spread / 2 - alone) / together, 0.0), 1.0))


def squared_shift(found: LengthMoments, v: Floats, together: float) -> float:
    """At most |E[w z]|². Along any u that is E[w u·z], at most E[w |z|], the excess, and (E[w²]·Var(u·z))^½."""
    widest = (1 - together) * float(v.max()) + together * float(v.sum())
    return min(found.excess**2, found.drawn * widest)
