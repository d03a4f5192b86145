"""The look at the records' lengths, the radius that it suggests, and the one clipped mean that is the answer.

The draw that chooses the radius does not enter the answer, so the answer has exactly the stated Gaussian noise, and no
bias but for the records beyond the radius, which are drawn in, and for entries beyond the cap, which are held there
(P8, P20, P21).
"""

import math
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.kernel import HELD, Ball
from dimfree.programs.choose import constants as c
from dimfree.programs.columns.state import ColumnState
from dimfree.programs.learn.stages import look_precision, noisy_lengths
from dimfree.programs.learn.tail import Lengths, Tail, radius_of_least_loss
from dimfree.progress import during
from dimfree.results.error_model import Reach


@dataclass(frozen=True)
class Answer:
    """The mean, its noise variance, and where records were clipped."""

    mean: Floats
    variance: Floats
    ball: Ball
    beyond: float | None  # how many records may lie outside the ball, or beyond its cap in some column
    bias: float  # of clipping, in deviations of the noise
    hidden: Floats | None  # of clipping, in each column

    def reach(self) -> Reach:
        """How far from the centre records counted in full."""
        ball = self.ball
        scale, cap = np.broadcast_to(ball.scale, self.mean.shape), min(ball.cap, HELD * ball.radius)
        return Reach(ball.radius, ball.centre, scale, self.beyond, cap)


def look_at_lengths(state: ColumnState) -> tuple[ColumnState, Tail]:
    """A histogram of the records' lengths, each entry held within the cap, and what it says of their tail (P20)."""
    setting, rank = state.setting, state.rank
    ball = Ball(state.centre, state.scale, state.length, cap=state.cap)
    look = look_precision(state.widest, state.precision, state.left)
    state, seen = state.release(look / state.precision, lambda mu: noisy_lengths(setting, ball, rank, mu))
    return state, Tail.fitted(seen.value, rank, state.length)


@during("last stage")
def last_mean(state: ColumnState, tail: Tail | None) -> tuple[ColumnState, Answer]:
    """The mean of all records, each entry held within the cap, then clipped at the radius that the tail suggests, with
    everything that is left (P8). Without a tail none is clipped: the declared ends hold all."""
    setting, scale = state.setting, state.scale
    radius, bias = (state.longest_record, 0.0) if tail is None else clipping_radius(state, tail)
    ball = Ball(state.centre, scale, radius, cap=state.cap)
    share = state.left / state.precision
    state, total = state.release(share, lambda mu: setting.view.clipped_sum(ball, mu, "mean"))
    offset = total.value / state.counts
    noise = np.hypot(total.stddev, offset * state.count_stddevs) / state.counts  # of sum, and of n̂
    mean = state.centre + offset * scale
    variance = (noise * scale) ** 2 + (np.finfo(float).eps * mean) ** 2  # and of its last bit
    if tail is None or radius >= state.longest_record:  # every record counts in full
        return state, Answer(mean, variance, ball, None, 0.0, None)
    cut_off = float(tail.excess(np.array([radius]), c.MOST_BEYOND)[0])  # lengths, of all records together
    hidden = c.HIDDEN_PART * cut_off / state.counts * scale
    return state, Answer(mean, variance, ball, tail.most_beyond(min(ball.radius, ball.cap)), bias, hidden)


def are_cut(state: ColumnState, tail: Tail, radius: float) -> bool:
    """Whether it is not known how far some records lie out: they stand out there, or the radius goes so far."""
    ball = Ball(state.centre, state.scale, radius, cap=state.cap)
    return Lengths(tail, ball).some_unmeasured or radius >= c.MEASURED * tail.last_edge


def clipping_radius(state: ColumnState, tail: Tail) -> tuple[float, float]:
    """(R, bias in deviations of the noise): of the least expected loss; ones are within reach where only zeros were
    seen: indicators."""
    mu = math.sqrt(state.left) / state.setting.moves
    ones = float((1 / state.scale[state.unseen]).max(initial=0.0))
    radius, bias = radius_of_least_loss(tail, state.widest, mu, state.length, state.setting.count)
    return min(max(radius, ones), state.longest_record), bias
