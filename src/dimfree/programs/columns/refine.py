"""A better centre and better spreads, once every column is roughly known: one clipped mean, two releases of scores."""

import math
from dataclasses import replace

import numpy as np

from dimfree._types import Floats
from dimfree.kernel import SCORE_SENSITIVITY, Ball, Scoring
from dimfree.programs.choose import constants as c
from dimfree.programs.columns.state import ColumnState
from dimfree.programs.learn.shrinkage import EarlierSpreads, VarianceRelease, learned_variances
from dimfree.progress import during


@during("centre")
def recentre(state: ColumnState) -> ColumnState:
    """The mean of all records clipped at a public multiple of their expected length; improves the centre only (P8)."""
    setting, scale = state.setting, state.scale
    ball = Ball(state.centre, scale, c.MIDDLE_RADIUS * state.length)
    state, total = state.release(c.MIDDLE_SHARE * state.ease, lambda mu: setting.view.clipped_sum(ball, mu, "centre"))
    offset = total.value / state.counts
    variance = (total.stddev / state.counts * scale) ** 2
    weight = state.centre_variance / (state.centre_variance + variance)
    left = np.minimum(weight * variance + (c.MIDDLE_BIAS * state.stddev) ** 2, state.centre_variance + variance)
    return replace(state, centre=state.centre + weight * offset * scale, centre_variance=left)


@during("spreads")
def measure_spreads(state: ColumnState) -> ColumnState:
    """One release of scores about the centre, in columns divided by the spreads known so far (P10).

    A typical entry then scores about one over the unit. The unit is as large as the noise allows: what scores less
    than one is scored by its square, and so rare large entries are seen.
    """
    setting, guess = state.setting, state.about_centre
    share = float(np.clip(c.COLUMN_SCORE_STRENGTH / state.strength**2, *c.COLUMN_SCORE_SHARES))
    norm = c.SCORE_LENGTH * math.sqrt(setting.view.dimension)
    mu = math.sqrt(share * state.precision) / SCORE_SENSITIVITY[setting.relation]
    unit = max(1.0, c.SCORED_TYPICAL * setting.count * mu / norm)
    scoring = Scoring(state.centre, guess, norm)
    state, total = state.release(share, lambda mu: setting.view.scores(scoring, unit, mu))
    return _with_spreads(state, total.value / state.counts, total.stddev / state.counts, unit * guess**2)


def _with_spreads(state: ColumnState, scores: Floats, noise: Floats, unit: Floats) -> ColumnState:
    """Spreads from mean scores: H, their noise and the variance that scores one."""
    learned = learned_variances(scores, noise, unit)
    moments = learned.second_moments
    stddev = np.sqrt(np.maximum(moments - state.centre_variance, c.VARIANCE_FLOOR * moments))
    stddev = np.maximum(stddev, np.where(state.unseen, 1.0, c.HELD_STDDEV) * state.stddev)
    release = VarianceRelease(stddev**2, state.centre, scores, noise, unit)
    earlier = EarlierSpreads(state.stddev, np.where(state.unseen | state.narrow, np.inf, state.log_variance))
    return replace(state, stddev=stddev, log_variance=learned.log_stddev_variance, scores=release, earlier=earlier)
