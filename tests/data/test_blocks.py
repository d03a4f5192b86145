"""Sparse rows: a table of which only the stored entries are touched, equal to the dense one in all it says."""

import numpy as np
import pytest
from scipy import sparse

from dimfree.data.blocks import SparseRows, float_squares, gather_rows, peaks, pick_row, subtract_rows, to_dense, width

TABLE = np.array([[0.0, 2.0, 0.0, -5.0], [0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])


@pytest.fixture
def rows():
    return SparseRows(sparse.csr_array(TABLE))


def test_sums_and_peaks_of_each_row_empty_ones_included(rows):
    assert rows.sum_rows(rows.values).tolist() == TABLE.sum(axis=1).tolist()
    assert rows.peaks().tolist() == np.abs(TABLE).max(axis=1).tolist()
    assert rows.repeat_by_row(np.array([7, 8, 9, 10])).tolist() == [7, 7, 9]


def test_rows_without_any_entry():
    empty = SparseRows(sparse.csr_array((3, 2)))
    assert empty.sum_rows(empty.values).tolist() == empty.peaks().tolist() == [0.0, 0.0, 0.0]
    assert width(empty) == 1


@pytest.mark.parametrize("key", [slice(1, 3), np.array([2, 0, 2]), np.array([True, False, False, True])])
def test_some_rows(rows, key):
    assert rows[key].toarray().tolist() == TABLE[key].tolist()
    assert len(rows[key]) == len(TABLE[key])


def test_differences(rows):
    assert subtract_rows(rows, rows[2:3]).toarray().tolist() == (TABLE - TABLE[2]).tolist()
    assert (
        subtract_rows(rows, rows[np.array([1, 0, 3, 2])]).toarray().tolist() == (TABLE - TABLE[[1, 0, 3, 2]]).tolist()
    )
    assert subtract_rows(rows[:1], rows[2:3]).toarray().tolist() == (TABLE[:1] - TABLE[2]).tolist()


def test_weighted_sums_are_of_whole_numbers():
    far = SparseRows(sparse.csr_array(np.array([[2**60 + 1, 0], [0, -(2**60) - 1]])))
    assert (np.array([3, 1]) @ far).tolist() == [3 * (2**60 + 1), -(2**60) - 1]


def test_one_row_is_not_an_unusually_full_one(rows):
    assert pick_row(rows[:3], np.array([0, 1, 2])).toarray().tolist() == [TABLE[0].tolist()]  # 2 entries, 1 on average
    assert pick_row(rows, np.array([0, 1, 2, 3])).toarray().tolist() == [TABLE[1].tolist()]  # 3/4 on average
    assert pick_row(TABLE, np.array([2, 1])).tolist() == [TABLE[2].tolist()]


def test_gathering(rows):
    some = np.array([False, True, True, False])
    expected = [*TABLE.tolist(), *TABLE[1:3].tolist()]
    for given in (rows, TABLE):
        parts = [(given, np.ones(4, dtype=bool)), (given[:0], some[:0]), (given, some), (given, some & ~some)]
        assert to_dense(gather_rows(iter(parts), (9, 4), np.float64)).tolist() == expected
    nothing = gather_rows(iter([]), (3, 4), np.int64)
    assert (nothing.shape, nothing.dtype) == ((0, 4), np.int64)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_gathering_on_any_number_of_threads(rng, threads):
    table, marked = rng.normal(size=(200, 7)), rng.random(200) < 0.6
    parts = [(table[start : start + 9], marked[start : start + 9]) for start in range(0, 200, 9)]
    found = gather_rows(iter(parts), (250, 7), np.float64, threads)
    assert np.array_equal(found, table[marked])


@pytest.mark.parametrize("width", [0, 1, 2**13 - 1, 2**13, 2**13 + 1, 3 * 2**13 + 5])
def test_sums_of_squares_of_rows_of_any_length(rng, width):
    whole = rng.integers(-1000, 1000, (3, width))
    assert float_squares(whole.astype(np.float64)).tolist() == (whole**2).sum(axis=1).tolist()


@pytest.mark.parametrize("place", [0, 2**13 - 1, 2**13, 20_000])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 1e200])
def test_no_sum_of_squares_hides_an_entry_that_is_no_number(odd, place):
    rows = np.zeros((2, 20_001))
    rows[1, place] = odd
    with np.errstate(all="ignore"):
        assert np.isfinite(float_squares(rows)).tolist() == [True, False]


def test_peaks(rows):
    assert peaks(rows).tolist() == peaks(TABLE).tolist() == np.abs(TABLE).max(axis=1).tolist()
    assert np.isnan(peaks(np.array([[1.0, np.nan]])))[0]


def test_the_representation_shows_no_value(rows):
    assert "5" not in repr(rows).rpartition(" at ")[0]
