"""Medians of all columns at once: the right bracket without noise, and never more answers than are paid for."""

import itertools
import math

import numpy as np
import pytest
from dimfree.mechanisms.medians import MOST_BISECTIONS, balances, bisections, noisy_medians
from dimfree.mechanisms.search import STEPS
from recording import RecordingNoise
from scipy import sparse

from dimfree.accounting.budget import Neighbours
from dimfree.data.blocks import SparseRows
from dimfree.noise import SeededNoise

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


def found(table, widths, noise, *, reach=8.0, mu=0.5, relation=ADD):
    return noisy_medians(lambda: [table], reach, np.asarray(widths, dtype=float), mu, relation, "medians", noise=noise)


def test_without_noise_the_bracket_holds_the_median(rng):
    table = rng.uniform(-7, 7, size=(101, 5))
    widths = np.array([4.0, 1.0, 0.25, 1e-3, 1e-9])
    assert np.all(np.abs(found(table, widths, RecordingNoise()).value - np.median(table, axis=0)) <= widths / 2)


def test_a_median_out_of_reach_ends_at_the_edge():
    table = np.full((9, 2), 50.0) * [1, -1]
    assert found(table, [0.5, 0.5], RecordingNoise()).value == pytest.approx([8 - 0.25, -8 + 0.25])


@pytest.mark.parametrize(
    ("width", "expected"), [(100.0, 1), (16.0, 1), (8.0, 1), (4.0, 2), (3.9, 3), (0.25, 6), (1e-300, MOST_BISECTIONS)]
)
def test_a_column_is_halved_until_it_is_narrow_enough(width, expected):
    assert bisections(8.0, np.array([width])) == [expected]


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("mu", [0.01, 0.5, 7.0])
def test_all_answers_together_cost_what_was_asked(relation, mu):
    """Columns close one by one; k answers that move by s at standard deviation σ: mu² = k s²/σ²."""
    noise, moves = RecordingNoise(), {ADD: 1, REPLACE: 2}[relation]
    event = found(np.zeros((4, 3)), [8.0, 4.0, 1.0], noise, mu=mu, relation=relation).event
    assert [size for _, _, size in noise.asked] == [3, 2, 1, 1]
    assert {scale for _, scale, _ in noise.asked} == {event.stddev}
    spent = math.sqrt(event.dimension) * moves * STEPS / event.stddev
    assert event.dimension == 7
    assert mu * (1 - 1e-12) < spent <= mu
    assert event.mu == pytest.approx(spent, rel=1e-14)


PLACES = (-1.0, 0.0, 1.0)
POINTS = np.array([-0.5, 0.0])


def tables(size):
    rows = itertools.product(PLACES, repeat=2)
    return itertools.combinations_with_replacement(rows, size)


def balance(table):
    return balances([np.array(table, dtype=float).reshape(-1, 2)], POINTS)


def test_a_balance_moves_by_one_and_by_two():
    """Every table of three records, every neighbour: the bound is kept and attained, in every column."""
    removed, replaced = set(), set()
    for table in tables(3):
        for place in range(3):
            rest = table[:place] + table[place + 1 :]
            removed |= set(np.abs(balance(table) - balance(rest)))
            for record in itertools.product(PLACES, repeat=2):
                replaced |= set(np.abs(balance(table) - balance((*rest, record))))
    assert removed == {1}
    assert replaced == {0, 2}


def test_sparse_rows_are_counted_like_dense_ones(rng):
    table = rng.normal(size=(60, 7)) * (rng.random((60, 7)) < 0.4)
    for points in (rng.normal(size=7), np.zeros(7), np.full(7, -1e-300)):
        dense = balances([table[:20], table[20:]], points)
        assert np.array_equal(balances([SparseRows(sparse.csr_array(table))], points), dense)
        assert np.array_equal(dense, np.sign(points - table + 1e-320).sum(axis=0))


def test_noise_moves_the_answer(seed):
    noise, table = SeededNoise(seed), np.linspace(-5, 5, 50)[:, None]
    assert len({float(found(table, [0.1], noise).value[0]) for _ in range(30)}) > 3
