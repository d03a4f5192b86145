"""Whatever coordinates are chosen, every draw is charged, in order, within the branch."""

import math

import numpy as np
import pytest
from charges import precision, uncharged
from recording import RecordingNoise

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Gaussian
from dimfree.data.records import open_records
from dimfree.kernel.rows.space import Space
from dimfree.paper.charged import Measured
from dimfree.programs.choose.constants import SCALAR_SHARE
from dimfree.programs.learn import coordinates, forecasts
from dimfree.programs.learn.forecasts import DCT, LEARNED, OWN, SPHERICAL, Forecasts
from dimfree.programs.learn.restore import restored
from dimfree.programs.learn.scale import LearnedRadius
from dimfree.programs.learn.state import StageSetting, State
from dimfree.shapes import Isotropic

COUNT, DIMENSION, TOTAL, SHARE = 400, 8, 0.3, 0.05
PATHS = [(OWN, False), (OWN, True), (DCT, False), (LEARNED, False), (LEARNED, True), (SPHERICAL, False)]
NUMBERS = ("unevenness", "weight", "spread", "togetherness")
paths = pytest.mark.parametrize(("way", "worth"), PATHS)
both = pytest.mark.parametrize("relation", list(Neighbours))


@pytest.fixture(scope="module")
def rows():
    coins = np.random.default_rng(5)
    return coins.normal(size=(COUNT, DIMENSION)) + 3 * coins.normal(size=(COUNT, 1))  # one oblique direction


def state_of(rows, relation, noise):
    space = Space(open_records(rows, on_missing="drop"), Isotropic(1.0))
    stddev, spread = 1 / math.sqrt(SHARE * TOTAL), float(rows.var(axis=0).sum())
    core = Measured(rows.mean(axis=0) + 0.05, Gaussian("mean", 1.0, stddev, DIMENSION, 0.05 / stddev))
    found = LearnedRadius(3 * math.sqrt(spread), spread, True, ())
    return State.after_core(StageSetting(space, float(COUNT), relation, noise), core, TOTAL, SHARE, found)


def walked(monkeypatch, rows, way, worth, relation):
    """A run sent one way; `worth`: whether a matrix, if asked for, is believed to pay."""
    monkeypatch.setattr(coordinates, "SMALL_NOISE", 0.0)
    monkeypatch.setattr(coordinates, "BLURRED", 1.0)
    monkeypatch.setattr(Forecasts, "best", lambda self: way)
    monkeypatch.setattr(coordinates, "WORTH", 0.0 if worth else 1e9)
    noise = RecordingNoise()
    return coordinates.learn_coordinates(state_of(rows, relation, noise)), noise


@both
@paths
def test_every_draw_is_charged_in_order_and_within_the_branch(monkeypatch, rows, way, worth, relation):
    state, noise = walked(monkeypatch, rows, way, worth, relation)
    core, *rest = state.known.events
    assert core.purpose == "mean"
    assert uncharged(noise, rest) == []
    assert 0.99 * TOTAL < precision(state.known.events) <= TOTAL * (1 + 1e-12)
    assert state.choices["basis"] == (LEARNED if worth else SPHERICAL if way == LEARNED else way)


@paths
def test_a_path_asks_at_most_three_numbers_two_togethernesses_and_a_matrix(monkeypatch, rows, way, worth):
    state, _ = walked(monkeypatch, rows, way, worth, Neighbours.ADD_REMOVE)
    words = [event.purpose for event in state.known.events]
    asked = {name: sum(word.startswith(name) for word in words) for name in (*NUMBERS, "basis")}
    matrix = int(way == LEARNED or worth)
    again = int(way == OWN)
    assert asked == {"unevenness": 1, "weight": 1, "spread": 1, "togetherness": 1 + again, "basis": matrix}
    asking = [event.mu**2 / TOTAL for event in state.known.events if event.purpose.startswith(NUMBERS)]
    assert asking == pytest.approx([SCALAR_SHARE] * len(asking))


def test_a_draw_that_nobody_charged_is_seen(monkeypatch, rows):
    """The twin that forgets to write a number down."""
    state, noise = walked(monkeypatch, rows, OWN, False, Neighbours.ADD_REMOVE)
    forgetful = [event for event in state.known.events[1:] if not event.purpose.startswith("weight")]
    with pytest.raises(AssertionError, match="nothing was drawn"):
        assert uncharged(noise, forgetful) == []


@both
def test_a_large_table_is_sampled_by_coins_alone(monkeypatch, rows, relation):
    """One coin for each record in either relation, tossed before anything is asked of the sample."""
    monkeypatch.setattr(forecasts, "FORECAST_RECORDS", COUNT // 4)
    _, noise = walked(monkeypatch, rows, OWN, False, relation)
    tossed = [asked for asked in noise.asked if asked[0] == "below"]
    assert [asked[2] for asked in tossed] == [COUNT, COUNT]  # two looks
    first = next(place for place, asked in enumerate(noise.asked) if asked[0] == "below")
    assert noise.asked[first + 1][0] == "gaussian"


def test_choices_are_public(monkeypatch, rows):
    """Names and forecasts, none of them an array or a count of records."""
    state, _ = walked(monkeypatch, rows, LEARNED, True, Neighbours.ADD_REMOVE)
    assert {type(value) for value in state.choices.values()} <= {str, float, int}
    assert COUNT not in state.choices.values()
    assert restored(state).shape.directions is not None
