"""Clipping to whole steps: what is inside stays, what is outside is pulled toward the centre, every row alone."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dimfree.data.blocks import SparseRows
from dimfree.kernel.rows.clip import (
    BALL,
    _column_sums,
    are_outside,
    clipped_total,
    exact_squares,
    norms,
    squares,
    to_ball,
)
from dimfree.kernel.statistics.clipped_sum import Ball
from dimfree.kernel.statistics.scores import Scoring


def squares_one_by_one(steps):
    return [sum(int(v) ** 2 for v in row) for row in steps]


def test_a_row_inside_is_rounded_to_the_nearest_step():
    rows = np.array([[0.25, -0.5], [1.4 / BALL, -0.6 / BALL], [0.0, 1.0]])
    assert to_ball(rows, 1.0).tolist() == [[BALL / 4, -BALL / 2], [1, -1], [0, BALL]]


def test_a_row_outside_keeps_its_direction():
    clipped = to_ball(np.array([[3.0, 4.0]]) / 2, 1.0)[0] / BALL
    assert clipped == pytest.approx([0.6, 0.8], abs=2 / BALL)
    assert (clipped <= [0.6, 0.8]).all()


def test_the_radius_is_the_unit(seed):
    rows = np.random.default_rng(seed).normal(size=(30, 4))
    assert (to_ball(rows, 1.5) == to_ball(rows * 8, 12.0)).all()


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300])
def test_an_endless_coordinate_is_held(value):
    clipped = to_ball(np.array([[value, 0.5]]), 1.0)[0]
    assert abs(clipped[0]) == pytest.approx(BALL, rel=0.05)
    assert np.sign(clipped[0]) == np.sign(value)


def test_the_caller_keeps_its_rows(seed):
    rows = np.random.default_rng(seed).normal(size=(5, 3))
    before = rows.copy()
    to_ball(rows, 0.1)
    norms(rows, 0.1)
    assert (rows == before).all()


@pytest.mark.parametrize("dimension", [1, 3, 256, 300, 5000])
def test_squares_are_exact_up_to_their_limit_and_rounded_beyond(seed, dimension):
    rng = np.random.default_rng(seed)
    steps = np.concatenate([rng.integers(-high, high + 1, (6, dimension)) for high in (1, 2**15, 2**20, 2**22)]).astype(
        np.float64
    )
    steps[0] = 2**22
    for found, true in zip(exact_squares(steps), squares_one_by_one(steps), strict=True):
        if true <= 2**52:
            assert int(found) == true
        assert float(found) == pytest.approx(true, rel=2.0**-51)


@pytest.mark.parametrize("offset", [-1, 0, 1, 2])
def test_squares_where_floats_begin_to_round(offset):
    """2^52 and 2^53 and their surroundings: 256 coordinates of 2^22 and a little more or less."""
    for count in (256, 512):
        steps = np.full((1, count + 1), 2.0**22)
        steps[0, -1] = 1.0
        steps[0, 0] += offset
        true = squares_one_by_one(steps)[0]
        assert abs(int(exact_squares(steps)[0]) - true) <= true * 2.0**-52


def test_squares_do_not_depend_on_the_company(seed):
    rng = np.random.default_rng(seed)
    steps = rng.integers(-(2**22), 2**22, (33, 1237)).astype(np.float64)
    steps[::3] //= 2**12
    together = exact_squares(steps)
    assert [exact_squares(steps[j : j + 1].copy())[0] for j in range(33)] == together.tolist()
    assert (exact_squares(np.asfortranarray(steps)) == together).all()


def test_norms_are_accurate_below_the_largest_and_large_above(seed):
    rows = np.random.default_rng(seed).normal(size=(50, 20))
    true = np.sqrt((rows**2).sum(axis=1))
    assert norms(rows, 20.0) == pytest.approx(true, rel=1e-4)
    assert (norms(rows * 1e9, 20.0) > 20).all()
    assert norms(np.full((1, 20), 1e308), 20.0)[0] > 20


def test_norms_do_not_depend_on_the_company(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 333)) * np.exp(5 * rng.normal(size=(40, 1)))
    together = norms(rows, 50.0)
    assert [norms(rows[j : j + 1].copy(), 50.0)[0] for j in range(40)] == together.tolist()


# sparse rows: the bits of the dense ones, from the stored entries alone


def assert_alike(rows, radius, entrywise):
    stored, steps = SparseRows(sparse.csr_array(rows)), held(entrywise(rows, slice(None), radius / BALL))
    whole = to_ball(steps, BALL)
    assert clipped_total(rows, radius, entrywise).tolist() == whole.sum(axis=0).tolist()
    assert clipped_total(stored, radius, entrywise).tolist() == whole.sum(axis=0).tolist()
    for inner in (1, BALL // 3, BALL - 1):
        shell = clipped_total(rows, radius, entrywise, inner).tolist()
        assert clipped_total(stored, radius, entrywise, inner).tolist() == shell == shells(steps, inner)
    for found in (squares, norms):
        assert found(stored, radius, entrywise).tobytes() == found(rows, radius, entrywise).tobytes()
    outside = np.array(squares_one_by_one(steps)) > BALL**2
    assert are_outside(stored, radius, entrywise).tolist() == outside.tolist()


def shells(steps, inner):
    """The sum of what lies between `inner` and the ball, row by row; no row is longer than that."""
    total = np.zeros(steps.shape[1])
    for row, squared in zip(steps, squares_one_by_one(steps), strict=True):
        length = np.sqrt(float(squared))
        part = np.trunc(row * ((min(length, BALL) - inner) / max(length, 1) * (1 - 2.0**-40))) * (squared > inner**2)
        assert sum(int(each) ** 2 for each in part) <= (BALL - inner) ** 2
        total += part
    return total.tolist()


def held(steps):
    """Whole steps, held where the code holds them."""
    return np.nan_to_num(np.clip(np.rint(steps), -(2**22), 2**22))


mostly_zero = st.one_of(st.just(0.0), st.just(0.0), st.floats(-3, 3), st.sampled_from([1e-7, -1e5, 1e300, -1e300]))


@settings(max_examples=150)
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(0, 6), st.integers(1, 7)), elements=mostly_zero),
    st.lists(st.sampled_from([0.0, 0.2, -0.7, 3.0, 1e-9, -1e300]), min_size=7, max_size=7),
    st.sampled_from([1.0, 0.01, 30.0, 1e12]),
)
def test_sparse_rows_are_clipped_as_dense_ones(rows, centre, radius):
    centre, spread = np.array(centre)[: rows.shape[1]], np.linspace(0.5, 2, 7)[: rows.shape[1]]
    with np.errstate(all="ignore"):
        assert_alike(rows, radius, Ball(centre, spread, radius).offsets)
        assert_alike(rows, radius, Ball(centre, 1.0, radius).offsets)
        assert_alike(rows, radius, Ball(centre, spread, radius, cap=0.7 * radius).offsets)
        assert_alike(rows, radius, Ball(centre, spread, radius, cap=2.0).offsets)
        assert_alike(rows, radius, partial(Scoring(centre, spread, radius).scores, 0.3))


@pytest.mark.parametrize("step", [1.0, 1e-6])
def test_a_cap_holds_single_entries_and_leaves_missing_ones(step):
    rows = np.array([[0.0, np.nan, 1e300, -np.inf], [np.inf, -4.0, 3.0, 0.5]])
    centre, scale = np.array([-5.0, 0.0, 1.0, 0.5]), np.array([1.0, 2.0, 1.0, 1e-300])
    found = Ball(centre, scale, 1.0, cap=2.0).offsets(rows, slice(None), step)
    with np.errstate(all="ignore"):
        expected = np.clip(Ball(centre, scale, 1.0).offsets(rows, slice(None), step), -2.0 / step, 2.0 / step)
    assert found.tobytes() == expected.tobytes()
    assert np.isnan(found).tolist() == np.isnan(rows).tolist()
    one_by_one = [Ball(centre, scale, 1.0, cap=2.0).offsets(rows[:, j], np.full(2, j), step) for j in range(4)]
    assert np.column_stack(one_by_one).tobytes() == found.tobytes()


@pytest.mark.parametrize("radius", [0.5, 3.0, 4.5, 50.0])
def test_many_sparse_rows_about_a_centre(seed, radius, monkeypatch):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(90, 60)) * (rng.random((90, 60)) < 0.1) * np.exp(rng.normal(size=(90, 1)))
    ball = Ball(np.round(rng.normal(size=60), 1), rng.uniform(0.5, 2, 60), radius)
    assert_alike(rows, radius, ball.offsets)
    monkeypatch.setattr("dimfree.kernel.rows.clip._CELLS", 70)
    assert_alike(rows, radius, ball.offsets)


@pytest.mark.parametrize("dimension", [2**19 - 3, 2**19 + 5])
def test_a_centre_too_far_for_64_bit_sums_of_squares(dimension):
    """All coordinates at the cap: squared norms of about 2^63, of which a wrapped sum would be negative."""
    rows = np.zeros((3, dimension))
    rows[0, 5], rows[1, :2] = 1e300, -1e300
    ball = Ball(np.full(dimension, 1e200), 1.0, 1.0)
    assert (squares(SparseRows(sparse.csr_array(rows)), 1.0, ball.offsets) > 2.0**62).all()
    assert_alike(rows, 1.0, ball.offsets)


def test_a_stored_zero_is_a_zero():
    rows = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    stored = sparse.csr_array(([0.0, 2.0, -0.0], [0, 1, 2], [0, 3, 3]), shape=(2, 3))
    ball = Ball(np.array([0.5, 0.0, -4.0]), 1.0, 1.5)
    assert (clipped_total(SparseRows(stored), 1.5, ball.offsets) == clipped_total(rows, 1.5, ball.offsets)).all()


def test_only_the_block_of_sparse_rows_is_looked_at(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(9, 5)) * (rng.random((9, 5)) < 0.5)
    ball = Ball(rng.normal(size=5), rng.uniform(1, 2, 5), 1.5, np.array([1, 4]))
    totals = [clipped_total(ball.seen(r), 1.5, ball.offsets) for r in (rows, SparseRows(sparse.csr_array(rows)))]
    assert totals[0].tolist() == totals[1].tolist()
    assert len(totals[0]) == 2


# the screen: rows that need no care are told from the others by their float sum of squares


def total_one_by_one(rows, radius):
    """Python integers throughout, but for the factor by which a row outside is shortened."""
    total = [0] * rows.shape[1]
    for row in rows:
        with np.errstate(all="ignore"):
            steps = [
                0 if np.isnan(v) else int(max(-(2.0**22), min(2.0**22, np.rint(v / (radius / BALL))))) for v in row
            ]
        square = sum(v * v for v in steps)
        factor = 1.0 if square <= BALL**2 else BALL / np.sqrt(float(square)) * (1 - 2.0**-40)
        total = [a + int(v * factor) for a, v in zip(total, steps, strict=True)]
    return total


@pytest.mark.parametrize("radius", [0.5, 1.0, 3.0])
def test_rows_of_every_kind_side_by_side(rng, radius):
    """Inside, on the sphere, outside, at the cap and beyond it, infinite and without a value."""
    kinds = [rng.normal(size=(20, 4)) * size for size in (0.1, 1, 4, 4 * radius, 1e3, 1e200)]
    odd = [[radius, 0, 0, 0], [4 * radius, 0, 0, 0], [4 * radius, radius / BALL, 0, 0], [np.inf, 1, -1, 0]]
    odd += [[np.nan, 0.1, 0, 0], [np.nan, np.inf, -np.inf, 9], [-4 * radius] * 4, [1e308] * 4, [0] * 4]
    rows = rng.permutation(np.concatenate([*kinds, odd]))
    assert clipped_total(rows, radius).tolist() == total_one_by_one(rows, radius)
    with np.errstate(all="ignore"):
        assert clipped_total(rows, radius, lambda v, c, step: v / step).tolist() == total_one_by_one(rows, radius)


@pytest.mark.parametrize("width", [1, 7, 900, 3000])
def test_short_rows_are_added_several_at_a_time(rng, width):
    rows = np.rint(rng.normal(size=(11, width)) * 2**10)
    for count in (0, 1, 10, 11):
        assert _column_sums(rows[:count]).tolist() == rows[:count].astype(np.int64).sum(axis=0).tolist()
