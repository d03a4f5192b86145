"""One private release of scores, and what it says of the variances of the coordinates (P10).

The records are seen by `noisy_unit` and `noisy_scores` alone. Proof: proofs/estimators/learn/variances.md.
Letters: P = precision of the branch, σ = standard deviations, C = norm of a score.
"""

import math
from dataclasses import replace

import numpy as np

from dimfree._types import Floats
from dimfree.data.progress import during
from dimfree.estimators.choose.constants import (
    ERROR_BAR_SHARES,
    SCORE_LENGTH,
    SCORE_NOISE_SHARE,
    UNCLIPPED_SCORES,
    UNIT_ERROR,
    UNIT_GRID,
    UNIT_SHARES,
    VARIANCE_FLOOR,
    VARIANCE_PRECISION,
    VARIANCE_SHARES,
)
from dimfree.estimators.learn.knowledge import Knowledge, Output
from dimfree.estimators.learn.shrinkage import learned_variances
from dimfree.estimators.learn.spreads import VarianceRelease
from dimfree.estimators.learn.state import StageSetting, State, in_coordinates
from dimfree.mechanisms.scores import MOVES, Scoring, noisy_scores, noisy_unit
from dimfree.mechanisms.search import geometric_grid


@during("variances")
def learn_variances(state: State, shares: tuple[float, float] = VARIANCE_SHARES) -> State:
    """One variance release about the denoised centre (P10), and what it says of σ."""
    centre, blur = state.centre()
    state, scores, noise, unit = _released_scores(state, centre, blur, shares)
    learned = learned_variances(scores, noise, unit)
    variances = np.maximum(learned.second_moments - blur, VARIANCE_FLOOR * learned.second_moments)
    state = replace(state, stddev=np.sqrt(variances), log_variance=learned.log_stddev_variance)
    return replace(state, scores=VarianceRelease(state.stddev**2, centre, scores, noise, unit))


def _released_scores(
    state: State, centre: Floats, blur: Floats, shares: tuple[float, float]
) -> tuple[State, Floats, float, Floats]:
    """(the state that has paid, mean scores, their noise, the variance that scores one), all released."""
    setting, dimension, precision = state.setting, state.setting.space.dimension, state.precision
    share = float(np.clip(VARIANCE_PRECISION * dimension / (setting.count**2 * precision), *shares))
    state, mu = state.spend(share)
    scoring = Scoring(centre, state.stddev, score_norm(setting, mu))
    middle = float(((state.start.trace / dimension + blur) / state.stddev**2).mean())
    grid = middle * geometric_grid(*UNIT_GRID)
    unit_share = 1 / (UNIT_ERROR * setting.count) ** 2 / precision
    state, unit_mu = state.spend(float(np.clip(unit_share, *UNIT_SHARES)))
    unit = noisy_unit(setting.space, scoring, UNCLIPPED_SCORES, setting.count, grid, unit_mu, noise=setting.noise)
    measured = noisy_scores(setting.space, scoring, unit.value, mu, setting.relation, noise=setting.noise)
    noise = measured.event.stddev * measured.event.step / setting.count
    return state.charge(unit, measured), measured.value / setting.count, noise, unit.value * state.stddev**2


def score_norm(setting: StageSetting, mu: float) -> float:
    """C: at most what the noise of a sum lets one common coordinate reach, and at most what a score reaches."""
    dimension = setting.space.dimension
    over_noise = SCORE_NOISE_SHARE * setting.count * mu / MOVES[setting.relation]
    return min(over_noise / math.sqrt(2 * math.log(max(dimension, 2))), SCORE_LENGTH * math.sqrt(dimension))


def measure_own(state: State) -> tuple[State, VarianceRelease]:
    """Variances of the original coordinates, for error bars alone: the noise will not have their shape."""
    value, variance = state.in_original()
    own = replace(
        state,
        setting=in_coordinates(state.setting, None, len(value)),
        known=Knowledge.of(Output(value, variance)),
        stddev=np.full(len(value), math.sqrt(state.start.trace / len(value))),
    )
    own = learn_variances(own, ERROR_BAR_SHARES)
    assert own.scores is not None  # just learned
    return replace(state, left=own.left, own_scores=own.scores, known=state.known.charge(*own.known.events)), own.scores


def uncertainty(state: State) -> float:
    """How uncertain the shape is, weighted by σ: what a second variance release could improve."""
    return float((state.stddev * state.log_variance).sum() / state.stddev.sum())
