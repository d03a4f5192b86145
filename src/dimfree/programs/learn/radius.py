"""Clipping radii: one look at the records' lengths, and the radius that it suggests.

Letters: z = a record's offset from the centre, rescaled; R = clipping radius; σ = standard deviations of the
coordinates.
"""

import math

import numpy as np

from dimfree._types import Floats
from dimfree.kernel import Ball, Released
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.stages import look_share
from dimfree.programs.learn.state import StageSetting
from dimfree.programs.learn.tail import LengthCounts, Tail, length_edges, outer_radius


def look_precision(widest: float, precision: float, left: float, *, few: bool = False) -> float:
    """Of what is left of the precision, for the look: more where one coordinate may make a record long."""
    return min((c.FEW_LOOK if few else look_share(widest)) * precision, c.LENGTH_LOOK_MOST * left)


def noisy_lengths(
    setting: StageSetting, ball: Ball, rank: float, mu: float, *, farthest: float = math.inf
) -> Released[LengthCounts]:
    """A noisy histogram of the lengths |z| (P20); the ball's radius is the expected length.

    `farthest`: records of a larger |z| are not honest ones; they are left out, so that no radius is drawn out to them.
    """
    edges = read_edges(rank, ball.radius, farthest)
    found = setting.view.lengths(ball, edges, mu)
    seen = LengthCounts(edges, found.value, found.stddev, setting.count, setting.count_stddev)
    return Released(seen if math.isinf(farthest) else seen.without_last(), found.event)


def read_edges(rank: float, predicted: float, farthest: float = math.inf) -> Floats:
    """Public: edges of the histogram of lengths, up to `farthest`, but beyond the expected length in any case."""
    edges, end = length_edges(rank) * predicted, max(farthest, c.LENGTH_READ_LEAST * predicted)
    return edges if end >= edges[-1] else np.append(edges[edges < end], end)


def looked_radius(tail: Tail, mu: float, widest: float, wide: float) -> float:
    """R after a core: where the likely bias is at most a part of the noise, all of it along the widest coordinate.

    `widest` is Σσ over the largest σ: the squared length of the noise in the records' units, over what one coordinate
    of the ball has in the widest one.
    """
    return widened(outer_radius(tail, widest, mu, c.CORE_BIAS_POWER), wide, tail)


def widened(radius: float, wide: float, tail: Tail) -> float:
    """The radius, or up to `wide`, by one factor at most, as far as lengths were looked at."""
    return max(radius, min(wide, c.WIDE_MOST * radius, tail.last_edge))
