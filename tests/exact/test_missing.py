"""P22 in tiny worlds: counts of missing entries move by d entries, and by a norm or √2 of it; other sums by no more."""

import math
from functools import cache
from itertools import product

import numpy as np
import pytest
from exact.test_scores import ADD, REPLACE, pairs, squared_move
from recording import RecordingNoise

from dimfree.data.records import as_records
from dimfree.kernel.rows.clip import BALL
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Ball, clipped_sum
from dimfree.kernel.statistics.length_histogram import length_counts
from dimfree.kernel.statistics.missing import noisy_missing, noisy_missing_counts
from dimfree.kernel.statistics.scores import Scoring, total_scores
from dimfree.kernel.statistics.soft_histogram import STEP, Magnitudes, soft_histograms
from dimfree.shapes import Isotropic

NAN, INF = float("nan"), float("inf")
PLACES = tuple(product((0.3, -2.0, NAN), repeat=2)) + ((INF, 0.3), (1.7e308, NAN), (-INF, INF))
NORM = 1.0
charged = pytest.mark.parametrize(("relation", "squares"), [(ADD, 1), (REPLACE, 2)])


def space_of(table, dimension):
    rows = np.array(table, dtype=np.float64).reshape(len(table), dimension)
    return Space(as_records(rows), Isotropic(1.0), by_entry=True)


@cache
def missing(table, dimension):
    """All missing entries, as the noise is added to them."""
    found = noisy_missing(space_of(table, dimension), 1.0, noise=RecordingNoise())
    return (round(found.value * dimension),)


@cache
def counted(table, dimension):
    found = noisy_missing_counts(space_of(table, dimension), NORM, 1.0, ADD, noise=RecordingNoise())
    return tuple(int(v) for v in found.value * (BALL / NORM))


@cache
def summed(table, dimension):
    return tuple(clipped_sum(space_of(table, dimension), Ball(np.full(dimension, 0.1), 1.0, 1.0)).tolist())


@cache
def held(table, dimension):
    ball = Ball(np.full(dimension, 0.1), 1.0, 1.0, cap=0.9)
    return tuple(clipped_sum(space_of(table, dimension), ball).tolist())


@cache
def held_lengths(table, dimension):
    ball = Ball(np.zeros(dimension), 1.0, 1.0, cap=0.9)
    return tuple(length_counts(space_of(table, dimension), ball, np.array([0.5, 1.0, 2.0])).tolist())


@cache
def scored(table, dimension):
    return tuple(total_scores(space_of(table, dimension), Scoring(np.zeros(dimension), 1.0, 1.0), 1.0).tolist())


@cache
def lengths(table, dimension):
    ball = Ball(np.zeros(dimension), 1.0, 1.0)
    return tuple(length_counts(space_of(table, dimension), ball, np.array([0.5, 1.0, 2.0])).tolist())


@cache
def histogram(table, dimension):
    return tuple(soft_histograms(space_of(table, dimension), Magnitudes(), np.arange(dimension)).ravel().tolist())


def largest(statistic, relation, most=2):
    return max(squared_move(one, other, 2, statistic) for one, other in pairs(PLACES, relation, most))


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_the_number_of_missing_entries_moves_by_the_columns(relation):
    event = noisy_missing(space_of(PLACES, 2), 0.7, noise=RecordingNoise()).event
    assert largest(missing, relation) == 2**2
    assert event.sensitivity * event.step == 1  # in records: d entries
    assert event.sensitivity / event.stddev <= 0.7


@charged
def test_missing_entries_move_by_at_most_the_charged_norm_and_attain_it(relation, squares):
    event = noisy_missing_counts(space_of(PLACES, 2), NORM, 0.7, relation, noise=RecordingNoise()).event
    found = largest(counted, relation)
    assert 0.999 * squares * BALL**2 < found <= squares * BALL**2
    assert math.sqrt(found) * NORM / BALL <= event.sensitivity * event.step


@charged
def test_sums_with_missing_entries_move_as_those_without(relation, squares):
    changed = squares**2  # a signed sum: 2 for an exchange, squared
    assert largest(summed, relation) <= changed * BALL**2
    assert largest(scored, relation) <= squares * BALL**2
    assert largest(held, relation) <= changed * BALL**2
    assert largest(lengths, relation) == squares
    assert largest(held_lengths, relation) == squares
    assert largest(histogram, relation) <= 2 * squares * STEP**2


def test_an_entry_that_is_not_finite_is_missing_whatever_it_is():
    for statistic in (missing, counted, summed, held, scored, lengths, held_lengths, histogram):
        assert statistic(((INF, 0.3),), 2) == statistic(((NAN, 0.3),), 2) == statistic(((-INF, 0.3),), 2)


def test_a_missing_entry_adds_nothing_to_its_column_and_leaves_the_others():
    both, one = (np.array(histogram((row,), 2)).reshape(2, -1) for row in ((0.3, -2.0), (0.3, NAN)))
    assert np.array_equal(one[0], both[0])
    assert not one[1].any()
    assert summed(((0.5, NAN),), 2)[1] == 0
    assert summed(((0.5, NAN),), 2)[0] == summed(((0.5, 0.1),), 2)[0]  # at the centre
    assert lengths(((NAN, NAN),), 2) == (1, 0, 0, 0)


def test_a_record_with_many_missing_entries_counts_less_in_each():
    assert counted(((NAN, 0.3),), 2) == (BALL, 0)
    first, second = counted(((NAN, NAN),), 2)
    assert first == second
    assert 0.999 * BALL / math.sqrt(2) < first < BALL / math.sqrt(2)


def test_a_twin_without_clipping_moves_too_far():
    @cache
    def whole(table, dimension):
        rows = np.array(table, dtype=np.float64).reshape(len(table), dimension)
        return tuple((BALL * (~np.isfinite(rows)).sum(axis=0)).tolist())

    assert largest(whole, ADD) == 2 * BALL**2 > BALL**2


def test_every_record_counts_alone():
    """One at a time they sum to the same."""
    alone = sum(np.array(counted((row,), 2)) for row in PLACES)
    assert tuple(alone.tolist()) == counted(PLACES, 2)
