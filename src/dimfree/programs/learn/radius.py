"""Clipping radii: one histogram of the records' lengths, and a shell that shows whether a smaller radius costs little.

Of wide symmetric records most of what clipping cuts off cancels in the sum, but a histogram of lengths cannot show
that. The shell sum Σ clip_R - clip_ρ can: its squared length, less that of its noise, is the squared bias that clipping
at ρ would add to the sum. Letters: z = a record's offset from the centre, rescaled; R = the radius that the lengths
suggest, ρ = their median; w = what a squared error in each coordinate counts; σ = standard deviations.
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
    """A noisy histogram of |z| (P20), the radius the expected one; records beyond `farthest` are left out."""
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
    of the ball has in the widest one. R grows up to `wide`, by one factor at most, as far as lengths were looked at.
    """
    radius = outer_radius(tail, widest, mu, c.CORE_BIAS_POWER)
    return max(radius, min(wide, c.WIDE_MOST * radius, tail.last_edge))


def verified_radius(
    setting: StageSetting, ball: Ball, tail: Tail, weights: Floats, mu: float, answer: float, sampling: float
) -> tuple[float, float] | None:
    """Release the shell between the ball and the median length, and choose the radius of least squared error.

    (The radius, the likely bias of it in deviations of the noise of the answer.) `answer`: mu of the answer, all of its
    stages together. `sampling`: squared length of the sampling error of the sum.
    Between ρ and R the bias is taken to fall like the sum of what is cut off; the stated one like (R - r)/(R - ρ), the
    most that is left of it for any record. None, at no cost, where even ρ without bias would save too little.
    """
    total, inner = float(weights.sum()), float(np.clip(median_length(tail), *np.multiply(c.SHELL_PLACES, ball.radius)))
    noise = total * (setting.moves / answer) ** 2  # of the sum, for a radius of 1
    saved = (ball.radius**2 - inner**2) * noise
    if saved < c.SHELL_GAIN * (ball.radius**2 * noise + sampling):
        return None
    seen = setting.view.shell_sum(ball, inner, mu)
    measured = max(float(weights @ seen.value**2) - total * seen.stddev**2, 0.0)  # the squared bias at ρ
    doubt = math.sqrt(2 * float(weights @ weights)) * seen.stddev**2
    radii = np.geomspace(inner, ball.radius, c.SHELL_RADII)
    excess = tail.excess(radii, 0.5)
    part = (excess - excess[-1]) / max(excess[0] - excess[-1], 1e-300)
    radius = float(radii[np.argmin((measured + c.SHELL_DEVIATIONS * doubt) * part**2 + noise * radii**2)])
    most = (ball.radius - radius) / (ball.radius - inner)
    return radius, math.sqrt(measured / noise) * most / radius


def median_length(tail: Tail) -> float:
    """The length that half of the records exceed."""
    half = tail.number[0] / 2
    if tail.number[-1] <= half:
        return float(np.interp(-half, -tail.number, tail.knots))
    return tail.start
