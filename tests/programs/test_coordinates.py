"""The menu from outside: where it is clear it chooses right, says why, and every kind of table gives the same bits."""

import json
import math

import numpy as np
import pytest
import scipy.sparse as sparse
from charges import SCALARS
from flat_options import with_options
from recording import RecordingNoise
from routes import through_the_core
from streams import RecordedStream

from dimfree import Release, release_mean
from dimfree.data.records import Records
from dimfree.errors import InvalidFile, InvalidParameter
from dimfree.noise import SeededNoise
from dimfree.programs.choose import constants
from dimfree.programs.learn.coordinates import DCT, LEARNED, OWN, SPHERICAL

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
    chosen = [release(*each, neighbours=relation).parameters["basis"] for each in tables]
    assert chosen.count(RIGHT[name]) >= 5


@worlds
def test_the_choice_and_its_reasons_are_told(name):
    found = release(world(name))
    told = found.parameters
    assert set(told) >= FORECASTS | {"basis"}
    assert all(isinstance(told[each], float) for each in FORECASTS)
    learned = RIGHT[name] == LEARNED
    assert ("promised_gain" in told) == ("directions" in told) == learned
    assert (found.shape.directions is not None) == learned
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
    directions = found.shape.directions
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
    assert not {event.purpose for event in found.ledger.after} & set(SCALARS)


@pytest.mark.parametrize("basis", [None, "dct"])
def test_a_basis_that_is_given_is_not_asked_about(basis):
    found = release(world("spiked"), basis=basis)
    assert found.parameters["basis"] == (OWN if basis is None else basis)
    assert not FORECASTS & set(found.parameters)
    assert found.shape.directions is None
    assert not {event.purpose for event in found.ledger.after} & {*SCALARS, "basis"}


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
        found = release(rows, SeededNoise(seed), neighbours=relation)
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
    with pytest.raises(InvalidParameter, match=words):
        release(world("walk"), noise, basis=basis)
    assert noise.asked == []


@pytest.mark.parametrize("known", [{"covariance": np.ones(WIDTH)}])
def test_where_something_is_known_there_is_no_choice(known):
    """Left out, or left to itself, is the same; a basis is refused."""
    plain, asked = (release(world("isotropic"), **known, **basis) for basis in ({}, {"basis": "auto"}))
    assert plain == asked
    assert "basis" not in plain.parameters
    with pytest.raises(InvalidParameter, match="basis to be left out"):
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
    "a vector short": (("shape", "directions", "vectors"), [[1.0] * WIDTH]),
    "no shares": (("shape", "directions", "shares"), []),
    "a share below nought": (("shape", "directions", "shares"), [-0.1, 0.1, 0.1]),
    "an angle that is no number": (("shape", "directions", "angles"), ["a", "b", "c"]),
    "a scale of nought": (("shape", "directions", "scale"), [0.0] * WIDTH),
    "no mapping": (("shape", "directions"), 5),
    "a principal variance short": (("error_model", "noise_principal"), [1.0]),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_a_file_that_was_tampered_with(case):
    document = text(world("spiked"))
    assert Release.from_json(json.dumps(document)).shape.directions is not None
    with pytest.raises(InvalidFile):
        Release.from_json(changed(document, *TAMPERED[case]))
