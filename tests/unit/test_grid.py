"""Records on the integer grid: rounded one by one, held at the edge, invalid ones only counted."""

import numpy as np
import pytest

from dimfree import records
from dimfree.grid import EDGE, RADIUS, on_grid
from dimfree.records import open_records
from dimfree.shape import Dense, Diagonal, Isotropic
from dimfree.space import Space


def grid(table, radius=RADIUS, shape=None, sampled=None):
    opened = open_records(np.asarray(table, dtype=np.float64), on_invalid="neutral")
    return on_grid(Space(opened, shape or Isotropic(1.0)), radius, sampled)


def test_a_record_is_rounded_to_the_nearest_step():
    found = grid([[0.0, 0.4, 0.6, -0.4, -0.6, 123456.0]])
    assert found.values.tolist() == [[0, 0, 1, 0, -1, 123456]]
    assert (found.invalid, found.count) == (0, 1)


@pytest.mark.parametrize("radius", [3.0, 1e-12, 1e12])
def test_the_step_is_the_radius_in_two_to_the_twentieth(radius):
    steps = np.array([[0, 1, -7, RADIUS, 2**40]])
    assert grid(steps * (radius / RADIUS), radius).values.tolist() == steps.tolist()


def test_a_record_is_rescaled_first():
    found = grid([[8.0, 27.0]], shape=Diagonal([16.0, 81.0]))  # fourth roots 2 and 3
    assert found.values.tolist() == [[4, 9]]


def test_coordinates_beyond_the_edge_are_held_there():
    found = grid([[1e300, -1e300, 2.0**62, -(2.0**61), 2.0**60]])
    edge = int(EDGE)
    assert found.values.tolist() == [[edge, -edge, edge, -edge, edge // 2]]


def test_a_division_that_overflows_is_held_at_the_edge():
    found = grid([[1.7e308, -1.7e308]], radius=1e-250)
    assert found.values.tolist() == [[int(EDGE), -int(EDGE)]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_invalid_records_are_only_counted(bad):
    found = grid([[1.0, 2.0], [bad, 5.0], [3.0, 4.0], [6.0, bad]])
    assert found.values.tolist() == [[1, 2], [3, 4]]
    assert (found.invalid, found.count) == (2, 4)


@pytest.mark.parametrize("entries", [1, 4, 10, 2**22])
def test_blocks_do_not_matter(monkeypatch, rng, entries):
    table = rng.normal(size=(23, 3)) * 1e6
    table[[4, 11]] = np.nan
    whole = grid(table)
    monkeypatch.setattr(records, "_BLOCK_ENTRIES", entries)
    parts = grid(table)
    assert np.array_equal(whole.values, parts.values)
    assert (whole.invalid, whole.count) == (parts.invalid, parts.count)


def test_a_record_does_not_see_the_others(rng):
    """A map of one record at a time is free; a batched product is not one."""
    mixing = rng.normal(size=(5, 5))
    shape, table = Dense(mixing @ mixing.T + np.eye(5)), rng.normal(size=(40, 5))
    together = grid(table, 1e-6, shape).values
    alone = np.concatenate([grid(row[None], 1e-6, shape).values for row in table])
    backwards = grid(table[::-1], 1e-6, shape).values[::-1]
    assert np.array_equal(together, alone)
    assert np.array_equal(together, backwards)


@pytest.mark.parametrize("entries", [2, 2**22])
def test_only_sampled_records_are_looked_at(monkeypatch, entries):
    monkeypatch.setattr(records, "_BLOCK_ENTRIES", entries)
    table = [[1.0], [np.nan], [3.0], [4.0], [np.nan]]
    found = grid(table, sampled=np.array([True, True, False, True, False]))
    assert found.values.tolist() == [[1], [4]]
    assert (found.invalid, found.count) == (1, 3)


def test_an_empty_table():
    found = grid(np.zeros((0, 3)))
    assert found.values.shape == (0, 3)
    assert found.count == 0


def test_the_representation_shows_no_value():
    assert "73737373" not in repr(grid([[73737373.0]]))
