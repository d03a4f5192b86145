"""The look at the records' lengths, the radius that it suggests, and the one clipped mean that is the answer.

The draw that chooses the radius does not enter the answer, so the answer has exactly the stated Gaussian noise, and no
bias but for the records beyond the radius, which are drawn in (P8, P20, P21). Proof: proofs/estimators/columns.md.
"""

import math
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.data.progress import during
from dimfree.estimators.choose.constants import WIDE_REACH
from dimfree.estimators.columns.state import ColumnState
from dimfree.estimators.learn.radius import look_precision, noisy_lengths
from dimfree.estimators.learn.tail import Tail, outer_radius
from dimfree.mechanisms.clipped_sum import Ball, noisy_clipped_mean
from dimfree.results.reach import Reach


@dataclass(frozen=True)
class Answer:
    """The mean, its noise variance, and where records were clipped."""

    mean: Floats
    variance: Floats
    ball: Ball
    beyond: float | None  # how many records may lie outside the ball

    def reach(self) -> Reach:
        """How far from the centre records counted in full."""
        return Reach(self.ball.radius, self.ball.centre, np.broadcast_to(self.ball.scale, self.mean.shape), self.beyond)


def look_at_lengths(state: ColumnState) -> tuple[ColumnState, Tail]:
    """A histogram of the records' lengths, and what it says of their tail (P20)."""
    setting, ball, rank = state.setting, Ball(state.centre, state.scale, state.length), state.rank
    look = look_precision(state.widest, state.precision, state.left)
    state, seen = state.release(look / state.precision, lambda mu: noisy_lengths(setting, ball, rank, mu))
    return state, Tail.fitted(seen, rank, state.length)


@during("last stage")
def last_mean(state: ColumnState, tail: Tail) -> tuple[ColumnState, Answer]:
    """The mean of all records, clipped at the radius that the tail suggests, with everything that is left (P8)."""
    setting, scale = state.setting, state.scale
    ball = Ball(state.centre, scale, clipping_radius(state, tail))
    state, offset = state.release(
        state.left / state.precision,
        lambda mu: noisy_clipped_mean(
            setting.space, ball, setting.count, mu, setting.relation, "mean", noise=setting.noise
        ),
    )
    event = state.events[-1]
    noise = np.hypot(event.stddev * event.step, offset * setting.count_stddev) / setting.count  # of sum, and of n̂
    mean = state.centre + offset * scale
    variance = (noise * scale) ** 2 + (np.finfo(float).eps * mean) ** 2  # and of its last bit
    return state, Answer(mean, variance, ball, tail.most_beyond(ball.radius))


def clipping_radius(state: ColumnState, tail: Tail) -> float:
    """R: by the tail; at least the expected length; wider where the noise stays far below the sampling error, since
    a tail is no guide to rare large records; and ones are within reach where only zeros were seen: indicators."""
    mu = math.sqrt(state.left) / state.setting.moves
    widest = float((state.about_centre / state.scale).max())
    wide = WIDE_REACH * math.sqrt(state.setting.count) * mu * widest
    ones = float((1 / state.scale[state.unseen]).max(initial=0.0))
    return max(outer_radius(tail, state.widest, mu), state.length, ones, min(wide, tail.last_edge))
