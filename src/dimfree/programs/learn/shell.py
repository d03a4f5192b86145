"""Clip inside the bulk where a measurement shows that it costs little.

Of wide symmetric records most of what clipping cuts off cancels in the sum, but a histogram of lengths cannot show
that. The shell sum Σ clip_R - clip_ρ can: its squared length, less that of its noise, is the squared bias that clipping
at ρ would add to the sum. Sees public and released numbers only. Letters: R = the radius that the lengths suggest,
ρ = their median, w = what a squared error in each coordinate counts.
"""

import math
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.kernel import Ball
from dimfree.programs.choose.constants import SHELL_DEVIATIONS, SHELL_GAIN, SHELL_PLACES, SHELL_RADII
from dimfree.programs.learn.state import StageSetting
from dimfree.programs.learn.tail import Tail


@dataclass(frozen=True)
class Verified:
    """A clipping radius, and the likely bias of it in deviations of the noise of the answer."""

    radius: float
    bias: float


def verified_radius(
    setting: StageSetting, ball: Ball, tail: Tail, weights: Floats, mu: float, answer: float, sampling: float
) -> Verified | None:
    """Release the shell between the ball and the median length, and choose the radius of least squared error.

    `answer`: mu of the answer, all of its stages together. `sampling`: squared length of the sampling error of the sum.
    Between ρ and R the bias is taken to fall like the sum of what is cut off; the stated one like (R - r)/(R - ρ), the
    most that is left of it for any record. None, at no cost, where even ρ without bias would save too little.
    """
    total, inner = float(weights.sum()), float(np.clip(median_length(tail), *np.multiply(SHELL_PLACES, ball.radius)))
    noise = total * (setting.moves / answer) ** 2  # of the sum, for a radius of 1
    saved = (ball.radius**2 - inner**2) * noise
    if saved < SHELL_GAIN * (ball.radius**2 * noise + sampling):
        return None
    seen = setting.view.shell_sum(ball, inner, mu)
    measured = max(float(weights @ seen.value**2) - total * seen.stddev**2, 0.0)  # the squared bias at ρ
    doubt = math.sqrt(2 * float(weights @ weights)) * seen.stddev**2
    radii = np.geomspace(inner, ball.radius, SHELL_RADII)
    excess = tail.excess(radii, 0.5)
    part = (excess - excess[-1]) / max(excess[0] - excess[-1], 1e-300)
    radius = float(radii[np.argmin((measured + SHELL_DEVIATIONS * doubt) * part**2 + noise * radii**2)])
    most = (ball.radius - radius) / (ball.radius - inner)
    return Verified(radius, math.sqrt(measured / noise) * most / radius)


def median_length(tail: Tail) -> float:
    """The length that half of the records exceed."""
    half = tail.number[0] / 2
    if tail.number[-1] <= half:
        return float(np.interp(-half, -tail.number, tail.knots))
    return tail.start
