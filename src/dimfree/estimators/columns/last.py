"""The look at the records' lengths, the radius that it suggests, and the one clipped mean that is the answer.

The draw that chooses the radius does not enter the answer, so the answer has exactly the stated Gaussian noise, and no
bias but for the records beyond the radius, which are drawn in (P8, P20, P21). Proof: proofs/estimators/columns.md.
"""

import math
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.data.progress import during
from dimfree.estimators.choose.constants import (
    LENGTH_LOOK,
    LENGTH_LOOK_MOST,
    LENGTH_LOOK_SHARES,
    WIDE_REACH,
)
from dimfree.estimators.columns.state import ColumnState
from dimfree.estimators.columns.tail import LengthCounts, Tail, length_edges, outer_radius
from dimfree.mechanisms.clipped_sum import Ball, noisy_clipped_mean
from dimfree.mechanisms.length_histogram import noisy_length_counts
from dimfree.results.reach import Reach


@dataclass(frozen=True)
class Answer:
    """The mean, its noise variance, and where records were clipped."""

    mean: Floats
    variance: Floats
    ball: Ball

    def reach(self) -> Reach:
        """How far from the centre records counted in full."""
        return Reach(self.ball.radius, self.ball.centre, np.broadcast_to(self.ball.scale, self.mean.shape))


def look_at_lengths(state: ColumnState) -> tuple[ColumnState, Tail]:
    """A histogram of the records' lengths, and what it says of their tail (P20)."""
    setting, edges = state.setting, length_edges(state.rank) * state.length
    ball = Ball(state.centre, state.scale, float(edges[-1]))
    share = float(np.clip(LENGTH_LOOK / math.sqrt(state.rank), *LENGTH_LOOK_SHARES))
    state, counts = state.release(
        min(share, LENGTH_LOOK_MOST * state.left / state.precision),
        lambda mu: noisy_length_counts(setting.space, ball, edges, mu, setting.relation, noise=setting.noise),
    )
    stddev = state.events[-1].stddev * state.events[-1].step
    seen = LengthCounts(edges, counts, stddev, setting.count, setting.count_stddev)
    return state, Tail.fitted(seen, state.rank, state.length)


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
    return state, Answer(mean, (noise * scale) ** 2 + (np.finfo(float).eps * mean) ** 2, ball)  # and of its last bit


def clipping_radius(state: ColumnState, tail: Tail) -> float:
    """R: by the tail; at least the expected length; wider where the noise stays far below the sampling error, since
    a tail is no guide to rare large records."""
    mu = math.sqrt(state.left) / state.setting.moves
    widest = float((state.about_centre / state.scale).max())
    unseen = WIDE_REACH * math.sqrt(state.setting.count) * mu * widest
    least = max(state.length, min(unseen, tail.last_edge))
    return max(outer_radius(tail, state.rank, mu), least)
