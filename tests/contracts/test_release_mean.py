"""What every way of releasing a mean guarantees, under both neighboring relations."""

import math
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from recording import RecordingNoise
from routes import through_the_core, with_options

from dimfree.data.records import Records
from dimfree.errors import InvalidDataError, InvalidParameterError, RefusedReleaseError
from dimfree.kernel.statistics.friends import RADIUS
from dimfree.noise import SeededNoise, SystemNoise
from dimfree.release import release_mean
from dimfree.results.release import Release
from dimfree.shapes import DenseCovariance, DiagonalCovariance, IsotropicCovariance, LowRankCovariance

ADD, REPLACE = "add-remove", "replace-one"
KNOWN = {"known": {}, "known, replace-one": {"neighbors": REPLACE}}
CORE, COLUMNS = {"covariance": None, "epsilon": 6.0}, {"covariance": None, "objective": "relative"}
WAYS = {
    **KNOWN,
    "core": CORE,
    "core, replace-one": {**CORE, "neighbors": REPLACE},
    "columns": COLUMNS,
    "columns, replace-one": {**COLUMNS, "neighbors": REPLACE},
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
known_way = pytest.mark.parametrize("way", KNOWN.values(), ids=KNOWN.keys())
COUNT, DIMENSION = 467, 3


def release(X, way, **changes):
    given = {
        "epsilon": 4.0,
        "delta": 1e-6,
        "covariance": IsotropicCovariance(1.0),
        "noise": SeededNoise(7),
        **way,
        **changes,
    }
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
    assert found.guarantee.neighbors == way.get("neighbors", ADD)


@pytest.mark.system_noise
@every_way
def test_the_default_noise_is_private_and_fresh(table, way):
    tries = [release(table, way, noise=None) for _ in range(5)]
    one, two = [found for found in tries if not found.refused][:2]  # a hundredth of them may refuse
    assert one.guarantee.private
    assert not np.array_equal(one.mean, two.mean)
    assert release(table, way, noise=SystemNoise()).guarantee.private


@every_way
def test_a_seed_reproduces_a_release_and_json_keeps_it(table, way):
    found = released(table, way)
    assert found == release(table, way) == Release.from_json(found.to_json())
    assert found != release(table, way, noise=SeededNoise(8))


SHAPES = [
    IsotropicCovariance(1.0),
    DiagonalCovariance([1.0, 1.1, 0.9]),
    DenseCovariance(np.eye(3) + 0.1),
    LowRankCovariance(np.eye(3)[:, :1], [1.2], 1.0),
]


@known_way
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_every_shape_releases(table, way, shape):
    found = released(table, way, covariance=shape)
    assert np.all(np.abs(found.mean - 2.0) < 8 * np.hypot(found.noise_stddev, 0.05))
    if isinstance(shape, DiagonalCovariance):
        assert released(table, way, covariance=shape.variances) == found  # the short way


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


BUDGETS = [(0.5, 1e-5), (1.0, 1e-9), (40.0, 0.2), (1000.0, 1e-6), (10_000.0, 0.5), (0.3, 0.3)]


@every_way
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_ledger_composes_to_at_most_the_budget(table, way, epsilon, delta):
    found = release(table, way, epsilon=epsilon, delta=delta)
    assert found.charges.delta() <= delta
    assert (found.charges.budget.epsilon, found.charges.budget.delta) == (epsilon, delta)
    assert found.charges.neighbors == way.get("neighbors", ADD)


# Refusals


@every_way
@pytest.mark.parametrize("count", [0, 1, 5])
def test_few_records_are_refused_as_a_value(rng, way, count):
    found = release(rng.normal(size=(count, DIMENSION)), way, epsilon=1.0)
    assert found.refused
    assert found.refusal
    assert found.charges.delta() <= 1e-6
    for name in ("mean", "noise_stddev"):
        with pytest.raises(RefusedReleaseError, match=name):
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

    def _read_dense_blocks(self, rows):
        raise AssertionError("a value was touched")


def test_too_few_records_are_refused_before_a_value_is_touched():
    """Under replace-one the number is public, and nothing else is needed to refuse; else the released one is."""
    secret = Untouchable(np.zeros((20, DIMENSION)), None)
    found = release(secret, {"neighbors": REPLACE}, missing="complete-case", epsilon=1.0, noise=NoDraws())
    assert found.refused
    assert found.charges.before == found.charges.after == ()
    assert release(secret, {}, missing="complete-case", epsilon=1.0).refused


@known_way
def test_tails_of_the_coin_refuse(table, way):
    """The bit alone decides: the same table is released or refused by it."""
    assert not release(table, way, noise=RecordingNoise(heads=True)).refused
    assert release(table, way, noise=RecordingNoise(heads=False)).refused


# Odd tables; more in test_odd_tables.py


@every_way
def test_enormous_values_among_honest_ones(table, way):
    table[:2] = [[1e300, -1e300, 1e300], [-1.7e308, 1.7e308, 0.0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = released(table, way)
    assert np.all(np.abs(found.mean - 2.0) < 1.0)


# Invalid rows


@every_way
def test_an_invalid_row_is_counted(table, way):
    """Under add/remove it is one person of the private number; under replace-one of the public one."""
    with_row = released(np.vstack([table, [np.nan] * 3]), way, missing="complete-case")
    without = released(table, way, missing="complete-case")
    if "count" in with_row.parameters:
        assert with_row.parameters["count"] == without.parameters["count"] + 1
    else:
        assert with_row != without


@every_way
def test_only_invalid_rows_are_refused(way):
    assert release(np.full((COUNT, DIMENSION), np.nan), way, missing="complete-case").refused


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_invalid_rows_raise_by_default(table, bad):
    table[5, 1] = bad
    with pytest.raises(InvalidDataError, match="missing"):
        release(table, {}, noise=NoDraws())


# Bad input: typed, before anything is drawn


NAN, INF = math.nan, math.inf
BAD = {
    "epsilon": (0.0, -1.0, INF, NAN, "1", True),
    "delta": (0.0, 1.0, 1.5, -1e-6),
    "neighbors": ("replace",),
    "tails": ("light",),
    "missing": ("neutral",),
    "failure_probability": (0.0, 1.0),
    "outliers": (0.5, -0.1),
    "covariance": (
        np.ones(2), np.eye(4), np.ones((3, 2)), np.array([1.0, -1.0, 1.0]), np.array([1.0, 0.0, 1.0]),
        np.array([1.0, INF, 1.0]), np.array([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 1]]), np.ones((3, 3)), np.ones((3, 3, 3)),
        DiagonalCovariance([1.0, 1.0]), "auto", "round",
    ),
    "window": (
        (1.0, 0.1), (1.0, 1.5), (1.0, 2.0, 3.0), (1.0,), (0.0, 1.0), (-1.0, 1.0), (1e-70, 1.0), (1.0, 1e70), 5.0, None,
        "ab", (NAN, 10.0), (INF, 10.0), (True, 10.0), ("1", 10.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [pytest.param(name, bad, id=f"{name} {bad}") for name in BAD for bad in BAD[name]]
)
def test_a_bad_parameter_is_named(table, name, value):
    with pytest.raises(InvalidParameterError) as error:
        release(table, {}, noise=NoDraws(), **{name: value})
    assert any(word in str(error.value) for word in (name, "symmetric", "definite", "shape"))


def test_what_does_not_go_together_is_said(table):
    with pytest.raises(InvalidParameterError, match="covariance"):
        release(table, {}, noise=NoDraws(), covariance=None, scale="learn")
    for given in ((), (1.0, 1e-6)):  # there is no default budget, and none by position
        with pytest.raises(TypeError):
            release_mean(table, *given, covariance=IsotropicCovariance(1.0))


def test_without_a_covariance_every_column_is_estimated_separately(table):
    assert release_mean(table, epsilon=1.0, delta=1e-6, noise=SeededNoise(1)).method == "columns"


# The stable core without prior knowledge

TRUTH, STDDEV = np.array([5.0, -3.0, 0.0, 100.0]), np.array([4.0, 1.0, 1.0, 0.2])
relations = pytest.mark.parametrize("neighbors", [ADD, REPLACE])


@pytest.fixture
def uneven(rng):
    return rng.normal(size=(600, 4)) * STDDEV + TRUTH


def near(found, X, allowed):
    return bool((np.abs(found.mean - np.asarray(X, dtype=float).mean(axis=0)) <= allowed).all())


@relations
def test_a_shift_shifts_and_a_change_of_units_changes_the_units(uneven, neighbors):
    """Up to the grids, which are relative to the scale found, and by a power of their ratio."""
    plain, shifted, larger = (
        released(X, CORE, neighbors=neighbors, noise=RecordingNoise())
        for X in (uneven, uneven + 1000.0, uneven * 1.54**3)
    )
    assert plain.estimated_variances.variances.argmax() == 0
    assert 4 < plain.estimated_variances.variances[0] < 64
    assert shifted.mean - 1000 == pytest.approx(plain.mean, abs=0.01)
    assert larger.mean / 1.54**3 == pytest.approx(plain.mean, abs=0.01)
    assert larger.noise_stddev / 1.54**3 == pytest.approx(plain.noise_stddev, rel=0.2)


@relations
def test_constant_columns(uneven, neighbors):
    uneven[:, 1], uneven[:, 3] = 7.0, 0.0
    found = released(uneven, CORE, neighbors=neighbors)
    assert near(found, uneven, 8 * found.noise_stddev)
    assert found.estimated_variances.variances[[1, 3]].max() < 0.05 * found.estimated_variances.variances[0]


def test_one_column_of_huge_scale_needs_a_wider_window(uneven):
    uneven[:, 2] *= 1e12
    assert release(uneven, CORE).refused
    found = released(uneven, CORE, window=(1.0, 1e15))
    assert abs(found.mean[2] - uneven[:, 2].mean()) < 0.3e12
    assert near(found, uneven, 12 * found.noise_stddev)


def test_a_narrow_window_is_cheaper(uneven):
    """Fewer cells, fewer questions: the search of the radius asks for fewer counts."""
    ledgers = [released(uneven, CORE, window=window).charges for window in ((1e-6, 1e6), (0.5, 50.0))]
    wide, narrow = (next(e for e in each.searches if e.purpose == "friend radius") for each in ledgers)
    assert narrow.dimension < wide.dimension


@relations
@pytest.mark.parametrize("scale", [1e307, 1e200, 1e-200, 1e-310, 5e-324], ids=str)
@pytest.mark.filterwarnings("error")
def test_scales_at_the_ends_of_the_floats_are_refused(uneven, neighbors, scale):
    assert release((uneven - TRUTH) * scale, CORE, neighbors=neighbors).refused


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.float32, np.bool_, np.int64])
def test_numbers_of_other_kinds(rng, kind):
    """The last ones would overflow if they were squared."""
    rows, window = (rng.normal(size=(600, 3)) * 20 + 60).clip(0, 120), (1e-6, 1e6)
    if kind is np.bool_:
        rows = rng.random((600, 3)) < [0.5, 0.4, 0.6]
    if kind is np.int64:
        rows, window = (rng.normal(size=(600, 3)) * 1e12).astype(np.int64) + 2**53, (1e6, 1e15)
    rows = rows.astype(kind)
    found = released(rows, CORE, window=window)
    assert near(found, rows, 8 * found.noise_stddev)
