"""What every way of releasing a mean guarantees, under both neighboring relations."""

import math
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from flat_options import with_options
from recording import RecordingNoise
from routes import through_the_core
from scipy import sparse

from dimfree.data import records
from dimfree.data.records import Records
from dimfree.errors import InvalidParameter, InvalidRecords, RefusedRelease
from dimfree.kernel.rows.grid import RADIUS
from dimfree.noise import SeededNoise, SystemNoise
from dimfree.release import release_mean
from dimfree.results.release import Release
from dimfree.shapes import Dense, Diagonal, Isotropic, LowRank

ADD, REPLACE = "add-remove", "replace-one"
KNOWN = {"known": {}, "known, replace-one": {"neighbours": REPLACE}}
CORE, COLUMNS = {"shape": None, "epsilon": 6.0}, {"shape": None, "objective": "relative"}
WAYS = {
    **KNOWN,
    "core": CORE,
    "core, replace-one": {**CORE, "neighbours": REPLACE},
    "columns": COLUMNS,
    "columns, replace-one": {**COLUMNS, "neighbours": REPLACE},
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
known_way = pytest.mark.parametrize("way", KNOWN.values(), ids=KNOWN.keys())
COUNT, DIMENSION = 467, 3


def release(X, way, **changes):
    given = {"epsilon": 4.0, "delta": 1e-6, "shape": Isotropic(1.0), "noise": SeededNoise(7), **way, **changes}
    if "covariance" in changes:
        given.pop("shape")
    with through_the_core() if way.get("epsilon") == 6.0 else nullcontext():
        return release_mean(X, **with_options(**given))


def released(X, way, **changes):
    found = release(X, way, **changes)
    assert not found.refused, found.refusal
    return found


class NoDraws:
    """Noise that may not be drawn."""

    private = False

    def __getattr__(self, name):
        raise AssertionError("noise was drawn for a call that is an error")


# A mean comes out, near the truth, marked with its promise


@every_way
def test_a_mean_is_released_near_the_truth(table, way):
    found = released(table, way)
    assert found.mean.shape == found.noise_stddev.shape == (DIMENSION,)
    sampling = 1 / math.sqrt(COUNT)
    assert np.all(np.abs(found.mean - 2.0) < 8 * np.hypot(found.noise_stddev, sampling))
    assert np.all(found.noise_stddev < 2.0)
    assert not found.guarantee.private
    assert (found.guarantee.epsilon, found.guarantee.delta) == (way.get("epsilon", 4.0), 1e-6)
    assert found.guarantee.neighbours == way.get("neighbours", ADD)


@pytest.mark.system_noise
@every_way
def test_the_default_noise_is_private_and_fresh(table, way):
    tries = [release(table, way, noise=None) for _ in range(5)]
    one, two = [found for found in tries if not found.refused][:2]  # a hundredth of them may refuse
    assert one.guarantee.private
    assert not np.array_equal(one.mean, two.mean)
    assert release(table, way, noise=SystemNoise()).guarantee.private


@every_way
def test_a_seed_reproduces_a_release(table, way):
    assert release(table, way) == release(table, way)
    assert release(table, way) != release(table, way, noise=SeededNoise(8))


@every_way
def test_a_release_survives_json(table, way):
    found = released(table, way)
    assert Release.from_json(found.to_json()) == found


@known_way
@pytest.mark.parametrize(
    "shape",
    [
        Isotropic(1.0),
        Diagonal([1.0, 1.1, 0.9]),
        Dense(np.eye(3) + 0.1),
        LowRank(np.eye(3)[:, :1], [1.2], 1.0),
    ],
    ids=["isotropic", "diagonal", "dense", "low rank"],
)
def test_every_shape_releases(table, way, shape):
    found = released(table, way, shape=shape)
    assert np.all(np.abs(found.mean - 2.0) < 8 * np.hypot(found.noise_stddev, 0.05))


@known_way
def test_covariance_is_the_short_way(table, way):
    variances = np.array([1.0, 1.5, 0.5])
    assert released(table, way, covariance=variances) == released(table, way, shape=Diagonal(variances))


# The caller's data


@every_way
def test_the_input_is_left_alone(table, way):
    before = table.copy()
    released(table, way)
    assert np.array_equal(table, before)
    assert table.flags.writeable


@every_way
def test_the_kind_of_table_does_not_matter(table, way):
    dense = released(table, way)
    frame = released(pd.DataFrame(table, columns=["a", "b", "c"]), way)
    twins = [sparse.csr_array(table), np.asfortranarray(table)]
    for twin in twins:
        assert released(twin, way) == dense
    assert frame.columns == ("a", "b", "c")
    assert np.array_equal(frame.mean, dense.mean)
    assert np.array_equal(frame.noise_stddev, dense.noise_stddev)


@every_way
def test_how_the_table_is_cut_into_blocks_does_not_matter(monkeypatch, table, way):
    whole = released(table, way)
    monkeypatch.setattr(records, "_BLOCK_ENTRIES", 100)
    assert released(table, way) == whole


@every_way
def test_row_order_does_not_matter(table, way, rng):
    assert released(table[rng.permutation(COUNT)], way) == released(table, way)


# Equivariance


@known_way
@pytest.mark.parametrize("steps", [1, 2**30])
def test_moving_every_record_moves_the_mean(rng, way, steps):
    """By whole grid steps, so that rounding has no say: then exactly, up to the last bits of a float."""
    step = released(rng.normal(size=(COUNT, DIMENSION)), way).parameters["radius"] / RADIUS
    whole = np.rint(rng.normal(size=(COUNT, DIMENSION)) / step)
    here, there = released(whole * step, way), released((whole + steps) * step, way)
    assert np.allclose(there.mean, here.mean + steps * step, rtol=1e-14, atol=1e-14)
    assert np.array_equal(here.noise_stddev, there.noise_stddev)
    assert here.parameters == there.parameters


@known_way
def test_scaling_every_record_scales_the_release(table, way):
    """By a power of four, whose fourth root in the shape is exact: then bit for bit."""
    factor, variances = 4.0**-20, np.array([1.0, 1.5, 0.5])
    here = released(table, way, covariance=variances)
    there = released(table * factor, way, covariance=variances * factor**2)
    assert np.array_equal(there.mean, here.mean * factor)
    assert np.array_equal(there.noise_stddev, here.noise_stddev * factor)


# The ledger


@every_way
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (1.0, 1e-9), (40.0, 0.2)])
def test_the_ledger_composes_to_at_most_the_budget(table, way, epsilon, delta):
    found = release(table, way, epsilon=epsilon, delta=delta)
    assert found.ledger.delta() <= delta
    assert (found.ledger.budget.epsilon, found.ledger.budget.delta) == (epsilon, delta)
    assert found.ledger.neighbours == way.get("neighbours", ADD)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize(("epsilon", "delta"), [(1000.0, 1e-6), (10_000.0, 0.5), (0.3, 0.3)])
def test_an_odd_budget_is_kept_too(table, relation, epsilon, delta):
    found = release(table, {"neighbours": relation}, epsilon=epsilon, delta=delta)
    assert found.ledger.delta() <= delta


# Refusals


@every_way
@pytest.mark.parametrize("count", [0, 1, 5])
def test_few_records_are_refused_as_a_value(rng, way, count):
    found = release(rng.normal(size=(count, DIMENSION)), way, epsilon=1.0)
    assert found.refused
    assert found.refusal
    assert found.ledger.delta() <= 1e-6
    for name in ("mean", "noise_stddev"):
        with pytest.raises(RefusedRelease, match=name):
            getattr(found, name)
    assert Release.from_json(found.to_json()) == found


@known_way
def test_scattered_records_are_refused(rng, way):
    """Enough records, but no two of them near each other at the given covariance."""
    scattered = rng.normal(size=(COUNT, DIMENSION)) * 1e6
    assert release(scattered, way).refused


class Untouchable(Records):
    """Records whose number may be known and whose values may not."""

    __slots__ = ()

    def _unmasked(self, rows):
        raise AssertionError("a value was touched")


def test_too_few_records_are_refused_before_a_value_is_touched():
    """Under replace-one the number is public, and nothing else is needed to refuse."""
    secret = Untouchable(np.zeros((20, DIMENSION)), None)
    found = release(secret, {"neighbours": REPLACE}, on_missing="drop", epsilon=1.0, noise=NoDraws())
    assert found.refused
    assert found.ledger.before == found.ledger.after == ()


def test_a_released_count_that_is_too_low_refuses_before_a_value_is_touched():
    secret = Untouchable(np.zeros((20, DIMENSION)), None)
    found = release(secret, {}, on_missing="drop", epsilon=1.0)
    assert found.refused


@known_way
def test_tails_of_the_coin_refuse(table, way):
    """The bit alone decides: the same table is released or refused by it."""
    assert not release(table, way, noise=RecordingNoise(heads=True)).refused
    assert release(table, way, noise=RecordingNoise(heads=False)).refused


# Odd tables


@every_way
def test_one_dimension(rng, way):
    found = released(rng.normal(5.0, 1.0, size=(COUNT, 1)), way)
    assert abs(found.mean[0] - 5.0) < 8 * np.hypot(found.noise_stddev[0], 0.05)


@known_way
@pytest.mark.parametrize("value", [0.0, 1e9])
def test_equal_records(way, value):
    found = released(np.full((COUNT, DIMENSION), value), way)
    grid = found.parameters["radius"] / RADIUS
    assert np.all(np.abs(found.mean - value) < 8 * found.noise_stddev + grid + 1e-12 * abs(value))


@every_way
def test_enormous_values_among_honest_ones(table, way):
    table[:2] = [[1e300, -1e300, 1e300], [-1.7e308, 1.7e308, 0.0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = released(table, way)
    assert np.all(np.abs(found.mean - 2.0) < 1.0)


@every_way
def test_more_columns_than_rows(rng, way):
    found = release(rng.normal(size=(60, 200)), way)
    assert found.refused or found.mean.shape == (200,)


# Invalid rows


@every_way
def test_invalid_rows_are_all_the_same(table, way):
    """Not a number, infinite in one place, missing in another: one kind of record, wherever it stands."""
    rows = [[np.nan] * 3, [np.inf, 0.0, 5.0], [1e9, 0.0, np.nan]]
    found = [released(np.vstack([table, row]), way, on_missing="drop") for row in rows]
    assert all(one == found[0] for one in found)


@every_way
def test_an_invalid_row_is_counted(table, way):
    """Under add/remove it is one person of the private number; under replace-one of the public one."""
    with_row = released(np.vstack([table, [np.nan] * 3]), way, on_missing="drop")
    without = released(table, way, on_missing="drop")
    if "count" in with_row.parameters:
        assert with_row.parameters["count"] == without.parameters["count"] + 1
    else:
        assert with_row != without


@every_way
def test_only_invalid_rows_are_refused(way):
    assert release(np.full((COUNT, DIMENSION), np.nan), way, on_missing="drop").refused


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_invalid_rows_raise_by_default(table, bad):
    table[5, 1] = bad
    with pytest.raises(InvalidRecords, match="on_missing"):
        release(table, {}, noise=NoDraws())


# Bad input: typed, before anything is drawn


BAD = {
    "no epsilon": {"epsilon": 0.0},
    "negative epsilon": {"epsilon": -1.0},
    "infinite epsilon": {"epsilon": math.inf},
    "epsilon not a number": {"epsilon": math.nan},
    "epsilon a word": {"epsilon": "1"},
    "epsilon a truth value": {"epsilon": True},
    "no delta": {"delta": 0.0},
    "delta one": {"delta": 1.0},
    "delta above one": {"delta": 1.5},
    "delta negative": {"delta": -1e-6},
    "unknown neighbours": {"neighbours": "replace"},
    "unknown tails": {"tails": "light"},
    "unknown rule": {"on_missing": "neutral"},
    "failure probability zero": {"failure_probability": 0.0},
    "failure probability one": {"failure_probability": 1.0},
    "too many outliers": {"outliers": 0.5},
    "negative outliers": {"outliers": -0.1},
    "too few variances": {"covariance": np.ones(2)},
    "a matrix of the wrong size": {"covariance": np.eye(4)},
    "an oblong matrix": {"covariance": np.ones((3, 2))},
    "a negative variance": {"covariance": np.array([1.0, -1.0, 1.0])},
    "a zero variance": {"covariance": np.array([1.0, 0.0, 1.0])},
    "an infinite variance": {"covariance": np.array([1.0, np.inf, 1.0])},
    "an asymmetric matrix": {"covariance": np.array([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 1]])},
    "a singular matrix": {"covariance": np.ones((3, 3))},
    "a shape of another dimension": {"shape": Diagonal([1.0, 1.0])},
    "a shape that is none": {"shape": "round"},
    "a word for the covariance": {"covariance": "auto"},
    "a window upside down": {"window": (1.0, 0.1)},
    "a window of three": {"window": (1.0, 2.0, 3.0)},
    "a window from zero": {"window": (0.0, 1.0)},
    "a scale with a learned shape": {"shape": "auto", "scale": "learn"},
}


@pytest.mark.parametrize("changes", BAD.values(), ids=BAD.keys())
def test_a_bad_parameter_is_named(table, changes):
    with pytest.raises(InvalidParameter) as error:
        release(table, {}, noise=NoDraws(), **changes)
    assert any(name in str(error.value) for name in (*changes, "symmetric", "definite", "shape"))


def test_neither_covariance_nor_shape_means_that_the_shape_is_learned(table):
    one, other = (
        release_mean(table, **with_options(epsilon=1.0, delta=1e-6, noise=SeededNoise(1), **options))
        for options in ({}, {"shape": "auto"})
    )
    assert one == other
    assert one.method == "columns"


def test_both_covariance_and_shape_is_one_too_many(table):
    with pytest.raises(InvalidParameter, match="not both"):
        release_mean(table, epsilon=1.0, delta=1e-6, covariance=np.ones(3), shape=Isotropic(1.0))


def test_there_is_no_default_budget(table):
    with pytest.raises(TypeError):
        release_mean(table, shape=Isotropic(1.0))
    with pytest.raises(TypeError):
        release_mean(table, 1.0, 1e-6, shape=Isotropic(1.0))
