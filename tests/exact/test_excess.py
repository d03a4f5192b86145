"""The excess count E(ρ) of P8 moves by at most one record, under both relations."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from dimfree.data.records import open_records
from dimfree.estimators.learn.radius import _lengths, excess
from dimfree.geometry.clip import norms
from dimfree.geometry.shape import Isotropic
from dimfree.geometry.space import Space
from dimfree.mechanisms.clipped_sum import Ball
from dimfree.mechanisms.search import STEPS

RADII = (0.5, 1.0, 1.7)
PLACES = (0.0, 0.4, 1.0, np.nextafter(1.0, 2), 1.3, 1.99, 2.0, 2.5, 3.5, 1e300, -1e300, 5e-324, float("nan"))


def excess_of(table, radius, farthest=100.0):
    rows = np.array(table, dtype=np.float64).reshape(-1, 1)
    space = Space(open_records(rows, on_invalid="neutral"), Isotropic(1.0))
    return excess(_lengths(space, Ball(np.zeros(1), 1.0, 1.0), 6.0, farthest), radius)


def without_the_cap(table, radius):
    """A twin: Σ (|z|/ρ - 1)₊, which one far record moves without bound."""
    lengths = np.abs([value for value in table if np.isfinite(value)])
    return np.maximum(lengths / radius - 1, 0).sum() * STEPS


def neighbours(table):
    for j in range(len(table)):
        rest = table[:j] + table[j + 1 :]
        yield rest
        yield from ((*rest, place) for place in PLACES)


@pytest.mark.parametrize("radius", RADII)
def test_one_record_moves_the_excess_by_at_most_one(radius):
    moves = []
    for size in (1, 2):
        for table in combinations_with_replacement(PLACES, size):
            here = excess_of(table, radius)
            moves += [abs(here - excess_of(other, radius)) for other in neighbours(table)]
    assert max(moves) == STEPS


def test_the_uncapped_twin_is_caught():
    assert without_the_cap((2.5, 1e300), 1.0) - without_the_cap((2.5,), 1.0) > 1e9 * STEPS


@pytest.mark.parametrize("table", [(0.7, 1.3, 2.5), (1e300, 1.2), ()])
def test_the_excess_falls_with_the_radius(table):
    found = [excess_of(table, radius) for radius in np.linspace(0.3, 5, 40)]
    assert found == sorted(found, reverse=True)


def test_a_known_excess():
    """min(1, |z|/ρ - 1): 0, 0.25 and 1, up to the grid of lengths and of STEPS."""
    assert excess_of((0.9, 1.25, 7.0), 1.0) / STEPS == pytest.approx(1.25, abs=1e-4)


@pytest.mark.parametrize("value", [float("nan"), 1e300, -1e300, 101.0])
def test_invalid_and_far_records_count_nothing(value):
    assert excess_of((value,), 1.0) == 0
    assert excess_of((99.0,), 1.0) == STEPS


def test_the_order_of_records_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    table = tuple(rng.exponential(size=300))
    assert excess_of(table, 1.0) == excess_of(tuple(rng.permutation(table)), 1.0)
    assert excess_of(table, 1.0) == sum(excess_of((value,), 1.0) for value in table)


@pytest.mark.filterwarnings("error")
def test_no_record_causes_a_warning():
    rows = np.array([[1.7e308], [-1.7e308]])
    space = Space(open_records(rows), Isotropic(1.0))
    assert _lengths(space, Ball(np.array([-1.7e308]), 1.0, 1.0), 6.0, 100.0).tolist() == [0.0, 0.0]


def lengths_one_by_one(rows, ball, largest, farthest):
    """The definition: lengths on a grid of 2·largest/BALL, zero beyond a raw distance on its own grid."""
    raw = norms(rows, 2 * farthest, Ball(ball.centre, 1.0, farthest).offsets)
    return np.where(raw <= farthest, norms(ball.seen(rows), 2 * largest, ball.offsets), 0.0)


@pytest.mark.parametrize("scale", [1.0, 0.3, np.array([1.0, 0.2, 3.0])], ids=["one", "less", "stretched"])
@pytest.mark.parametrize("block", [None, np.array([0, 2])], ids=["all", "block"])
@pytest.mark.parametrize("farthest", [0.7, 3.0, 40.0, 1e-300, 1e300])
def test_raw_distances_are_looked_at_where_lengths_leave_doubt(rng, scale, block, farthest):
    directions = rng.normal(size=(400, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    stretch = np.concatenate([np.full(200, farthest) * (1 + rng.normal(size=200) * 1e-6), rng.exponential(3, 200)])
    rows = np.concatenate([directions * stretch[:, None], np.full((1, 3), 1e308), np.zeros((1, 3))])
    space = Space(open_records(rows), Isotropic(1.0))
    for largest in (0.1, 2.0, 500.0):
        ball = Ball(np.array([0.0, 1e-9, 0.0]), scale, 1.0, block)
        with np.errstate(all="ignore"):
            expected = lengths_one_by_one(rows, ball, largest, farthest)
            assert _lengths(space, ball, largest, farthest).tobytes() == expected.tobytes()
