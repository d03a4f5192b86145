"""Recentring (P8): each stage clips around everything released so far, and every output counts in the end.

Works on released values; the records are seen by `noisy_clipped_mean` and `searched_radius` alone. Proofs:
proofs/estimators/learn/stages.md (known shape), proofs/estimators/learn/variances.md (learned shape).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from dimfree._types import Floats
from dimfree.data.progress import during
from dimfree.estimators.choose.constants import MOST_STAGES, NARROW_WINDOW, SEARCHED_STAGES
from dimfree.estimators.choose.stages import Moments, Schedule
from dimfree.estimators.learn.knowledge import Knowledge, Output
from dimfree.estimators.learn.plan_stages import Planned, plan_stages
from dimfree.estimators.learn.radius import (
    Clipping,
    RadiusGuess,
    RadiusSearch,
    one_sided,
    searched,
    searched_radius,
    target_deviations,
    trusted,
    unsearched,
    widening,
)
from dimfree.estimators.learn.state import StageSetting, State
from dimfree.mechanisms.clipped_sum import Ball, Block, noisy_clipped_mean


def stage(
    setting: StageSetting, known: Knowledge, ball: Ball, mu: float, clipping: Clipping, purpose: str
) -> Knowledge:
    """Clip around the ball's centre, sum, and add the output to what is known (P8)."""
    with during(purpose):
        measured = noisy_clipped_mean(
            setting.space, ball, setting.count, mu, setting.relation, purpose, noise=setting.noise
        )
    offset, variance = np.zeros(setting.space.dimension), np.full(setting.space.dimension, np.inf)
    block = slice(None) if ball.block is None else ball.block
    stretch = np.broadcast_to(ball.scale, offset.shape)[block]
    offset[block] = measured.value * stretch
    variance[block] = (measured.event.stddev * measured.event.step / setting.count * stretch) ** 2
    return known.add(Output(ball.centre + offset, variance, clipping.bias, clipping.centre_share), measured.event)


@dataclass(frozen=True)
class Honest:
    """What is believed of honest records in this space: public."""

    spectrum: Floats  # eigenvalues of the covariance, descending
    coordinates: Floats  # variance of each coordinate
    searched: bool  # whether radii are searched rather than trusted to the model
    farthest: float  # distance between records of the core, at most

    def largest(self, size: int) -> Block:
        """The `size` coordinates of largest variance."""
        return None if size == len(self.coordinates) else np.sort(np.argsort(-self.coordinates)[:size])


def run_schedule(
    setting: StageSetting, known: Knowledge, schedule: Schedule, honest: Honest, level: float
) -> Knowledge:
    """Known shape: the stages of a schedule, each around everything known before it (P8)."""
    moments, block = Moments.of(honest.spectrum[: schedule.block]), honest.largest(schedule.block)
    for index, mu in enumerate(schedule.stage_mus):
        centre, variance = known.combined()
        spread = float((variance if block is None else variance[block]).mean())
        ball = Ball(centre, 1.0, float(moments.radius(level, spread)), block)
        clipping = unsearched(honest.coordinates) if honest.searched else trusted(level)
        if honest.searched and index >= len(schedule.stage_mus) - SEARCHED_STAGES:
            farthest = honest.farthest + math.sqrt(float(variance.sum()))
            search = RadiusSearch.balanced(schedule.search_mu, mu, moments.effective_rank, farthest)
            found = searched_radius(setting.space, ball, search, noise=setting.noise)
            known, ball = known.charge(found.event), replace(ball, radius=found.value)
            clipping = searched(search, setting.count, honest.coordinates)
        known = stage(setting, known, ball, mu, clipping, f"stage {index + 1}")
    return known


def run_stages(state: State, share: float, most: int = MOST_STAGES, *, spherical: bool = False) -> State:
    """Learned shape: stages with a share of what is left, as planned (P8).

    `spherical`: with noise that is the same in all coordinates, now and after any rotation.
    """
    rank = state.rank
    for planned in plan_stages(state, share * state.left, rank, most):
        state = _run_planned(state, planned, rank, spherical)
    return state


def _run_planned(state: State, planned: Planned, rank: float, spherical: bool) -> State:
    centre, blur = state.centre()
    middle = np.sqrt(state.stddev**2 + (blur.mean() if spherical else blur))  # spread of a record about the centre
    predicted = math.sqrt(float(middle.sum()))
    ball = Ball(centre, np.sqrt(middle), state.radius.ratio * predicted)
    clipping = unsearched(state.stddev**2)
    if planned.search_mu:
        farthest = state.start.farthest + math.sqrt(float(blur.sum()))
        state, ball, clipping = _search(state, ball, planned, rank, farthest, predicted)
    known = stage(state.setting, state.known, ball, planned.mu, clipping, f"stage {state.known.stages() + 1}")
    return replace(state, known=known, left=state.left - (planned.mu**2 + planned.search_mu**2))


def _search(
    state: State, ball: Ball, planned: Planned, rank: float, farthest: float, predicted: float
) -> tuple[State, Ball, Clipping]:
    """Search the radius of one stage and widen it where noise is small; what clipping may then do."""
    window, deviations = state.radius.window, target_deviations(rank)
    search = RadiusSearch.balanced(planned.search_mu, planned.mu, rank, farthest, window, deviations)
    found = searched_radius(state.setting.space, ball, search, noise=state.setting.noise)
    state = replace(state.charge(found), radius=RadiusGuess(found.value / predicted, NARROW_WINDOW))
    wider = widening(_noise(state, ball, found.value, planned.mu), state.sampling_error)
    clipping = searched(search, state.setting.count, state.stddev**2, one_sided(rank) / wider**2)
    return state, replace(ball, radius=wider * found.value), clipping


def _noise(state: State, ball: Ball, radius: float, mu: float) -> float:
    """The length of a stage's noise at a radius."""
    scale = np.broadcast_to(ball.scale, state.stddev.shape)
    return state.setting.moves * radius * float(np.linalg.norm(scale)) / (state.setting.count * mu)
