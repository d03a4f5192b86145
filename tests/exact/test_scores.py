"""P10 in tiny worlds: a sum of clipped scores moves by C, or √2·C; the number of clipped records by one."""

import math
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest
from dimfree.mechanisms.search import STEPS
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from recording import RecordingNoise
from scipy import sparse

from dimfree.accounting.budget import Neighbours
from dimfree.data import records as records_module
from dimfree.data.blocks import ALL
from dimfree.data.records import open_records
from dimfree.kernel.rows.clip import BALL, to_ball, whole_steps
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics import scores as scores_module
from dimfree.kernel.statistics.scores import SCORE_SENSITIVITY, Scoring, clipped_scores, noisy_scores, noisy_unit, phi
from dimfree.shapes import Isotropic

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
NAN, CENTRE = float("nan"), 0.3
LINE = ((0.3,), (0.7,), (1.3,), (-0.7,), (40.0,), (1e300,), (-1.7e308,), (5e-324,), (NAN,))
PLANE = ((0.3, 0.3), (1.3, 0.3), (0.3, -0.7), (0.9, 1.1), (1e300, 0.3), (0.3, 1e300), (-1.7e308, 1.7e308), (NAN, 0.0))
SOLID = ((0.3, 0.3, 0.3), (1.0, 0.9, 0.8), (-0.2, 0.9, 0.31), (0.3, 0.3, 9.0), (2.4, 1.6, 3.0), (1.9, 2.1, 1.7))
WORLDS = {"line": LINE, "plane": PLANE, "solid": SOLID}
every_world = pytest.mark.parametrize("places", WORLDS.values(), ids=WORLDS.keys())
charged = pytest.mark.parametrize(("relation", "squares"), [(ADD, 1), (REPLACE, 2)])


def space_of(rows, dimension=None):
    table = np.array(rows, dtype=np.float64).reshape(len(rows), dimension or len(rows[0]))
    return Space(open_records(table, on_missing="drop"), Isotropic(1.0))


def scoring_of(dimension, norm=1.0):
    return Scoring(np.full(dimension, CENTRE), np.ones(dimension), norm)


def released_sum(space, scoring, unit=1.0):
    """What the noise is added to, in steps of norm / BALL: exact for a norm that is a power of two."""
    measured = noisy_scores(space, scoring, unit, 1.0, ADD, noise=RecordingNoise())
    steps = measured.value * (BALL / scoring.norm)
    assert (steps == np.rint(steps)).all()
    return tuple(int(v) for v in steps)


@cache
def total(table, dimension):
    return released_sum(space_of(table, dimension), scoring_of(dimension))


@cache
def clipped(table, dimension):
    return clipped_scores(space_of(table, dimension), scoring_of(dimension), 1.0)


def squared_move(one, other, dimension, summed=total):
    return sum((a - b) ** 2 for a, b in zip(summed(one, dimension), summed(other, dimension), strict=True))


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


def largest_move(places, relation, summed=total, most=3):
    return max(squared_move(one, other, len(places[0]), summed) for one, other in pairs(places, relation, most))


# the sum


@every_world
@charged
def test_the_sum_moves_by_at_most_the_charged_norm(places, relation, squares):
    assert largest_move(places, relation) <= squares * BALL**2
    assert squares * BALL**2 <= (SCORE_SENSITIVITY[relation] * BALL * (1 + 1e-15)) ** 2


@charged
def test_the_charge_is_attained_in_the_plane(relation, squares):
    """So the twin that charges C under replace-one is wrong, and nothing smaller than √2·C would do."""
    assert largest_move(PLANE, relation) > 0.999 * squares * BALL**2


def test_on_a_line_an_exchange_moves_no_more_than_a_removal():
    """Scores are non-negative: two of them never point in opposite directions."""
    assert 0.999 * BALL**2 < largest_move(LINE, REPLACE) <= BALL**2


def test_scores_are_not_negative_whatever_the_record():
    for places in WORLDS.values():
        for place in places:
            assert min(total((place,), len(place))) >= 0


@cache
def signed(table, dimension):
    """A twin: scores that keep the sign of the offset."""
    rows = np.array([row for row in table if np.isfinite(row).all()], dtype=np.float64).reshape(-1, dimension)
    with np.errstate(all="ignore"):
        offsets = rows - CENTRE
        steps = to_ball(np.sign(offsets) * phi(np.nan_to_num(offsets**2, posinf=1e300)), 1.0)
    return tuple(int(v) for v in steps.sum(axis=0))


def test_the_signed_twin_is_caught():
    """Its removals cost C like ours, its exchanges 2·C: more than √2·C."""
    assert largest_move(LINE, ADD, signed) <= BALL**2
    assert largest_move(LINE, REPLACE, signed) > 3.99 * BALL**2


@cache
def rounded_last(table, dimension):
    """A twin: clip in floats, then round to whole steps, and look no more."""
    rows = np.array([row for row in table if np.isfinite(row).all()], dtype=np.float64).reshape(-1, dimension)
    with np.errstate(all="ignore"):
        plain = phi(np.minimum((rows - CENTRE) ** 2, 1e300))
        lengths = np.sqrt((plain**2).sum(axis=1, keepdims=True))
        steps = np.rint(plain * np.minimum(1, 1 / np.maximum(lengths, 1e-300)) * BALL)
    return tuple(int(v) for v in steps.sum(axis=0))


def test_the_twin_that_rounds_last_is_caught():
    assert largest_move(SOLID, ADD, rounded_last) > BALL**2
    assert largest_move(SOLID, ADD) <= BALL**2


def own_unit(table, dimension):
    """A twin: the unit R is the mean square of the records themselves."""
    rows = [row for row in table if np.isfinite(row).all()]
    squares = [min((value - CENTRE) ** 2, 1e300) for row in rows for value in row]
    unit = max(sum(squares) / max(len(squares), 1), 1e-3)
    return released_sum(space_of(table, dimension), scoring_of(dimension), unit)


def test_the_twin_that_takes_its_unit_from_the_records_is_caught():
    """One far record shrinks everybody's score. With a released unit it moves the sum by its own score alone."""
    crowd = ((1.3,),) * 6
    assert squared_move((*crowd, (1e3,)), crowd, 1, own_unit) > 9 * BALL**2
    assert squared_move((*crowd, (1e3,)), crowd, 1) <= BALL**2


# the number of clipped records


@every_world
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_the_number_of_clipped_records_moves_by_at_most_one(places, relation):
    moves = [
        abs(clipped(one, len(places[0])) - clipped(other, len(places[0]))) for one, other in pairs(places, relation)
    ]
    assert max(moves) == 1


def clipped_coordinates(table, dimension):
    """A twin: counts coordinates beyond the knee of φ, not records."""
    rows = np.array([row for row in table if np.isfinite(row).all()], dtype=np.float64).reshape(-1, dimension)
    return int((np.abs(rows - CENTRE) > 1).sum())


def test_the_twin_that_counts_coordinates_is_caught():
    moves = [abs(clipped_coordinates(one, 2) - clipped_coordinates(other, 2)) for one, other in pairs(PLANE, ADD)]
    assert max(moves) > 1


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_the_statistic_of_the_search_moves_by_what_it_is_charged(monkeypatch, relation):
    """What reaches the search is a whole number of steps that moves by one record at most."""
    seen = {}

    def fake(spare, grid, share, count, sensitivity, mu, purpose, *, noise):
        seen["values"], seen["charged"] = [spare(unit) for unit in grid], sensitivity * STEPS

    monkeypatch.setattr(scores_module, "noisy_crossing", fake)

    @cache
    def spares(table):
        grid, noise = np.array([1e-3, 1.0, 1e3]), RecordingNoise()
        noisy_unit(space_of(table, 2), scoring_of(2), 0.6, 4.3, grid, 1.0, noise=noise)
        assert all(type(value) is int for value in seen["values"])
        return tuple(seen["values"])

    moves = [
        abs(a - b) for one, other in pairs(PLANE, relation) for a, b in zip(spares(one), spares(other), strict=True)
    ]
    assert max(moves) == STEPS == seen["charged"]


# one clipped score


adversarial = st.one_of(
    st.sampled_from([0.0, 0.3, 1.3, -0.7, 1e300, -1.7e308, 5e-324, 1e-160, 1e160, 40.0]),
    st.floats(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
)


@settings(max_examples=150, deadline=None)
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 7)), elements=adversarial),
    st.sampled_from([1e-3, 1.0, 7e50, 1e-110]),
    st.sampled_from([1.0, 0.37, 30.0, 1e-6]),
)
def test_no_score_leaves_its_ball_or_the_positive_quadrant(rows, unit, norm):
    scoring = scoring_of(rows.shape[1], norm)
    steps = to_ball(scoring.scores(unit, rows, ALL, norm / BALL), BALL)
    assert (steps >= 0).all()
    assert max(sum(int(v) ** 2 for v in row) for row in steps) <= BALL**2


def test_every_record_is_scored_as_if_alone(rng):
    rows = rng.normal(size=(40, 300)) * np.exp(rng.normal(size=(40, 1)) * 5)
    scoring = Scoring(rng.normal(size=300), np.exp(rng.normal(size=300)), 3.0)
    together = to_ball(scoring.scores(0.7, rows, ALL, 3 / BALL), BALL)
    for j in range(len(rows)):
        alone = to_ball(scoring.scores(0.7, rows[j : j + 1].copy(), ALL, 3 / BALL), BALL)[0]
        assert together[j].tobytes() == alone.tobytes()


@pytest.mark.parametrize("block_entries", [1, 7, 10**6])
def test_blocks_and_order_change_no_bit(rng, monkeypatch, block_entries):
    rows = rng.normal(size=(53, 3)) * np.exp(rng.normal(size=(53, 1)) * 3)
    rows[::7] *= 1e200
    rows[3] = np.nan
    expected = released_sum(space_of(rows), scoring_of(3)), clipped_scores(space_of(rows), scoring_of(3), 1.0)
    monkeypatch.setattr(records_module, "_BLOCK_ENTRIES", block_entries)
    shuffled = space_of(rng.permutation(rows))
    assert (released_sum(shuffled, scoring_of(3)), clipped_scores(shuffled, scoring_of(3), 1.0)) == expected


def test_a_sparse_table_has_the_same_sum_and_count(rng):
    rows = np.where(rng.random((60, 5)) < 0.3, rng.normal(size=(60, 5)) * np.exp(rng.normal(size=(60, 1)) * 3), 0.0)
    rows[5, 2], rows[6] = 1e300, 0.0
    sparse_space = Space(open_records(sparse.csr_array(rows)), Isotropic(1.0))
    for norm in (0.25, 1.0, 64.0):
        scoring = scoring_of(5, norm)
        assert released_sum(sparse_space, scoring) == released_sum(space_of(rows), scoring)
        assert clipped_scores(sparse_space, scoring, 1.0) == clipped_scores(space_of(rows), scoring, 1.0)


def test_invalid_records_add_nothing():
    assert total(((NAN,),), 1) == total((), 1) == (0,)
    assert clipped(((NAN,), (1e300,)), 1) == clipped(((1e300,),), 1) == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-120, 1.0, 1e120])
def test_no_record_causes_a_warning(unit):
    rows = [[1.7e308, -1.7e308], [5e-324, 0.0], [CENTRE, CENTRE]]
    far = Scoring(np.array([-1.7e308, 1.7e308]), np.array([1e-60, 1e60]), 1e-9)
    assert np.isfinite(noisy_scores(space_of(rows), far, unit, 1.0, ADD, noise=RecordingNoise()).value).all()
    assert clipped_scores(space_of(rows), far, unit) == 3


def test_count_and_clipping_look_at_the_same_integers():
    for place in (*SOLID, (0.3 + 0.8**0.5, 0.3 + 0.6**0.5, 0.3)):  # the last one is of norm one up to rounding
        steps = whole_steps(scoring_of(3).scores(1.0, np.array([place]), ALL, 1 / BALL))[0]
        outside = sum(int(v) ** 2 for v in steps) > BALL**2
        assert clipped((place,), 3) == int(outside)
        assert (total((place,), 3) == tuple(int(v) for v in steps)) is not outside


# what is charged is what was bounded


@pytest.mark.parametrize(("relation", "moves"), [(ADD, 1.0), (REPLACE, math.sqrt(2))])
@pytest.mark.parametrize("mu", [1e-3, 0.2, 5.0, 300.0])
@pytest.mark.parametrize("dimension", [1, 4])
def test_the_noise_fits_the_sensitivity(relation, moves, mu, dimension):
    noise = RecordingNoise()
    scoring = scoring_of(dimension, 2.5)
    measured = noisy_scores(space_of([[1.0] * dimension] * 3), scoring, 1.0, mu, relation, noise=noise)
    refinement = 2.5 / BALL / measured.event.step
    assert refinement == 2 ** round(np.log2(refinement)) >= 1
    assert measured.event.sensitivity == pytest.approx(moves * BALL * refinement, rel=1e-14)
    assert measured.event.sensitivity**2 >= moves**2 * BALL**2 * refinement**2
    assert noise.asked == [("gaussian", measured.event.stddev, dimension)]
    assert mu * (1 - 1e-12) < measured.event.sensitivity / measured.event.stddev <= mu
    assert measured.event.stddev >= 2**24 * (1 - 1e-9)
    assert measured.event.dimension == dimension
