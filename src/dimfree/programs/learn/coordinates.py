"""Which coordinates the noise follows: release a few numbers, choose, and go on in the chosen coordinates (P11, P12).

Letters: P = precision of the branch, n̂ = released number of records, D = diagonal of the shape of the noise.
"""

import math
from dataclasses import replace

import numpy as np

from dimfree._types import Floats
from dimfree.kernel import Cosine, LearnedAxes, Lookout
from dimfree.programs.choose import constants as c
from dimfree.programs.learn.forecasts import DCT, LEARNED, OWN, SPHERICAL, Forecasts, Sample
from dimfree.programs.learn.principal_directions import (
    Spikes,
    coordinate_shares,
    coordinate_weights,
    found_spikes,
    promised_gain,
)
from dimfree.programs.learn.stages import last_stages, run_stages
from dimfree.programs.learn.state import Directions, State
from dimfree.programs.learn.variances import learn_variances, measure_own, uncertainty


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
    """The name of the coordinates with the best forecast, under "basis"; own axes where the centre is too uncertain."""
    view = _view(state, np.ones_like(state.stddev))
    if view.centre_error > c.BLURRED:
        return state
    if state.from_ring:
        return _beyond_ring(state, view)
    state, (own, own_at_best, cosine) = view.axes(state)
    state, learned = view.one_direction(state, _basis_mu(state))
    forecasts = Forecasts(own, own_at_best, cosine, learned)
    return state.choose(**forecasts.numbers(), basis=forecasts.best())


def _beyond_ring(state: State, view: Sample) -> State:
    """Other axes than the records' own, if they clearly promise more than the variances that the ring has told."""
    state, cosine = view.cosine(state)
    state, learned = view.one_direction(state, _basis_mu(state))
    own = math.sqrt(len(state.stddev) * float((state.stddev**2).sum())) / float(state.stddev.sum())
    forecasts = Forecasts(c.RING_WORTH * own, math.inf, cosine, learned)
    return state.choose(forecast_own_axes=own, forecast_dct=cosine, forecast_learned=learned, basis=forecasts.best())


def _own_axes(state: State) -> State:
    """The diagonal path; between its rounds a check whether the rescaled coordinates are correlated."""
    state = first_round(state)
    spread = state.stddev
    state, gain = _view(state, np.sqrt(spread)).one_direction(state, _basis_mu(state))
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
    state, own = measure_own(state)
    return replace(state, stddev=np.full_like(state.stddev, math.sqrt(float(own.variances.mean()))))


def _directions(state: State, spread: Floats) -> tuple[State, bool]:
    """One release of the matrix of directions (P12); moved to its directions where that is worth it, and whether."""
    setting, seen_from = state.setting, Lookout(state.centre()[0], np.sqrt(spread))
    state, found = state.release(c.BASIS_SHARE, setting.view.outer_products(seen_from).matrix)
    noise = found.stddev
    spikes = found_spikes(found.value, noise, setting.count, spread / spread.sum())
    gain = promised_gain(spikes, spread)
    state = state.choose(promised_gain=gain, directions=len(spikes.shares))
    return (_move_along(state, Directions(spikes, seen_from), spread), True) if gain >= c.WORTH else (state, False)


def _move_along(state: State, directions: Directions, spread: Floats) -> State:
    spikes: Spikes = directions.spikes
    weights = coordinate_weights(spikes, spread)
    total = float((state.stddev**2 / spread).sum())
    stddev = np.sqrt(coordinate_shares(spikes, len(spread)) * total) * weights
    state = replace(state.choose(basis=LEARNED), directions=directions, own_scores=state.own_scores or state.scores)
    return state.move_to(LearnedAxes(spikes.directions, np.sqrt(spread), weights), stddev)


def _view(state: State, scale: Floats) -> Sample:
    return Sample.from_centre(state.setting, state.centre(), state.stddev, scale)


def _basis_mu(state: State) -> float:
    return math.sqrt(c.BASIS_SHARE * state.precision)


def learn(state: State) -> State:
    """All steps in the coordinates of the state; where noise is far below the sampling error, passes are saved.

    With few records the variances of the columns serve the error bars alone; with very few, no stage follows the core.
    """
    if state.core_alone:
        return measure_own(state)[0]
    if state.few:
        return last_stages(measure_own(state)[0])
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
    _, blur = state.centre()
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
        state, _ = measure_own(state)
    if uncertainty(state) > (c.RING_LOSS if state.from_ring else c.LOSS):
        state = learn_variances(state)
    return last_stages(state)
