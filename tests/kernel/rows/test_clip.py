"""Clipping to whole steps: what is inside stays, what is outside is pulled in, and no row leaves the ball."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dimfree.data.blocks import ALL, SparseRows
from dimfree.kernel.rows.clip import (
    BALL,
    _column_sums,
    exact_squares,
    norms,
    squares,
    total_clipped,
    whole_steps,
)
from dimfree.kernel.statistics.clipped_sum import Ball
from dimfree.kernel.statistics.scores import Scoring

UP = np.nextafter(1.0, 2.0)


def clipped(rows, radius, *mapped):
    """Every row by itself."""
    return np.array([total_clipped(row[None], radius, *mapped) for row in rows])


def squares_one_by_one(steps):
    return [sum(int(v) ** 2 for v in row) for row in steps]


def test_a_row_inside_is_rounded_to_the_nearest_step():
    rows = np.array([[0.25, -0.5], [1.4 / BALL, -0.6 / BALL], [0.0, 1.0]])
    assert clipped(rows, 1.0).tolist() == [[BALL / 4, -BALL / 2], [1, -1], [0, BALL]]
    assert (clipped(rows, 1.5) == clipped(rows * 8, 12.0)).all()  # the radius is the unit


adversarial = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, UP, 1 - 2.0**-53, 1e300, -1.7e308, 5e-324, 2.0**-20, 0.5 * 2.0**-20, 2.0, 4.0]),
    st.floats(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
)
tables = hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 8)), elements=adversarial)


@settings(max_examples=150)
@given(tables, st.sampled_from([1.0, 0.1, 3e-200, 7e150, UP]))
def test_no_clipped_record_leaves_the_ball(rows, radius):
    assert max(squares_one_by_one(clipped(rows, radius))) <= BALL**2


@settings(max_examples=100)
@given(tables, st.sampled_from([1e-3, 1.0, 7e50, 1e-110]), st.sampled_from([1.0, 0.37, 30.0, 1e-6]))
def test_no_score_leaves_its_ball_or_the_positive_quadrant(rows, unit, norm):
    scoring = Scoring(np.full(rows.shape[1], 0.3), np.ones(rows.shape[1]), norm)
    steps = clipped(rows, norm, partial(scoring.scores, unit))
    assert (steps >= 0).all()
    assert max(squares_one_by_one(steps)) <= BALL**2
    whole = whole_steps(scoring.scores(unit, rows, ALL, norm / BALL))  # what is clipped is what is counted as clipped
    outside = [square > BALL**2 for square in squares_one_by_one(whole)]
    assert (squares(rows, norm / BALL, partial(scoring.scores, unit)) > BALL**2).tolist() == outside


@pytest.mark.parametrize("dimension", [1, 2, 50, 5000])
def test_no_clipped_record_leaves_the_ball_near_its_surface(seed, dimension):
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(40, dimension))
    directions /= np.sqrt((directions**2).sum(axis=1, keepdims=True))
    stretch = np.concatenate([1 + rng.normal(size=25) * 1e-6, 1 + np.arange(-5, 5) * 2.0**-53, [1e3, 1e9, 1e200, 1, 2]])
    found = squares_one_by_one(clipped(directions * stretch[:, None], 1.0))
    assert (BALL - 2 * dimension**0.5) ** 2 < max(found) <= BALL**2  # and it is not clipped much more than asked


@pytest.mark.parametrize("value", [1e300, 3.9999, 1.0])
def test_a_record_too_wide_for_64_bit_sums_stays_in_the_ball(value):
    """2^19 coordinates at the cap have a squared norm of 2^63: an integer sum would wrap to a negative number."""
    wide = clipped(np.full((1, 2**19 + 5), value), 1.0)[0]
    assert (wide == wide[0]).all()
    assert wide[0] > 0
    assert int(wide[0]) ** 2 * len(wide) <= BALL**2


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


def test_norms_are_accurate_below_the_largest_and_large_above(seed):
    rows = np.random.default_rng(seed).normal(size=(50, 20))
    true = np.sqrt((rows**2).sum(axis=1))
    assert norms(rows, 20.0) == pytest.approx(true, rel=1e-4)
    assert (norms(rows * 1e9, 20.0) > 20).all()
    assert norms(np.full((1, 20), 1e308), 20.0)[0] > 20


# sparse rows: the bits of the dense ones, from the stored entries alone


def assert_alike(rows, radius, entrywise):
    stored, steps = SparseRows(sparse.csr_array(rows)), held(entrywise(rows, slice(None), radius / BALL))
    whole = clipped(steps, BALL).reshape(rows.shape).sum(axis=0).tolist()
    assert total_clipped(rows, radius, entrywise).tolist() == total_clipped(stored, radius, entrywise).tolist() == whole
    for inner in (1, BALL // 3, BALL - 1):
        shell = total_clipped(rows, radius, entrywise, inner).tolist()
        assert total_clipped(stored, radius, entrywise, inner).tolist() == shell == shells(steps, inner)
    for found in (squares, norms):
        assert found(stored, radius, entrywise).tobytes() == found(rows, radius, entrywise).tobytes()
    outside = np.array(squares_one_by_one(steps)) > BALL**2
    assert (squares(stored, radius / BALL, entrywise) > BALL**2).tolist() == outside.tolist()


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
def test_sparse_rows_are_clipped_as_dense_ones(rows, center, radius):
    center, spread = np.array(center)[: rows.shape[1]], np.linspace(0.5, 2, 7)[: rows.shape[1]]
    with np.errstate(all="ignore"):
        assert_alike(rows, radius, Ball(center, spread, radius).offsets)
        assert_alike(rows, radius, Ball(center, 1.0, radius).offsets)
        assert_alike(rows, radius, Ball(center, spread, radius, cap=0.7 * radius).offsets)
        assert_alike(rows, radius, Ball(center, spread, radius, cap=2.0).offsets)
        assert_alike(rows, radius, partial(Scoring(center, spread, radius).scores, 0.3))


@pytest.mark.parametrize("step", [1.0, 1e-6])
def test_a_cap_holds_single_entries_and_leaves_missing_ones(step):
    rows = np.array([[0.0, np.nan, 1e300, -np.inf], [np.inf, -4.0, 3.0, 0.5]])
    center, scale = np.array([-5.0, 0.0, 1.0, 0.5]), np.array([1.0, 2.0, 1.0, 1e-300])
    found = Ball(center, scale, 1.0, cap=2.0).offsets(rows, slice(None), step)
    with np.errstate(all="ignore"):
        expected = np.clip(Ball(center, scale, 1.0).offsets(rows, slice(None), step), -2.0 / step, 2.0 / step)
    assert found.tobytes() == expected.tobytes()
    assert np.isnan(found).tolist() == np.isnan(rows).tolist()
    one_by_one = [Ball(center, scale, 1.0, cap=2.0).offsets(rows[:, j], np.full(2, j), step) for j in range(4)]
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
    assert total_clipped(rows, radius).tolist() == total_one_by_one(rows, radius)
    with np.errstate(all="ignore"):
        assert total_clipped(rows, radius, lambda v, c, step: v / step).tolist() == total_one_by_one(rows, radius)


@pytest.mark.parametrize("width", [1, 7, 900, 3000])
def test_short_rows_are_added_several_at_a_time(rng, width):
    rows = np.rint(rng.normal(size=(11, width)) * 2**10)
    for count in (0, 1, 10, 11):
        assert _column_sums(rows[:count]).tolist() == rows[:count].astype(np.int64).sum(axis=0).tolist()
