"""The order of the steps of a learned shape: centre, variances, stages, variances again if that pays, last stages.

Sees no record by itself. Proof: proofs/estimators/learn/variances.md (P8, P10).
"""

import math
from dataclasses import replace

import numpy as np

from dimfree.estimators.choose.constants import (
    FIRST_ROUND,
    LOSS,
    NEAR_CENTRE,
    RECENTRE_PRECISION,
    RECENTRE_SHARES,
    RECENTRE_STAGES,
    RING_FIRST_ROUND,
    RING_LOSS,
    SMALL_NOISE,
)
from dimfree.estimators.choose.core import are_few
from dimfree.estimators.learn.stages import last_stages, run_stages
from dimfree.estimators.learn.state import State
from dimfree.estimators.learn.variances import learn_variances, measure_own, uncertainty


def learn(state: State) -> State:
    """All steps in the coordinates of the state; where noise is far below the sampling error, passes are saved.

    With few records, the mean alone: noise that is the same in all coordinates.
    """
    if few(state):
        return spherical(state)
    if state.noise_over_sampling() > SMALL_NOISE:
        state = recentre(state)
    return last_round(first_round(state))


def learn_after_ring(state: State) -> State:
    """Variances are known from the ring: stages, variances again if they are uncertain, the answer."""
    if uncertainty(state) <= RING_LOSS:
        return last_stages(state)
    return last_round(run_stages(state, RING_FIRST_ROUND * state.precision / state.left))


def few(state: State) -> bool:
    """Whether there are too few records to learn variances or coordinates from."""
    return are_few(state.setting.count, math.sqrt(state.precision), state.setting.relation)


def spherical(state: State) -> State:
    """The answer with the same noise everywhere; variances of the columns for the error bars alone."""
    state = equal_variances(state)
    return last_stages(state)


def equal_variances(state: State) -> State:
    """Variances of the columns for the error bars; the shape of the noise has their mean everywhere."""
    state, own = measure_own(state)
    return replace(state, stddev=np.full_like(state.stddev, math.sqrt(float(own.variances.mean()))))


def recentre(state: State) -> State:
    """Spherical stages for a better centre, unless it is near already."""
    if centre_error(state) <= NEAR_CENTRE:
        return state
    wanted = RECENTRE_PRECISION * state.setting.space.dimension / (state.setting.count**2 * state.precision)
    share = float(np.clip(wanted, *RECENTRE_SHARES))
    return run_stages(state, share * state.precision / state.left, RECENTRE_STAGES, spherical=True)


def centre_error(state: State) -> float:
    """The centre's own squared error over a record's squared distance from it."""
    _, blur = state.centre()
    return float(blur.sum() / (blur.sum() + (state.stddev**2).sum()))


def first_round(state: State) -> State:
    """Variances, then stages for a better centre."""
    state = learn_variances(state)
    return run_stages(state, FIRST_ROUND * state.precision / state.left)


def last_round(state: State) -> State:
    """Variances again if they are uncertain; then the answer, with all that is left."""
    if state.own_scores is None and state.setting.space.basis is not None:
        state, _ = measure_own(state)
    if uncertainty(state) > LOSS:
        state = learn_variances(state)
    return last_stages(state)
