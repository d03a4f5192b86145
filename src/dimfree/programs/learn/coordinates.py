"""The coordinates of the noise: release a few numbers, choose, and estimate variances there (P10 to P12).

A forecast is the gain of a choice: spherical noise over anisotropic noise. Each of its numbers is a separate Gaussian
release, read on the unfavorable side. Letters: P = precision of the branch, n̂ = released number of records, D =
diagonal of the scales of the noise, σ = SDs.
"""

import math
from dataclasses import replace

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.events import SEARCH_STEPS
from dimfree.kernel import (
    OUTER_SENSITIVITY,
    SCORE_SENSITIVITY,
    Cosine,
    DirectionCenter,
    Directions,
    LearnedAxes,
    Released,
    Scoring,
)
from dimfree.programs.choose import constants as c
from dimfree.programs.learn.principal_directions import (
    divide_length,
    find_smallest_share,
    find_spikes,
    forecast_gain,
    weigh_coordinates,
)
from dimfree.programs.learn.scale import count_answers, find_crossing, make_geometric_grid
from dimfree.programs.learn.shrinkage import VarianceRelease, choose_score_norm, learn_moments
from dimfree.programs.learn.state import Knowledge, Output, State
from dimfree.programs.learn.steps import run_last_steps, run_steps
from dimfree.progress import during

SPHERICAL, OWN, DCT, LEARNED = "spherical", "own axes", "dct", "learned"


def learn_coordinates(state: State) -> State:
    """Recenter, choose coordinates, estimate variances there; choose nothing if noise matters little."""
    state = state.choose(basis=OWN)
    small_noise = state.noise_over_sampling() <= c.SMALL_NOISE
    unturned = state.setting.view.dimension == 1 or state.block is not None
    if unturned or small_noise or state.few or state.core_alone:
        return learn(state)
    state = _choose(recenter(state))
    chosen = state.choices["basis"]
    if chosen == DCT:
        return run_last_round(run_first_round(state.move_to(Cosine(state.setting.view.dimension))))
    if chosen == SPHERICAL:
        return run_last_steps(_learn_equal_variances(state))
    return _learn_own_axes(state) if chosen == OWN else _learn_directions(state)


def _choose(state: State) -> State:
    """Choose the coordinates with the best forecast, as "basis"; own axes if the center is too uncertain.

    After the ring, other coordinates need a clearly higher forecast than the variances from the ring.
    """
    sample = Sample(state, np.ones_like(state.stddev))
    if sample.center_error > c.MAX_CENTER_ERROR:
        return state
    if state.from_ring:
        own = math.sqrt(len(state.stddev) * float((state.stddev**2).sum())) / float(state.stddev.sum())
        at_worst, at_best = c.MIN_RING_GAIN * own, math.inf
        state, cosine = sample.cosine(state)
    else:
        state, (at_worst, at_best, cosine) = sample.axes(state)
        own = at_worst
    state, learned = sample.one_direction(state)
    chosen = choose_best_coordinates(at_worst, at_best, cosine, learned)
    return state.choose(forecast_own_axes=own, forecast_dct=cosine, forecast_learned=learned, basis=chosen)


def choose_best_coordinates(own: float, own_at_best: float, cosine: float, learned: float) -> str:
    """Choose by forecasts: gains over spherical noise, read on the unfavorable side.

    `own_at_best` is read on the favorable side: noise is spherical only if the own axes surely gain little, since a
    wrong choice of spherical noise costs far more than a wrong choice of the own axes.
    """
    if max(cosine, learned) >= max(c.MIN_GAIN, own):
        return DCT if cosine >= learned else LEARNED
    return SPHERICAL if own_at_best < c.LITTLE_GAIN else OWN


def _learn_own_axes(state: State) -> State:
    """Estimate variances in two rounds; between them check whether the rescaled coordinates are correlated."""
    state = run_first_round(state)
    scales = state.stddev
    state, gain = Sample(state, np.sqrt(scales)).one_direction(state)
    state = state.choose(forecast_refined=gain)
    if gain < c.MIN_GAIN:
        return run_last_round(state)
    state, moved = _move_to_directions(state, scales)
    return run_last_steps(state) if moved else run_last_round(state)


def _learn_directions(state: State) -> State:
    state = _learn_equal_variances(state)
    state, moved = _move_to_directions(state, np.ones_like(state.stddev))
    return run_last_steps(state if moved else state.choose(basis=SPHERICAL))


def _learn_equal_variances(state: State) -> State:
    """Estimate column variances for the intervals; the noise uses their mean for every column."""
    state = measure_own(state)
    assert state.own_scores is not None  # just measured
    return replace(state, stddev=np.full_like(state.stddev, math.sqrt(float(state.own_scores.variances.mean()))))


def _move_to_directions(state: State, scales: Floats) -> tuple[State, bool]:
    """Release the matrix of directions (P12); return the state, moved to them if worth it, and whether it moved."""
    setting, about = state.setting, DirectionCenter(state.center[0], np.sqrt(scales))
    state, found = state.release(c.BASIS_SHARE, setting.view.outer_products(about).matrix)
    spikes = find_spikes(found.value, found.stddev, setting.count, scales / scales.sum())
    gain = forecast_gain(spikes, scales)
    state = state.choose(predicted_gain=gain, directions=len(spikes.shares))
    if gain < c.MIN_GAIN:
        return state, False
    weights, total = weigh_coordinates(spikes, scales), float((state.stddev**2 / scales).sum())
    stddev = np.sqrt(divide_length(spikes, len(scales)) * total) * weights
    own_scores = state.own_scores or state.scores
    state = replace(state.choose(basis=LEARNED), directions=(spikes, about), own_scores=own_scores)
    return state.move_to(LearnedAxes(spikes.directions, np.sqrt(scales), weights), stddev), True


def learn(state: State) -> State:
    """Run all steps in the coordinates of the state; if noise is far below the sampling error, save passes."""
    if state.core_alone:
        return measure_own(state)
    if state.few:
        return run_last_steps(measure_own(state))
    if state.noise_over_sampling() > c.SMALL_NOISE:
        state = recenter(state)
    return run_last_round(run_first_round(state))


def recenter(state: State) -> State:
    """Run steps for a better center, unless it is near: spherical ones, before variances are estimated."""
    if compute_center_error(state) <= c.NEAR_CENTER:
        return state
    wanted = c.RECENTER_PRECISION * state.setting.view.dimension / (state.setting.count**2 * state.precision)
    share = float(np.clip(wanted, *c.RECENTER_SHARES))
    return run_steps(state, share * state.precision / state.left, c.RECENTER_STEPS, spherical=not state.from_ring)


def compute_center_error(state: State) -> float:
    """Compute the center's own squared error over a record's squared distance from it."""
    _, blur = state.center
    return float(blur.sum() / (blur.sum() + (state.stddev**2).sum()))


def run_first_round(state: State) -> State:
    """Estimate variances, then run steps for a better center; not if the ring was precise enough."""
    if state.from_ring:
        enough = compute_uncertainty(state) <= c.MAX_RING_LOG_VARIANCE
        return state if enough else run_steps(state, c.RING_FIRST_ROUND_SHARE * state.precision / state.left)
    return run_steps(learn_variances(state), c.FIRST_ROUND_SHARE * state.precision / state.left)


def run_last_round(state: State) -> State:
    """Estimate variances again if they are uncertain; then answer with the remaining precision."""
    own = state.own_scores is not None or state.ring_scores
    if state.setting.view.basis is not None and not own:
        state = measure_own(state)
    if compute_uncertainty(state) > (c.MAX_RING_LOG_VARIANCE if state.from_ring else c.MAX_LOG_VARIANCE):
        state = learn_variances(state)
    return run_last_steps(state)


@during("variances")
def learn_variances(state: State, shares: tuple[float, float] = c.VARIANCE_SHARES) -> State:
    """Release variances about the denoised center (P10), and update σ.

    After the ring, only of coordinates in the block whose center is near enough to improve on the ring.
    """
    (center, blur), setting, precision = state.center, state.setting, state.precision
    scored = np.zeros(len(blur), dtype=np.bool_)
    scored[slice(None) if state.block is None or not state.from_ring else state.block] = True
    which = np.flatnonzero(scored & (blur <= state.stddev**2) if state.from_ring else scored)
    if not len(which):
        return state
    share = float(np.clip(c.VARIANCE_PRECISION * len(which) / (setting.count**2 * precision), *shares))
    state, mu = state.spend(share)
    scale = np.full(len(center), math.inf)  # leaves a coordinate out
    scale[which] = state.stddev[which]
    scoring = Scoring(
        center, scale, choose_score_norm(setting.count * mu / SCORE_SENSITIVITY[setting.relation], len(which))
    )
    grid = float((1 + blur[which] / state.stddev[which] ** 2).mean()) * make_geometric_grid(*c.UNIT_GRID)
    unit_share = 1 / (c.UNIT_ERROR * setting.count) ** 2 / precision
    state, unit_mu = state.spend(float(np.clip(unit_share, *c.UNIT_SHARES)))
    counts = setting.view.count_clipped_scores(
        scoring, c.UNCLIPPED_SCORES, setting.count, grid, count_answers(grid), unit_mu
    )
    allowed = round((1 - c.UNCLIPPED_SCORES) * setting.count * SEARCH_STEPS) / SEARCH_STEPS
    unit = find_crossing(counts, grid, c.UNCLIPPED_SCORES, setting.count, allowed)
    measured = setting.view.scores(scoring, unit, mu)
    scores, noise = measured.value[which] / setting.count, measured.stddev / setting.count
    ones = unit * state.stddev[which] ** 2  # the variance that scores one
    learned = learn_moments(scores, noise, ones)
    variances = np.maximum(learned.second_moments - blur[which], c.MIN_VARIANCE_SHARE * learned.second_moments)
    stddev, log_variance = state.stddev.copy(), state.log_variance.copy()
    stddev[which], log_variance[which] = np.sqrt(variances), learned.log_stddev_variance
    release = VarianceRelease(variances, center[which], scores, noise, ones, which)
    return replace(state, stddev=stddev, log_variance=log_variance, scores=release)


def measure_own(state: State) -> State:
    """Release variances of the original coordinates, for the intervals alone."""
    value, variance = state.in_original()
    own = replace(
        state,
        setting=state.setting.rotate(None, len(value)),
        known=Knowledge.of(Output(value, variance)),
        stddev=np.full(len(value), math.sqrt(state.trace / len(value))),
        ring_scores=(),
    )
    own = learn_variances(own, c.INTERVAL_SHARES)
    return replace(state, left=own.left, own_scores=own.scores)


def compute_uncertainty(state: State) -> float:
    """Compute the uncertainty of the variances, weighted by σ: what a second release could improve."""
    return float((state.stddev * state.log_variance).sum() / state.stddev.sum())


class Sample:
    """A sample of records at a public rate, relative to the center and a scale; sensitivities are unchanged."""

    def __init__(self, state: State, scale: Floats) -> None:
        self.setting, (place, blur) = state.setting, state.center
        dimension = self.setting.view.dimension
        narrow = dimension <= c.MAX_DIRECTION_COLUMNS
        enough = min(c.FORECAST_RECORDS, c.FORECAST_PRODUCTS / dimension**2) if narrow else c.FORECAST_RECORDS
        self.rate = min(1.0, enough / max(self.setting.count, 1.0))
        self.about, self.view = DirectionCenter(place, scale), self.setting.view.poisson_sample(self.rate)
        # The center's own squared error, over a record's squared length.
        self.center_error = float((blur / scale**2).sum()) / float(((state.stddev**2 + blur) / scale**2).sum())

    @property
    def count(self) -> float:
        return max(self.setting.count * self.rate, 1.0)

    def axes(self, state: State) -> tuple[State, tuple[float, float, float]]:
        """Forecast the gains of the own axes, at worst and at best, and of the cosine transform."""
        seen = self._directions()
        state, uneven = state.release(c.SCALAR_SHARE, seen.unevenness)
        state, weight = state.release(c.SCALAR_SHARE, seen.weight)
        worst = self._own(max(_read_low(uneven), 0.0) / max(_read_high(weight), 1.0))
        best = self._own(_read_high(uneven) / max(_read_low(weight), 1.0))
        state, rotated = self.cosine(state, seen)
        return state, (worst, best, rotated)

    def _directions(self, *, norm_alone: bool = False) -> Directions:
        return self.view.directions(self.about, Cosine.here(self.view.dimension), norm_alone=norm_alone)

    def cosine(self, state: State, seen: Directions | None = None) -> tuple[State, float]:
        """Forecast the gain of the cosine transform; 0 if there is none in this dimension."""
        if Cosine.here(self.setting.view.dimension) is None:
            return state, 0.0
        seen = self._directions(norm_alone=True) if seen is None else seen
        state, norm = state.release(c.SCALAR_SHARE, seen.l1_norm)
        fewest = (self.setting.count - c.PESSIMISTIC_DEVIATIONS * self.setting.count_stddev) * self.rate
        gain = c.MEAN_ABSOLUTE_NORMAL * fewest / max(_read_high(norm), 1.0)
        return state, float(np.clip(gain, 0.0, math.sqrt(self.setting.view.dimension)))

    def _own(self, uneven: float) -> float:
        """Compute (|p|₂·√d)^{1/4}, p = shares of squared length by coordinate, without the center's own error."""
        dimension, off = self.setting.view.dimension, min(self.center_error, c.MAX_CENTER_ERROR)
        seen = uneven**2 * dimension - 2 * off * (1 - off) - 3 * off**2  # squares of isotropic shares average 3/d²
        return float((max(seen, 0.0) / (1 - off) ** 2) ** 0.125)

    def one_direction(self, state: State) -> tuple[State, float]:
        """Forecast the gain of estimated directions if one had all correlation; 0: not admissible (P12)."""
        setting, dimension = self.setting, self.setting.view.dimension
        if not 1 < dimension <= c.MAX_DIRECTION_COLUMNS:
            return state, 0.0
        basis_mu = math.sqrt(c.BASIS_SHARE * state.precision)
        state, found = state.release(c.SCALAR_SHARE, self.view.outer_products(self.about).off_diagonal_norm)
        # Without the effect of the center's own error and of the number of records.
        squared = (max(_read_low(found), 0.0) / self.count) ** 2 - self.center_error**2 - 1 / self.count
        share = min(math.sqrt(max(squared, 0.0)), c.MAX_DIRECTION_SHARE)
        least = find_smallest_share(dimension, basis_mu / OUTER_SENSITIVITY[setting.relation], setting.count)
        if share < max(c.MIN_CORRELATION_FACTOR * least, c.MIN_CORRELATION):
            return state, 0.0
        return state, 1 / (math.sqrt(share / dimension) + math.sqrt(1 - share))


def _read_low(found: Released[float]) -> float:
    return found.value - c.PESSIMISTIC_DEVIATIONS * found.stddev


def _read_high(found: Released[float]) -> float:
    return found.value + c.PESSIMISTIC_DEVIATIONS * found.stddev
