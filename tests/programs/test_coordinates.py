"""Which coordinates: chosen right where it is clear, by numbers read on the unfavourable side, charged as drawn."""

import json
import math
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sparse
from recording import RecordingNoise
from routes import through_the_core, with_options
from scipy import fft
from states import SCALARS, events_of, standing_view
from streams import RecordedStream

from dimfree import Release, release_mean
from dimfree.accounting.budget import Neighbors
from dimfree.data.records import Records
from dimfree.errors import InvalidFileError, InvalidParameterError
from dimfree.noise import SeededNoise
from dimfree.programs.choose import constants
from dimfree.programs.choose.constants import SCALAR_SHARE
from dimfree.programs.learn import coordinates
from dimfree.programs.learn.coordinates import DCT, LEARNED, OWN, SPHERICAL, Sample, choose_best_coordinates
from dimfree.programs.learn.principal_directions import find_smallest_share
from dimfree.programs.learn.state import Knowledge, Output, State, StepSetting

COUNT, WIDTH = 700, 24
BUDGET = {"epsilon": 4.0, "delta": 1e-6}
ADD, REPLACE = "add-remove", "replace-one"
RIGHT = {"steep": OWN, "isotropic": SPHERICAL, "walk": DCT, "spiked": LEARNED, "both": LEARNED}
FORECASTS = {"forecast_own_axes", "forecast_dct", "forecast_learned"}
TURN = np.linalg.qr(np.random.default_rng(3).normal(size=(WIDTH, WIDTH)))[0]
worlds = pytest.mark.parametrize("name", RIGHT)
both = pytest.mark.parametrize("relation", [ADD, REPLACE])


def world(name, seed=0):
    """Records whose best coordinates are known. "both": oblique directions on columns of very different length."""
    rows, places = np.random.default_rng([seed, 11]).normal(size=(COUNT, WIDTH)), np.arange(1, WIDTH + 1)
    made = {
        "steep": rows / places,
        "isotropic": rows,
        "walk": rows.cumsum(axis=1),
        "spiked": (rows * np.where(places <= 3, 20.0, 1.0)) @ TURN,
        "both": (rows * np.where(places <= 2, 16.0, 1.0)) @ TURN / places,
    }
    return made[name] + 2.0


def release(X, noise=None, **options):
    return release_mean(X, **with_options(**{**BUDGET, "noise": noise or SeededNoise(900), **options}))


def text(X, **options):
    found = release(X, **options)
    assert not found.refused
    return json.loads(found.to_json())


# the choice


@both
@worlds
def test_where_it_is_clear_the_choice_is_right(name, relation):
    """One of six may go astray: a noisy number of records takes nothing for something."""
    tables = [(world(name, seed), SeededNoise(900 + seed)) for seed in range(6)]
    chosen = [release(*each, neighbors=relation).parameters["basis"] for each in tables]
    assert chosen.count(RIGHT[name]) >= 5


@worlds
def test_the_choice_and_its_reasons_are_told(name):
    found = release(world(name))
    told = found.parameters
    assert set(told) >= FORECASTS | {"basis"}
    assert all(isinstance(told[each], float) for each in FORECASTS)
    learned = RIGHT[name] == LEARNED
    assert ("predicted_gain" in told) == ("directions" in told) == learned
    assert (found.estimated_variances.directions is not None) == learned
    assert ("forecast_refined" in told) == (name in ("steep", "both"))
    best = max(FORECASTS, key=lambda each: told[each])
    if name in ("walk", "spiked"):
        assert best == {"walk": "forecast_dct", "spiked": "forecast_learned"}[name]


@worlds
def test_a_release_is_read_back_as_it_was_written(name):
    found = release(world(name))
    again = Release.from_json(found.to_json())
    assert again == found
    assert dict(again.parameters) == dict(found.parameters)
    assert again.confidence_ball(0.9).radius == found.confidence_ball(0.9).radius
    assert (
        again.confidence_interval(0.9, target="sample")[0] == found.confidence_interval(0.9, target="sample")[0]
    ).all()


def test_the_directions_are_those_of_the_records():
    """Three equal ones: they mix, so it is their span that is found, within the angles that are stated."""
    found = release(world("spiked"))
    directions = found.estimated_variances.directions
    assert found.parameters["directions"] >= len(directions) == 3
    assert directions.vectors @ directions.vectors.T == pytest.approx(np.eye(3), abs=1e-9)
    assert (directions.scale == 1).all()
    assert directions.shares == pytest.approx(np.full(3, 1 / 3), abs=0.1)
    outside = np.linalg.norm(directions.vectors @ TURN[3:].T, axis=1)
    assert (np.arcsin(outside) < directions.angles + 0.1).all()  # sampling is not in the bound
    assert (directions.angles < 0.7).all()
    with pytest.raises(ValueError, match="read-only"):
        directions.vectors[0] = 0.0


# what is drawn is charged


def test_nothing_is_asked_where_noise_matters_little():
    many = np.random.default_rng(2).normal(size=(4000, 4)) * [3, 1, 1, 0.2]
    with through_the_core():
        found = release(many, epsilon=8.0, core_sample=300)
    assert found.parameters["basis"] == OWN
    assert not FORECASTS & set(found.parameters)
    assert not {event.purpose for event in found.charges.after} & set(SCALARS)


@pytest.mark.parametrize("basis", [None, "dct"])
def test_a_basis_that_is_given_is_not_asked_about(basis):
    found = release(world("spiked"), basis=basis)
    assert found.parameters["basis"] == (OWN if basis is None else basis)
    assert not FORECASTS & set(found.parameters)
    assert found.estimated_variances.directions is None
    assert not {event.purpose for event in found.charges.after} & {*SCALARS, "basis"}


# tables of every kind


@pytest.mark.parametrize("name", ["walk", "spiked", "both"])
def test_where_some_are_looked_at_every_source_looks_at_the_same(monkeypatch, name):
    monkeypatch.setattr(constants, "FORECAST_RECORDS", COUNT / 2)
    rows = world(name)
    expected = text(rows)
    assert text(Records(RecordedStream(rows, 97), None)) == expected
    assert text(sparse.csr_array(rows)) == expected
    monkeypatch.setattr(constants, "FORECAST_RECORDS", math.inf)
    assert text(rows) != expected


# edges


@both
@pytest.mark.parametrize("width", [1, 2, 3])
def test_few_columns(width, relation):
    rows = np.random.default_rng(5).normal(size=(400, width)) * np.arange(1, width + 1)
    for seed in range(3):
        found = release(rows, SeededNoise(seed), neighbors=relation)
        assert np.isfinite(found.mean).all()


BAD = {
    "a choice, not a basis": ("learned", "`basis` must be"),
    "a number": (5, "`basis` must be 'auto'"),
    "not square": (TURN[:3], rf"shape \({WIDTH}, {WIDTH}\)"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_basis(case):
    basis, words = BAD[case]
    noise = RecordingNoise()
    with pytest.raises(InvalidParameterError, match=words):
        release(world("walk"), noise, basis=basis)
    assert noise.asked == []


@pytest.mark.parametrize("known", [{"covariance": np.ones(WIDTH)}])
def test_where_something_is_known_there_is_no_choice(known):
    """Left out, or left to itself, is the same; a basis is refused."""
    plain, asked = (release(world("isotropic"), **known, **basis) for basis in ({}, {"basis": "auto"}))
    assert plain == asked
    assert "basis" not in plain.parameters
    with pytest.raises(InvalidParameterError, match="`basis` is for an estimated covariance"):
        release(world("isotropic"), basis="dct", **known)


# tampering with a file


def changed(document, path, value):
    *way, last = path
    place = document
    for each in way:
        place = place[each]
    place[last] = value
    return json.dumps(document)


TAMPERED = {
    "a vector short": (("estimated_variances", "directions", "vectors"), [[1.0] * WIDTH]),
    "no shares": (("estimated_variances", "directions", "shares"), []),
    "a share below nought": (("estimated_variances", "directions", "shares"), [-0.1, 0.1, 0.1]),
    "an angle that is no number": (("estimated_variances", "directions", "angles"), ["a", "b", "c"]),
    "a scale of nought": (("estimated_variances", "directions", "scale"), [0.0] * WIDTH),
    "no mapping": (("estimated_variances", "directions"), 5),
    "a principal variance short": (("error_model", "noise_principal"), [1.0]),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_a_file_that_was_tampered_with(case):
    document = text(world("spiked"))
    assert Release.from_json(json.dumps(document)).estimated_variances.directions is not None
    with pytest.raises(InvalidFileError):
        Release.from_json(changed(document, *TAMPERED[case]))


SEEN = 1200
each_relation = pytest.mark.parametrize("relation", list(Neighbors))
dimensions = pytest.mark.parametrize("dimension", [2, 5, 40, 120])


def rows_of(name, dimension):
    coins = np.random.default_rng([dimension, 3])
    rows, places = coins.normal(size=(SEEN, dimension)), np.arange(1, dimension + 1)
    turn = np.linalg.qr(coins.normal(size=(dimension, dimension)))[0]
    made = {
        "isotropic": rows,
        "steep": rows / places,
        "walk": rows.cumsum(axis=1),
        "oblique": (rows * np.where(places == 1, 2 * math.sqrt(dimension), 0.7)) @ turn,
    }
    return made[name] + 3.0


def look_at(rows, off=0.0, relation=Neighbors.ADD_REMOVE, noise=None, count=None):
    """From a center whose squared error is known to be so large a part of what is seen."""
    dimension, trace = rows.shape[1], float(rows.var(axis=0).sum())
    view = standing_view(rows, relation, noise=noise or RecordingNoise())
    setting = StepSetting(view, float(count or len(rows)))
    wrong = np.random.default_rng(8).normal(size=dimension)
    blur = trace * off / (1 - off)
    center = rows.mean(axis=0) + wrong * math.sqrt(blur) / np.linalg.norm(wrong)
    return Sample(state_at(setting, center, blur / dimension, math.sqrt(trace / dimension)), np.ones(dimension))


@dataclass
class Forecasts:
    own: float
    own_at_best: float
    dct: float
    learned: float

    def best(self):
        return choose_best_coordinates(self.own, self.own_at_best, self.dct, self.learned)


def asked(look, mu=100.0, basis_mu=1.0):
    """With so much precision that every number is released at `mu`, and a basis would be at `basis_mu`."""
    state = state_at(look.setting, 0.0, 1.0, 1.0, mu**2 / SCALAR_SHARE)
    state, numbers = look.axes(state)
    with patch.object(constants, "BASIS_SHARE", basis_mu**2 / state.precision):
        state, learned = look.one_direction(state)
    return Forecasts(*numbers, learned)


def state_at(setting, center, blur, stddev, precision=1.0):
    """With this center, whatever denoising makes of it."""
    every = np.ones(setting.view.dimension)
    known = Knowledge.of(Output(every, every))
    known.__dict__["center"] = center * every, blur * every
    return State(setting, precision, 1.0, 1.0, known, precision, stddev * every, every)


def gain(variances):
    """Noise of a spherical shape over that of the best diagonal one."""
    return math.sqrt(len(variances) * variances.sum()) / np.sqrt(variances).sum()


# what comes true


@dimensions
@pytest.mark.parametrize("name", ["isotropic", "steep", "walk", "oblique"])
@pytest.mark.parametrize("off", [0.0, 0.3])
def test_no_forecast_promises_more_than_comes_true(name, dimension, off):
    rows = rows_of(name, dimension)
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
        found = asked(look_at(rows_of(name, dimension), off))
        assert found.best() == chosen


def strongest(rows):
    """The largest share of the squared length of the records' directions that lies along one."""
    offsets = rows - rows.mean(axis=0)
    directions = offsets / np.linalg.norm(offsets, axis=1, keepdims=True)
    return float(np.linalg.eigvalsh(directions.T @ directions / len(rows))[-1])


def test_a_centre_that_is_off_is_no_reason_to_turn():
    """Its error is in what every record shows; told of it, nothing is forecast that is not there."""
    rows = rows_of("isotropic", 40)
    assert asked(look_at(rows, 0.5)).best() == SPHERICAL
    unaware = look_at(rows, 0.5)
    unaware.center_error = 0.0
    assert asked(unaware).best() == LEARNED


# read on the unfavourable side


def test_a_basis_too_dear_to_learn_is_not_admissible():
    rows = rows_of("oblique", 40)
    just = 2 * find_smallest_share(40, 1.0, SEEN) / strongest(rows)  # the mu at which it is just too dear
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
    assert choose_best_coordinates(*numbers) == chosen


# what is drawn, and from whom


@each_relation
def test_of_many_records_some_are_looked_at(monkeypatch, relation):
    """The rate is public; a coin is tossed for every record."""
    monkeypatch.setattr(constants, "FORECAST_RECORDS", SEEN / 3)
    rows, noise = rows_of("walk", 40), RecordingNoise()
    look = look_at(rows, relation=relation, noise=noise)
    assert look.rate == pytest.approx(1 / 3)
    assert look.count == pytest.approx(SEEN / 3)
    assert [(kind, size) for kind, _, size in noise.asked] == [("below", SEEN)]
    assert look_at(rows, count=SEEN // 4).rate == 1


@pytest.mark.parametrize("most", [1, 39])
def test_nothing_is_asked_about_directions_where_they_are_too_many(monkeypatch, most):
    monkeypatch.setattr(constants, "MAX_DIRECTION_COLUMNS", most)
    look = look_at(rows_of("oblique", 40))
    _, gain = look.one_direction(state_at(look.setting, 0.0, 1.0, 1.0))
    assert gain == 0.0
    assert events_of(look.setting.view) == ()


@pytest.mark.parametrize("value", [0.0, 3.0, 1e300])
def test_records_without_directions(value):
    """All of them at the center: finite numbers, and no reason to go anywhere."""
    rows = np.full((200, 6), value)
    setting = StepSetting(standing_view(rows, noise=RecordingNoise()), 200.0)
    look = Sample(state_at(setting, rows[0], 1e-9, 1.0), np.ones(6))
    found = asked(look, 1.0)
    assert np.isfinite([found.own, found.own_at_best, found.dct, found.learned]).all()
    assert found.learned == 0.0


def test_without_a_cosine_transform_to_be_trusted_nothing_is_asked_about_it(monkeypatch):
    """On a machine whose SciPy treats rows unevenly the other choices remain."""
    monkeypatch.setattr(coordinates.Cosine, "here", classmethod(lambda cls, dimension: None))
    look = look_at(rows_of("walk", 40))
    found = asked(look, 100.0)
    assert found.dct == 0.0
    assert found.best() == LEARNED
    assert "l1 norm in the basis" not in {event.purpose for event in events_of(look.setting.view)}
