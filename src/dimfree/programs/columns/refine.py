"""A better center and better SDs after the pilot estimates: one clipped mean, one release of scores."""

import math
from dataclasses import replace

import numpy as np

from dimfree._types import Floats
from dimfree.kernel import SCORE_SENSITIVITY, Ball, Scoring
from dimfree.programs.choose import constants as c
from dimfree.programs.columns.state import ColumnState
from dimfree.programs.learn.shrinkage import EarlierSDs, VarianceRelease, learn_moments
from dimfree.progress import during


@during("center")
def recenter(state: ColumnState) -> ColumnState:
    """Release the mean, clipped at a public multiple of the expected length; it improves the center only (P8)."""
    setting, scale = state.setting, state.scale
    ball = Ball(state.center, scale, c.CENTER_RADIUS * state.length)
    state, total = state.release(c.CENTER_SHARE * state.ease, lambda mu: setting.view.sum_clipped(ball, mu, "center"))
    offset = total.value / state.counts
    variance = (total.stddev / state.counts * scale) ** 2
    weight = state.center_variance / (state.center_variance + variance)
    left = np.minimum(weight * variance + (c.CENTER_BIAS * state.stddev) ** 2, state.center_variance + variance)
    return replace(state, center=state.center + weight * offset * scale, center_variance=left)


@during("SDs")
def measure_sds(state: ColumnState) -> ColumnState:
    """Release scores about the center, in columns divided by the estimated SDs (P10).

    A typical value scores about one over the unit. The unit is as large as the noise allows: scores below one are
    squares, so rare large values count.
    """
    setting, guess = state.setting, state.sd_about_center
    share = float(np.clip(c.COLUMN_SCORE_SNR / state.snr**2, *c.COLUMN_SCORE_SHARES))
    norm = c.SCORE_LENGTH * math.sqrt(setting.view.dimension)
    mu = math.sqrt(share * state.precision) / SCORE_SENSITIVITY[setting.relation]
    unit = max(1.0, c.TYPICAL_SCORE * setting.count * mu / norm)
    scoring = Scoring(state.center, guess, norm)
    state, total = state.release(share, lambda mu: setting.view.scores(scoring, unit, mu))
    return _update_sds(state, total.value / state.counts, total.stddev / state.counts, unit * guess**2)


def _update_sds(state: ColumnState, scores: Floats, noise: Floats, unit: Floats) -> ColumnState:
    """Update the SDs by mean scores H, their noise and the variance that scores one."""
    learned = learn_moments(scores, noise, unit)
    moments = learned.second_moments
    stddev = np.sqrt(np.maximum(moments - state.center_variance, c.MIN_VARIANCE_SHARE * moments))
    stddev = np.maximum(stddev, np.where(state.unseen, 1.0, c.MIN_STDDEV_FACTOR) * state.stddev)
    release = VarianceRelease(stddev**2, state.center, scores, noise, unit)
    earlier = EarlierSDs(state.stddev, np.where(state.unseen | state.narrow, np.inf, state.log_variance))
    return replace(state, stddev=stddev, log_variance=learned.log_stddev_variance, scores=release, earlier=earlier)
