"""Wrong statistics of directions, each with the mistake it stands for: a search or one pair of tables shows it."""

import math

import numpy as np
import pytest
from exact.pointing import (
    ACROSS,
    ADD,
    ALONG,
    CENTRE,
    DOWN,
    EVERY,
    NAN,
    REPLACE,
    UNIT,
    UP,
    Couple,
    added_by,
    flat,
    lookout_of,
    measured,
    moved,
    space_of,
    squared_move,
    sums_of,
    worst,
)

from dimfree.kernel import directions as kernel_directions
from dimfree.kernel.rows.bases.basis import Basis
from dimfree.kernel.rows.clip import BALL, to_ball
from dimfree.kernel.statistics import outer_sum
from dimfree.kernel.statistics import unit_vectors as directions
from dimfree.kernel.statistics.unit_vectors import EVEN, LENGTH, STEPS, sighted, whole_length

OPPOSITE = tuple(2 * CENTRE - value for value in UP)


@pytest.mark.parametrize(
    ("name", "couple"), [("matrix", Couple((), ALONG, ACROSS)), ("togetherness", Couple(((9, UP),), UP, DOWN))]
)
def test_the_twin_that_charges_one_for_an_exchange_is_caught(monkeypatch, name, couple):
    """1 for √2: right for an arrival, wrong for an exchange of orthogonal directions. The climb sees it too."""
    monkeypatch.setitem(outer_sum.OUTER_SENSITIVITY, REPLACE, 1.0)
    found, event = moved(name, couple, REPLACE)
    assert found > 1.41 * event.sensitivity * event.step
    with pytest.raises(AssertionError):
        worst(name, 2, REPLACE)


def sketched(rows, threshold):
    """A twin: Σ clip(S·u, τ), S a public sketch of signs. Its entries have any sign."""
    signs = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    offsets = np.array(rows) - CENTRE
    units = offsets / np.linalg.norm(offsets, axis=1, keepdims=True)
    return to_ball(units @ signs.T, threshold).sum(axis=0) / BALL * threshold


@pytest.mark.parametrize("threshold", [0.5, 1.0])
def test_the_clipped_sketch_that_charges_root_two_is_caught(threshold):
    """√2·τ for 2τ: u and -u have opposite sketches. Their outer products are the same."""
    one, opposite, none = (sketched(rows, threshold) for rows in ([UP, UP], [UP, OPPOSITE], [UP]))
    assert np.linalg.norm(one - none) <= threshold
    assert np.linalg.norm(one - opposite) > 1.99 * threshold > math.sqrt(2) * threshold
    assert moved("matrix", Couple((), UP, OPPOSITE), REPLACE)[0] == 0.0


def caught():
    """What moves by more than it is charged, of five coordinates."""
    found = set()
    for one in (flat(5), (2.0, *(CENTRE,) * 4), (CENTRE, *(2.0,) * 4)):
        sums = [sums_of(space_of([row])) for row in (one, (NAN,) * 5)]
        moves = {name: squared_move(name, *sums, 5, ADD) for name in EVERY}
        found |= {name for name, (squared, event) in moves.items() if squared > event.sensitivity**2}
    return found


def test_the_right_code_is_not_caught():
    assert caught() == set()


def test_the_twin_that_divides_by_the_largest_coordinate_is_caught(monkeypatch):
    """Directions up to √d long, outer products up to d. Weights and spreads have an upper end of their own."""

    def by_largest(offsets):
        return np.trunc(LENGTH * offsets / np.maximum(np.abs(offsets).max(axis=1, keepdims=True), 1e-300))

    monkeypatch.setattr(directions, "unit_steps", by_largest)
    assert caught() == {"togetherness", "matrix"}


def test_the_twin_that_rounds_directions_to_nearest_is_caught():
    """Rounding after the length was looked at leaves the ball by parts of a step."""

    def to_nearest(offsets):
        return np.rint(LENGTH * offsets / np.linalg.norm(offsets, axis=1, keepdims=True))

    angles = np.linspace(0.01, 1.5, 200)
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    lengths = [(steps(rows) ** 2).sum(axis=1).max() for steps in (to_nearest, directions.unit_steps)]
    assert lengths[0] > UNIT >= lengths[1]


def test_the_twin_that_clips_some_squares_only_is_caught(monkeypatch):
    """k is looked at in the first coordinate alone: a record beside it keeps its whole square."""
    right = directions.clipped_total

    def first_only(rows, radius, entrywise):
        beside = np.rint(entrywise(rows[:, 1:], slice(None), radius / BALL)).sum(axis=0)
        return np.concatenate([right(rows[:, :1], radius, entrywise), beside.astype(np.int64)])

    monkeypatch.setattr(directions, "clipped_total", first_only)
    assert caught() == {"unevenness"}


def test_the_twin_with_signed_squares_is_caught():
    """u·|u| for u∘u: in a crowd the exchange with an opposite moves the length by 2·0.3, which is charged 0.3."""
    crowd, record = np.array([50 * BALL, 0]), np.array([BALL, 0])
    longer, shorter = (whole_length(crowd + sign * record) for sign in (1, -1))
    assert longer - shorter > 1.99 * BALL


def test_the_twin_whose_weight_has_no_upper_end_is_caught():
    """k = 0.3/|u∘u| of a direction of 64 equal coordinates is 2.4."""
    units = lookout_of(64).directions(np.array([flat(64)])) / LENGTH
    assert EVEN / np.linalg.norm(units**2) > 2.3
    assert added_by(flat(64))[64] == STEPS


def test_the_twin_that_weighs_42_beside_the_diagonal_is_caught(monkeypatch):
    monkeypatch.setattr(kernel_directions, "BESIDE", 42)
    noisy = measured("matrix", sums_of(space_of([UP])), 2, ADD)
    (a, b), (_, c) = (noisy.value * UNIT).tolist()
    assert (29 * a) ** 2 + (42 * b) ** 2 + (29 * c) ** 2 > 1.02 * noisy.event.sensitivity**2
    assert (29 * a) ** 2 + (41 * b) ** 2 + (29 * c) ** 2 <= noisy.event.sensitivity**2


class Stretched(Basis):
    """A public map that is no rotation: five times too long."""

    name = "stretched"

    def __init__(self, dimension):
        self.dimension = self.width = dimension

    def rotated(self, rows):
        return 5.0 * rows

    def restored(self, vector):
        return vector / 5.0


def test_a_spread_has_an_upper_end_whatever_the_basis():
    """Privacy asks of a basis no more than that it maps one record at a time."""
    assert sighted(space_of([UP]), lookout_of(2), Stretched(2)).spread == STEPS
