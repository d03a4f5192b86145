"""What the stable core guarantees without prior knowledge: the contracts of every estimator, and bad input."""

import logging
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from flat_options import with_options
from recording import RecordingNoise
from routes import through_the_core
from scipy import sparse

from dimfree.errors import DimfreeError, InvalidParameter, InvalidRecords
from dimfree.noise import SeededNoise
from dimfree.release import release_mean
from dimfree.results.release import Release

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


@pytest.mark.system_noise
def test_the_default_noise_is_private_and_fresh(table):
    one, two = (released(table, noise=None) for _ in range(2))
    assert one.guarantee.private
    assert not np.array_equal(one.mean, two.mean)


def test_the_word_auto_is_the_default(table):
    assert released(table) == released(table, shape="auto")


@both
def test_the_ledger_composes_to_at_most_the_budget(table, relation):
    for X in (table, table[:9], np.zeros((COUNT, 2))):
        assert release(X, relation).ledger.delta() <= 1e-6


@both
def test_the_input_is_untouched(table, relation):
    before = table.tobytes()
    table.setflags(write=False)
    released(table, relation)
    assert table.tobytes() == before


@both
def test_the_order_of_rows_is_irrelevant(table, relation, rng):
    """With the same noise and all records in the core: whole numbers are summed, so no bit changes."""
    assert released(rng.permutation(table), relation) == released(table, relation)


@both
def test_a_shift_shifts_and_a_change_of_units_changes_the_units(table, relation):
    """Up to the grids, which are relative to the scale found, and by a power of their ratio."""
    plain = released(table, relation, noise=RecordingNoise())
    shifted = released(table + 1000.0, relation, noise=RecordingNoise())
    assert shifted.mean - 1000 == pytest.approx(plain.mean, abs=0.01)
    larger = released(table * 1.54**3, relation, noise=RecordingNoise())
    assert larger.mean / 1.54**3 == pytest.approx(plain.mean, abs=0.01)
    assert larger.noise_stddev / 1.54**3 == pytest.approx(plain.noise_stddev, rel=0.2)


def test_the_release_survives_its_text(table):
    for relation in (ADD, REPLACE):
        found = released(table, relation)
        again = Release.from_json(found.to_json())
        assert again == found
        assert (again.shape.variances == found.shape.variances).all()
        assert (again.shape.log_stddev == found.shape.log_stddev).all()
        assert (again.mean == found.mean).all()
        assert again.ledger == found.ledger


def test_the_same_records_in_other_clothes(table):
    plain = released(table)
    assert (released(pd.DataFrame(table)).mean == plain.mean).all()
    assert (released(np.asfortranarray(table)).mean == plain.mean).all()
    assert (released(table.astype(np.longdouble)).mean == plain.mean).all()
    sparse_table = np.where(np.abs(table) < 1.0, 0.0, table)
    assert (released(sparse.csr_array(sparse_table)).mean == released(sparse_table).mean).all()


# invalid rows


@both
def test_invalid_rows_have_no_weight(table, relation):
    table[:5, 2] = [np.nan, np.inf, -np.inf, np.nan, np.inf]
    with pytest.raises(InvalidRecords, match="on_missing"):
        release(table, relation)
    found = released(table, relation, on_missing="drop")
    assert np.abs(found.mean - TRUTH).max() < 1.0


def test_a_table_of_invalid_rows_is_refused():
    assert release(np.full((COUNT, 3), np.nan), on_missing="drop").refused


# nothing of a record shows


def shown(text):
    return any(f"{value:.6g}"[:6] in text for value in (CANARY, -CANARY))


@both
def test_a_canary_shows_nowhere(table, relation, caplog, capsys):
    table[3] = CANARY
    caplog.set_level(logging.DEBUG)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = released(table, relation)
    texts = [repr(found), str(found), found.to_json(), repr(found.shape), repr(found.ledger), caplog.text]
    texts += [*capsys.readouterr(), *(" ".join(row) for row in found.ledger.summary_rows())]
    assert not any(shown(text) for text in texts)


@pytest.mark.parametrize("bad", [{"window": (5.0, 1.0)}, {"tails": "light"}, {"on_missing": "neutral"}])
def test_a_canary_shows_in_no_error(table, bad):
    table[3] = CANARY
    table[4] = np.nan
    with pytest.raises(DimfreeError) as caught:
        release(table, **bad)
    assert not shown(str(caught.value))
    with pytest.raises(InvalidRecords) as caught:
        release(table)
    assert not shown(str(caught.value))
    assert str(COUNT) not in str(caught.value)


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


def test_a_single_column_that_varies(rng):
    table = np.zeros((COUNT, 30))
    table[:, 11] = rng.normal(size=COUNT)
    assert near(released(table), table, 0.2)


@both
def test_duplicated_rows(table, relation):
    found = released(np.repeat(table[:60], 10, axis=0), relation)
    assert near(found, table[:60], 12 * found.noise_stddev)


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


@both
@pytest.mark.parametrize("count", [0, 1, 2, 3, 10])
@pytest.mark.parametrize("dimension", [1, 5])
def test_hardly_any_records_are_refused(relation, count, dimension):
    assert release(np.ones((count, dimension)), relation).refused


@both
def test_one_dimension(rng, relation):
    table = rng.normal(size=(COUNT, 1)) + 3.0
    found = released(table, relation)
    assert abs(found.mean[0] - table.mean()) < 0.08


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


@both
@pytest.mark.filterwarnings("error")
def test_far_from_zero(table, relation):
    found = released(table + 1e9, relation)
    assert near(found, table + 1e9, 8 * found.noise_stddev + 1e-6)


def test_more_columns_than_records(rng):
    table = rng.normal(size=(COUNT, 1500)) * np.geomspace(3, 0.01, 1500)
    found = released(table)
    assert np.linalg.norm(found.mean - table.mean(axis=0)) < 2 * found.error_radius(0.99, target="sample")


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


def test_a_scale_to_learn_needs_a_covariance(table):
    with pytest.raises(InvalidParameter, match="covariance"):
        release(table, scale="learn")
