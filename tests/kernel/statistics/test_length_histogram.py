"""The histogram of the records' lengths (P20): every valid record in one cell, the same bits wherever rows lie."""

from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest
from kernel.statistics.kept import TABLES, bits_everywhere, from_dask, odd_table, space_of

from dimfree.kernel.statistics.clipped_sum import Ball
from dimfree.kernel.statistics.length_histogram import length_counts

NAN = float("nan")
EDGES = np.array([0.5, 1.0, 2.0, 4.0])
PLANE = ((0.3, 0.3), (1.3, 0.3), (0.9, 1.1), (3.0, 0.0), (1e300, -1e300), (-1.7e308, 5e-324), (NAN, 0.0))


def ball_of(width):
    return Ball(np.full(width, 0.3), np.full(width, 1.0), 1.0)


@cache
def counts(table):
    return [int(v) for v in length_counts(space_of(table, 2), ball_of(2), EDGES)]


def test_every_valid_record_is_in_one_cell():
    for table in combinations_with_replacement(PLANE, 2):
        assert sum(counts(table)) == sum(np.isfinite(row).all() for row in table)
    assert counts(((NAN, 0.0),)) == counts(()) == [0] * 5


@pytest.mark.parametrize(("length", "cell"), [(0.0, 0), (0.5, 0), (0.6, 1), (1.0, 1), (3.9, 3), (4.0, 3), (4.1, 4)])
def test_a_length_on_an_edge_is_below_it(length, cell):
    ball = Ball(np.zeros(2), 1.0, 1.0)
    assert length_counts(space_of(((length, 0.0),)), ball, EDGES).argmax() == cell


def test_lengths_are_seen_from_the_centre_in_columns_divided_by_the_scale():
    rows = np.random.default_rng(0).normal(size=(400, 3)) * (1.0, 10.0, 0.1) + (5.0, 0.0, -1.0)
    ball = Ball(np.array([5.0, 0.0, -1.0]), np.array([1.0, 10.0, 0.1]), 1.0)
    lengths = np.linalg.norm((rows - ball.centre) / ball.scale, axis=1)
    expected = np.bincount(np.searchsorted(EDGES, lengths), minlength=5)
    assert np.array_equal(length_counts(space_of(rows), ball, EDGES), expected)


@pytest.mark.parametrize("table", range(TABLES))
def test_the_same_bits_wherever_the_rows_lie(table, monkeypatch):
    rows = odd_table(table)
    rng, width = np.random.default_rng(table), rows.shape[1]
    wild = 10.0 ** rng.integers(-320, 300, width).astype(float)
    ball = Ball(rng.normal(size=width), np.exp(rng.normal(size=width)) if table % 3 else wild, 1.0)
    bits_everywhere(rows, lambda space: length_counts(space, ball, np.geomspace(0.1, 100, 9)), monkeypatch)


def test_the_same_bits_from_dask():
    rows = odd_table(4)
    ball = ball_of(rows.shape[1])
    found = from_dask(rows, lambda space: length_counts(space, ball, EDGES))
    assert np.array_equal(found, length_counts(space_of(rows), ball, EDGES))
