"""What the released numbers forecast: no more than comes true, read on the unfavourable side, charged as drawn."""

import math
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import pytest
from recording import RecordingNoise
from run_states import events_of
from scipy import fft
from sessions import standing_view

from dimfree.accounting.budget import Neighbours
from dimfree.programs.choose import constants
from dimfree.programs.choose.constants import SCALAR_SHARE
from dimfree.programs.learn import coordinates
from dimfree.programs.learn.coordinates import DCT, LEARNED, OWN, SPHERICAL, Sample, best_coordinates
from dimfree.programs.learn.principal_directions import smallest_share
from dimfree.programs.learn.state import Knowledge, Output, StageSetting, State

COUNT = 1200
both = pytest.mark.parametrize("relation", list(Neighbours))
dimensions = pytest.mark.parametrize("dimension", [2, 5, 40, 120])


def world(name, dimension):
    coins = np.random.default_rng([dimension, 3])
    rows, places = coins.normal(size=(COUNT, dimension)), np.arange(1, dimension + 1)
    turn = np.linalg.qr(coins.normal(size=(dimension, dimension)))[0]
    made = {
        "isotropic": rows,
        "steep": rows / places,
        "walk": rows.cumsum(axis=1),
        "oblique": (rows * np.where(places == 1, 2 * math.sqrt(dimension), 0.7)) @ turn,
    }
    return made[name] + 3.0


def look_at(rows, off=0.0, relation=Neighbours.ADD_REMOVE, noise=None, count=None):
    """From a centre whose squared error is known to be so large a part of what is seen."""
    dimension, trace = rows.shape[1], float(rows.var(axis=0).sum())
    view = standing_view(rows, relation, noise=noise or RecordingNoise())
    setting = StageSetting(view, float(count or len(rows)))
    wrong = np.random.default_rng(8).normal(size=dimension)
    blur = trace * off / (1 - off)
    centre = rows.mean(axis=0) + wrong * math.sqrt(blur) / np.linalg.norm(wrong)
    return Sample(state_at(setting, centre, blur / dimension, math.sqrt(trace / dimension)), np.ones(dimension))


@dataclass
class Forecasts:
    own: float
    own_at_best: float
    dct: float
    learned: float

    def best(self):
        return best_coordinates(self.own, self.own_at_best, self.dct, self.learned)


def asked(look, mu=100.0, basis_mu=1.0):
    """With so much precision that every number is released at `mu`, and a basis would be at `basis_mu`."""
    state = state_at(look.setting, 0.0, 1.0, 1.0, mu**2 / SCALAR_SHARE)
    state, numbers = look.axes(state)
    with patch.object(constants, "BASIS_SHARE", basis_mu**2 / state.precision):
        state, learned = look.one_direction(state)
    return Forecasts(*numbers, learned)


def state_at(setting, centre, blur, stddev, precision=1.0):
    """With this centre, whatever denoising makes of it."""
    every = np.ones(setting.view.dimension)
    known = Knowledge.of(Output(every, every))
    known.__dict__["centre"] = centre * every, blur * every
    return State(setting, precision, 1.0, 1.0, known, precision, stddev * every, every)


def gain(variances):
    """Noise of a spherical shape over that of the best diagonal one."""
    return math.sqrt(len(variances) * variances.sum()) / np.sqrt(variances).sum()


# what comes true


@dimensions
@pytest.mark.parametrize("name", ["isotropic", "steep", "walk", "oblique"])
@pytest.mark.parametrize("off", [0.0, 0.3])
def test_no_forecast_promises_more_than_comes_true(name, dimension, off):
    rows = world(name, dimension)
    found = asked(look_at(rows, off))
    along = np.linalg.eigvalsh(np.cov(rows.T))
    one = gain(np.concatenate([along[-1:], np.full(dimension - 1, along[:-1].mean())]))
    assert found.own <= 1.04 * gain(rows.var(axis=0))
    assert found.dct <= 1.04 * gain(fft.dct(rows, norm="ortho", axis=1).var(axis=0))
    assert found.learned <= 1.04 * max(one, gain(along))


@pytest.mark.parametrize("off", [0.0, 0.1])
@pytest.mark.parametrize(
    ("name", "chosen"), [("isotropic", SPHERICAL), ("steep", OWN), ("walk", DCT), ("oblique", LEARNED)]
)
def test_where_it_is_clear_the_right_coordinates_are_chosen(name, chosen, off):
    for dimension in (40, 120):
        found = asked(look_at(world(name, dimension), off))
        assert found.best() == chosen


def strongest(rows):
    """The largest share of the squared length of the records' directions that lies along one."""
    offsets = rows - rows.mean(axis=0)
    directions = offsets / np.linalg.norm(offsets, axis=1, keepdims=True)
    return float(np.linalg.eigvalsh(directions.T @ directions / len(rows))[-1])


def test_a_centre_that_is_off_is_no_reason_to_turn():
    """Its error is in what every record shows; told of it, nothing is forecast that is not there."""
    rows = world("isotropic", 40)
    assert asked(look_at(rows, 0.5)).best() == SPHERICAL
    unaware = look_at(rows, 0.5)
    unaware.centre_error = 0.0
    assert asked(unaware).best() == LEARNED


# read on the unfavourable side


def test_a_basis_too_dear_to_learn_is_not_admissible():
    rows = world("oblique", 40)
    just = 2 * smallest_share(40, 1.0, COUNT) / strongest(rows)  # the mu at which it is just too dear
    assert asked(look_at(rows), basis_mu=1.1 * just).learned > 1
    assert asked(look_at(rows), basis_mu=0.9 * just).learned == 0.0


CHOICES = [
    ((1.5, 1.6, 1.2, 1.1), OWN),
    ((1.5, 1.6, 1.55, 0.0), DCT),
    ((1.5, 1.6, 1.55, 1.7), LEARNED),
    ((1.0, 1.08, 1.02, 0.0), SPHERICAL),
    ((0.9, 1.2, 1.02, 0.0), OWN),  # it may be that they pay
    ((0.9, 1.1, 0.8, 1.04), LEARNED),
    ((0.0, 0.0, 0.0, 0.0), SPHERICAL),
]


@pytest.mark.parametrize(("numbers", "chosen"), CHOICES)
def test_the_rule(numbers, chosen):
    assert best_coordinates(*numbers) == chosen


# what is drawn, and from whom


@both
def test_of_many_records_some_are_looked_at(monkeypatch, relation):
    """The rate is public; a coin is tossed for every record."""
    monkeypatch.setattr(constants, "FORECAST_RECORDS", COUNT / 3)
    rows, noise = world("walk", 40), RecordingNoise()
    look = look_at(rows, relation=relation, noise=noise)
    assert look.rate == pytest.approx(1 / 3)
    assert look.count == pytest.approx(COUNT / 3)
    assert [(kind, size) for kind, _, size in noise.asked] == [("below", COUNT)]
    assert look_at(rows, count=COUNT // 4).rate == 1


@pytest.mark.parametrize("most", [1, 39])
def test_nothing_is_asked_about_directions_where_they_are_too_many(monkeypatch, most):
    monkeypatch.setattr(constants, "MOST_COLUMNS", most)
    look = look_at(world("oblique", 40))
    _, gain = look.one_direction(state_at(look.setting, 0.0, 1.0, 1.0))
    assert gain == 0.0
    assert events_of(look.setting.view) == ()


@pytest.mark.parametrize("value", [0.0, 3.0, 1e300])
def test_records_without_directions(value):
    """All of them at the centre: finite numbers, and no reason to go anywhere."""
    rows = np.full((200, 6), value)
    setting = StageSetting(standing_view(rows, noise=RecordingNoise()), 200.0)
    look = Sample(state_at(setting, rows[0], 1e-9, 1.0), np.ones(6))
    found = asked(look, 1.0)
    assert np.isfinite([found.own, found.own_at_best, found.dct, found.learned]).all()
    assert found.learned == 0.0


def test_without_a_cosine_transform_to_be_trusted_nothing_is_asked_about_it(monkeypatch):
    """On a machine whose SciPy treats rows unevenly the other choices remain."""
    monkeypatch.setattr(coordinates.Cosine, "here", classmethod(lambda cls, dimension: None))
    look = look_at(world("walk", 40))
    found = asked(look, 100.0)
    assert found.dct == 0.0
    assert found.best() == LEARNED
    assert "spread in the basis" not in {event.purpose for event in events_of(look.setting.view)}
