"""The order of the steps of a learned shape: centre, variances, stages, variances again if that pays, last stages."""

import numpy as np

from dimfree.programs.choose.constants import (
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
from dimfree.programs.learn.stages import last_stages, run_stages
from dimfree.programs.learn.state import State
from dimfree.programs.learn.variances import learn_variances, measure_own, uncertainty


def learn(state: State) -> State:
    """All steps in the coordinates of the state; where noise is far below the sampling error, passes are saved.

    With few records the variances of the columns serve the error bars alone; with very few, no stage follows the core.
    """
    if state.core_alone:
        return measure_own(state)[0]
    if state.few:
        return last_stages(measure_own(state)[0])
    if state.noise_over_sampling() > SMALL_NOISE:
        state = recentre(state)
    return last_round(first_round(state))


def recentre(state: State) -> State:
    """Stages for a better centre, unless it is near already: spherical ones, if variances are not known yet."""
    if centre_error(state) <= NEAR_CENTRE:
        return state
    wanted = RECENTRE_PRECISION * state.setting.view.dimension / (state.setting.count**2 * state.precision)
    share = float(np.clip(wanted, *RECENTRE_SHARES))
    return run_stages(state, share * state.precision / state.left, RECENTRE_STAGES, spherical=not state.from_ring)


def centre_error(state: State) -> float:
    """The centre's own squared error over a record's squared distance from it."""
    _, blur = state.centre()
    return float(blur.sum() / (blur.sum() + (state.stddev**2).sum()))


def first_round(state: State) -> State:
    """Variances, then stages for a better centre; nothing, if the ring has said enough."""
    if state.from_ring:
        enough = uncertainty(state) <= RING_LOSS
        return state if enough else run_stages(state, RING_FIRST_ROUND * state.precision / state.left)
    return run_stages(learn_variances(state), FIRST_ROUND * state.precision / state.left)


def last_round(state: State) -> State:
    """Variances again if they are uncertain; then the answer, with all that is left."""
    own = state.own_scores is not None or state.ring_scores
    if state.setting.view.basis is not None and not own:
        state, _ = measure_own(state)
    if uncertainty(state) > (RING_LOSS if state.from_ring else LOSS):
        state = learn_variances(state)
    return last_stages(state)
