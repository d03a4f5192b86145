"""P10 in tiny worlds: a sum of clipped scores moves by C, or √2·C; the number of clipped records by one."""

from functools import cache

import numpy as np
import pytest
from exact.worlds import largest_move, neighbors, space_of, squared_distance
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dimfree.accounting.budget import Neighbours
from dimfree.data import records as records_module
from dimfree.data.blocks import ALL
from dimfree.data.records import open_records
from dimfree.kernel.rows.clip import BALL, to_ball, whole_steps
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.scores import SCORE_SENSITIVITY, Scoring, lengths_of, phi, total_scores
from dimfree.shapes import Isotropic

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
NAN, CENTRE = float("nan"), 0.3
LINE = ((0.3,), (0.7,), (1.3,), (-0.7,), (40.0,), (1e300,), (-1.7e308,), (5e-324,), (NAN,))
PLANE = ((0.3, 0.3), (1.3, 0.3), (0.3, -0.7), (0.9, 1.1), (1e300, 0.3), (0.3, 1e300), (-1.7e308, 1.7e308), (NAN, 0.0))
SOLID = ((0.3, 0.3, 0.3), (1.0, 0.9, 0.8), (-0.2, 0.9, 0.31), (0.3, 0.3, 9.0), (2.4, 1.6, 3.0), (1.9, 2.1, 1.7))
WORLDS = {"line": LINE, "plane": PLANE, "solid": SOLID}
every_world = pytest.mark.parametrize("places", WORLDS.values(), ids=WORLDS.keys())
charged = pytest.mark.parametrize(("relation", "squares"), [(ADD, 1), (REPLACE, 2)])


def scoring_of(dimension, norm=1.0):
    return Scoring(np.full(dimension, CENTRE), np.ones(dimension), norm)


def released_sum(space, scoring, unit=1.0):
    """What the noise is added to, in steps of norm / BALL."""
    return total_scores(space, scoring, unit).tolist()


def both_of(space, scoring, unit=1.0):
    """The sum, and how many are clipped."""
    return released_sum(space, scoring, unit), lengths_of(space, scoring).clipped(unit)


def total(table, dimension):
    return released_sum(space_of(table, dimension), scoring_of(dimension))


def clipped(table, dimension):
    return lengths_of(space_of(table, dimension), scoring_of(dimension)).clipped(1.0)


# the sum


@every_world
@charged
def test_the_sum_moves_by_at_most_the_charged_norm(places, relation, squares):
    assert largest_move(places, relation, total) <= squares * BALL**2
    assert squares * BALL**2 <= (SCORE_SENSITIVITY[relation] * BALL * (1 + 1e-15)) ** 2


@charged
def test_the_charge_is_attained_in_the_plane(relation, squares):
    """So the twin that charges C under replace-one is wrong, and nothing smaller than √2·C would do."""
    assert largest_move(PLANE, relation, total) > 0.999 * squares * BALL**2


def test_on_a_line_an_exchange_moves_no_more_than_a_removal():
    """Scores are non-negative: two of them never point in opposite directions."""
    assert 0.999 * BALL**2 < largest_move(LINE, REPLACE, total) <= BALL**2


def test_scores_are_not_negative_whatever_the_record():
    for places in WORLDS.values():
        for place in places:
            assert min(total((place,), len(place))) >= 0


def signed(table, dimension):
    """A twin: scores that keep the sign of the offset."""
    rows = np.array([row for row in table if np.isfinite(row).all()], dtype=np.float64).reshape(-1, dimension)
    with np.errstate(all="ignore"):
        offsets = rows - CENTRE
        steps = to_ball(np.sign(offsets) * phi(np.nan_to_num(offsets**2, posinf=1e300)), 1.0)
    return steps.sum(axis=0).astype(int).tolist()


def test_the_signed_twin_is_caught():
    """Its removals cost C like ours, its exchanges 2·C: more than √2·C."""
    assert largest_move(LINE, ADD, signed) <= BALL**2
    assert largest_move(LINE, REPLACE, signed) > 3.99 * BALL**2


def rounded_last(table, dimension):
    """A twin: clip in floats, then round to whole steps, and look no more."""
    rows = np.array([row for row in table if np.isfinite(row).all()], dtype=np.float64).reshape(-1, dimension)
    with np.errstate(all="ignore"):
        plain = phi(np.minimum((rows - CENTRE) ** 2, 1e300))
        lengths = np.sqrt((plain**2).sum(axis=1, keepdims=True))
        steps = np.rint(plain * np.minimum(1, 1 / np.maximum(lengths, 1e-300)) * BALL)
    return steps.sum(axis=0).astype(int).tolist()


def test_the_twin_that_rounds_last_is_caught():
    assert largest_move(SOLID, ADD, rounded_last) > BALL**2
    assert largest_move(SOLID, ADD, total) <= BALL**2


def own_unit(table, dimension):
    """A twin: the unit R is the mean square of the records themselves."""
    rows = [row for row in table if np.isfinite(row).all()]
    squares = [min((value - CENTRE) ** 2, 1e300) for row in rows for value in row]
    unit = max(sum(squares) / max(len(squares), 1), 1e-3)
    return released_sum(space_of(table, dimension), scoring_of(dimension), unit)


def test_the_twin_that_takes_its_unit_from_the_records_is_caught():
    """One far record shrinks everybody's score. With a released unit it moves the sum by its own score alone."""
    crowd = ((1.3,),) * 6
    own, right = ([of(table, 1) for table in ((*crowd, (1e3,)), crowd)] for of in (own_unit, total))
    assert squared_distance(*own) > 9 * BALL**2 >= 9 * squared_distance(*right)


# the number of clipped records


@every_world
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_the_number_of_clipped_records_moves_by_at_most_one(places, relation):
    count = cache(lambda table: clipped(table, len(places[0])))
    assert max(abs(count(one) - count(other)) for one, other in neighbors(places, relation)) == 1


def clipped_coordinates(table, dimension):
    """A twin: counts coordinates beyond the knee of φ, not records."""
    rows = np.array([row for row in table if np.isfinite(row).all()], dtype=np.float64).reshape(-1, dimension)
    return int((np.abs(rows - CENTRE) > 1).sum())


def test_the_twin_that_counts_coordinates_is_caught():
    moves = [abs(clipped_coordinates(one, 2) - clipped_coordinates(other, 2)) for one, other in neighbors(PLANE, ADD)]
    assert max(moves) > 1


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
    expected = both_of(space_of(rows), scoring_of(3))
    monkeypatch.setattr(records_module, "_BLOCK_ENTRIES", block_entries)
    assert both_of(space_of(rng.permutation(rows)), scoring_of(3)) == expected


def test_a_sparse_table_has_the_same_sum_and_count(rng):
    rows = np.where(rng.random((60, 5)) < 0.3, rng.normal(size=(60, 5)) * np.exp(rng.normal(size=(60, 1)) * 3), 0.0)
    rows[5, 2], rows[6] = 1e300, 0.0
    sparse_space = Space(open_records(sparse.csr_array(rows)), Isotropic(1.0))
    for norm in (0.25, 1.0, 64.0):
        scoring = scoring_of(5, norm)
        assert both_of(sparse_space, scoring) == both_of(space_of(rows), scoring)


def test_invalid_records_add_nothing():
    assert total(((NAN,),), 1) == total((), 1) == [0]
    assert clipped(((NAN,), (1e300,)), 1) == clipped(((1e300,),), 1) == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-120, 1.0, 1e120])
def test_no_record_causes_a_warning(unit):
    rows = [[1.7e308, -1.7e308], [5e-324, 0.0], [CENTRE, CENTRE]]
    far = Scoring(np.array([-1.7e308, 1.7e308]), np.array([1e-60, 1e60]), 1e-9)
    assert max(both_of(space_of(rows), far, unit)[0]) > 0
    assert both_of(space_of(rows), far, unit)[1] == 3


def test_count_and_clipping_look_at_the_same_integers():
    for place in (*SOLID, (0.3 + 0.8**0.5, 0.3 + 0.6**0.5, 0.3)):  # the last one is of norm one up to rounding
        steps = whole_steps(scoring_of(3).scores(1.0, np.array([place]), ALL, 1 / BALL))[0]
        outside = sum(int(v) ** 2 for v in steps) > BALL**2
        assert clipped((place,), 3) == int(outside)
        assert (total((place,), 3) == steps.astype(int).tolist()) is not outside
