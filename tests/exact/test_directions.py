"""P11 and P12 on tiny tables: how far one record moves each statistic, found by search, held against the charge."""

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
    half_matrix,
    lookout_of,
    measured,
    moved,
    space_of,
    squared_move,
    sums_of,
    total,
    worst,
)
from recording import RecordingNoise
from sessions import standing_session

from dimfree.kernel.rows.clip import BALL
from dimfree.kernel.statistics.outer_sum import outer_sum
from dimfree.kernel.statistics.unit_vectors import EVEN, STEPS, Lookout

BOTH = (ADD, REPLACE)


def supremum(name, dimension, relation):
    """By theory, in units of what is released."""
    if name == "togetherness":
        exchanged = math.sqrt(2) if dimension > 1 else 0.0
        return exchanged if relation is REPLACE else math.sqrt(1 - 1 / dimension)
    if name == "matrix":
        return math.sqrt(2) if relation is REPLACE and dimension > 1 else 1.0
    return EVEN if name == "unevenness" else 1.0


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize("name", EVERY)
def test_a_search_finds_the_sensitivity_and_nothing_beyond(name, relation, dimension):
    """On every step of the climb the move is at most what is charged, between whole numbers."""
    expected = supremum(name, dimension, relation)
    assert 0.97 * expected <= worst(name, dimension, relation) <= expected * (1 + 1e-6)


def wide_arrival(name, relation):
    """Of 64 coordinates, the best of a few: oblique, along an axis, at the centre; in a crowd or alone."""
    axes = [(*(CENTRE,) * place, 1.0 + CENTRE, *(CENTRE,) * (63 - place)) for place in (0, 1)]
    found = [
        Couple(((times, flat(64)),), one, None if relation is ADD else other)
        for times in (0, 1000)
        for one in (flat(64), (CENTRE,) * 64, axes[0])
        for other in ((NAN,) * 64, axes[1])
    ]
    return max(moved(name, couple, relation)[0] for couple in found)


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize("name", EVERY)
def test_no_more_is_charged_than_can_happen(name, relation):
    """A charge of 2 where √2 is enough, or of √2 where 1 is, would be safe and wasteful."""
    found = max(wide_arrival(name, relation), worst(name, 2, relation, tries=200))
    event = measured(name, total((), 2), 2, relation).event
    assert found <= event.sensitivity * event.step <= 1.02 * found


def test_the_exchange_of_orthogonal_directions_attains_the_root_of_two():
    """On the axes the diagonal of A moves, obliquely what is beside it; 2 would be more than can happen."""
    for one, other in ((ALONG, ACROSS), (UP, DOWN)):
        found, event = moved("matrix", Couple((), one, other), REPLACE)
        assert found == pytest.approx(math.sqrt(2), rel=1e-3)
        assert found <= event.sensitivity * event.step < 1.4143
    found, event = moved("togetherness", Couple(((9, UP),), UP, DOWN), REPLACE)
    assert found == pytest.approx(math.sqrt(2), rel=1e-3)
    assert found <= event.sensitivity * event.step < 1.4143


def test_a_length_of_what_is_never_negative_moves_by_one_record_in_an_exchange_too():
    """|S + s| - |S + s'| <= |S + s| - |S| <= |s|, though s and s' are √2 apart."""
    one, other = (added_by(row)[:2].tolist() for row in (ALONG, ACROSS))
    assert math.dist(one, other) > 1.413 * BALL
    assert worst("unevenness", 2, REPLACE, seed=8) <= EVEN


# ---- what is charged is what was bounded


class Ones(RecordingNoise):
    """Every draw is one step."""

    def gaussian(self, stddev, size):
        return super().gaussian(stddev, size) + 1


def test_a_number_leaves_as_whole_steps_with_noise():
    session, _ = standing_session(np.zeros((1, 1)), noise=Ones())
    found = session._release_number(lambda: 2**70, 2**22, 0.5, 2.0, "a number")
    assert found.value == (2**70 + 1) * 0.5  # beyond 64 bits, too


def test_the_noise_of_the_matrix_is_symmetric_and_smaller_beside_the_diagonal():
    sums = total(((3, (2.0, 0.1, 0.7)),), 3)
    quiet, noisy = (measured("matrix", sums, 3, ADD, noise=noise) for noise in (RecordingNoise(), Ones()))
    added = (noisy.value - quiet.value) * UNIT
    assert np.allclose(np.diagonal(added), 1 / 29)
    assert np.allclose(added[~np.eye(3, dtype=bool)], 1 / 41)
    assert noisy.event.step == 1 / (29 * UNIT)  # so that stddev · step is the noise on the diagonal
    assert (noisy.value == noisy.value.T).all()


def test_half_the_matrix_is_no_longer_than_29_times_the_whole():
    assert 41**2 < 2 * 29**2 < 42**2
    for row in (UP, DOWN, (3.0, 0.7)):
        whole = outer_sum(space_of([row]), lookout_of(2))
        assert sum(v * v for v in half_matrix(whole / UNIT)) <= 29**2 * sum(int(v) ** 2 for v in whole.ravel())


def test_floors_move_no_more_than_what_they_are_taken_of():
    """|⌊a⌋ - ⌊b⌋| <= N if |a - b| <= N, N whole; in quarters, so that all fractions meet all others."""
    for a in range(80):
        for b in range(a, 80):
            assert b // 4 - a // 4 <= -(-(b - a) // 4)
    assert max(b // 4 - a // 4 - (b - a) / 4 for a in range(8) for b in range(a, 8)) > 0.7  # without N whole: no


# ---- invalid records, samples


@pytest.mark.parametrize("row", [(NAN, 1.0), (math.inf, 1.0), (-math.inf, math.inf)])
def test_an_invalid_record_adds_nothing(row):
    assert (added_by(row) == 0).all()
    assert (sums_of(space_of([UP, row, ALONG])) == sums_of(space_of([UP, ALONG]))).all()


def test_a_record_without_direction_has_the_whole_weight():
    """At the centre, or so far from it that the offset is no float."""
    none = [0, 0, STEPS, 0, 0, 0, 0, 0]
    assert added_by((CENTRE, CENTRE)).tolist() == none
    far = Lookout(np.array([-1.7e308, 0.0]), np.ones(2))
    assert sums_of(space_of([(1.7e308, 0.0)]), far).tolist() == none
    assert added_by((1.7e308, 0.0))[2] < STEPS


def test_a_sample_sees_its_records_alone(rng):
    rows = rng.normal(size=(50, 3))
    rows[7, 1] = NAN
    for mask in (rng.random(50) < 0.4, np.ones(50, dtype=bool), np.zeros(50, dtype=bool)):
        assert (sums_of(space_of(rows), among=mask) == sums_of(space_of(rows[mask], 3))).all()


@pytest.mark.parametrize("name", EVERY)
def test_with_the_same_coins_one_record_moves_a_sample_no_more_than_all(name, rng):
    """The others are seen or not whatever the record says; a record that is not seen moves nothing."""
    rows, coins = rng.normal(size=(30, 2)), rng.random(30) < 0.5
    for seen in (True, False):
        mask = np.append(coins, seen)
        here, turned = (sums_of(space_of([*rows, row]), among=mask) for row in (UP, ACROSS))
        gone = sums_of(space_of(rows), among=coins)
        for there, relation in ((turned, REPLACE), (gone, ADD)):
            squared, event = squared_move(name, here, there, 2, relation)
            assert squared <= event.sensitivity**2
            assert seen or squared == 0
        assert (here != gone).any() == seen
