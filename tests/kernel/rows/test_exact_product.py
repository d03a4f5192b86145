"""Every output row is a function of its input row and the matrix alone, bit for bit, and close to the true product."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from threadpoolctl import threadpool_limits

from dimfree.shapes import exact_product
from dimfree.shapes.exact_product import LARGEST, SlicedMatrix, slice_plan

ACCURACY = 2.0**-45
FLOOR = Fraction(2) ** -900  # smaller rows and columns are cut as if they reached it
ENTRIES = st.floats(-1e300, 1e300, allow_nan=False)  # zeros, denormals and huge numbers among them


def recordwise_product(rows, matrix):
    return SlicedMatrix(matrix).product(rows)


def same_bits(a, b):
    return a.shape == b.shape and np.array_equal(a.view(np.int64), b.view(np.int64))


def spread(rng, shape):
    """Numbers over twenty orders of magnitude, so that roundings do happen."""
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-10, 10, shape)


@pytest.fixture
def rng():
    return np.random.default_rng(42)


@pytest.mark.parametrize(("d", "k"), [(1, 1), (5, 1), (1, 7), (64, 64), (1000, 3), (3, 1000), (5000, 2)])
def test_order_layout_and_blocks_change_nothing(rng, monkeypatch, d, k):
    rows, matrix = spread(rng, (23, d)), spread(rng, (d, k))
    whole = recordwise_product(rows, matrix)
    order = rng.permutation(len(rows))
    assert same_bits(recordwise_product(rows[order], matrix), whole[order])
    assert same_bits(recordwise_product(np.asfortranarray(rows), matrix), whole)
    assert same_bits(recordwise_product(rows, np.asfortranarray(matrix)), whole)
    assert same_bits(recordwise_product(np.repeat(rows, 2, axis=0)[::2], matrix), whole)
    assert same_bits(recordwise_product(rows[5:9], matrix), whole[5:9])
    monkeypatch.setattr(exact_product, "_BLOCK_ENTRIES", 3 * d)
    assert same_bits(recordwise_product(rows, matrix), whole)


def test_threads_change_nothing(rng):
    rows, matrix = spread(rng, (300, 400)), spread(rng, (400, 300))
    results = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            results.append(recordwise_product(rows, matrix))
    assert all(same_bits(results[0], other) for other in results[1:])


def test_inner_order_changes_nothing(rng):
    """Stronger than needed: permuting the summation itself leaves every bit, so no order BLAS may choose matters."""
    rows, matrix = spread(rng, (9, 777)), spread(rng, (777, 11))
    order = rng.permutation(777)
    assert not same_bits(rows[:, order] @ matrix[order], rows @ matrix)
    assert same_bits(recordwise_product(rows[:, order], matrix[order]), recordwise_product(rows, matrix))


@pytest.mark.parametrize("stranger", [np.nan, np.inf, -np.inf, 1e300, -1e300, 5e-324, 0.0])
def test_a_strange_neighbour_changes_nothing(rng, stranger):
    rows, matrix = spread(rng, (8, 40)), spread(rng, (40, 6))
    expected = recordwise_product(rows, matrix)
    rows[3] = stranger
    changed = recordwise_product(rows, matrix)
    assert same_bits(np.delete(changed, 3, axis=0), np.delete(expected, 3, axis=0))
    assert np.isnan(changed[3]).all() == (not np.isfinite(stranger))


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 30, 1000, 1024, 1025, 4096, 10_000, 100_000, 2**20, 2**30])
def test_the_plan_leaves_every_partial_sum_exact_and_enough_bits(d):
    bits, count = slice_plan(d)
    assert d * 2**bits * 2**bits <= 2**53
    assert d * 2 ** (bits + 1) * 2 ** (bits + 1) > 2**53  # no bit is given away
    # the bound of the proof: d 2^(e+f-sK) (1 + (K-1)/4), with 2^e, 2^f at most twice the largest entries
    assert d * 4 * (1 + (count - 1) / 4) * 2.0 ** (-bits * count) <= ACCURACY


@pytest.mark.parametrize("d", [1, 2, 16, 1024, 4096])
def test_slices_are_integers_within_the_bound_and_worst_sums_are_exact(d):
    bits, _ = slice_plan(d)
    largest = np.nextafter(1.0, 0.0)  # rounds up to a full 2**s
    rest = np.full((1, d), largest * 2.0**bits)
    first = exact_product._next_slice(rest, bits)
    second = exact_product._next_slice(rest, bits)
    assert np.abs(first).max() == 2**bits
    assert np.abs(second).max() <= 2 ** (bits - 1)
    assert all(np.array_equal(part, np.rint(part)) for part in (first, second))
    assert int((first @ first.T)[0, 0]) == d * 4**bits


def assert_close(rows, matrix):
    product = recordwise_product(rows, matrix)
    for row, got in zip(rows, product, strict=True):
        for column, value in zip(matrix.T, got, strict=True):
            true = sum(Fraction(float(x)) * Fraction(float(m)) for x, m in zip(row, column, strict=True))
            true = max(-Fraction(LARGEST), min(true, Fraction(LARGEST)))  # past the largest float: saturates
            largest, mass = Fraction(float(np.abs(row).max())), sum(Fraction(float(abs(m))) for m in column)
            size = max(largest, FLOOR) * max(mass, FLOOR)
            assert abs(Fraction(float(value)) - true) <= Fraction(ACCURACY) * size + Fraction(2) ** -1074


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_close_to_the_true_product_for_any_numbers(data):
    n, d, k = (data.draw(st.integers(1, 4)) for _ in range(3))
    rows = data.draw(hnp.arrays(np.float64, (n, d), elements=ENTRIES))
    matrix = data.draw(hnp.arrays(np.float64, (d, k), elements=st.floats(-1e6, 1e6)))
    assert_close(rows, matrix)


def test_past_the_largest_float_saturates():
    rows = np.array([[1e300, 1e300], [-1e300, -1e300], [1e300, -1e300], [1.0, 1.0]])
    result = recordwise_product(rows, np.full((2, 1), 1e10))
    assert result[:, 0].tolist() == [LARGEST, -LARGEST, 0.0, 2e10]


def test_no_overflow_on_the_way_to_a_finite_result():
    assert recordwise_product(np.array([[1.5e308, 1e308]]), np.array([[2.0**-800], [0.0]])) == 1.5e308 * 2.0**-800
    assert recordwise_product(np.array([[2.0**-800]]), np.array([[1.5e308]])) == 1.5e308 * 2.0**-800


def test_no_record_raises_even_when_numpy_is_told_to_raise():
    rows, matrix = np.array([[1e300, 5e-324], [np.nan, np.inf]]), np.full((2, 2), 1e300)
    with np.errstate(all="ignore"):
        quiet = recordwise_product(rows, matrix)
    with np.errstate(all="raise"):
        assert same_bits(recordwise_product(rows, matrix), quiet)


def test_wrong_width_and_a_non_finite_matrix_are_refused():
    with pytest.raises(ValueError, match="width 3"):
        SlicedMatrix(np.ones((3, 2))).product(np.ones((5, 4)))
    with pytest.raises(ValueError, match="finite"):
        SlicedMatrix(np.array([[np.inf]]))
