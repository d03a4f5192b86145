"""P22 in tiny worlds: counts of missing entries move by d entries, and by a norm or √2 of it; other sums by no more."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest
from exact.worlds import largest_move, space_of

from dimfree.accounting.budget import Neighbours
from dimfree.kernel.rows.clip import BALL
from dimfree.kernel.statistics.clipped_sum import Ball, clipped_sum
from dimfree.kernel.statistics.length_histogram import length_counts
from dimfree.kernel.statistics.missing import clipped_missing, number_missing
from dimfree.kernel.statistics.scores import Scoring, total_scores
from dimfree.kernel.statistics.soft_histogram import STEP, Magnitudes, soft_histograms

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
NAN, INF = float("nan"), float("inf")
PLACES = tuple(product((0.3, -2.0, NAN), repeat=2)) + ((INF, 0.3), (1.7e308, NAN), (-INF, INF))
AT, EDGES = np.full(2, 0.1), np.array([0.5, 1.0, 2.0])
charged = pytest.mark.parametrize(("relation", "squares"), [(ADD, 1), (REPLACE, 2)])

SUMS = {
    "missing": lambda space: space.summed(number_missing, 1),
    "counted": lambda space: space.summed(partial(clipped_missing, 1.0), 2),
    "summed": lambda space: clipped_sum(space, Ball(AT, 1.0, 1.0)),
    "held": lambda space: clipped_sum(space, Ball(AT, 1.0, 1.0, cap=0.9)),
    "scored": lambda space: total_scores(space, Scoring(np.zeros(2), 1.0, 1.0), 1.0),
    "lengths": lambda space: length_counts(space, Ball(np.zeros(2), 1.0, 1.0), EDGES),
    "held lengths": lambda space: length_counts(space, Ball(np.zeros(2), 1.0, 1.0, cap=0.9), EDGES),
    "histogram": lambda space: soft_histograms(space, Magnitudes(), np.arange(2)).ravel(),
}


def found(name, *rows):
    return SUMS[name](space_of(rows, 2, by_entry=True)).tolist()


def largest(name, relation):
    return largest_move(PLACES, relation, lambda table, _: found(name, *table), 2)


@charged
def test_missing_entries_move_by_the_columns_and_by_the_charged_norm(relation, squares):
    assert largest("missing", relation) == 2**2
    assert 0.999 * squares * BALL**2 < largest("counted", relation) <= squares * BALL**2


@charged
def test_sums_with_missing_entries_move_as_those_without(relation, squares):
    changed = squares**2  # a signed sum: 2 for an exchange, squared
    assert largest("summed", relation) <= changed * BALL**2
    assert largest("held", relation) <= changed * BALL**2
    assert largest("scored", relation) <= squares * BALL**2
    assert largest("lengths", relation) == largest("held lengths", relation) == squares
    assert largest("histogram", relation) <= 2 * squares * STEP**2


@pytest.mark.parametrize("name", SUMS)
def test_an_entry_that_is_not_finite_is_missing_whatever_it_is_and_every_record_counts_alone(name):
    assert found(name, (INF, 0.3)) == found(name, (NAN, 0.3)) == found(name, (-INF, 0.3))
    assert np.sum([found(name, row) for row in PLACES], axis=0).tolist() == found(name, *PLACES)


def test_a_missing_entry_adds_nothing_to_its_column_and_leaves_the_others():
    both, one = (np.array(found("histogram", row)).reshape(2, -1) for row in ((0.3, -2.0), (0.3, NAN)))
    assert np.array_equal(one[0], both[0])
    assert not one[1].any()
    assert found("summed", (0.5, NAN)) == [found("summed", (0.5, 0.1))[0], 0]  # at the center
    assert found("lengths", (NAN, NAN)) == [1, 0, 0, 0]


def test_a_record_with_many_missing_entries_counts_less_in_each():
    assert found("counted", (NAN, 0.3)) == [BALL, 0]
    first, second = found("counted", (NAN, NAN))
    assert first == second
    assert 0.999 * BALL / math.sqrt(2) < first < BALL / math.sqrt(2)


def test_a_twin_without_clipping_moves_too_far():
    def whole(table, dimension):
        return (BALL * (~np.isfinite(np.array(table).reshape(-1, dimension))).sum(axis=0)).tolist()

    assert largest_move(PLACES, ADD, whole, 2) == 2 * BALL**2 > BALL**2
