"""Clipping to whole steps: what is inside stays, what is outside is pulled toward the centre, every row alone."""

import numpy as np
import pytest

from dimfree.clip import BALL, exact_squares, norms, to_ball


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
