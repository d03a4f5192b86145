"""The length histogram, the clipping radius that follows, and the one clipped mean that is the answer.

The noise that chooses the radius does not enter the answer, so the answer has exactly the stated Gaussian noise. Its
only bias is that of clipping: of records to the radius, and of values to the column bound (P8, P20, P21).
"""

import math
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.kernel import MAX_RADII, Ball
from dimfree.programs.choose import constants as c
from dimfree.programs.columns.state import ColumnState
from dimfree.programs.learn.steps import choose_length_precision, release_lengths
from dimfree.programs.learn.tail import Lengths, Tail, minimize_loss
from dimfree.progress import during
from dimfree.results.error_model import Clipping


@dataclass(frozen=True)
class ClippedMean:
    """The clipped mean, its noise variance, and the clipping."""

    mean: Floats
    variance: Floats
    ball: Ball
    max_clipped: float | None  # number of records that may be clipped
    bias: float  # of clipping, in SDs of the noise
    hidden: Floats | None  # of clipping, in each column

    def clipping(self) -> Clipping:
        """Return the clipping for the release."""
        ball = self.ball
        scale, bound = np.broadcast_to(ball.scale, self.mean.shape), min(ball.cap, MAX_RADII * ball.radius)
        return Clipping(ball.radius, ball.center, scale, self.max_clipped, bound)


def measure_lengths(state: ColumnState) -> tuple[ColumnState, Tail]:
    """Release the length histogram, each value clipped to the column bound, and fit its tail (P20)."""
    setting, rank = state.setting, state.rank
    ball = Ball(state.center, state.scale, state.length, cap=state.column_bound)
    precision = choose_length_precision(state.widest, state.precision, state.left)
    state, seen = state.release(precision / state.precision, lambda mu: release_lengths(setting, ball, rank, mu))
    return state, Tail.fit(seen.value, rank, state.length)


@during("mean")
def release_last_mean(state: ColumnState, tail: Tail | None) -> tuple[ColumnState, ClippedMean]:
    """Release the mean with the remaining precision, clipped to the column bound and the radius of the tail (P8).

    Without a tail nothing is clipped: all records lie within the declared bounds.
    """
    setting, scale = state.setting, state.scale
    radius, bias = (state.longest_record, 0.0) if tail is None else choose_clipping_radius(state, tail)
    ball = Ball(state.center, scale, radius, cap=state.column_bound)
    share = state.left / state.precision
    state, total = state.release(share, lambda mu: setting.view.sum_clipped(ball, mu, "mean"))
    offset = total.value / state.counts
    noise = np.hypot(total.stddev, offset * state.count_stddevs) / state.counts  # of sum, and of n̂
    mean = state.center + offset * scale
    variance = (noise * scale) ** 2 + (np.finfo(float).eps * mean) ** 2  # and of its last bit
    if tail is None or radius >= state.longest_record:  # every record counts in full
        return state, ClippedMean(mean, variance, ball, None, 0.0, None)
    cut_off = float(tail.excess(np.array([radius]), c.MAX_CLIPPED_LEVEL)[0])  # lengths, of all records together
    hidden = np.where(state.declared & state.narrow, 1.0, c.HIDDEN_BIAS_SHARE) * cut_off / state.counts * scale
    return state, ClippedMean(mean, variance, ball, tail.bound_clipped(min(ball.radius, ball.cap)), bias, hidden)


def has_unmeasured_records(state: ColumnState, tail: Tail, radius: float) -> bool:
    """Return whether some records lie beyond the length histogram, or the radius does."""
    ball = Ball(state.center, state.scale, radius, cap=state.column_bound)
    return Lengths(tail, ball).some_unmeasured or radius >= c.MEASURED_SHARE * tail.last_edge


def choose_clipping_radius(state: ColumnState, tail: Tail) -> tuple[float, float]:
    """Choose (R, bias in SDs of the noise) of the least expected loss.

    R includes the value 1 of columns that show only zeros: indicators.
    """
    mu = math.sqrt(state.left) / state.setting.sensitivity
    ones = float((1 / state.scale[state.unseen]).max(initial=0.0))
    radius, bias = minimize_loss(tail, state.widest, mu, state.length, state.setting.count)
    return min(max(radius, ones), state.longest_record), bias
