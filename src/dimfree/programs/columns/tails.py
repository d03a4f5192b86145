"""Far values of single columns, from released votes: such a column gets a separate scale (P23).

A record whose largest value lies beyond a few SDs votes for that column, side and level.
"""

import math
from dataclasses import replace

import numpy as np

from dimfree._types import Floats
from dimfree.kernel import Ball
from dimfree.programs.choose import constants as c
from dimfree.programs.columns.far import Far, predict_bias
from dimfree.programs.columns.state import ColumnState
from dimfree.progress import during


@during("long tails")
def widen_tails(state: ColumnState) -> ColumnState:
    """Raise the scale of columns with far values: they alone are clipped farther out, and lengthen no record.

    A second vote confirms a column before it is widened. A record votes for one column alone, so that further columns
    appear after the first is widened.
    """
    for _ in range(c.MAX_WIDENINGS):
        state, far = _release_vote(state, None)
        factors = _choose_own_scales(state, far)
        if (factors > 1).any():
            state, far = _release_vote(state, far)
            factors = _choose_own_scales(state, far)
        variance = state.center_variance * factors**2
        state = replace(state, far=far, stddev=state.stddev * factors, center_variance=variance)
        if not (factors > 1).any():
            break
    return state


def _release_vote(state: ColumnState, before: Far | None) -> tuple[ColumnState, Far]:
    """Release one vote; return (state, posterior by all votes in this unit)."""
    view = state.setting.view
    ball = Ball(state.center, state.sd_about_center, 1.0)
    state, found = state.release(c.VOTES_SHARE, lambda mu: view.votes(ball, c.VOTE_LEVELS, mu))
    shares = found.value.reshape(view.dimension, -1) / state.counts[:, None]
    return state, Far.read(shares, found.stddev / state.counts, state.sd_about_center, before)


def _choose_own_scales(state: ColumnState, far: Far) -> Floats:
    """Choose the factor of each scale with the least expected logarithm of the squared error."""
    setting, d = state.setting, state.setting.view.dimension
    noise, rest = setting.sensitivity / (setting.count * math.sqrt(state.left)), math.sqrt(d - 1)
    radii = math.sqrt(d) * c.USUAL_RADII
    usual = np.array([np.median(_compute_log_loss(far, radius, rest, 1.0, noise)) for radius in radii])
    radius = float(radii[usual.argmin()])
    loss = np.array([_compute_log_loss(far, radius, rest, factor, noise) for factor in c.TAIL_FACTORS])
    best = np.where(loss[0] - loss.min(axis=0) > c.MIN_TAIL_GAIN, loss.argmin(axis=0), 0)
    return np.minimum(c.TAIL_FACTORS[best], np.maximum(c.FAR_MAGNITUDE / state.sd_about_center, 1.0))


def _compute_log_loss(far: Far, radius: float, rest: float, factor: float, noise: float) -> Floats:
    """Compute E log(bias² + noise²) of each column."""
    bias = predict_bias(radius, rest, factor)
    return far.posterior @ np.log(bias**2 + (factor * radius * noise) ** 2)
