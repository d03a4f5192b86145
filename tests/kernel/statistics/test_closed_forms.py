"""What the statistics of single records mean: lengths, scores, missing entries, directions; no sum of them is tried."""

import math
from functools import partial
from itertools import combinations_with_replacement

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from recording import RecordingNoise
from states import standing_session, standing_view
from stats import phi

from dimfree.data.blocks import SparseRows
from dimfree.data.records import as_records
from dimfree.kernel.rows.bases import Basis
from dimfree.kernel.rows.clip import BALL
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics import scores
from dimfree.kernel.statistics.clipped_sum import Ball, _votes_of, clip_missing, length_counts, sum_clipped
from dimfree.kernel.statistics.scores import Scoring, phi_inverse, total_scores
from dimfree.kernel.statistics.unit_vectors import (
    CROSS,
    DIAGONAL,
    LENGTH,
    STEPS,
    UNIT,
    DirectionCenter,
    total_directions,
    unit_steps,
    whole_length,
)
from dimfree.shapes import IsotropicCovariance

NAN, INF = float("nan"), float("inf")
EDGES = np.array([0.5, 1.0, 2.0, 4.0])


def space_of(rows, width=2, *, by_entry=False):
    table = np.array(rows, dtype=np.float64).reshape(len(rows), width)
    return Space(as_records(table, missing="complete-case"), IsotropicCovariance(1.0), by_entry=by_entry)


# ---- lengths and clipped sums


@pytest.mark.parametrize(("length", "cell"), [(0.0, 0), (0.5, 0), (0.6, 1), (1.0, 1), (3.9, 3), (4.0, 3), (4.1, 4)])
def test_a_length_on_an_edge_is_below_it(length, cell):
    assert length_counts(space_of([(length, 0.0)]), Ball(np.zeros(2), 1.0, 1.0), EDGES).argmax() == cell


def test_lengths_are_seen_from_the_center_in_columns_divided_by_the_scale(rng):
    ball = Ball(np.array([5.0, 0.0, -1.0]), np.array([1.0, 10.0, 0.1]), 1.0)
    rows = rng.normal(size=(400, 3)) * ball.scale + ball.center
    expected = np.searchsorted(EDGES, np.linalg.norm((rows - ball.center) / ball.scale, axis=1))
    assert np.array_equal(length_counts(space_of(rows, 3), ball, EDGES), np.bincount(expected, minlength=5))


def test_every_valid_record_is_in_one_cell():
    places = ((0.3, 0.3), (3.0, 0.0), (1e300, -1e300), (-1.7e308, 5e-324), (NAN, 0.0))
    for table in combinations_with_replacement(places, 2):
        counted = length_counts(space_of(table), Ball(np.zeros(2), 1.0, 1.0), EDGES).sum()
        assert counted == sum(np.isfinite(row).all() for row in table)


def test_a_capped_entry_leaves_the_other_columns_of_its_record_alone():
    """Without a cap it is held at four radii, and its record is clipped with all its columns."""
    rows, step = [[1e9, 1.0]], 10 / BALL
    assert (sum_clipped(space_of(rows), Ball(np.zeros(2), 1.0, 10.0, cap=8.0)) * step).tolist() == pytest.approx(
        [8.0, 1.0], abs=step
    )
    assert sum_clipped(space_of(rows), Ball(np.zeros(2), 1.0, 10.0))[1] * step == pytest.approx(0.25, rel=0.01)


def test_a_shell_is_what_a_smaller_radius_cuts_off(rng):
    space = space_of(rng.normal(size=(40, 3)) * np.geomspace(0.05, 0.2, 40)[:, None], 3)
    outer, small = (sum_clipped(space, Ball(np.full(3, 0.3), 1.0, radius)) * radius for radius in (1.0, 0.25))
    shell = sum_clipped(space, Ball(np.full(3, 0.3), 1.0, 1.0), BALL // 4)
    assert (shell / BALL).tolist() == pytest.approx(((outer - small) / BALL).tolist(), abs=1e-4)


# ---- scores


def test_phi_is_the_identity_up_to_one_and_slow_beyond():
    u = np.concatenate([np.linspace(0, 3, 3001), np.geomspace(3.1, 1e20, 200)])
    assert np.array_equal(scores._become_phi(u.copy()), phi(u))
    slopes = np.diff(phi(u)) / np.diff(u)
    assert (slopes > 0).all()
    assert (np.diff(slopes) <= 1e-9).all()  # concave: never steeper than the identity
    assert phi_inverse(phi(u)) == pytest.approx(u, rel=1e-12, abs=1e-300)


def test_scores_come_back_in_units_of_the_guess(rng):
    rows, guess, center = rng.normal(size=(50, 3)), np.array([2.0, 0.5, 8.0]), np.array([1.0, -1.0, 0.0])
    scoring = Scoring(center, guess, 1000.0)
    total = total_scores(space_of(rows, 3), scoring, 2.0) * (scoring.norm / BALL)
    assert total == pytest.approx(phi(((rows - center) / guess) ** 2 / 2).sum(axis=0), abs=50 * 1000 / BALL)


# ---- missing entries


def sums(*rows):
    space, ball = space_of(rows, by_entry=True), Ball(np.full(2, 0.1), 1.0, 1.0)
    return [space.sum_over(partial(clip_missing, 1.0), 2).tolist(), sum_clipped(space, ball).tolist()]


def test_an_entry_that_is_not_finite_is_missing_and_adds_nothing_to_its_column():
    assert sums((INF, 0.3)) == sums((NAN, 0.3)) == sums((-INF, 0.3))
    assert sums((0.5, NAN)) == [[0, BALL], [sums((0.5, 0.1))[1][0], 0]]


def test_a_record_with_many_missing_entries_counts_less_in_each():
    first, second = sums((NAN, NAN))[0]
    assert first == second
    assert 0.999 * BALL / math.sqrt(2) < first < BALL / math.sqrt(2)


# ---- directions

SIZES = [5e-324, 1e-310, 2.3e-308, 1e-160, 1.0, 1 / 3, 1e160, 1.7e308]
adversarial = st.one_of(
    st.sampled_from([0.0, *SIZES, *(-size for size in SIZES)]),
    st.floats(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
)
tables = hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 7)), elements=adversarial)


def squared_lengths(steps):
    return [sum(int(step) ** 2 for step in row) for row in steps]


@settings(max_examples=150)
@given(tables)
def test_no_direction_leaves_its_ball(rows):
    found = unit_steps(rows)
    assert (found == np.trunc(found)).all()
    assert (np.sign(found) * np.sign(rows) >= 0).all()
    for row, squared in zip(rows, squared_lengths(found), strict=True):
        assert squared <= UNIT
        assert row.any() == (squared > 0.98 * UNIT)  # no record is too small or too large to point


def test_a_direction_a_little_too_long_is_shortened():
    """Whole numbers whose squares sum to one more than the ball has: a factor that is rounded up would keep them."""
    some = np.arange(1, LENGTH + 1)
    other = np.sqrt(UNIT + 1 - some**2.0).round().astype(np.int64)
    rows = np.stack([some, other], axis=1)[some**2 + other**2 == UNIT + 1].astype(np.float64)
    assert len(rows) > 8
    assert max(squared_lengths(unit_steps(rows))) <= UNIT


def test_equal_offsets_of_sparse_rows_vote_for_the_first_column(rng):
    """In whatever order their entries are stored."""
    matrix = sparse.csr_array(np.repeat([[0.0, -3.0, 3.0, 0.0, 3.0]], 4, axis=0))
    for row in range(4):
        some = slice(3 * row, 3 * row + 3)
        order = rng.permutation(3)
        matrix.indices[some], matrix.data[some] = matrix.indices[some][order], matrix.data[some][order]
    matrix.has_sorted_indices = False
    found = _votes_of(Ball(np.zeros(5), 1.0, 1.0), np.array([1.0, 2.0]), SparseRows(matrix)).reshape(5, 2, 2)
    assert (found.sum(), found[1, 0, 1]) == (4, 4)


@settings(max_examples=60)
@given(tables, st.sampled_from(SIZES), st.sampled_from([*SIZES, -1.7e308]))
@pytest.mark.filterwarnings("error")
def test_no_center_lets_a_record_out_of_the_ball_or_warns(rows, scale, center):
    width = rows.shape[1]
    found = DirectionCenter(np.full(width, center), np.full(width, scale)).directions(rows)
    assert np.isfinite(found).all()
    assert max(squared_lengths(found)) <= UNIT


def test_directions_point_where_the_records_lie(rng):
    rows, scale = rng.normal(size=(50, 6)), np.exp(rng.normal(size=6))
    offsets = (rows - 0.25) / scale
    true = offsets / np.linalg.norm(offsets, axis=1, keepdims=True)
    assert np.abs(DirectionCenter(np.full(6, 0.25), scale).directions(rows) / LENGTH - true).max() < 2 / LENGTH


@pytest.mark.parametrize("width", [2**19, 2**19 + 1, 2**20])
def test_directions_are_exact_up_to_a_million_coordinates(width, rng):
    """The fullest row there is: with one bit more its squares would leave the floats."""
    rows = np.stack([np.full(width, 2.0 - 2.0**-30), np.where(rng.random(width) < 0.5, 1.9, -1.1)])
    found = unit_steps(rows)
    assert ((found.astype(np.int64) ** 2).sum(axis=1) <= UNIT).all()
    assert found.tobytes() == np.concatenate([unit_steps(rows[[1]]), unit_steps(rows[[0]])])[::-1].tobytes()


@pytest.mark.parametrize("size", [2**20, 2**40, 2**55, 2**62])
def test_a_length_is_exact_however_long(size, rng):
    vector = rng.integers(-size, size, 1000)
    assert whole_length(vector) == math.isqrt(sum(int(v) ** 2 for v in vector))
    assert [whole_length(np.array(v)) for v in ([0], [3, -4], [1, 1])] == [0, 5, 1]


class Stretched(Basis):
    """A public map that is no rotation: five times too long."""

    name = "stretched"

    def __init__(self, dimension):
        self.dimension = self.width = dimension

    def rotate(self, rows):
        return 5.0 * rows

    def restore_answer(self, vector):
        return vector / 5.0


def test_a_record_has_at_most_the_whole_weight_and_the_whole_spread():
    """At the center, or so far from it that the offset is no float, it has no direction; in any basis a spread ends."""
    lookout, far = DirectionCenter(np.full(2, 0.25), np.ones(2)), DirectionCenter(np.array([-1.7e308, 0.0]), np.ones(2))
    for row, seen_from in (((0.25, 0.25), lookout), ((1.7e308, 0.0), far)):
        seen = total_directions(space_of([row]), seen_from, Stretched(2))
        assert seen.tolist() == [0, 0, STEPS, 0]
    assert total_directions(space_of([(1.25, 1.25)]), lookout, Stretched(2))[-1] == STEPS
    assert (
        total_directions(space_of([[1.25] * 64], 64), DirectionCenter(np.full(64, 0.25), np.ones(64)), None)[-2]
        == STEPS
    )


class Ones(RecordingNoise):
    """Every draw is one step."""

    def gaussian(self, stddev, size):
        return super().gaussian(stddev, size) + 1


def test_a_number_leaves_as_whole_steps_with_noise():
    session, _ = standing_session(np.zeros((1, 1)), noise=Ones())
    found = session._release_number(lambda: 2**70, 2**22, 0.5, 2.0, "a number")
    assert found.value == (2**70 + 1) * 0.5  # beyond 64 bits, too


def test_the_noise_of_the_matrix_is_symmetric_and_smaller_beside_the_diagonal():
    """41² < 2·29²: so weighted, half the matrix is no longer than 29 times the whole of it."""
    assert CROSS**2 < 2 * DIAGONAL**2 < (CROSS + 1) ** 2
    rows, lookout = np.array([[2.0, 0.1, 0.7]] * 3), DirectionCenter(np.zeros(3), np.ones(3))
    quiet, noisy = (
        standing_view(rows, noise=noise).outer_products(lookout).matrix(1.0) for noise in (RecordingNoise(), Ones())
    )
    added = (noisy.value - quiet.value) * UNIT
    assert np.allclose(np.diagonal(added), 1 / DIAGONAL)
    assert np.allclose(added[~np.eye(3, dtype=bool)], 1 / CROSS)
    assert noisy.event.step == 1 / (DIAGONAL * UNIT)  # so that stddev · step is the noise on the diagonal
    assert (noisy.value == noisy.value.T).all()
