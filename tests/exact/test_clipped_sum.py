"""P8 in tiny worlds: a clipped record never exceeds the ball, and a clipped sum moves by one ball, or two."""

from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from recording import RecordingNoise

from dimfree.accounting.budget import Neighbours
from dimfree.data import records as records_module
from dimfree.data.records import open_records
from dimfree.kernel.rows import space as space_module
from dimfree.kernel.rows.clip import BALL, to_ball
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Ball, clipped_sum, noisy_clipped_mean
from dimfree.shapes import Isotropic

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
NAN, UP = float("nan"), np.nextafter(1.0, 2.0)
LINE = ((0.3,), (1.3,), (-0.7,), (0.3 + UP,), (1e300,), (-1e300,), (5e-324,), (NAN,))
FAR = ((-1e300, 1e300), (1e300, -1e300))
PLANE = ((0.3, 0.3), (1.3, 0.3), (0.9, 1.1), (0.3 - 1e-7, 9.0), *FAR, (1.0, 1.0), (NAN, 0.0))
WORLDS = {"line": LINE, "plane": PLANE}
every_world = pytest.mark.parametrize("places", WORLDS.values(), ids=WORLDS.keys())


def space_of(rows, dimension=None):
    table = np.array(rows, dtype=np.float64).reshape(len(rows), dimension or len(rows[0]))
    return Space(open_records(table, on_missing="drop"), Isotropic(1.0))


def ball_of(dimension, radius=1.0):
    return Ball(np.full(dimension, 0.3), 1.0, radius)


@cache
def total(table, dimension):
    """The integer sum of the code under test, as Python integers."""
    return tuple(int(v) for v in clipped_sum(space_of(table, dimension), ball_of(dimension)))


def squared_move(one, other, dimension):
    return sum((a - b) ** 2 for a, b in zip(total(one, dimension), total(other, dimension), strict=True))


def ordered(table):
    return tuple(sorted(table, key=repr))


def pairs(places, relation, most=3):
    for size in range(1, most + 1):
        for table in combinations_with_replacement(sorted(places, key=repr), size):
            for j in range(size):
                rest = table[:j] + table[j + 1 :]
                if relation is ADD:
                    yield table, rest
                else:
                    yield from ((table, ordered((*rest, place))) for place in places)


@every_world
@pytest.mark.parametrize(("relation", "balls"), [(ADD, 1), (REPLACE, 2)])
def test_the_sum_moves_by_at_most_the_charged_number_of_balls(places, relation, balls):
    dimension = len(places[0])
    moves = [squared_move(one, other, dimension) for one, other in pairs(places, relation)]
    assert max(moves) <= (balls * BALL) ** 2
    assert max(moves) > (0.999 * balls * BALL) ** 2, "a smaller charge would go unnoticed"


@every_world
@pytest.mark.parametrize("cap", [0.4, 0.8, 3.0])
@pytest.mark.parametrize(("relation", "balls"), [(ADD, 1), (REPLACE, 2)])
def test_entries_held_at_a_cap_leave_the_charge_as_it_is(places, cap, relation, balls):
    dimension = len(places[0])

    @cache
    def held(table):
        return clipped_sum(space_of(table, dimension), Ball(np.full(dimension, 0.3), 1.0, 1.0, cap=cap)).tolist()

    moves = [
        sum((a - b) ** 2 for a, b in zip(held(one), held(other), strict=True)) for one, other in pairs(places, relation)
    ]
    longest = min(1.0, cap * dimension**0.5)  # of a record whose entries are all held
    assert max(moves) <= (balls * BALL) ** 2
    assert max(moves) > (0.999 * balls * longest * BALL) ** 2


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


def test_an_exchange_moves_more_than_one_ball():
    """The twin that charges one ball under replace-one is wrong."""
    assert max(squared_move(one, other, 1) for one, other in pairs(LINE, REPLACE)) > BALL**2


def test_invalid_records_add_nothing():
    assert total(((NAN,),), 1) == total((), 1) == (0,)
    assert total(((1.0,), (NAN,)), 1) == total(((1.0,),), 1)


# the norm of one clipped record


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


# blocks, order and company change nothing


@pytest.mark.parametrize("block_entries", [1, 7, 40, 10**6])
@pytest.mark.parametrize("kept_bytes", [0, 2**31])
def test_blocks_and_order_change_no_bit(seed, monkeypatch, block_entries, kept_bytes):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(53, 3)) * np.exp(rng.normal(size=(53, 1)) * 3)
    rows[::7] *= 1e200
    rows[3] = np.nan
    expected = clipped_sum(space_of(rows), ball_of(3, 0.8))
    monkeypatch.setattr(records_module, "_BLOCK_ENTRIES", block_entries)
    monkeypatch.setattr(space_module, "KEPT_BYTES", kept_bytes)
    shuffled = space_of(rng.permutation(rows))
    for _ in range(2):  # the second pass may come from memory
        assert (clipped_sum(shuffled, ball_of(3, 0.8)) == expected).all()


def test_every_record_is_clipped_as_if_alone(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(64, 700)) * np.exp(rng.normal(size=(64, 1)) * 4)
    together = to_ball(rows, 20.0)
    for j in range(len(rows)):
        assert together[j].tobytes() == to_ball(rows[j : j + 1].copy(), 20.0)[0].tobytes()


# what is charged is what was bounded


@pytest.mark.parametrize(("relation", "balls"), [(ADD, 1), (REPLACE, 2)])
@pytest.mark.parametrize("mu", [1e-3, 0.2, 5.0, 300.0])
@pytest.mark.parametrize("dimension", [1, 4])
def test_the_noise_fits_the_sensitivity(relation, balls, mu, dimension):
    noise = RecordingNoise()
    measured = noisy_clipped_mean(
        space_of([[0.3] * dimension] * 3), ball_of(dimension, 2.5), 3.0, mu, relation, "stage", noise=noise
    )
    refinement = 2.5 / BALL / measured.event.step  # extra steps of the noise grid, a power of two
    assert refinement == 2 ** round(np.log2(refinement)) >= 1
    assert measured.event.sensitivity == balls * BALL * refinement
    assert noise.asked == [("gaussian", measured.event.stddev, dimension)]
    assert mu * (1 - 1e-12) < measured.event.sensitivity / measured.event.stddev <= mu
    assert measured.event.stddev >= 2**24 * (1 - 1e-9)
    assert measured.event.dimension == dimension


def test_without_noise_the_mean_offset_comes_back():
    rows = [[0.5, 0.1], [0.2, 0.2], [0.9, 0.9]]
    measured = noisy_clipped_mean(
        space_of(rows), ball_of(2, 5.0), 6.0, 1.0, ADD, "stage", noise=RecordingNoise()
    )  # twice as many records as there are: half the mean
    assert np.allclose(measured.value, (np.mean(rows, axis=0) - 0.3) / 2, atol=1e-5)


def test_only_the_block_is_looked_at(seed):
    rows = np.random.default_rng(seed).normal(size=(9, 5))
    block = np.array([1, 4])
    whole = clipped_sum(space_of(rows[:, block]), Ball(np.zeros(2), 1.0, 1.5))
    assert (clipped_sum(space_of(rows), Ball(np.zeros(5), 1.0, 1.5, block)) == whole).all()


def test_the_scale_stretches_coordinates(seed):
    rows = np.random.default_rng(seed).normal(size=(9, 2))
    stretched = clipped_sum(space_of(rows), Ball(np.zeros(2), np.array([2.0, 0.5]), 1.5))
    assert (stretched == clipped_sum(space_of(rows / np.array([2.0, 0.5])), Ball(np.zeros(2), 1.0, 1.5))).all()


@pytest.mark.filterwarnings("error")
def test_no_record_causes_a_warning():
    rows = [[1.7e308, -1.7e308], [5e-324, 0.0]]
    total = clipped_sum(space_of(rows), Ball(np.array([-1.7e308, 1.7e308]), 1e-3, 1.0))
    assert np.linalg.norm(total.astype(float)) > 0
