"""The histogram of the records' lengths (P20): one record moves one count by one; the same bits wherever rows lie."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest
from dimfree.mechanisms.search import STEPS
from mechanisms.kept import TABLES, bits_everywhere, from_dask, odd_table, space_of
from recording import RecordingNoise

from dimfree.accounting.budget import Neighbours
from dimfree.kernel.statistics import length_histogram
from dimfree.kernel.statistics.clipped_sum import Ball
from dimfree.kernel.statistics.length_histogram import length_counts, noisy_length, noisy_length_counts
from dimfree.noise import SeededNoise

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
NAN = float("nan")
EDGES = np.array([0.5, 1.0, 2.0, 4.0])
PLANE = ((0.3, 0.3), (1.3, 0.3), (0.9, 1.1), (3.0, 0.0), (1e300, -1e300), (-1.7e308, 5e-324), (NAN, 0.0))
charged = pytest.mark.parametrize(("relation", "changed"), [(ADD, 1), (REPLACE, 2)])


def ball_of(width):
    return Ball(np.full(width, 0.3), np.full(width, 1.0), 1.0)


@cache
def counts(table):
    return [int(v) for v in length_counts(space_of(table, 2), ball_of(2), EDGES)]


def pairs(places, relation, most=3):
    for size in range(1, most + 1):
        for table in combinations_with_replacement(places, size):
            if relation is ADD:
                yield table, table[1:]
            else:
                yield from ((table, (place, *table[1:])) for place in places)


@charged
def test_the_counts_move_by_at_most_their_charge(relation, changed):
    moves = [
        sum((a - b) ** 2 for a, b in zip(counts(one), counts(other), strict=True))
        for one, other in pairs(PLANE, relation)
    ]
    assert max(moves) == changed
    event = noisy_length_counts(space_of(PLANE), ball_of(2), EDGES, 0.4, relation, noise=RecordingNoise()).event
    assert Fraction(event.sensitivity) ** 2 * Fraction(event.step) ** 2 >= changed


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_the_number_up_to_an_edge_moves_by_at_most_one(relation, monkeypatch):
    """What the search for a quantile of the lengths adds noise to, at every edge, and what it is charged."""
    seen = {}

    def fake(excess, edges, share, count, sensitivity, mu, purpose, *, noise):
        seen["values"], seen["charged"] = [excess(edge) for edge in edges], sensitivity * STEPS

    monkeypatch.setattr(length_histogram, "noisy_crossing", fake)

    @cache
    def values(table):
        noisy_length(space_of(table, 2), ball_of(2), EDGES, 0.5, 3.3, 0.4, noise=RecordingNoise())
        assert all(type(value) is int for value in seen["values"])
        return tuple(seen["values"])

    moves = [
        abs(a - b) for one, other in pairs(PLANE, relation) for a, b in zip(values(one), values(other), strict=True)
    ]
    assert max(moves) == STEPS == seen["charged"]


def test_the_median_length_of_few_records_is_found(rng):
    space = space_of(rng.normal(size=(300, 30)))
    edges = math.sqrt(30) * 1.2 ** np.arange(-6.0, 12.0)
    found = [noisy_length(space, ball_of(30), edges, 0.5, 300.0, 0.04, noise=SeededNoise(k)).value for k in range(20)]
    assert np.mean([0.8 < value / math.sqrt(30) < 1.5 for value in found]) > 0.8


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


def test_noise_enters_in_records():
    rows = np.zeros((10, 2))
    found = noisy_length_counts(space_of(rows), ball_of(2), np.geomspace(1, 9, 400), 0.5, ADD, noise=SeededNoise(1))
    assert found.event.stddev * found.event.step == pytest.approx(2.0, rel=1e-9)
    assert np.std(found.value[1:]) == pytest.approx(2.0, rel=0.2)
    assert found.event.dimension == 401


@pytest.mark.parametrize("mu", [1e-4, 0.3, 19.9])
def test_nothing_overflows_at_the_largest_table(mu):
    event = noisy_length_counts(space_of((), 2), ball_of(2), EDGES, mu, REPLACE, noise=RecordingNoise()).event
    assert 2**33 / event.step + 20 * event.stddev < 2**63
    assert event.stddev >= 2.0**24
    assert event.mu <= mu * (1 + 1e-14)
    assert event.sensitivity * event.step == pytest.approx(math.sqrt(2))
