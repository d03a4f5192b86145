"""Whole releases column by column: totals, refusals, objectives, flags, constants, units."""

import zlib

import numpy as np
import pandas as pd
import pytest
from recording import RecordingNoise
from routes import with_options
from scipy import sparse
from scipy.special import ndtri
from states import drawn_in, precision

from dimfree import read_table, release_mean
from dimfree.errors import InvalidParameterError
from dimfree.planning.question import SPECTRA, draw
from dimfree.results.release import Release
from dimfree.shapes import IsotropicCovariance
from dimfree.testing import SeededNoise

ADD, REPLACE = "add-remove", "replace-one"
BUDGET = {"epsilon": 2.0, "delta": 1e-6}
COUNT, COLUMNS = 2000, 6
both = pytest.mark.parametrize("relation", [ADD, REPLACE])
CONSTANTS = np.array([-3.5, 1e6, 1e-5, 4e20, -0.1])


def ordinary(rng, count=COUNT):
    """Units from 1e-5 to 1e6, no column alike."""
    columns = [
        1e6 + rng.normal(size=count),
        rng.lognormal(8, 0.6, count),
        rng.poisson(4, count),
        rng.random(count) < 0.4,
        1e-5 * rng.normal(3, 1, count),
        -70 + 12 * rng.normal(size=count),
    ]
    return np.column_stack(columns).astype(float)


TABLES = {
    "ordinary": ordinary,
    "constant": lambda rng: np.full((COUNT, COLUMNS), 7.25),
    "zeros": lambda rng: np.zeros((COUNT, COLUMNS)),
    "largest numbers": lambda rng: rng.choice([-1.7e308, 1.7e308], (COUNT, COLUMNS)),
    "all decades": lambda rng: 10 ** rng.uniform(-15, 25, (COUNT, COLUMNS)),
    "one far record": lambda rng: np.vstack([ordinary(rng), np.full(COLUMNS, 1e300)]),
}


def release(X, relation=ADD, **given):
    return release_mean(X, **with_options(**{**BUDGET, "neighbors": relation, "objective": "relative", **given}))


@pytest.fixture(scope="module")
def table():
    return ordinary(np.random.default_rng(3))


# --- charges ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_totals_stay_within_the_branch(name):
    """Whatever was seen, for ten seeds: all of the precision is used, and no more."""
    rows = TABLES[name](np.random.default_rng(1))
    for seed in range(10):
        relation = (ADD, REPLACE)[seed % 2]
        found = release(rows, relation, noise=SeededNoise(seed))
        branch = found.charges.branches[found.charges.chosen]
        assert 0.999 * branch.mu**2 < precision(found.charges.after) <= branch.mu**2
        assert found.charges.delta() <= BUDGET["delta"]
        assert not found.refused
        assert np.isfinite([found.mean, found.noise_stddev]).all()


# --- refusals ---------------------------------------------------------------------------------------------------------


@both
def test_the_refusal_is_public_and_names_no_number_of_records(relation):
    noise = RecordingNoise()
    found = release(np.zeros((73, 9)), relation, epsilon=0.5, noise=noise)
    assert found.refusal.startswith("Too few records for objective='relative' with 9 columns at this budget")
    assert "73" not in found.refusal
    assert found.charges.after == ()
    assert found.charges.chosen is None
    assert len(noise.asked) == (1 if relation == ADD else 0)
    assert found.refusal == release(1e9 * np.ones((73, 9)), relation, epsilon=0.5, noise=RecordingNoise()).refusal


def test_under_replace_one_a_refusal_costs_nothing():
    found = release(np.zeros((73, 9)), REPLACE, epsilon=0.5, noise=RecordingNoise())
    assert found.charges.events == ()
    assert found.charges.delta() == 0


class LowCount(RecordingNoise):
    """The first draw, of the number of records, as low as one in a hundred; no noise otherwise."""

    def gaussian(self, stddev, size):
        low = 0.0 if self.asked else ndtri(0.01) * stddev
        return super().gaussian(stddev, size) + round(low)


@both
def test_as_many_as_the_refusal_says_are_enough_but_for_one_release_in_a_hundred(relation):
    few = release(np.zeros((73, 9)), relation, epsilon=0.5, noise=RecordingNoise())
    needed = int(few.refusal.split("about ")[1].split(" are")[0])
    noise = LowCount if relation == ADD else RecordingNoise
    assert not release(np.zeros((needed + 1, 9)), relation, epsilon=0.5, noise=noise()).refused
    assert release(np.zeros((needed - 1, 9)), relation, epsilon=0.5, noise=noise()).refused


# --- what was done ----------------------------------------------------------------------------------------------------


@both
def test_named_columns_are_weighed_by_their_spread_and_arrays_by_the_total_error(table, relation):
    named = pd.DataFrame(table, columns=list("abcdef"))
    for X, objective in ((named, "relative"), (table, "total")):
        found = release(X, relation, objective="auto", noise=SeededNoise(1))
        assert found.method == "columns"
        assert found.parameters["objective"] == objective
    assert release(table, relation, noise=SeededNoise(1)).parameters["objective"] == "relative"
    assert release(named, relation, objective="total", noise=SeededNoise(1)).parameters["objective"] == "total"


KNOWN = {
    "covariance": {"covariance": np.ones(COLUMNS)},
    "shape": {"covariance": IsotropicCovariance(1.0)},
    "basis": {"basis": "dct"},
}


@pytest.mark.parametrize("name", KNOWN)
def test_relative_with_other_knowledge_is_refused_before_anything_is_read(name):
    with pytest.raises(InvalidParameterError, match="objective='relative'"):
        release(None, **KNOWN[name])
    with pytest.raises(InvalidParameterError, match="objective"):
        release(None, objective="absolute")


@both
def test_a_release_survives_json(table, relation):
    found = release(table, relation, noise=SeededNoise(2))
    text = found.to_json()
    read = Release.from_json(text)
    assert read.to_json() == text
    np.testing.assert_array_equal(read.mean, found.mean)
    np.testing.assert_array_equal(read.clipping.scale, found.clipping.scale)
    np.testing.assert_array_equal(read.resolved, found.resolved)
    assert read.parameters["objective"] == "relative"


def test_the_mean_is_that_of_the_records_drawn_in(table):
    """Without any noise, but for the grid of the sum."""
    for objective in ("relative", "total"):
        found = release(table, REPLACE, objective=objective, noise=RecordingNoise())
        off = np.abs(found.mean - drawn_in(table, found.clipping))
        assert (off <= 1e-6 * found.clipping.column_radii + 1e-12 * np.abs(found.mean)).all()


# --- flags, constants, units ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_ordinary_columns_are_resolved_and_zeros_are_not(table, seed):
    rows = np.column_stack([table, np.zeros(COUNT)])
    found = release(rows, noise=SeededNoise(seed))
    assert found.resolved.tolist() == [True] * COLUMNS + [False]


@pytest.mark.parametrize("share", [0.01, 0.02])
def test_a_column_of_nearly_all_zeros_is_not_resolved_by_its_scores(share):
    """How large its rare entries are was not seen, and a score cannot tell."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(COUNT, COLUMNS))
    rows[:, 2] *= 1e3 * (rng.random(COUNT) < share)
    for seed in range(5):
        found = release(rows, noise=SeededNoise(seed))
        assert np.flatnonzero(~found.resolved).tolist() == [2]


@both
def test_constant_columns_have_noise_at_the_resolution_of_other_values(table, relation):
    """Nobody can tell a constant from a column in which few people have another value of its size."""
    rows = np.column_stack([np.tile(CONSTANTS, (COUNT, 1)), table])
    for seed in range(5):
        found = release(rows, relation, epsilon=4.0, noise=SeededNoise(seed))
        off, noise = np.abs(found.mean - rows.mean(axis=0)), found.noise_stddev
        some, sizes = slice(len(CONSTANTS)), np.abs(CONSTANTS)
        assert (off[some] < 5 * noise[some]).all()
        assert ((noise[some] > 1e-5 * sizes) & (noise[some] < 0.1 * sizes)).all()
        assert not found.resolved[some].any()


@pytest.mark.parametrize("objective", ["relative", "total"])
def test_noise_over_spread_does_not_depend_on_the_units(objective):
    """Of columns multiplied by powers of 8: under "total" by one power, since columns are compared there."""
    rng = np.random.default_rng(6)
    rows = ordinary(rng, 8000)[:, [0, 1, 2, 5]]
    powers = 8.0 ** np.array([5, -4, 3, -2]) if objective == "relative" else np.full(4, 8.0**4)
    ratios = [
        np.array([release(X, epsilon=4.0, objective=objective, noise=SeededNoise(s)).noise_stddev for s in range(6)])
        for X in (rows, rows * powers)
    ]
    changed = np.median(ratios[1] / powers / ratios[0], axis=0)
    assert (np.abs(changed - 1) < 0.2).all()


# --- columns of nearly one value, and groups far outside --------------------------------------------------------------


def nearly_all(value, other):
    """97 % of the entries are one value, the others lie between another one and it."""
    return lambda rng, n: np.where(rng.random(n) < 0.97, value, rng.uniform(*sorted((other, value)), n))


@both
@pytest.mark.parametrize("columns", [1, 2, 6])
@pytest.mark.parametrize("count", [600, 1000, 2870])
@pytest.mark.parametrize(("value", "other"), [(45.0, 0.0), (1.0, 0.0), (-300.0, -200.0)])
def test_a_column_of_nearly_one_value_is_covered_or_marked(relation, columns, count, value, other):
    """Its noise is not below the resolution at which other values would have been seen."""
    for seed in range(2):
        rng = np.random.default_rng(100 + seed)
        rows = 10 + 3 * rng.normal(size=(count, columns))
        rows[:, 0] = nearly_all(value, other)(rng, count)
        found = release(rows, relation, epsilon=1.0, noise=SeededNoise(seed))
        mean, spread = rows[:, 0].mean(), rows[:, 0].std()
        low, high = (ends[0] for ends in found.confidence_interval(0.99, target="sample"))
        assert found.noise_stddev[0] > 1e-4 * spread
        assert low <= mean <= high or not found.resolved[0] or abs(found.mean[0] - mean) < 0.1 * spread
        assert columns == 1 or not found.without_interval[0]


def with_far_group(rng, count, columns, share):
    rows = 10 + 3 * rng.normal(size=(count, columns))
    rows[:, 0] = rng.lognormal(0.0, 0.3, count) * np.where(rng.random(count) < share, 50.0, 1.0)
    return rows


@both
@pytest.mark.parametrize(
    ("columns", "count", "share"),
    [
        *((1, count, share) for count in (600, 1000, 2870) for share in (0.1, 0.2)),
        (1, 2870, 0.05),
        *((2, 2870, share) for share in (0.05, 0.1, 0.2)),
        (6, 2870, 0.2),
    ],
)
def test_a_far_group_is_covered_or_marked(relation, columns, count, share):
    """Entries 50 times larger than the others. Smaller groups, among fewer people, are below what any look can see."""
    for seed in range(3):
        rows = with_far_group(np.random.default_rng(100 + seed), count, columns, share)
        found = release(rows, relation, epsilon=1.0, noise=SeededNoise(seed))
        low, high = (ends[0] for ends in found.confidence_interval(0.99, target="sample"))
        assert low <= rows[:, 0].mean() <= high or not found.resolved[0]


def test_a_far_group_too_small_for_the_histogram_of_its_column_is_found_by_votes():
    """The column is covered or marked, and costs the others little."""
    for seed in range(5):
        rows = with_far_group(np.random.default_rng(100 + seed), 2870, 6, 0.05)
        found, others = (release(X, epsilon=1.0, noise=SeededNoise(seed)) for X in (rows, rows[:, 1:]))
        low, high = (ends[0] for ends in found.confidence_interval(0.99, target="sample"))
        assert low <= rows[:, 0].mean() <= high or not found.resolved[0]
        assert found.resolved[1:].all()
        assert np.median(found.noise_stddev[1:] / others.noise_stddev) < 1.3 * np.sqrt(6 / 5)


def test_noise_of_the_magnitudes_is_no_far_group():
    """In this draw it looked like a group of normal records 10^9 times farther out, in one column of a hundred."""
    stddevs, name = SPECTRA["S2"](100), "relative, told nothing: S2, n = 10000, d = 100, ε = 1"
    rng = np.random.default_rng([20250101, zlib.crc32(name.encode()), 39])
    rows, _ = draw(stddevs, 10_000, rng)
    found = release(rows, epsilon=1.0, noise=SeededNoise(int(rng.integers(2**63))))
    assert (found.noise_stddev < 0.02 * stddevs).all()


@both
def test_a_far_group_that_is_seen_enters_the_scale(relation):
    for seed in range(5):
        rows = with_far_group(np.random.default_rng(seed), 2870, 2, 0.2)
        found = release(rows, relation, epsilon=1.0, noise=SeededNoise(seed))
        assert 0.5 < found.clipping.scale[0] / rows[:, 0].std() < 2
        assert abs(found.mean[0] - rows[:, 0].mean()) < 0.1 * rows[:, 0].std()


def test_far_records_leave_the_other_columns_their_population_intervals(table):
    far = table[:, 0] + np.where(np.arange(COUNT) % 25 == 0, 1e3, 0.0)
    found = release(np.column_stack([far, table]), noise=SeededNoise(4))
    (low, high), (least, most) = (found.confidence_interval(target=target) for target in ("population", "sample"))
    assert (np.isfinite(low) & (low < least) & (most < high))[~found.without_interval].all()
    assert Release.from_json(found.to_json()) == found


def test_a_column_whose_spread_is_learned_has_an_interval_however_narrow(table):
    found = release(np.column_stack([table, 1e6 + 1e-3 * np.arange(COUNT)]), noise=SeededNoise(4))
    assert not found.without_interval.any()
    assert np.isfinite(found.confidence_interval()[0]).all()
    assert "without_interval" not in found.error_model.to_dict()


# --- entries that are held --------------------------------------------------------------------------------------------


def in_parts(table, folder):
    return pytest.importorskip("dask.array").from_array(table, chunks=(300, -1))


def in_a_file(table, folder):
    np.save(folder / "table.npy", table)
    return read_table(folder / "table.npy")


FORMS = {"sparse": lambda table, folder: sparse.csr_array(table), "Dask": in_parts, "file": in_a_file}


@pytest.mark.parametrize("form", FORMS)
def test_held_entries_are_the_same_however_the_table_is_stored(form, tmp_path):
    """Zero lies far from some centers, too: what is not stored of a sparse table is held like the rest."""
    rng = np.random.default_rng(5)
    held = np.where(rng.random((COUNT, 20)) < 0.03, 1e4 * rng.normal(size=(COUNT, 20)), 7.0)
    held[rng.random(held.shape) < 0.01] = 0.0
    table = np.hstack([held, rng.normal(size=(COUNT, 20)) * (rng.random((COUNT, 20)) < 0.5)])
    dense = release(table, noise=SeededNoise(6))
    assert dense.clipping.column_bound < dense.clipping.radius  # it is the cap that holds them
    stored = release(FORMS[form](table, tmp_path), noise=SeededNoise(6))
    assert stored.mean.tobytes() == dense.mean.tobytes()
    assert stored.clipping.to_dict() == dense.clipping.to_dict()
