"""What the stable core guarantees without prior knowledge: the contracts of every estimator, and bad input."""

import math

import numpy as np
import pytest
from flat_options import with_options
from recording import RecordingNoise
from routes import through_the_core

from dimfree.errors import InvalidParameter
from dimfree.noise import SeededNoise
from dimfree.release import release_mean

ADD, REPLACE = "add-remove", "replace-one"
both = pytest.mark.parametrize("relation", [ADD, REPLACE])
COUNT, DIMENSION, CANARY = 600, 4, 271828.1828
TRUTH = np.array([5.0, -3.0, 0.0, 100.0])
STDDEV = np.array([4.0, 1.0, 1.0, 0.2])


@pytest.fixture
def table(rng):
    return rng.normal(size=(COUNT, DIMENSION)) * STDDEV + TRUTH


def release(X, relation=ADD, **changes):
    given = {
        "epsilon": 6.0,
        "delta": 1e-6,
        "neighbours": relation,
        "noise": SeededNoise(7),
        **changes,
    }
    with through_the_core():
        return release_mean(X, **with_options(**given))


def released(X, relation=ADD, **changes):
    found = release(X, relation, **changes)
    assert not found.refused, found.refusal
    return found


# a mean, near the truth, and what is said about it


@both
def test_a_mean_is_released_near_the_truth(table, relation):
    found = released(table, relation)
    assert found.method == "auto"
    assert np.all(np.abs(found.mean - TRUTH) < 8 * np.hypot(found.noise_stddev, STDDEV / math.sqrt(COUNT)))
    assert (found.noise_stddev < 0.15 * STDDEV + 0.02).all()
    assert 4 < found.shape.variances[0] < 64
    assert found.shape.variances.argmax() == 0
    assert not found.guarantee.private
    assert found.guarantee.neighbours == relation


@both
def test_a_shift_shifts_and_a_change_of_units_changes_the_units(table, relation):
    """Up to the grids, which are relative to the scale found, and by a power of their ratio."""
    plain = released(table, relation, noise=RecordingNoise())
    shifted = released(table + 1000.0, relation, noise=RecordingNoise())
    assert shifted.mean - 1000 == pytest.approx(plain.mean, abs=0.01)
    larger = released(table * 1.54**3, relation, noise=RecordingNoise())
    assert larger.mean / 1.54**3 == pytest.approx(plain.mean, abs=0.01)
    assert larger.noise_stddev / 1.54**3 == pytest.approx(plain.noise_stddev, rel=0.2)


# invalid rows


# nothing of a record shows


# bad input: no crash, a refusal or a right answer


def near(found, X, allowed):
    return bool((np.abs(found.mean - np.asarray(X, dtype=float).mean(axis=0)) <= allowed).all())


@both
def test_constant_columns(table, relation):
    table[:, 1] = 7.0
    table[:, 3] = 0.0
    found = released(table, relation)
    assert near(found, table, 8 * found.noise_stddev)
    assert found.shape.variances[[1, 3]].max() < 0.05 * found.shape.variances[0]


def test_one_column_of_huge_scale(table):
    table[:, 2] = 1e12 * table[:, 2]
    assert release(table).refused  # outside the window
    found = released(table, window=(1.0, 1e15))
    assert abs(found.mean[2] - table[:, 2].mean()) < 0.3e12
    assert near(found, table, 12 * found.noise_stddev)


@both
@pytest.mark.parametrize("scale", [1e307, 1e200, 1e-200, 1e-310, 5e-324], ids=str)
@pytest.mark.filterwarnings("error")
def test_scales_at_the_ends_of_the_floats_are_refused(table, relation, scale):
    assert release((table - TRUTH) * scale, relation).refused


@both
@pytest.mark.filterwarnings("error")
def test_a_few_records_at_the_ends_of_the_floats_are_outliers(table, relation):
    expected = table[8:].mean(axis=0)
    table[:4], table[4:8] = 1.7e308, -1.7e308
    found = released(table, relation)
    assert (np.abs(found.mean - expected) < 0.05 * STDDEV + 8 * found.noise_stddev).all()


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint16, np.float32, np.bool_])
def test_numbers_of_other_kinds(rng, kind):
    table = (rng.normal(size=(COUNT, 3)) * 20 + 60).clip(0, 120).astype(kind)
    if kind is np.bool_:
        table = rng.random((COUNT, 3)) < [0.5, 0.4, 0.6]
    found = released(table)
    assert near(found, table, 8 * found.noise_stddev)


def test_integers_that_would_overflow_if_squared(rng):
    table = (rng.normal(size=(COUNT, 2)) * 1e12).astype(np.int64) + 2**53
    found = released(table, window=(1e6, 1e15))
    assert near(found, table, 8 * found.noise_stddev)


# options


@pytest.mark.parametrize(
    "window",
    [(1.0, 1.5), (5.0, 1.0), (0.0, 1.0), (-1.0, 1.0), (1e-70, 1.0), (1.0, 1e70), (1.0,), (1, 2, 3), 5.0, None, "ab"],
    ids=str,
)
def test_a_window_that_is_none(window):
    noise = RecordingNoise()
    with pytest.raises(InvalidParameter, match="window"):
        release(np.zeros((COUNT, 2)), window=window, noise=noise)
    assert noise.asked == []


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "1"], ids=str)
def test_a_window_of_no_numbers(value):
    with pytest.raises(InvalidParameter, match="window"):
        release(np.zeros((COUNT, 2)), window=(value, 10.0))


def test_a_narrow_window_is_cheaper(table):
    """Fewer cells, fewer questions: the search of the radius asks for fewer counts."""
    ledgers = [released(table, window=window).ledger for window in ((1e-6, 1e6), (0.5, 50.0))]
    wide, narrow = (next(e for e in each.searches if e.purpose == "friend radius") for each in ledgers)
    assert narrow.dimension < wide.dimension
