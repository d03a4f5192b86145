"""Records on the integer grid: rounded one by one; invalid ones and those off the grid only counted."""

import numpy as np
import pytest
from scipy import sparse

from dimfree.data import records
from dimfree.data.blocks import densely
from dimfree.data.records import open_records
from dimfree.kernel.rows.grid import RADIUS, are_on_grid, on_grid
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.distances import PairDistances
from dimfree.kernel.statistics.friends import all_counts
from dimfree.shapes import Dense, Diagonal, Isotropic


def grid(table, radius=RADIUS, shape=None, sampled=None):
    plain = table if sparse.issparse(table) else np.asarray(table, dtype=np.float64)
    opened = open_records(plain, on_missing="drop")
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


OFF = [1e300, -1e300, 2.0**62, 2.0**61, -(2.0**61)]


@pytest.mark.parametrize("far", OFF)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_record_off_the_grid_is_only_counted(far, form):
    """Held at the edge, records that have nothing in common would be friends there."""
    found = grid(form(np.array([[1.0, 2.0], [far, 0.0], [3.0, far], [2.0**60, -5.0]])))
    assert densely(found.values).tolist() == [[1, 2], [2**60, -5]]
    assert (found.invalid, found.count) == (2, 4)


def test_a_division_that_overflows_is_off_the_grid():
    found = grid([[1.7e308, -1.7e308], [0.0, 0.0]], radius=1e-250)
    assert found.values.tolist() == [[0, 0]]
    assert found.count == 2


def test_records_off_the_grid_are_their_own_friends_only():
    counts = all_counts(grid([[1e300, 0.0]] * 5 + [[1.0, 1.0]] * 3))
    assert counts.tolist() == [3] * 3 + [1] * 5


@pytest.mark.parametrize("step", [1.0, 3.7e-9, 2e40])
def test_the_edge_is_that_of_the_distances(step):
    """The search for a radius and the core have one idea of who is on the grid."""
    peaks = 2.0**61 * step * np.array([1 - 2.0**-52, 1.0, 1 + 2.0**-52])
    assert are_on_grid(peaks, step).tolist() == [True, False, False]
    rows = np.repeat(peaks[:, None], 2, axis=0)
    assert PairDistances.of(rows, 0).friend_pairs(step * RADIUS) == 6 + 2


def test_the_table_has_space_for_a_public_number():
    records = open_records(np.ones((3, 2)), on_missing="drop")
    found = on_grid(Space(records, Isotropic(1.0)), RADIUS, capacity=50)
    assert found.values.base.shape == (50, 2)
    assert found.values.tolist() == np.ones((3, 2)).tolist()
    assert len(on_grid(Space(records, Isotropic(1.0)), RADIUS, capacity=1).values) == 3


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
