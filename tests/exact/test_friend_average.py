"""M5' in tiny worlds: the friend average S(u) - q·n moves by less than max(1 + q, 2 - q), or 2 under replace-one."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from recording import RecordingNoise
from states import standing_view

from dimfree.accounting.budget import Neighbors
from dimfree.accounting.events import SEARCH_STEPS as STEPS
from dimfree.data.records import as_records
from dimfree.kernel.pairs import share_sensitivity

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
SHARES = [Fraction(1, 2), Fraction(4, 5), Fraction(1, 10)]


# the inequality itself, on every graph


def graphs(n):
    edges = list(combinations(range(n), 2))
    for chosen in product((0, 1), repeat=len(edges)):
        yield {edge for edge, bit in zip(edges, chosen, strict=True) if bit}


def centered(n, edges, share):
    return (Fraction(n + 2 * edges, n) if n else Fraction(1)) - share * n


def removals(most=5):
    """(n, edges, edges after one vertex has left) for every graph."""
    return {
        (n, len(graph), len(graph) - sum(vertex in edge for edge in graph))
        for n in range(1, most + 1)
        for graph in graphs(n)
        for vertex in range(n)
    }


@pytest.mark.parametrize("share", SHARES)
def test_removing_a_vertex_moves_the_average_by_less_than_the_bound(share):
    moves = [abs(centered(n, e, share) - centered(n - 1, left, share)) for n, e, left in removals()]
    assert max(moves) < max(1 + share, 2 - share) <= share_sensitivity(share, ADD) - 1 / (2 * STEPS)


def test_exchanging_a_vertex_moves_the_average_by_less_than_two():
    for n in range(1, 6):
        found = [(e, left) for m, e, left in removals() if m == n]
        moves = [abs(Fraction(2 * (e - f), n)) for e, left in found for f, also in found if left == also]
        assert max(moves) < share_sensitivity(SHARES[0], REPLACE)
        assert max(moves) == Fraction(2 * (n - 1), n)  # approached as n grows


# the statistic of the code, on tables of points


def statistic(rows, invalid, share, radius=1.0):
    """A noisy count of the kernel without its noise, in 1/STEPS."""
    table = np.concatenate([rows, np.full((invalid, rows.shape[1]), np.nan)])
    view = standing_view(as_records(table, missing="complete-case"), noise=RecordingNoise())
    return round(view.pairs(0).friends(share, 1, 1.0).at(radius) * STEPS)


def test_no_records_and_one_record():
    nothing, half = np.zeros((0, 3)), Fraction(1, 2)
    assert statistic(nothing, 0, half) == STEPS
    assert statistic(nothing, 1, half) == statistic(np.zeros((1, 3)), 0, half) == STEPS // 2
    assert statistic(nothing, 2, half) == 0  # two invalid records are not friends


def hub(n):
    """Pairwise strangers, all friends of the last record."""
    return np.concatenate([0.9 * np.eye(n - 1), np.zeros((1, n - 1))])


def crowd(n):
    """All friends, but for the last record."""
    return np.concatenate([np.zeros((n - 1, 1)), np.full((1, 1), 5.0)])


@pytest.mark.parametrize(("table", "limit"), [(hub, lambda q: 2 - q), (crowd, lambda q: 1 + q)])
@pytest.mark.parametrize("share", SHARES)
def test_the_bound_is_nearly_attained(table, limit, share):
    rows = table(120)
    move = Fraction(abs(statistic(rows, 0, share) - statistic(rows[:-1], 0, share)), STEPS)
    assert 0.97 * limit(share) < move < limit(share)
