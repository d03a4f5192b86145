"""P15: what the ring does to the pairs, and that every pair's numbers are those of its two records alone."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from dimfree.data.records import open_records
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.secret_ring import Ring, half_differences, ring_order
from dimfree.noise import SeededNoise
from dimfree.shapes import Isotropic

ONES = np.ones(4)


def ring_of(table, sampled=None, seed=1):
    space = Space(open_records(table, on_missing="drop"), Isotropic(1.0))
    return Ring.of(space, sampled, len(table) if isinstance(table, np.ndarray) else 0, noise=SeededNoise(seed))


def rows(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, 4)) * [1.0, 1e-3, 1e6, 30.0]


def distances(table, order):
    there = table[order]
    return np.linalg.norm(there - np.roll(there, -1, axis=0), axis=1)


def test_lengths_are_distances_of_neighbours_on_a_closed_circle():
    table, order = rows(50), ring_order(50, SeededNoise(1))
    assert ring_of(table).lengths(ONES) == pytest.approx(distances(table, order), rel=1e-5)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_lone_record_is_its_own_neighbour_and_nobody_has_none(count):
    lengths = ring_of(rows(count)).lengths(ONES)
    assert len(lengths) == count
    assert count != 1 or lengths[0] == 0


def test_equal_keys_keep_the_order_of_the_records():
    class SameKeys(SeededNoise):
        def below(self, bound, size):
            return np.full(size, 7, dtype=np.int64)

    assert (ring_order(100, SameKeys(0)) == np.arange(100)).all()


def test_invalid_records_are_not_on_the_ring():
    table = rows(20)
    table[[3, 11], [0, 2]] = np.nan, np.inf
    found = ring_of(table)
    assert found.count == 18
    assert (found.lengths(ONES) == ring_of(np.delete(table, [3, 11], axis=0)).lengths(ONES)).all()


def test_a_sample_has_a_ring_of_its_own():
    table, sampled = rows(40), np.arange(40) % 3 > 0
    assert (ring_of(table, sampled).lengths(ONES) == ring_of(table[sampled]).lengths(ONES)).all()


def test_sparse_records_have_the_same_bits():
    table = rows(60) * (np.random.default_rng(5).random((60, 4)) < 0.4)
    scale = np.array([1.0, np.inf, 3.0, 0.2])
    dense, thin = ring_of(table), ring_of(sparse.csr_array(table))
    assert (dense.lengths(scale) == thin.lengths(scale)).all()


def test_a_length_does_not_depend_on_the_other_pairs():
    table, order = rows(300), np.arange(300)
    whole = Ring(Space(half_differences(table.copy(), order), Isotropic(1.0))).lengths(ONES)
    for first in (0, 17, 298):
        alone = Ring(Space(half_differences(table[first : first + 2].copy(), np.arange(2)), Isotropic(1.0)))
        assert alone.lengths(ONES)[0] == whole[first]


def test_differences_of_finite_records_are_finite():
    table = np.array([[1.7e308] * 4, [-1.7e308] * 4, [5e-324] * 4])
    found = ring_of(table)
    assert found.count == 3
    assert len(found.lengths(ONES)) == 3  # infinite, perhaps, but nobody is left out
    assert not np.isnan(found.lengths(ONES)).any()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_no_record_causes_an_error_where_the_caller_has_asked_for_errors(kind):
    table = np.array([[5e-324] * 4, [1.7e308] * 4, [-1.7e308] * 4, [-0.0] * 4, [np.inf] * 4])
    with np.errstate(all="raise"):
        assert len(ring_of(kind(table)).lengths(ONES)) == 4


def test_a_sparse_table_is_never_made_dense(rng):
    table = sparse.random_array((1000, 20_000), density=2e-4, format="csr", rng=rng)
    scale = np.ones(20_000)
    tracemalloc.start()
    ring_of(table).lengths(scale)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1000 * 20_000  # bytes: an eighth of the dense table


def test_lengths_that_are_asked_for_again_are_the_same():
    """They are kept for one scale: another scale, or an array that was changed in place, is not taken for it."""
    ring, scale = ring_of(rows(20)), np.array([1.0, 2.0, 4.0, 0.5])
    first = ring.lengths(scale)
    kept = first.copy()
    first[:] = -1  # the caller's own
    assert (ring.lengths(scale) == kept).all()
    scale *= 2
    assert (ring.lengths(scale) == kept / 2).all()
