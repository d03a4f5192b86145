"""Entries far out in one column, read from released votes: a scale of its own (P23).

A record whose largest entry lies beyond a few spreads votes for that column, side and level.
"""

import math
from dataclasses import replace

import numpy as np

from dimfree._types import Floats
from dimfree.kernel import Ball
from dimfree.programs.choose import constants as c
from dimfree.programs.columns.far import Far, taken
from dimfree.programs.columns.state import ColumnState
from dimfree.progress import during


@during("long tails")
def widen_tails(state: ColumnState) -> ColumnState:
    """Columns with entries far out are divided by more: they alone are clipped farther out, and lengthen no record.

    A suspicion is looked at once more before a column is widened. A record votes for one column alone, so that others
    come to light once that one is divided by more.
    """
    for _ in range(c.MOST_WIDENINGS):
        state, far = _voted(state, None)
        factors = _own_scales(state, far)
        if (factors > 1).any():
            state, far = _voted(state, far)
            factors = _own_scales(state, far)
        variance = state.centre_variance * factors**2
        state = replace(state, far=far, stddev=state.stddev * factors, centre_variance=variance)
        if not (factors > 1).any():
            break
    return state


def _voted(state: ColumnState, before: Far | None) -> tuple[ColumnState, Far]:
    """(the state after one vote, what all votes in this unit say)."""
    view = state.setting.view
    ball = Ball(state.centre, state.about_centre, 1.0)
    state, found = state.release(c.VOTES_SHARE, lambda mu: view.votes(ball, c.VOTE_LEVELS, mu))
    shares = found.value.reshape(view.dimension, -1) / state.counts[:, None]
    return state, Far.read(shares, found.stddev / state.counts, state.about_centre, before)


def _own_scales(state: ColumnState, far: Far) -> Floats:
    """By how much more each column is divided: of the least expected logarithm of its squared error."""
    setting, d = state.setting, state.setting.view.dimension
    noise, rest = setting.moves / (setting.count * math.sqrt(state.left)), math.sqrt(d - 1)
    radii = math.sqrt(d) * c.USUAL_RADII
    usual = np.array([np.median(_log_loss(far, radius, rest, 1.0, noise)) for radius in radii])
    radius = float(radii[usual.argmin()])
    loss = np.array([_log_loss(far, radius, rest, factor, noise) for factor in c.TAIL_FACTORS])
    best = np.where(loss[0] - loss.min(axis=0) > c.TAIL_WORTH, loss.argmin(axis=0), 0)
    return np.minimum(c.TAIL_FACTORS[best], np.maximum(c.FAR_MAGNITUDE / state.about_centre, 1.0))


def _log_loss(far: Far, radius: float, rest: float, factor: float, noise: float) -> Floats:
    """E log(bias² + noise²) of each column."""
    bias = taken(radius, rest, factor)
    return far.posterior @ np.log(bias**2 + (factor * radius * noise) ** 2)
