"""Which coordinates the noise follows: release a few numbers, choose, and learn variances there (P10 to P12).

A forecast is the gain of a choice: noise of a spherical shape over that of a better one. Every number that it rests on
is a Gaussian release of its own, read on the unfavourable side. Letters: P = precision of the branch, n̂ = released
number of records, D = diagonal of the shape of the noise, σ = standard deviations.
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
    Directions,
    LearnedAxes,
    Lookout,
    Released,
    Scoring,
)
from dimfree.programs.choose import constants as c
from dimfree.programs.learn.principal_directions import (
    coordinate_shares,
    coordinate_weights,
    found_spikes,
    promised_gain,
    smallest_share,
)
from dimfree.programs.learn.scale import answers, crossing, geometric_grid
from dimfree.programs.learn.shrinkage import VarianceRelease, learned_variances, score_norm
from dimfree.programs.learn.stages import last_stages, run_stages
from dimfree.programs.learn.state import Knowledge, Output, State
from dimfree.progress import during

SPHERICAL, OWN, DCT, LEARNED = "spherical", "own axes", "dct", "learned"


def learn_coordinates(state: State) -> State:
    """Recentre, choose coordinates, learn there; nothing is asked where noise matters little."""
    state = state.choose(basis=OWN)
    small_noise = state.noise_over_sampling() <= c.SMALL_NOISE
    unturned = state.setting.view.dimension == 1 or state.block is not None
    if unturned or small_noise or state.few or state.core_alone:
        return learn(state)
    state = _choose(recentre(state))
    chosen = state.choices["basis"]
    if chosen == DCT:
        return last_round(first_round(state.move_to(Cosine(state.setting.view.dimension))))
    if chosen == SPHERICAL:
        return last_stages(_equal_variances(state))
    return _own_axes(state) if chosen == OWN else _learned(state)


def _choose(state: State) -> State:
    """The name of the coordinates with the best forecast, under "basis"; own axes where the centre is too uncertain.

    After the ring, other axes than the records' own have to promise clearly more than the variances from the ring.
    """
    sample = Sample(state, np.ones_like(state.stddev))
    if sample.centre_error > c.BLURRED:
        return state
    if state.from_ring:
        own = math.sqrt(len(state.stddev) * float((state.stddev**2).sum())) / float(state.stddev.sum())
        at_worst, at_best = c.RING_WORTH * own, math.inf
        state, cosine = sample.cosine(state)
    else:
        state, (at_worst, at_best, cosine) = sample.axes(state)
        own = at_worst
    state, learned = sample.one_direction(state)
    chosen = best_coordinates(at_worst, at_best, cosine, learned)
    return state.choose(forecast_own_axes=own, forecast_dct=cosine, forecast_learned=learned, basis=chosen)


def best_coordinates(own: float, own_at_best: float, cosine: float, learned: float) -> str:
    """By how many times less noise than spherical each choice promises, read on the unfavourable side.

    `own_at_best` is read on the favourable side: noise is spherical only where the own axes surely gain little, as a
    wrong choice of spherical noise costs far more than a wrong choice of the own axes.
    """
    if max(cosine, learned) >= max(c.WORTH, own):
        return DCT if cosine >= learned else LEARNED
    return SPHERICAL if own_at_best < c.LITTLE else OWN


def _own_axes(state: State) -> State:
    """The diagonal path; between its rounds a check whether the rescaled coordinates are correlated."""
    state = first_round(state)
    spread = state.stddev
    state, gain = Sample(state, np.sqrt(spread)).one_direction(state)
    state = state.choose(forecast_refined=gain)
    if gain < c.WORTH:
        return last_round(state)
    state, moved = _directions(state, spread)
    return last_stages(state) if moved else last_round(state)


def _learned(state: State) -> State:
    state = _equal_variances(state)
    state, moved = _directions(state, np.ones_like(state.stddev))
    return last_stages(state if moved else state.choose(basis=SPHERICAL))


def _equal_variances(state: State) -> State:
    """Variances of the columns for the error bars; the shape of the noise has their mean everywhere."""
    state = measure_own(state)
    assert state.own_scores is not None  # just measured
    return replace(state, stddev=np.full_like(state.stddev, math.sqrt(float(state.own_scores.variances.mean()))))


def _directions(state: State, spread: Floats) -> tuple[State, bool]:
    """One release of the matrix of directions (P12); moved to its directions where that is worth it, and whether."""
    setting, seen_from = state.setting, Lookout(state.centre[0], np.sqrt(spread))
    state, found = state.release(c.BASIS_SHARE, setting.view.outer_products(seen_from).matrix)
    spikes = found_spikes(found.value, found.stddev, setting.count, spread / spread.sum())
    gain = promised_gain(spikes, spread)
    state = state.choose(promised_gain=gain, directions=len(spikes.shares))
    if gain < c.WORTH:
        return state, False
    weights, total = coordinate_weights(spikes, spread), float((state.stddev**2 / spread).sum())
    stddev = np.sqrt(coordinate_shares(spikes, len(spread)) * total) * weights
    own_scores = state.own_scores or state.scores
    state = replace(state.choose(basis=LEARNED), directions=(spikes, seen_from), own_scores=own_scores)
    return state.move_to(LearnedAxes(spikes.directions, np.sqrt(spread), weights), stddev), True


def learn(state: State) -> State:
    """All steps in the coordinates of the state; where noise is far below the sampling error, passes are saved."""
    if state.core_alone:
        return measure_own(state)
    if state.few:
        return last_stages(measure_own(state))
    if state.noise_over_sampling() > c.SMALL_NOISE:
        state = recentre(state)
    return last_round(first_round(state))


def recentre(state: State) -> State:
    """Stages for a better centre, unless it is near already: spherical ones, if variances are not known yet."""
    if centre_error(state) <= c.NEAR_CENTRE:
        return state
    wanted = c.RECENTRE_PRECISION * state.setting.view.dimension / (state.setting.count**2 * state.precision)
    share = float(np.clip(wanted, *c.RECENTRE_SHARES))
    return run_stages(state, share * state.precision / state.left, c.RECENTRE_STAGES, spherical=not state.from_ring)


def centre_error(state: State) -> float:
    """The centre's own squared error over a record's squared distance from it."""
    _, blur = state.centre
    return float(blur.sum() / (blur.sum() + (state.stddev**2).sum()))


def first_round(state: State) -> State:
    """Variances, then stages for a better centre; nothing, if the ring has said enough."""
    if state.from_ring:
        enough = uncertainty(state) <= c.RING_LOSS
        return state if enough else run_stages(state, c.RING_FIRST_ROUND * state.precision / state.left)
    return run_stages(learn_variances(state), c.FIRST_ROUND * state.precision / state.left)


def last_round(state: State) -> State:
    """Variances again if they are uncertain; then the answer, with all that is left."""
    own = state.own_scores is not None or state.ring_scores
    if state.setting.view.basis is not None and not own:
        state = measure_own(state)
    if uncertainty(state) > (c.RING_LOSS if state.from_ring else c.LOSS):
        state = learn_variances(state)
    return last_stages(state)


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


class Sample:
    """Some records, at a public rate, as seen from the centre in units of a scale; sensitivities are unchanged."""

    def __init__(self, state: State, scale: Floats) -> None:
        self.setting, (place, blur) = state.setting, state.centre
        dimension = self.setting.view.dimension
        narrow = dimension <= c.MOST_COLUMNS
        enough = min(c.FORECAST_RECORDS, c.FORECAST_PRODUCTS / dimension**2) if narrow else c.FORECAST_RECORDS
        self.rate = min(1.0, enough / max(self.setting.count, 1.0))
        self.seen_from, self.view = Lookout(place, scale), self.setting.view.poisson_sample(self.rate)
        # The centre's own squared error, over a record's squared length.
        self.centre_error = float((blur / scale**2).sum()) / float(((state.stddev**2 + blur) / scale**2).sum())

    @property
    def count(self) -> float:
        return max(self.setting.count * self.rate, 1.0)

    def axes(self, state: State) -> tuple[State, tuple[float, float, float]]:
        """Gains forecast for the diagonal of the own axes, at worst and at best, and of the cosine transform."""
        seen = self._directions()
        state, uneven = state.release(c.SCALAR_SHARE, seen.unevenness)
        state, weight = state.release(c.SCALAR_SHARE, seen.weight)
        worst = self._own(max(_low(uneven), 0.0) / max(_high(weight), 1.0))
        best = self._own(_high(uneven) / max(_low(weight), 1.0))
        state, rotated = self.cosine(state, seen)
        return state, (worst, best, rotated)

    def _directions(self, *, spread_alone: bool = False) -> Directions:
        return self.view.directions(self.seen_from, Cosine.here(self.view.dimension), spread_alone=spread_alone)

    def cosine(self, state: State, seen: Directions | None = None) -> tuple[State, float]:
        """Gain forecast for the diagonal of the cosine transform; 0 where there is none in so many dimensions."""
        if Cosine.here(self.setting.view.dimension) is None:
            return state, 0.0
        seen = self._directions(spread_alone=True) if seen is None else seen
        state, spread = state.release(c.SCALAR_SHARE, seen.spread)
        fewest = (self.setting.count - c.PESSIMISM * self.setting.count_stddev) * self.rate
        gain = c.NORMAL_ABSOLUTE * fewest / max(_high(spread), 1.0)
        return state, float(np.clip(gain, 0.0, math.sqrt(self.setting.view.dimension)))

    def _own(self, uneven: float) -> float:
        """(|p|₂·√d)^{1/4}, p = shares of squared length in each coordinate, without the centre's own error."""
        dimension, off = self.setting.view.dimension, min(self.centre_error, c.BLURRED)
        seen = uneven**2 * dimension - 2 * off * (1 - off) - 3 * off**2  # squares of isotropic shares average 3/d²
        return float((max(seen, 0.0) / (1 - off) ** 2) ** 0.125)

    def one_direction(self, state: State) -> tuple[State, float]:
        """Gain of a learned basis if one direction held all correlation; 0: not admissible (P12)."""
        setting, dimension = self.setting, self.setting.view.dimension
        if not 1 < dimension <= c.MOST_COLUMNS:
            return state, 0.0
        basis_mu = math.sqrt(c.BASIS_SHARE * state.precision)
        state, found = state.release(c.SCALAR_SHARE, self.view.outer_products(self.seen_from).togetherness)
        # Without what the centre's own error and the number of records alone would show.
        squared = (max(_low(found), 0.0) / self.count) ** 2 - self.centre_error**2 - 1 / self.count
        share = min(math.sqrt(max(squared, 0.0)), c.MOST_SHARE)
        least = smallest_share(dimension, basis_mu / OUTER_SENSITIVITY[setting.relation], setting.count)
        if share < max(c.CLEARLY_CORRELATED * least, c.LEAST_CORRELATION):
            return state, 0.0
        return state, 1 / (math.sqrt(share / dimension) + math.sqrt(1 - share))


def _low(found: Released[float]) -> float:
    return found.value - c.PESSIMISM * found.stddev


def _high(found: Released[float]) -> float:
    return found.value + c.PESSIMISM * found.stddev
