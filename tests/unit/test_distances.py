"""Friend pairs at any radius: the integer predicate pair by pair, whatever the location, the order and the company."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dimfree.core import distances, products
from dimfree.core.distances import PairDistances
from dimfree.grid import RADIUS, to_steps
from dimfree.rows import SparseRows

ON_GRID = 2.0**60  # in steps: a record with a coordinate there or beyond is nobody's friend


def friends_of(rows, others, radius):
    """The predicate in Python integers, for every pair of a row and another row."""
    step = radius / RADIUS
    z, w = to_steps(rows, step).astype(object), to_steps(others, step).astype(object)
    close = ((z[:, None] - w[None]) ** 2).sum(axis=2) <= RADIUS**2
    here, there = (np.abs(part).max(axis=1) < ON_GRID * step for part in (rows, others))
    return close.astype(bool) & here[:, None] & there[None]


def counted(rows, radius):
    """Σ_j c_j by the definition: every record is its own friend."""
    found = friends_of(rows, rows, radius)
    np.fill_diagonal(found, True)
    return int(found.sum())


def as_sparse(rows):
    return SparseRows(sparse.csr_array(rows))


def assert_exact(rows, radii):
    both = PairDistances.of(rows, 0), PairDistances.of(as_sparse(rows), 0)
    for radius in radii:
        expected = counted(rows, float(radius))
        assert [pairs.friend_pairs(float(radius)) for pairs in both] == [expected, expected]


def gaps(rows):
    """All distances between rows, up to rounding: the radii at which something happens."""
    left, right = np.triu_indices(len(rows), k=1)
    return np.sqrt(((rows[left] - rows[right]) ** 2).sum(axis=1))


STEPS_ASIDE = [-30, -8, -3, -2, -1, -0.5, 0, 0.5, 1, 2, 3, 8, 30]


@pytest.mark.parametrize("location", [0.0, 1e6, 1e8, 1e10, 1e11, 5e11, -3e12])
@pytest.mark.parametrize("dimension", [1, 3, 20])
def test_radii_a_few_steps_from_a_distance(seed, location, dimension):
    """Where quotients by the step have lost their last bits, the screen must leave the pair to the integers."""
    rows = location + np.random.default_rng(seed).normal(size=(9, dimension))
    assert_exact(rows, [gap * (1 + k / RADIUS) for gap in gaps(rows)[::3] for k in STEPS_ASIDE])


@pytest.mark.parametrize("location", [0.0, 1e8])
@pytest.mark.parametrize("radius", [1e-12, 1e-6, 0.5, 1.0, 2.0, 3.0, 1e6, 1e12])
def test_ties_and_duplicates(location, radius):
    lattice = np.array([[i, j] for i in range(4) for j in range(3)] * 2, dtype=np.float64) + location
    assert_exact(lattice, [radius, np.nextafter(radius, 0), np.nextafter(radius, np.inf), radius * 5**0.5])


@pytest.mark.parametrize("scale", [1e-80, 1e-12, 1.0, 1e12, 1e80])
def test_every_scale(seed, scale):
    rows = np.random.default_rng(seed).normal(size=(12, 4)) * scale
    assert_exact(rows, [scale * factor for factor in (1e-6, 0.3, 1.0, 2.5, 1e6)] + list(gaps(rows)[:20]))


@pytest.mark.parametrize("dimension", [1000, 10_000])
def test_many_coordinates_at_a_distance(seed, dimension):
    rows = 1e9 + np.random.default_rng(seed).normal(size=(5, dimension))
    assert_exact(rows, [gap * (1 + k / RADIUS) for gap in gaps(rows)[::5] for k in (-40, 0, 1)])


values = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 2.0, 1e8, 1e8 + 1, 1e12, -1e12, 1e160, 1e300, -1e300, 1.7e308, 5e-324]),
    st.floats(-4, 4),
    st.floats(allow_nan=False, allow_infinity=False),
)


@settings(max_examples=200, deadline=None)
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(0, 7), st.integers(1, 3)), elements=values),
    st.sampled_from([1.0, 1e-6, 2.0**0.5, 3.7, 1e6, 1e100]),
)
def test_anything(rows, radius):
    assert_exact(rows, [radius])


# a function of the records: company and order change nothing


@pytest.mark.parametrize("far", [0.0, 1e3, 1e9, 1e12, 1e20, 1e154, 1e160, 1e300, 1.7e308])
def test_a_newcomer_brings_its_own_friendships_and_no_others(seed, far):
    """Records that shift the middle of the table to anywhere leave the other pairs as they were."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.normal(size=(10, 2)), rng.normal(size=(10, 2)) + far])
    for radius in (0.5, 1.0, 1.8):
        for j in range(len(rows)):
            others = np.delete(rows, j, axis=0)
            brought = 1 + 2 * int(friends_of(rows[j : j + 1], others, radius).sum())
            total = PairDistances.of(rows, 0).friend_pairs(radius)
            assert total == PairDistances.of(others, 0).friend_pairs(radius) + brought


def test_the_order_of_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    rows = 1e8 + rng.normal(size=(40, 5))
    pairs, shuffled = PairDistances.of(rows, 0), PairDistances.of(rng.permutation(rows), 0)
    for radius in np.linspace(0.5, 6, 60):
        assert pairs.friend_pairs(radius) == shuffled.friend_pairs(radius)


def test_small_chunks_decide_alike(seed, monkeypatch):
    rows = np.repeat(np.random.default_rng(seed).normal(size=(4, 3)), 4, axis=0)
    radius = float(gaps(rows).max())
    expected = PairDistances.of(rows, 0).friend_pairs(radius)
    monkeypatch.setattr(distances, "_CELLS", 1)
    monkeypatch.setattr(distances, "_ROWS", 5)
    monkeypatch.setattr(products, "_CELLS", 1)
    assert PairDistances.of(rows, 0).friend_pairs(radius) == expected == counted(rows, radius)
    assert PairDistances.of(as_sparse(rows), 0).friend_pairs(radius) == expected


# the screen's own promise


@pytest.mark.parametrize("location", [0.0, 1e8, 1e15])
@pytest.mark.parametrize("dimension", [1, 30, 3000])
def test_the_table_brackets_the_true_squared_distances(seed, location, dimension):
    rng = np.random.default_rng(seed)
    rows = location + rng.normal(size=(5, dimension)) * np.exp(3 * rng.normal(size=(5, 1)))
    rows[2] = rows[0]
    pairs = PairDistances.of(rows, 0)
    left_ends, right_ends = pairs.ends(np.arange(10))
    for left, right, least, most in zip(left_ends, right_ends, pairs.least, pairs.most, strict=True):
        true = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(rows[left], rows[right], strict=True))
        assert Fraction(least) <= true <= Fraction(most)


def test_the_pairs_come_in_the_order_of_a_triangle(monkeypatch):
    for count in range(6):
        pairs = PairDistances.of(np.zeros((count, 1)), 0)
        expected = np.triu_indices(count, k=1)
        assert np.array_equal(pairs.ends(np.arange(len(pairs.least))), expected)


@pytest.mark.parametrize("crowded", [1, 3, 16])
def test_sparse_rows_have_the_distances_of_dense_ones(seed, monkeypatch, crowded):
    """Columns that all, some, few and no rows store, at radii where something happens."""
    monkeypatch.setattr(products, "_CROWDED", crowded)
    monkeypatch.setattr(distances, "_ROWS", 7)
    rng = np.random.default_rng(seed)
    rows = rng.normal(3, 1, size=(30, 40)) * (rng.random((30, 40)) < rng.permutation(40) / 39)
    rows[4], rows[9], rows[10] = 0.0, rows[8], rows[8]
    assert_exact(rows, [gap * (1 + k / RADIUS) for gap in gaps(rows)[::40] for k in (-3, -1, 0, 1)])


@pytest.mark.parametrize("location", [1e6, 1e9, 1e12])
def test_a_full_column_far_from_zero_leaves_the_screen_narrow(seed, location):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(25, 30)) * (rng.random((25, 30)) < 0.2)
    rows[:, 3] += location
    sparse_pairs = PairDistances.of(as_sparse(rows), 0)
    assert (sparse_pairs.most - sparse_pairs.least).max() < 1e-9
    assert_exact(rows, gaps(rows)[::50])


def test_the_screen_is_narrow_for_ordinary_records(seed):
    """Otherwise everything would be decided in integers, exactly but slowly."""
    pairs = PairDistances.of(1e6 + np.random.default_rng(seed).normal(size=(20, 50)), 0)
    assert (pairs.most - pairs.least).max() < 1e-9


# invalid records, small tables


def test_invalid_records_are_their_own_friends_only():
    rows = np.zeros((3, 2))
    assert PairDistances.of(rows, 4).friend_pairs(1.0) == 9 + 4
    assert PairDistances.of(rows, 4).count == 7


def test_no_records_and_one():
    assert PairDistances.of(np.zeros((0, 3)), 0).friend_pairs(1.0) == 0
    assert PairDistances.of(as_sparse(np.zeros((0, 3))), 2).friend_pairs(1.0) == 2
    assert PairDistances.of(np.ones((1, 3)), 0).friend_pairs(1e-6) == 1


def test_records_off_the_grid_are_nobodys_friends():
    """At a radius 2^40 times smaller than a coordinate even equal records are strangers, at a larger one not."""
    rows = np.full((2, 1), 2.0**41)
    assert PairDistances.of(rows, 0).friend_pairs(1.0) == 2
    assert PairDistances.of(rows, 0).friend_pairs(4.0) == 4


@pytest.mark.filterwarnings("error")
def test_no_record_causes_a_warning():
    rows = np.array([[1.7e308], [-1.7e308], [0.0], [5e-324]])
    PairDistances.of(rows, 0).friend_pairs(1.0)
    PairDistances.of(as_sparse(rows), 0).friend_pairs(1.0)


def test_the_table_shows_nothing():
    assert "7.25" not in repr(PairDistances.of(np.full((2, 1), 7.25), 0))


def test_the_memory_taken_does_not_tell_of_a_record_off_the_grid(seed):
    """A far outlier must not decide whether the machine's memory suffices: its pairs are crossed out one by one."""
    import tracemalloc

    rows = np.random.default_rng(seed).normal(size=(1500, 2))
    wild = rows.copy()
    wild[17, 0] = 1e300
    peaks = []
    for table in (rows, wild):
        pairs = PairDistances.of(table, 0)
        tracemalloc.start()
        pairs.friend_pairs(1.0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.05 * peaks[0] + 2**18
