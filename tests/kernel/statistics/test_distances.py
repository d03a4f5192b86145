"""Friend pairs at any radius: the integer predicate pair by pair, whatever the location, the order and the company."""

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dimfree._validate import MAX_COLUMNS
from dimfree.data.blocks import SparseRows, to_dense
from dimfree.kernel.statistics import distances, friends
from dimfree.kernel.statistics.distances import PairDistances
from dimfree.kernel.statistics.friends import RADIUS, to_steps
from dimfree.paper.averaging import friend_counts


@pytest.fixture(autouse=True)
def in_32_bits(monkeypatch):
    """The tables of these tests are small, and would be filled in 64 bits."""
    monkeypatch.setattr(distances, "SMALL", 0)


ON_GRID = 2.0**61  # in steps: a record with a coordinate there or beyond is nobody's friend


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


@pytest.mark.parametrize("far", [(), (0,), (3, 4, 5), (39,), tuple(range(40))], ids=lambda far: f"{len(far)} far")
@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_the_rows_on_the_grid_in_steps(seed, monkeypatch, far, threads):
    """In place of the first rows, in their order, by any number of threads."""
    monkeypatch.setenv("DIMFREE_THREADS", threads)
    monkeypatch.setattr(friends, "_TILE", 6)  # two rows at a time
    rows = np.random.default_rng(seed).normal(size=(40, 3))
    rows[list(far), 1] = 1e20
    expected = to_steps(np.delete(rows, far, axis=0), 1.0 / RADIUS)
    found = PairDistances.of(rows.copy(), 2).in_steps(1.0)
    assert (found == expected).all()


# the screen's own promise


def finely(pairs):
    """The same, with its first tile filled by products in 64 bits."""
    pairs._fill(friends.about(pairs.rows, pairs.center), (0, pairs.tiles[0]))
    return pairs


def test_sums_in_32_bits_are_no_longer_than_their_error_bound_allows(rng, monkeypatch):
    """Of w terms they are off by w·u/(1 - w·u), u = 2^-24, and two roundings of an entry; (w + 32)·u is stated."""
    u = Fraction(1, 2**24)
    for columns in (1, 30_000, MAX_COLUMNS):
        w = min(math.ceil(distances._ACROSS * math.sqrt(columns)), distances._MAX_ACROSS, columns)
        assert w * u / (1 - w * u) + Fraction(202, 100) * u < (w + 32 - 13) * u
    widths, fill = [], friends.DenseOffsets.in_32_bits

    def report_progress(offsets, block, *rest):
        part = fill(offsets, block, *rest)
        widths.append(part.shape[1])
        return part

    monkeypatch.setattr(friends.DenseOffsets, "in_32_bits", report_progress)
    monkeypatch.setattr(distances, "_MAX_ACROSS", 7)
    PairDistances.of(rng.normal(size=(5, 30)), 0)
    assert widths == [7, 7, 7, 7, 2]


@pytest.mark.parametrize("filled", [lambda pairs: pairs, finely], ids=["32 bits", "64 bits"])
@pytest.mark.parametrize("location", [0.0, 1e8, 1e15, -1e140])
@pytest.mark.parametrize("dimension", [1, 30, 3000])
def test_squared_distances_are_off_by_no_more_than_is_said(seed, location, dimension, filled):
    rng = np.random.default_rng(seed)
    rows = location + rng.normal(size=(5, dimension)) * np.exp(30 * rng.normal(size=(5, 1)))
    rows[2] = rows[0]
    pairs = filled(PairDistances.of(rows, 0))
    for i, j in zip(*np.triu_indices(5, k=1), strict=True):
        true = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(rows[i], rows[j], strict=True))
        error = Fraction(pairs.errors[0]) * (Fraction(pairs.squares[i]) + Fraction(pairs.squares[j]))
        assert abs(Fraction(pairs.squared[0, i, j]) - true) <= error


@pytest.mark.parametrize("filled", [lambda pairs: pairs, finely], ids=["32 bits", "64 bits"])
@pytest.mark.parametrize("location", [0.0, 1e8, 1e11, 1e12, 1e15])
@pytest.mark.parametrize("dimension", [1, 30])
def test_what_is_sure_is_so_and_what_is_not_in_doubt_too(seed, location, dimension, filled):
    rng = np.random.default_rng(seed)
    rows = location + rng.normal(size=(6, dimension)) * np.exp(2 * rng.normal(size=(6, 1)))
    pairs = filled(PairDistances.of(rows, 0))
    for gap in gaps(rows):
        for aside in (1, 1 - 1e-7, 1 + 1e-7, 1 - 1e-4, 1 + 1e-4):
            sure, doubtful = pairs._screen(gap * aside, (0, pairs.tiles[0]), pairs.errors[0])
            friends = np.triu(friends_of(rows, rows, gap * aside), k=1)
            assert not (sure & doubtful).any()
            assert not (sure & ~friends).any()
            assert not (friends & ~sure & ~doubtful).any()


@pytest.mark.parametrize("forgotten", [False, True])
def test_the_error_of_32_bits_matters(seed, forgotten):
    """Far from the center products in 32 bits are off by more than `rint`: without their part of E counts are wrong."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.normal(size=(20, 3)), 300 + rng.normal(size=(10, 3))])
    pairs = PairDistances.of(rows, 0)
    if forgotten:
        pairs.errors[:] = distances._float64_error(3)
    radii = [gap * (1 + k * 1e-4) for gap in gaps(rows[20:]) for k in (-3, -1, 1, 3)]
    assert forgotten == any(pairs.friend_pairs(radius) != counted(rows, radius) for radius in radii)


def test_every_pair_is_in_one_tile(monkeypatch):
    monkeypatch.setattr(distances, "_ROWS", 4)
    for count in range(14):
        seen = np.zeros((count, count), dtype=int)
        pairs = PairDistances.of(np.zeros((count, 1)), 0, capacity=9)
        for rows, columns in pairs.tiles:
            seen[rows, columns] += pairs._select_pairs(rows, columns, 1.0)
        assert np.array_equal(seen, np.triu(np.ones_like(seen), k=1))


@pytest.mark.parametrize("together", [1, 2, 8])
def test_tiles_side_by_side_hold_the_distances_of_their_pairs(seed, monkeypatch, together):
    monkeypatch.setattr(distances, "_ROWS", 4)
    monkeypatch.setattr(distances, "_SIDE_BY_SIDE", together)
    for count in (0, 1, 4, 5, 40, 43):
        rows = np.random.default_rng(seed).normal(size=(count, 9))
        pairs = PairDistances.of(rows, 0)
        for place, (left, right) in enumerate(pairs.tiles):
            apart = ((rows[left, None] - rows[None, right]) ** 2).sum(axis=2)
            view = pairs._view((place, (left, right)))[0]
            assert np.allclose(view, apart, rtol=0, atol=1e-4)


@pytest.mark.parametrize("crowded", [1, 3, 16])
def test_sparse_rows_have_the_distances_of_dense_ones(seed, monkeypatch, crowded):
    """Columns that all, some, few and no rows store, at radii where something happens."""
    monkeypatch.setattr(friends, "_CROWDED", crowded)
    monkeypatch.setattr(distances, "_ROWS", 7)
    rng = np.random.default_rng(seed)
    rows = rng.normal(3, 1, size=(30, 40)) * (rng.random((30, 40)) < rng.permutation(40) / 39)
    rows[4], rows[9], rows[10] = 0.0, rows[8], rows[8]
    assert_exact(rows, [gap * (1 + k / RADIUS) for gap in gaps(rows)[::40] for k in (-3, -1, 0, 1)])


# friend counts and whole steps, for the core


@pytest.mark.parametrize("kind", [np.array, as_sparse])
@pytest.mark.parametrize("radius", [0.3, 1.0, 2.5, 1e6])
def test_friend_counts_are_those_of_the_records_on_the_grid(seed, monkeypatch, kind, radius):
    """The same numbers in the same order as `friend_counts` of the records on the grid of that radius."""
    monkeypatch.setattr(distances, "_ROWS", 16)
    rows = np.random.default_rng(seed).normal(size=(50, 3))
    rows[[0, 7, 49]] = 1e15, -1e300, 1e20
    there = np.abs(rows).max(axis=1) < 2.0**61 * radius / RADIUS
    pairs = PairDistances.of(kind(rows), 2)
    counts, integers = pairs.friend_counts(radius), pairs.in_steps(radius)
    whole = to_steps(rows[there], radius / RADIUS)
    assert counts.tolist() == [*friend_counts(whole), *[1] * (2 + int((~there).sum()))]
    assert to_dense(integers).tolist() == whole.tolist()


def test_a_far_cluster_is_counted_by_products_in_64_bits(seed, monkeypatch):
    """About the center 32 bits are too few for it; without the second product every pair of it would be in doubt."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.normal(size=(300, 40)), 1e4 + rng.normal(size=(100, 40))])
    pairs, decided, decide = PairDistances.of(rows, 0), [], PairDistances._one_by_one
    monkeypatch.setattr(
        PairDistances, "_one_by_one", lambda self, left, *rest: decided.append(len(left)) or decide(self, left, *rest)
    )
    pairs.friend_pairs(9.0)
    assert sum(decided) < 100
    assert pairs.errors[0] < 1e-12


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
    """At a radius 2^41 times smaller than a coordinate even equal records are strangers, at a larger one not."""
    rows = np.full((2, 1), 2.0**41)
    assert PairDistances.of(rows, 0).friend_pairs(1.0) == 2
    assert PairDistances.of(rows, 0).friend_pairs(4.0) == 4


def traced(work):
    """The most memory that the work takes, in bytes."""
    distances._later(512)  # made once in a process
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("far", [0.0, 40.0, 1e6, 2e13, 1e20, 1e300])
def test_the_memory_taken_does_not_tell_of_a_record(seed, far, monkeypatch):
    """A far record must not decide whether the machine's memory suffices, at whatever radius is asked."""
    monkeypatch.setenv("DIMFREE_THREADS", "1")
    rows = np.random.default_rng(seed).normal(size=(700, 400))
    wild = rows.copy()
    wild[17], wild[17, 0] = 0.0, far

    def asked(table):
        pairs = PairDistances.of(table, 0)
        for radius in (20.0, 28.0, 28.2, 40.0, 1e6):
            pairs.friend_pairs(radius)

    before, after = traced(lambda: asked(rows)), traced(lambda: asked(wild))
    assert abs(after - before) < 2**14


ON_THE_RADIUS = {
    "near the center": np.eye(700, 600) * 0.5**0.5,
    "far from it": np.concatenate([np.arange(1024) % 2, np.full(1400, 1000)])[:, None] * np.eye(1, 2),
}


@pytest.mark.parametrize("where", ON_THE_RADIUS)
def test_pairs_in_doubt_take_no_more_memory_than_the_table(monkeypatch, where):
    """All or half of the pairs of some tiles at exactly the radius: decided by products, or one by one."""
    monkeypatch.setenv("DIMFREE_THREADS", "1")
    rows, taken = ON_THE_RADIUS[where], []
    for radius in (0.1, 1.0):  # nothing is in doubt at the first
        taken.append(traced(lambda radius=radius: PairDistances.of(rows, 0).friend_pairs(radius)))
    assert abs(taken[1] - taken[0]) < 2**14


def test_the_space_taken_is_for_a_public_number_of_records(monkeypatch):
    monkeypatch.setenv("DIMFREE_THREADS", "1")
    rows = np.random.default_rng(1).normal(size=(1000, 3))
    few, many = (traced(lambda n=n: PairDistances.of(rows[:n], 0, capacity=1100).friend_pairs(2.0)) for n in (960, 961))
    assert abs(few - many) < 2**14
    assert few > 6 * 8 * 512**2  # three tiles of rows, although two would do


def test_where_32_bits_are_shortened_all_is_done_in_64(monkeypatch):
    rows = np.random.default_rng(5).normal(size=(60, 40))
    usual = PairDistances.of(rows, 2)
    monkeypatch.setattr(distances, "float32_is_whole", lambda: False)
    careful = PairDistances.of(rows, 2)
    assert usual.errors.max() > careful.errors.max() == distances._float64_error(40)
    assert usual.friend_counts(9.0).tolist() == careful.friend_counts(9.0).tolist()
    assert friends.float32_is_whole()


def split(table, bits, parts):
    """A table in 32 bits as a sum of tables whose numbers have so many bits; what is left over is dropped."""
    found, rest = [], table.astype(np.float64)
    for _ in range(parts):
        power = np.exp2(bits - 1 - np.floor(np.log2(np.maximum(np.abs(rest), 1e-30))))
        found.append(np.rint(rest * power) / power)
        rest = rest - found[-1]
    return found


@pytest.mark.parametrize("bits", [8, 11])  # of bfloat16 and TF32
@pytest.mark.parametrize(("parts", "kept"), [(1, 1), (2, 3), (2, 4)])
def test_every_way_to_shorten_32_bits_is_seen(bits, parts, kept):
    """Numbers in one or two short parts; of the products of two parts all, or all but that of the last ones."""

    def shortened(left, right):
        pairs = [one @ other for one in split(left, bits, parts) for other in split(right, bits, parts)]
        return np.sum(pairs[:kept], axis=0).astype(np.float32)

    assert not friends.float32_is_whole(shortened)
    assert friends.float32_is_whole(lambda left, right: left.astype(np.float64) @ right)
