"""P15: a pair's numbers are the same bits however the table is stored, cut and worked on, whoever else is in it."""

import os
import tracemalloc
from functools import partial
from itertools import product

import numpy as np
import pytest
from blocks import blocks_of
from scipy import sparse
from streams import RecordedStream

from dimfree.data.blocks import SparseRows, to_dense
from dimfree.data.gpu.device import Place
from dimfree.data.records import Records, open_records
from dimfree.kernel.rows import space as space_module
from dimfree.kernel.rows.clip import BALL
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.scores import ScoreLengths, total_scores
from dimfree.kernel.statistics.secret_ring import (
    half_differences,
    pair_scoring,
    ring_differences,
    ring_lengths,
    ring_order,
)
from dimfree.noise import SeededNoise
from dimfree.shapes import DiagonalCovariance, IsotropicCovariance

SCALE = np.array([1.0, 1e-3, np.inf, 7.0, 0.3])
UNITS = np.geomspace(1e-3, 1e3, 7)
SHAPES = {
    "as it is": IsotropicCovariance(1.0),
    "a unit for each column": DiagonalCovariance(np.array([1.0, 2.0, 0.5, 1.0, 3.0])),
}
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())


@pytest.fixture
def table(rng):
    """Many sizes, zeros of either sign, invalid rows, rows at both ends of the floats; all of single precision."""
    rows = rng.normal(size=(97, 5)) * 10.0 ** rng.integers(-12, 12, size=(97, 1))
    rows[rng.random(rows.shape) < 0.4] = 0.0
    rows[3], rows[11, 2], rows[12, 0] = np.nan, np.inf, -np.inf
    rows[20], rows[21], rows[22], rows[23] = 3e38, -3e38, 1e-45, -0.0
    return rows.astype(np.float32).astype(np.float64)


def ring_of(source, shape, sampled=None):
    records = source if isinstance(source, Records) else open_records(source, missing="complete-case")
    return ring_differences(Space(records, shape), sampled, 0, noise=SeededNoise(7))


def numbers(ring):
    """All that the mechanisms see of a ring: differences, lengths, sums of scores, how many are clipped."""
    scoring = pair_scoring(SCALE, 2.0)
    differences = np.concatenate([to_dense(block) for block in ring.valid_blocks()] or [np.zeros(0)])
    differences = differences + 0.0  # minus zero is zero: a sparse table does not store it
    sums = np.array([total_scores(ring, scoring, unit) for unit in (1e-2, 1.0, 1e20)])
    clipped = [ScoreLengths(ring, scoring).clipped(unit) for unit in UNITS]
    return ring.count, differences.tobytes(), ring_lengths(ring, SCALE).tobytes(), sums.tobytes(), clipped


# storage


def stored_zeros(table, *, turned=False):
    """Zeros of the other sign are stored; or columns in the other order."""
    full = sparse.csr_array(np.where(table == 0, 1.0, table))
    full.data[np.flatnonzero((table == 0).ravel())] = -0.0
    if not turned:
        return full
    return sparse.csr_array((full.data.reshape(-1, 5)[:, ::-1].ravel(), np.tile(np.arange(5)[::-1], 97), full.indptr))


FORMS = {
    **{kind.__name__: kind for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array)},
    "sparse floats of 32 bits": lambda table: sparse.csr_array(table.astype(np.float32)),
    "stored zeros": stored_zeros,
    "columns in any order": partial(stored_zeros, turned=True),
    "floats of 32 bits": lambda table: table.astype(np.float32),
    "by columns": np.asfortranarray,
    "other bytes": lambda table: table.astype(">f8"),
    "every other column": lambda table: np.repeat(table, 2, axis=1)[:, ::2],
}


@every_shape
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_has_the_same_ring(table, shape, form):
    assert numbers(ring_of(FORMS[form](table), shape)) == numbers(ring_of(table, shape))


@every_shape
@pytest.mark.parametrize("most", [1, 7, 1000])
def test_streams_and_samples_of_streams(table, shape, most):
    sampled = np.arange(97) % 4 > 0
    for mask, rows in ((None, table), (sampled, table[sampled])):
        stream = ring_of(Records(RecordedStream(table, most), None), shape, mask)
        assert numbers(stream) == numbers(ring_of(rows, shape))


def test_single_precision_is_read_before_it_is_halved_and_subtracted():
    """In single precision 1 - 2^-30 would be 1."""
    rows = np.array([[1.0], [2.0**-30]], dtype=np.float32)
    for stored in (rows, sparse.csr_array(rows)):
        difference = to_dense(next(ring_of(stored, IsotropicCovariance(1.0)).valid_blocks()))
        assert np.abs(difference).max() == (1 - 2.0**-30) / 2


@every_shape
@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("rows", [1, 3, 64])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_blocks_of_any_size_and_any_number_of_threads(monkeypatch, table, shape, kind, rows, threads):
    expected = numbers(ring_of(kind(table), shape))
    monkeypatch.setenv("DIMFREE_THREADS", threads)
    monkeypatch.setattr(space_module, "_THREADED_BYTES", 0)
    with blocks_of(rows, 5):
        assert numbers(ring_of(kind(table), shape)) == expected


@every_shape
def test_rows_on_a_device(table, shape):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    place = Place(os.environ.get("DIMFREE_TEST_DEVICE", "cpu"))
    for rows in (table, table.astype(np.float32), table[:1], table[4:6], table[:0]):
        on_device = ring_of(open_records(rows, missing="complete-case").on(place), shape)
        assert numbers(on_device) == numbers(ring_of(rows, shape))


def test_the_owners_table_is_left_alone(table):
    for stored in (table, sparse.csr_array(table)):
        before = stored.copy()
        numbers(ring_of(stored, IsotropicCovariance(1.0)))
        assert np.array_equal(densely_of(stored), densely_of(before), equal_nan=True)


def densely_of(stored):
    return stored.toarray() if sparse.issparse(stored) else stored


# one record, and the pairs of others


ODD = (0.0, -0.0, 5e-324, 1e-308, 1e-160, 1.0, 1e160, 1e308, 1.7e308, -1.7e308)
WIDTH = 40


def of_each_pair(rows, kind):
    """Length and score of every pair, in the order of the rows."""
    records = half_differences(kind(rows.copy()), np.arange(len(rows)))
    ring = Space(records, IsotropicCovariance(1.0))
    scale = np.geomspace(1e-2, 1e2, WIDTH)
    return ring_lengths(ring, scale), [_score(records, place, scale) for place in range(len(rows))]


def _score(records, place, scale):
    """Of one pair, as a table of its own gives it; the sum over all pairs is compared with these."""
    alone = np.arange(records.count) == place
    ring = Space(records.select_rows(alone), IsotropicCovariance(1.0))
    return total_scores(ring, pair_scoring(scale, 1.0), 1.0)


def as_sparse(rows):
    return SparseRows(sparse.csr_array(rows))


@pytest.mark.parametrize("kind", [np.asarray, as_sparse], ids=["dense", "sparse"])
def test_one_record_changes_the_numbers_of_its_own_two_pairs_alone(rng, kind):
    """Huge among small, tiny among large: nothing is scaled by what is common to the table."""
    rows = rng.normal(size=(9, WIDTH)) * 10.0 ** rng.integers(-160, 160, size=(9, 1))
    rows[3], rows[4] = rng.normal(size=(2, WIDTH))
    before = of_each_pair(rows, kind)
    for odd, place in product(ODD, (0, 4, 8)):
        changed = rows.copy()
        changed[place] = odd
        after = of_each_pair(changed, kind)
        others = [k for k in range(9) if k not in (place, (place - 1) % 9)]
        assert before[0][others].tobytes() == after[0][others].tobytes()
        assert all((before[1][k] == after[1][k]).all() for k in others)


def test_quotients_beyond_the_floats_are_held_and_touch_no_other_pair():
    """Far records over a small scale: an infinite quotient would become a length of any size."""
    rows, scale = np.ones((6, 4)), np.full(4, 1e-6)
    rows[1] += 1e-6
    before = ring_lengths(Space(half_differences(rows.copy(), np.arange(6)), IsotropicCovariance(1.0)), scale)
    rows[4] = 1e308, -1e308, 0.0, 1.0
    for kind in (np.asarray, as_sparse):
        ring = Space(half_differences(kind(rows.copy()), np.arange(6)), IsotropicCovariance(1.0))
        found = ring_lengths(ring, scale)
        assert (found[[3, 4]] > 1e307).all()
        assert found[[0, 1, 2, 5]].tobytes() == before[[0, 1, 2, 5]].tobytes()


def test_the_sum_is_that_of_the_pairs(rng):
    rows = rng.normal(size=(9, WIDTH)) * 10.0 ** rng.integers(-3, 3, size=(9, 1))
    rows[2], rows[5] = 1.7e308, -1.7e308
    _, scores = of_each_pair(rows, np.asarray)
    ring = Space(half_differences(rows.copy(), np.arange(9)), IsotropicCovariance(1.0))
    scoring = pair_scoring(np.geomspace(1e-2, 1e2, WIDTH), 1.0)
    assert (total_scores(ring, scoring, 1.0) == sum(scores)).all()
    assert max((score**2).sum() for score in scores) <= BALL**2


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_an_invalid_record_leaves_the_ring_of_the_others(table, kind, odd):
    """The others keep their keys: `below` hands out the first ones, and the odd record is the last."""
    rows = np.vstack([table, np.where(np.arange(5) == 2, odd, 1.0)])
    assert numbers(ring_of(kind(rows), IsotropicCovariance(1.0))) == numbers(
        ring_of(kind(table), IsotropicCovariance(1.0))
    )


def test_a_length_is_a_distance_at_both_ends_of_the_floats():
    """Distances that no float holds are infinite; those that a float holds are right."""
    for size in (1e-290, 1e-200, 1.0, 1e200, 8e307):
        rows = np.array([[0.0, 0.0, 0.0, 0.0], [size / 2] * 4])
        found = ring_lengths(Space(half_differences(rows, np.arange(2)), IsotropicCovariance(1.0)), np.ones(4))
        assert found == pytest.approx([size, size], rel=1e-5)


# what a ring is


def test_lengths_are_distances_of_neighbors_on_a_closed_circle(rng):
    table, order = rng.normal(size=(50, 5)) * [1.0, 1e-3, 1e6, 30.0, 1.0], ring_order(50, SeededNoise(7))
    apart = np.linalg.norm(table[order] - np.roll(table[order], -1, axis=0), axis=1)
    assert ring_lengths(ring_of(table, IsotropicCovariance(1.0)), np.ones(5)) == pytest.approx(apart, rel=1e-5)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_lone_record_is_its_own_neighbor_and_no_record_has_none(count):
    lengths = ring_lengths(ring_of(np.ones((count, 5)), IsotropicCovariance(1.0)), np.ones(5))
    assert lengths.tolist() == [0.0] * count


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_no_record_causes_an_error_where_the_caller_has_asked_for_errors(kind):
    table = np.array([[5e-324] * 4, [1.7e308] * 4, [-1.7e308] * 4, [-0.0] * 4, [np.inf] * 4])
    with np.errstate(all="raise"):
        lengths = ring_lengths(ring_of(kind(table), IsotropicCovariance(1.0)), np.ones(4))
    assert len(lengths) == 4  # infinite, perhaps, but no record is left out
    assert not np.isnan(lengths).any()


def test_a_sparse_table_is_never_made_dense(rng):
    table = sparse.random_array((1000, 20_000), density=2e-4, format="csr", rng=rng)
    tracemalloc.start()
    ring_lengths(ring_of(table, IsotropicCovariance(1.0)), np.ones(20_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1000 * 20_000  # bytes: an eighth of the dense table
