"""One private release of scores, and what it says of the variances of the coordinates (P10).

Letters: P = precision of the branch, σ = standard deviations, C = norm of a score.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Booleans, Floats
from dimfree.accounting.events import SEARCH_STEPS
from dimfree.kernel import SCORE_SENSITIVITY, Scoring
from dimfree.programs.choose import constants as c
from dimfree.programs.learn.knowledge import Knowledge, Output
from dimfree.programs.learn.scale import answers, crossing, geometric_grid
from dimfree.programs.learn.shrinkage import learned_variances
from dimfree.programs.learn.spreads import VarianceRelease
from dimfree.programs.learn.state import State, in_coordinates
from dimfree.progress import during

Places = NDArray[np.intp]


@during("variances")
def learn_variances(state: State, shares: tuple[float, float] = c.VARIANCE_SHARES) -> State:
    """One variance release about the denoised centre (P10), and what it says of σ."""
    centre, blur = state.centre()
    which = np.flatnonzero(_clear(state, blur))
    if not len(which):
        return state
    state, scores, noise, unit = _released_scores(state, centre, blur, which, shares)
    learned = learned_variances(scores, noise, unit)
    variances = np.maximum(learned.second_moments - blur[which], c.VARIANCE_FLOOR * learned.second_moments)
    stddev, log_variance = state.stddev.copy(), state.log_variance.copy()
    stddev[which], log_variance[which] = np.sqrt(variances), learned.log_stddev_variance
    release = VarianceRelease(variances, centre[which], scores, noise, unit, which)
    return replace(state, stddev=stddev, log_variance=log_variance, scores=release)


def _clear(state: State, blur: Floats) -> Booleans:
    """The coordinates to be scored: all, or those of the block where the centre is not too far off to add anything to
    what the ring has said."""
    if not state.from_ring:
        return np.ones(len(blur), dtype=np.bool_)
    inside = np.zeros(len(blur), dtype=np.bool_)
    inside[slice(None) if state.block is None else state.block] = True
    return inside & (blur <= state.stddev**2)


def _released_scores(
    state: State, centre: Floats, blur: Floats, which: Places, shares: tuple[float, float]
) -> tuple[State, Floats, float, Floats]:
    """(the state that has paid, mean scores, their noise, the variance that scores one), of the coordinates named."""
    setting, dimension, precision = state.setting, len(which), state.precision
    share = float(np.clip(c.VARIANCE_PRECISION * dimension / (setting.count**2 * precision), *shares))
    state, mu = state.spend(share)
    scale = np.full(len(centre), math.inf)  # leaves a coordinate out
    scale[which] = state.stddev[which]
    scoring = Scoring(centre, scale, score_norm(setting.count * mu / SCORE_SENSITIVITY[setting.relation], dimension))
    grid = float((1 + blur[which] / state.stddev[which] ** 2).mean()) * geometric_grid(*c.UNIT_GRID)
    unit_share = 1 / (c.UNIT_ERROR * setting.count) ** 2 / precision
    state, unit_mu = state.spend(float(np.clip(unit_share, *c.UNIT_SHARES)))
    counts = setting.view.clipped_scores(scoring, c.UNCLIPPED_SCORES, setting.count, grid, answers(grid), unit_mu)
    allowed = round((1 - c.UNCLIPPED_SCORES) * setting.count * SEARCH_STEPS) / SEARCH_STEPS
    unit = crossing(counts, grid, c.UNCLIPPED_SCORES, setting.count, allowed)
    measured = setting.view.scores(scoring, unit, mu)
    noise = measured.stddev / setting.count
    scores = measured.value[which] / setting.count
    return state, scores, noise, unit * state.stddev[which] ** 2


def score_norm(strength: float, dimension: int) -> float:
    """C: at most what the noise of a sum lets one common coordinate reach, and at most what a score reaches.

    `strength`: the number of scores over the noise of their sum, at C = 1.
    """
    over_noise = c.SCORE_NOISE_SHARE * strength / math.sqrt(2 * math.log(max(dimension, 2)))
    return min(over_noise, c.SCORE_LENGTH * math.sqrt(dimension))


def measure_own(state: State) -> tuple[State, VarianceRelease]:
    """Variances of the original coordinates, for error bars alone: the noise will not have their shape."""
    value, variance = state.in_original()
    own = replace(
        state,
        setting=in_coordinates(state.setting, None, len(value)),
        known=Knowledge.of(Output(value, variance)),
        stddev=np.full(len(value), math.sqrt(state.start.trace / len(value))),
        ring_scores=(),
    )
    own = learn_variances(own, c.ERROR_BAR_SHARES)
    assert own.scores is not None  # just learned
    return replace(state, left=own.left, own_scores=own.scores), own.scores


def uncertainty(state: State) -> float:
    """How uncertain the shape is, weighted by σ: what a second variance release could improve."""
    return float((state.stddev * state.log_variance).sum() / state.stddev.sum())
