"""Entries far out in one column, read from released votes: a scale of its own, and what clipping may take away (P23).

A record whose largest entry lies beyond a few spreads votes for that column, side and level.
"""

import math
from dataclasses import replace

import numpy as np
from scipy.special import ndtr

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


def usual_radius(state: ColumnState) -> float:
    """By votes, in columns divided by `scale`."""
    assert state.far is not None
    far, rest, mu = state.far, math.sqrt(max(state.length**2 - 1, 0.0)), math.sqrt(state.left) / state.setting.moves
    radii = state.length * c.USUAL_RADII
    factors = state.scale / far.unit
    loss = []
    for radius in radii:
        bias = np.array([taken(radius, rest, factor) for factor in factors])
        loss.append(
            (far.posterior * np.log(bias**2 + (factors * radius / (mu * state.counts))[:, None] ** 2))
            .sum(axis=1)
            .mean()
        )
    return float(radii[int(np.argmin(loss))])


def hidden(state: ColumnState, radius: float, noise: Floats) -> Floats:
    """By votes: so much more of the noise of each column that 95 % of what clipping may have taken is covered, too."""
    assert state.far is not None  # every path votes
    far, rest = state.far, state.length * math.sqrt(max(1 - 1 / len(noise), 0.0))
    bias = np.array([taken(radius, rest, factor) for factor in state.scale / far.unit])  # (columns, laws)
    stddev = (noise / far.unit)[:, None]
    low, high = np.zeros((len(noise), 1)), np.abs(bias).max(axis=1, keepdims=True) + 4 * stddev
    for _ in range(60):
        middle = (low + high) / 2
        inside = (far.posterior * (ndtr((middle - bias) / stddev) - ndtr((-middle - bias) / stddev))).sum(axis=1)
        covered = (inside >= 0.95)[:, None]
        low, high = np.where(covered, low, middle), np.where(covered, middle, high)
    return np.sqrt(np.maximum((high / 1.96) ** 2 - stddev**2, 0.0))[:, 0] * far.unit
