"""One private release of scores, and what it says of the variances of the coordinates (P10).

Letters: P = precision of the branch, σ = standard deviations, C = norm of a score.
"""

import math
from dataclasses import replace

import numpy as np

from dimfree.accounting.events import SEARCH_STEPS
from dimfree.kernel import SCORE_SENSITIVITY, Scoring
from dimfree.programs.choose import constants as c
from dimfree.programs.learn.scale import answers, crossing, geometric_grid
from dimfree.programs.learn.shrinkage import VarianceRelease, learned_variances
from dimfree.programs.learn.state import Knowledge, Output, State
from dimfree.progress import during


@during("variances")
def learn_variances(state: State, shares: tuple[float, float] = c.VARIANCE_SHARES) -> State:
    """One variance release about the denoised centre (P10), and what it says of σ.

    After the ring, of coordinates in the block where the centre is near enough to add to what the ring has shown.
    """
    (centre, blur), setting, precision = state.centre, state.setting, state.precision
    scored = np.zeros(len(blur), dtype=np.bool_)
    scored[slice(None) if state.block is None or not state.from_ring else state.block] = True
    which = np.flatnonzero(scored & (blur <= state.stddev**2) if state.from_ring else scored)
    if not len(which):
        return state
    share = float(np.clip(c.VARIANCE_PRECISION * len(which) / (setting.count**2 * precision), *shares))
    state, mu = state.spend(share)
    scale = np.full(len(centre), math.inf)  # leaves a coordinate out
    scale[which] = state.stddev[which]
    scoring = Scoring(centre, scale, score_norm(setting.count * mu / SCORE_SENSITIVITY[setting.relation], len(which)))
    grid = float((1 + blur[which] / state.stddev[which] ** 2).mean()) * geometric_grid(*c.UNIT_GRID)
    unit_share = 1 / (c.UNIT_ERROR * setting.count) ** 2 / precision
    state, unit_mu = state.spend(float(np.clip(unit_share, *c.UNIT_SHARES)))
    counts = setting.view.clipped_scores(scoring, c.UNCLIPPED_SCORES, setting.count, grid, answers(grid), unit_mu)
    allowed = round((1 - c.UNCLIPPED_SCORES) * setting.count * SEARCH_STEPS) / SEARCH_STEPS
    unit = crossing(counts, grid, c.UNCLIPPED_SCORES, setting.count, allowed)
    measured = setting.view.scores(scoring, unit, mu)
    scores, noise = measured.value[which] / setting.count, measured.stddev / setting.count
    ones = unit * state.stddev[which] ** 2  # the variance that scores one
    learned = learned_variances(scores, noise, ones)
    variances = np.maximum(learned.second_moments - blur[which], c.VARIANCE_FLOOR * learned.second_moments)
    stddev, log_variance = state.stddev.copy(), state.log_variance.copy()
    stddev[which], log_variance[which] = np.sqrt(variances), learned.log_stddev_variance
    release = VarianceRelease(variances, centre[which], scores, noise, ones, which)
    return replace(state, stddev=stddev, log_variance=log_variance, scores=release)


def score_norm(strength: float, dimension: int) -> float:
    """C: at most what noise lets one common coordinate reach, and a typical score; `strength`: count over noise."""
    over_noise = c.SCORE_NOISE_SHARE * strength / math.sqrt(2 * math.log(max(dimension, 2)))
    return min(over_noise, c.SCORE_LENGTH * math.sqrt(dimension))


def measure_own(state: State) -> State:
    """Variances of the original coordinates, for error bars alone: the noise will not have their shape."""
    value, variance = state.in_original()
    own = replace(
        state,
        setting=state.setting.rotated(None, len(value)),
        known=Knowledge.of(Output(value, variance)),
        stddev=np.full(len(value), math.sqrt(state.trace / len(value))),
        ring_scores=(),
    )
    own = learn_variances(own, c.ERROR_BAR_SHARES)
    return replace(state, left=own.left, own_scores=own.scores)


def uncertainty(state: State) -> float:
    """How uncertain the shape is, weighted by σ: what a second variance release could improve."""
    return float((state.stddev * state.log_variance).sum() / state.stddev.sum())
