"""Which coordinates the noise follows: release a few numbers, choose, and go on in the chosen coordinates (P11, P12).

Letters: P = precision of the branch, n̂ = released number of records, D = diagonal of the shape of the noise.
"""

import math
from dataclasses import replace

import numpy as np

from dimfree._types import Floats
from dimfree.kernel import Cosine, LearnedAxes, Lookout
from dimfree.programs.choose.constants import BASIS_SHARE, BLURRED, RING_WORTH, SMALL_NOISE, WORTH
from dimfree.programs.learn.forecasts import DCT, LEARNED, OWN, SPHERICAL, Forecasts, View
from dimfree.programs.learn.principal_directions import (
    Spikes,
    coordinate_shares,
    coordinate_weights,
    found_spikes,
    promised_gain,
)
from dimfree.programs.learn.rounds import first_round, last_round, learn, recentre
from dimfree.programs.learn.stages import last_stages
from dimfree.programs.learn.state import Directions, State
from dimfree.programs.learn.variances import measure_own


def learn_coordinates(state: State) -> State:
    """Recentre, choose coordinates, learn there; nothing is asked where noise matters little."""
    state = state.choose(basis=OWN)
    small_noise = state.noise_over_sampling() <= SMALL_NOISE
    unturned = state.setting.view.dimension == 1 or state.block is not None
    if unturned or small_noise or state.few or state.core_alone:
        return learn(state)
    state = _choose(recentre(state))
    chosen = state.choices["basis"]
    if chosen == OWN:
        return _own_axes(state)
    return {DCT: _cosine, LEARNED: _learned, SPHERICAL: _spherical}[str(chosen)](state)


def _choose(state: State) -> State:
    """The name of the coordinates with the best forecast, under "basis"; own axes where the centre is too uncertain."""
    view = _view(state, np.ones_like(state.stddev))
    if view.centre_error > BLURRED:
        return state
    if state.from_ring:
        return _beyond_ring(state, view)
    state, (own, own_at_best, cosine) = view.axes(state)
    state, learned = view.one_direction(state, _basis_mu(state))
    forecasts = Forecasts(own, own_at_best, cosine, learned)
    return state.choose(**forecasts.numbers(), basis=forecasts.best())


def _beyond_ring(state: State, view: View) -> State:
    """Other axes than the records' own, if they clearly promise more than the variances that the ring has told."""
    state, cosine = view.cosine(state)
    state, learned = view.one_direction(state, _basis_mu(state))
    own = math.sqrt(len(state.stddev) * float((state.stddev**2).sum())) / float(state.stddev.sum())
    forecasts = Forecasts(RING_WORTH * own, math.inf, cosine, learned)
    return state.choose(forecast_own_axes=own, forecast_dct=cosine, forecast_learned=learned, basis=forecasts.best())


def _own_axes(state: State) -> State:
    """The diagonal path; between its rounds a check whether the rescaled coordinates are correlated."""
    state = first_round(state)
    spread = state.stddev
    state, gain = _view(state, np.sqrt(spread)).one_direction(state, _basis_mu(state))
    state = state.choose(forecast_refined=gain)
    if gain < WORTH:
        return last_round(state)
    state, moved = _directions(state, spread)
    return last_stages(state) if moved else last_round(state)


def _cosine(state: State) -> State:
    return last_round(first_round(state.move_to(Cosine(state.setting.view.dimension))))


def _learned(state: State) -> State:
    state = _equal_variances(state)
    state, moved = _directions(state, np.ones_like(state.stddev))
    return last_stages(state if moved else state.choose(basis=SPHERICAL))


def _spherical(state: State) -> State:
    return last_stages(_equal_variances(state))


def _equal_variances(state: State) -> State:
    """Variances of the columns for the error bars; the shape of the noise has their mean everywhere."""
    state, own = measure_own(state)
    return replace(state, stddev=np.full_like(state.stddev, math.sqrt(float(own.variances.mean()))))


def _directions(state: State, spread: Floats) -> tuple[State, bool]:
    """One release of the matrix of directions (P12); moved to its directions where that is worth it, and whether."""
    setting, seen_from = state.setting, Lookout(state.centre()[0], np.sqrt(spread))
    state, found = state.release(BASIS_SHARE, setting.view.outer_products(seen_from).matrix)
    noise = found.stddev
    spikes = found_spikes(found.value, noise, setting.count, spread / spread.sum())
    gain = promised_gain(spikes, spread)
    state = state.choose(promised_gain=gain, directions=len(spikes.shares))
    return (_move_along(state, Directions(spikes, seen_from), spread), True) if gain >= WORTH else (state, False)


def _move_along(state: State, directions: Directions, spread: Floats) -> State:
    spikes: Spikes = directions.spikes
    weights = coordinate_weights(spikes, spread)
    total = float((state.stddev**2 / spread).sum())
    stddev = np.sqrt(coordinate_shares(spikes, len(spread)) * total) * weights
    state = replace(state.choose(basis=LEARNED), directions=directions, own_scores=state.own_scores or state.scores)
    return state.move_to(LearnedAxes(spikes.directions, np.sqrt(spread), weights), stddev)


def _view(state: State, scale: Floats) -> View:
    return View.from_centre(state.setting, state.centre(), state.stddev, scale)


def _basis_mu(state: State) -> float:
    return math.sqrt(BASIS_SHARE * state.precision)
