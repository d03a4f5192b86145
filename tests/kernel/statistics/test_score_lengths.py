"""Counts of clipped scores from stored lengths: those of scoring everybody at every unit, in integers."""

import numpy as np
import pytest

from dimfree.data.records import open_records
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.scores import ScoreLengths, Scoring
from dimfree.programs.learn.scale import make_geometric_grid
from dimfree.shapes import IsotropicCovariance

GRID = make_geometric_grid(1e-3, 1e5, 1.35)


def clipped_one_by_one(rows, scoring, unit):
    """The definition: whole steps, held at 2^22, and their squares as Python integers."""
    with np.errstate(all="ignore"):
        u = (rows - scoring.center) ** 2 / (unit * np.square(scoring.scale))
        scores = np.where(u <= 1, u, 2 * np.sqrt(np.maximum(u, 1)) - 1)
        steps = np.nan_to_num(np.clip(np.rint(scores / (scoring.norm / 2**20)), -(2**22), 2**22))
    return sum(sum(int(v) ** 2 for v in row) > 2**40 for row in steps)


def tables(rng):
    yield rng.normal(size=(150, 6))
    yield rng.standard_t(1.1, size=(150, 6))  # heavy tails: lengths of all orders
    yield np.concatenate([np.zeros((3, 6)), 10.0 ** rng.uniform(-200, 300, (60, 6)), [[1.7e308, 0, 0, 0, 0, 0]]])


@pytest.mark.parametrize(
    "scale", [np.linspace(0.5, 2, 6), np.array([1.0, np.inf, 0.5, np.inf, 2.0, 1.0]), np.full(6, np.inf)]
)
@pytest.mark.parametrize("norm", [1e-13, 0.3, 2.0, 40.0, 1e10])
def test_counts_at_every_unit_whatever_was_asked_before(rng, norm, scale):
    """Also of coordinates that are left out, and where squares and products leave the floats."""
    for rows in tables(rng):
        for size in (1.0, 1e140) if norm == 2.0 else (1.0,):
            with np.errstate(over="ignore"):
                some = np.nan_to_num(rows * size)
            scoring = Scoring(np.full(6, 0.1 * size), scale * size, norm)
            expected = {unit: clipped_one_by_one(some, scoring, unit) for unit in GRID.tolist()}
            for first in (GRID[0], GRID[30]):
                lengths = ScoreLengths(Space(open_records(some), IsotropicCovariance(1.0)), scoring)
                lengths.clipped(float(first))
                for unit in rng.permutation(GRID).tolist():
                    assert lengths.clipped(unit) == expected[unit]


def test_lengths_exactly_at_the_norm_are_not_clipped():
    """One coordinate, score C·k/BALL: at the unit where it is C the count turns, at the neighboring floats of R."""
    scoring, space = Scoring(np.zeros(1), 1.0, 0.5), Space(open_records(np.ones((4, 1))), IsotropicCovariance(1.0))
    lengths = ScoreLengths(space, scoring)
    near = 2.0 / (1 + np.linspace(-2, 2, 81) / 2**20)
    assert [lengths.clipped(u) for u in near] == [clipped_one_by_one(np.ones((4, 1)), scoring, u) for u in near]
    assert {lengths.clipped(u) for u in near} == {0, 4}


def test_a_record_whose_decision_follows_from_other_units_is_not_scored(rng):
    space = Space(open_records(rng.standard_t(1.5, size=(4000, 6))), IsotropicCovariance(1.0))
    lengths, scored = ScoreLengths(space, Scoring(np.zeros(6), 1.0, 5.0)), []
    decide = lengths._decide
    lengths._decide = lambda unit, among: scored.append(4000 if among is None else among.sum()) or decide(unit, among)
    halves = [30, 15, 45, 7, 37, 3, 41]  # of a bisection, and beside it
    found = [lengths.clipped(float(GRID[place])) for place in halves]
    assert sum(scored) < 3 * 4000
    before = len(scored)
    assert [lengths.clipped(float(GRID[place])) for place in halves] == found
    assert len(scored) == before
