"""U1 in tiny worlds: one person with all their rows moves a clipped sum by one ball; without a unit, by more."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dimfree.data.people.keys import open_keys
from dimfree.data.people.person_records import person_records
from dimfree.data.records import as_records
from dimfree.kernel.rows.clip import BALL
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Ball, sum_clipped
from dimfree.shapes import IsotropicCovariance

NAN = float("nan")
ROWS = (0.1, 1.3, -1e300, NAN)
PERSONS = tuple(rows for length in (1, 2) for rows in product(ROWS, repeat=length))
CENTRE = Ball(np.full(1, 0.3), 1.0, 1.0)


def table_of(people):
    """All first rows, then all second ones: the rows of one person never stand together."""
    layers = [(row, who) for turn in range(4) for who, rows in enumerate(people) for row in rows[turn : turn + 1]]
    return np.array([[row] for row, _ in layers]).reshape(-1, 1), [who for _, who in layers]


def by_person(people, most):
    rows, keys = table_of(people)
    return person_records(as_records(rows), open_keys(keys), most, "complete-case")


def by_row(people, most):
    """The twin that promises per person but counts rows."""
    return as_records(table_of(people)[0])


def largest_move(records_of, most):
    """Over all worlds of at most two people, how far one person who comes or goes moves the sum, in balls."""
    moves = []
    for size in (1, 2):
        for people in combinations_with_replacement(PERSONS, size):
            totals = [
                int(sum_clipped(Space(records_of(crowd, most), IsotropicCovariance(1.0)), CENTRE)[0])
                for crowd in (people, people[:-1], people[1:])
            ]
            moves += [abs(totals[0] - other) for other in totals[1:]]
    return max(moves) / BALL


@pytest.mark.parametrize("most", [None, 1, 2])
def test_one_person_moves_the_sum_by_one_ball(most):
    assert 0.999 < largest_move(by_person, most) <= 1


@pytest.mark.parametrize("most", [None, 2])
def test_who_leaves_a_shared_key_moves_it_by_two_balls(most):
    """A household: the record of the others changes, which under add/remove is a removal and an addition."""
    moves = []
    for first, second in product(PERSONS, repeat=2):
        household, rest = (by_person((rows,), most) for rows in (first + second, first))
        totals = [
            int(sum_clipped(Space(records, IsotropicCovariance(1.0)), CENTRE)[0]) for records in (household, rest)
        ]
        moves.append(abs(totals[0] - totals[1]) / BALL)
    assert 1.999 < max(moves) <= 2


def test_without_a_unit_one_person_moves_it_by_a_ball_for_each_row():
    assert 1.999 < largest_move(by_row, None) <= 2


@pytest.mark.parametrize("most", [None, 1])
def test_neighbouring_crowds_are_neighbouring_lists_of_records(most):
    """Whoever comes or goes: the records of all others keep their bits and their order."""
    for people in combinations_with_replacement(PERSONS[::3], 3):
        (everyone, _), *_ = by_person(people, most).blocks()
        for gone in range(3):
            rest = tuple(rows for who, rows in enumerate(people) if who != gone)
            (others, _), *_ = by_person(rest, most).blocks()
            assert np.delete(everyone, gone, axis=0).tobytes() == others.tobytes()
