"""P8 in tiny worlds: a clipped record never exceeds the ball, and a clipped sum moves by one ball, or two."""

import numpy as np
import pytest
from exact.worlds import largest_move, space_of
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dimfree.accounting.budget import Neighbours
from dimfree.data import records as records_module
from dimfree.data.records import open_records
from dimfree.kernel.rows import space as space_module
from dimfree.kernel.rows.clip import BALL, to_ball
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Ball, clipped_sum
from dimfree.shapes import Isotropic

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
NAN, UP = float("nan"), np.nextafter(1.0, 2.0)
LINE = ((0.3,), (1.3,), (-0.7,), (0.3 + UP,), (1e300,), (-1e300,), (5e-324,), (NAN,))
FAR = ((-1e300, 1e300), (1e300, -1e300))
PLANE = ((0.3, 0.3), (1.3, 0.3), (0.9, 1.1), (0.3 - 1e-7, 9.0), *FAR, (1.0, 1.0), (NAN, 0.0))
WORLDS = {"line": LINE, "plane": PLANE}
every_world = pytest.mark.parametrize("places", WORLDS.values(), ids=WORLDS.keys())
charged = pytest.mark.parametrize(("relation", "balls"), [(ADD, 1), (REPLACE, 2)])


def ball_of(dimension, radius=1.0, **more):
    return Ball(np.full(dimension, 0.3), 1.0, radius, **more)


def total(table, dimension, **more):
    return clipped_sum(space_of(table, dimension), ball_of(dimension, **more)).tolist()


@every_world
@charged
def test_the_sum_moves_by_at_most_the_charged_number_of_balls(places, relation, balls):
    moved = largest_move(places, relation, total)
    assert (0.999 * balls * BALL) ** 2 < moved <= (balls * BALL) ** 2  # a smaller charge would go unnoticed


@every_world
@pytest.mark.parametrize("cap", [0.4, 0.8, 3.0])
@charged
def test_entries_held_at_a_cap_leave_the_charge_as_it_is(places, cap, relation, balls):
    longest = min(1.0, cap * len(places[0]) ** 0.5)  # of a record whose entries are all held
    moved = largest_move(places, relation, lambda table, width: total(table, width, cap=cap))
    assert (0.999 * balls * longest * BALL) ** 2 < moved <= (balls * BALL) ** 2


@every_world
@pytest.mark.parametrize("inner", [1, BALL // 2, BALL - 1024])
@charged
def test_a_shell_moves_by_its_width(places, inner, relation, balls):
    moved = largest_move(places, relation, lambda t, d: clipped_sum(space_of(t, d), ball_of(d), inner).tolist())
    assert (0.99 * balls * (BALL - inner)) ** 2 < moved <= (balls * (BALL - inner)) ** 2


def test_a_shell_is_what_a_smaller_radius_cuts_off():
    rows = np.random.default_rng(0).normal(size=(40, 3)) * np.geomspace(0.05, 0.2, 40)[:, None]
    space, inner = space_of(rows), BALL // 4
    outer, small = (clipped_sum(space, ball_of(3, radius)) * radius for radius in (1.0, 0.25))
    assert (clipped_sum(space, ball_of(3), inner) / BALL).tolist() == pytest.approx(
        ((outer - small) / BALL).tolist(), abs=1e-4
    )


def test_a_cap_taken_from_the_records_would_move_the_sum_too_far():
    """A twin: the median offset of the table as its cap, which one record changes for all."""

    def total_of(offsets):
        ball = Ball(np.zeros(1), 1.0, 1.0, cap=float(np.median(offsets)))
        return int(clipped_sum(space_of([[offset] for offset in offsets]), ball)[0])

    assert abs(total_of([0.1, 0.1, 0.9, 0.9]) - total_of([0.1, 0.1, 0.9, 0.9, 0.9])) > 1.5 * BALL


def test_a_held_entry_leaves_the_other_columns_of_its_record_alone():
    """Without a cap it is held at four radii, and its record is drawn in with all its columns."""
    rows, ball = [[1e9, 1.0]], Ball(np.zeros(2), 1.0, 10.0, cap=8.0)
    step = ball.radius / BALL
    assert (clipped_sum(space_of(rows), ball) * step).tolist() == pytest.approx([8.0, 1.0], abs=step)
    assert clipped_sum(space_of(rows), Ball(np.zeros(2), 1.0, 10.0))[1] * step == pytest.approx(0.25, rel=0.01)


def test_invalid_records_add_nothing():
    assert total(((NAN,),), 1) == total((), 1) == [0]
    assert total(((1.0,), (NAN,)), 1) == total(((1.0,),), 1)


# ---- the norm of one clipped record


def norm_squared(steps):
    return [sum(int(v) ** 2 for v in row) for row in steps]


def rounded_after_clipping(rows, radius):
    """A twin: clip in floats, then round to nearest. It leaves the ball."""
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return np.rint(rows * np.minimum(1, radius / lengths) / radius * BALL)


adversarial = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, UP, 1 - 2.0**-53, 1e300, -1.7e308, 5e-324, 2.0**-20, 0.5 * 2.0**-20, 2.0, 4.0]),
    st.floats(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
)


@settings(max_examples=200, deadline=None)
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 8)), elements=adversarial),
    st.sampled_from([1.0, 0.1, 3e-200, 7e150, UP]),
)
def test_no_clipped_record_leaves_the_ball(rows, radius):
    assert max(norm_squared(to_ball(rows, radius))) <= BALL**2


@pytest.mark.parametrize("dimension", [1, 2, 3, 50, 1000, 5000])
def test_no_clipped_record_leaves_the_ball_near_its_surface(seed, dimension):
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(40, dimension))
    directions /= np.sqrt((directions**2).sum(axis=1, keepdims=True))
    stretch = np.concatenate([1 + rng.normal(size=25) * 1e-6, 1 + np.arange(-5, 5) * 2.0**-53, [1e3, 1e9, 1e200, 1, 2]])
    squares = norm_squared(to_ball(directions * stretch[:, None], 1.0))
    assert max(squares) <= BALL**2
    assert max(squares) > (BALL - 2 * dimension**0.5) ** 2  # and it is not clipped much more than asked


def test_the_rounding_twin_leaves_the_ball(seed):
    rows = np.random.default_rng(seed).normal(size=(200, 50))
    assert max(norm_squared(rounded_after_clipping(rows, 1.0))) > BALL**2
    assert max(norm_squared(to_ball(rows, 1.0))) <= BALL**2


@pytest.mark.parametrize("value", [1e300, 4.0, 3.9999, 1.0])
def test_a_record_too_wide_for_64_bit_sums_stays_in_the_ball(value):
    """2^19 coordinates at the cap have a squared norm of 2^63: an integer sum would wrap to a negative number."""
    wide = to_ball(np.full((1, 2**19 + 5), value), 1.0)[0]
    assert (wide == wide[0]).all()
    assert int(wide[0]) ** 2 * len(wide) <= BALL**2
    assert wide[0] > 0


# ---- blocks, order, storage and company change nothing


@pytest.mark.parametrize("block_entries", [1, 7, 10**6])
def test_blocks_order_and_storage_change_no_bit(rng, monkeypatch, block_entries):
    rows = rng.normal(size=(53, 3)) * np.exp(rng.normal(size=(53, 1)) * 3)
    rows[::7], rows[3] = 1e200, np.nan
    expected = total(rows, 3, radius=0.8)
    for module, name in ((records_module, "_BLOCK_ENTRIES"), (space_module, "_TILE_ENTRIES")):
        monkeypatch.setattr(module, name, block_entries)
    assert total(rng.permutation(rows), 3, radius=0.8) == expected
    stored = Space(open_records(sparse.csr_array(rows), on_missing="drop"), Isotropic(1.0))
    for _ in range(2):  # the second pass may come from memory
        assert clipped_sum(stored, ball_of(3, 0.8)).tolist() == expected


def test_every_record_is_clipped_as_if_alone(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(64, 700)) * np.exp(rng.normal(size=(64, 1)) * 4)
    together = to_ball(rows, 20.0)
    for j in range(len(rows)):
        assert together[j].tobytes() == to_ball(rows[j : j + 1].copy(), 20.0)[0].tobytes()


def test_only_the_block_is_looked_at_and_the_scale_stretches_coordinates(seed):
    rows = np.random.default_rng(seed).normal(size=(9, 5))
    block, scale = np.array([1, 4]), np.array([1.0, 2.0, 1.0, 1.0, 0.5])
    whole = clipped_sum(space_of(rows[:, block] / scale[block]), Ball(np.zeros(2), 1.0, 1.5))
    assert (clipped_sum(space_of(rows), Ball(np.zeros(5), scale, 1.5, block)) == whole).all()


@pytest.mark.filterwarnings("error")
def test_no_record_causes_a_warning():
    rows = [[1.7e308, -1.7e308], [5e-324, 0.0]]
    found = clipped_sum(space_of(rows), Ball(np.array([-1.7e308, 1.7e308]), 1e-3, 1.0))
    assert np.linalg.norm(found.astype(float)) > 0
