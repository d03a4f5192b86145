"""Counts of clipped scores from stored lengths: those of scoring everybody at every unit, in integers."""

import numpy as np
import pytest

from dimfree.data.records import open_records
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.scores import _LARGEST_BLUR, Scoring, blur, lengths_of, phi
from dimfree.programs.learn.scale import geometric_grid
from dimfree.shapes import Isotropic

GRID = geometric_grid(1e-3, 1e5, 1.35)


def clipped_one_by_one(rows, scoring, unit):
    """The definition: whole steps, held at 2^22, and their squares as Python integers."""
    with np.errstate(all="ignore"):
        u = (rows - scoring.centre) ** 2 / (unit * np.square(scoring.scale))
        scores = np.where(u <= 1, u, 2 * np.sqrt(np.maximum(u, 1)) - 1)
        steps = np.nan_to_num(np.clip(np.rint(scores / (scoring.norm / 2**20)), -(2**22), 2**22))
    return sum(sum(int(v) ** 2 for v in row) > 2**40 for row in steps)


def tables(rng):
    yield rng.normal(size=(150, 6))
    yield rng.standard_t(1.1, size=(150, 6))  # heavy tails: lengths of all orders
    yield np.concatenate([np.zeros((3, 6)), 10.0 ** rng.uniform(-200, 300, (60, 6)), [[1.7e308, 0, 0, 0, 0, 0]]])


@pytest.mark.parametrize("norm", [0.3, 2.0, 40.0])
def test_counts_at_every_unit_whatever_was_looked_at_before(rng, norm):
    scoring = Scoring(np.full(6, 0.1), np.linspace(0.5, 2, 6), norm)
    for rows in tables(rng):
        space = Space(open_records(rows), Isotropic(1.0))
        expected = {unit: clipped_one_by_one(rows, scoring, unit) for unit in GRID.tolist()}
        for first in (GRID[0], GRID[30], GRID[-1]):
            lengths = lengths_of(space, scoring, GRID)
            lengths.look(float(first))
            for unit in rng.permutation(GRID).tolist():
                assert lengths.clipped(unit) == expected[unit]


def test_lengths_exactly_at_the_norm_are_not_clipped():
    """One coordinate, score C·k/BALL: at the unit where it is C the count turns, at the neighbouring floats of R."""
    scoring, space = Scoring(np.zeros(1), 1.0, 0.5), Space(open_records(np.ones((4, 1))), Isotropic(1.0))
    lengths = lengths_of(space, scoring, GRID)
    lengths.look(5.0)
    near = 2.0 / (1 + np.linspace(-2, 2, 81) / 2**20)
    assert [lengths.clipped(u) for u in near] == [clipped_one_by_one(np.ones((4, 1)), scoring, u) for u in near]
    assert {lengths.clipped(u) for u in near} == {0, 4}


def test_few_records_are_scored_again(rng):
    space = Space(open_records(rng.normal(size=(4000, 60))), Isotropic(1.0))
    lengths, scored = lengths_of(space, Scoring(np.zeros(60), 1.0, 5.0), GRID), []
    unwatched = lengths._squares
    lengths._squares = lambda unit, among: (
        scored.append(None if among is None else among.sum()) or unwatched(unit, among)
    )
    lengths.look(lengths.likely_unit(GRID, 0.2))
    for unit in GRID.tolist():
        lengths.clipped(unit)
    assert scored[0] is None
    assert sum(scored[1:]) < 2 * 4000  # instead of 62 times


@pytest.mark.parametrize(("guess", "norm"), [(1e-130, 1.0), (1e140, 1.0), (1.0, 1e-13), (1.0, 1e10)])
def test_near_the_ends_of_the_floats_everybody_is_scored(rng, guess, norm):
    assert blur(guess, norm, GRID, 3) > _LARGEST_BLUR > blur(1.0, 1.0, GRID, 3)
    rows, scoring = rng.normal(size=(40, 3)) * guess, Scoring(np.zeros(3), guess, norm)
    lengths = lengths_of(Space(open_records(rows), Isotropic(1.0)), scoring, GRID)
    assert [lengths.clipped(u) for u in GRID] == [clipped_one_by_one(rows, scoring, u) for u in GRID]


@pytest.mark.parametrize("exponent", [0.01, 0.5, 1.0, 3.0])
def test_a_score_shrinks_between_the_ratio_of_units_and_its_root(rng, exponent):
    """What the bounds rest on."""
    u, t = rng.exponential(size=4000) ** (1 / exponent), rng.random(4000)
    assert (phi(t * u) >= t * phi(u) * (1 - 1e-12)).all()
    assert (phi(t * u) <= np.sqrt(t) * phi(u) * (1 + 1e-12)).all()


@pytest.mark.parametrize("scale", [[1.0, np.inf, 0.5, np.inf, 2.0, 1.0], [np.inf] * 6])
def test_a_coordinate_that_is_left_out_spoils_no_bound(rng, scale):
    scoring = Scoring(np.full(6, 0.1), np.array(scale), 2.0)
    assert blur(scoring.scale, 2.0, GRID, 6) < _LARGEST_BLUR
    for rows in tables(rng):
        lengths = lengths_of(Space(open_records(rows), Isotropic(1.0)), scoring, GRID)
        lengths.look(float(GRID[30]))
        assert [lengths.clipped(u) for u in GRID] == [clipped_one_by_one(rows, scoring, u) for u in GRID]
