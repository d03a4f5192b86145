"""The pairs are neighbours, and each is the extreme that its name says."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.audit.audited import plain_space
from dimfree.audit.mechanisms.stable_core import stable_choice, stable_pairs
from dimfree.audit.pairs.add_remove import ADD_REMOVE
from dimfree.audit.pairs.pair import TableSize
from dimfree.audit.pairs.replace_one import REPLACE_ONE
from dimfree.audit.pairs.suites import at_stability, pairs
from dimfree.kernel.rows.grid import RADIUS, on_grid
from dimfree.kernel.statistics.friends import all_counts, friend_counts
from dimfree.kernel.statistics.stable import stability
from dimfree.paper import basic, soft

GIVEN = TableSize(11, radius=3.0)
CASES = [
    (relation, name) for relation, suite in zip(Neighbours, (ADD_REMOVE, REPLACE_ONE), strict=True) for name in suite
]


def rows(table):
    dense = table.toarray() if sparse.issparse(table) else table
    return Counter(map(tuple, dense.tolist()))


def counts(table):
    return friend_counts(np.rint(table / GIVEN.radius * RADIUS).astype(np.int64))


@pytest.mark.parametrize(("relation", "name"), CASES)
def test_the_tables_are_neighbours(relation, name):
    (pair,) = pairs(relation, GIVEN, (name,))
    gone, new = rows(pair.here) - rows(pair.there), rows(pair.there) - rows(pair.here)
    assert (gone.total(), new.total()) == ((1, 0) if relation is Neighbours.ADD_REMOVE else (1, 1))
    assert pair.here.shape[1] == pair.there.shape[1]
    assert repr(pair) == f"<Pair: {name}, {relation}>"  # no record in it


def test_all_pairs_come_in_a_fixed_order():
    assert [pair.name for pair in pairs(Neighbours.ADD_REMOVE, GIVEN)] == list(ADD_REMOVE)
    assert {pair.here.shape[1] for pair in pairs(Neighbours.ADD_REMOVE, GIVEN)} == {1, 2, 64}


def keep_chance(table):
    n = len(table)
    return np.clip(2 * counts(table) - n, 0, n) / n


def test_two_cliques_attain_the_drift():
    (pair,) = pairs(Neighbours.ADD_REMOVE, GIVEN, ("two cliques",))
    before, after = keep_chance(pair.there), keep_chance(pair.here)
    drift = after[-1] + np.abs(after[:-1] - before).sum()
    assert drift == pytest.approx(2 - 1 / GIVEN.size)
    assert basic.COUNT_SENSITIVITY < drift < soft.TOTAL_SENSITIVITY


def test_the_edge_is_a_friend_and_a_step_beyond_is_not():
    (pair,) = pairs(Neighbours.REPLACE_ONE, GIVEN, ("just beyond the edge",))
    assert counts(pair.here)[-1] == GIVEN.size
    assert counts(pair.there)[-1] == 1


def test_the_count_at_the_threshold_is_half():
    (pair,) = pairs(Neighbours.ADD_REMOVE, TableSize(10, radius=3.0), ("count at threshold",))
    assert set(counts(pair.here)) == {5}
    assert keep_chance(pair.here).sum() == 0
    assert keep_chance(pair.there).sum() > 0


def statistic(table, choice):
    """T of a table (P4)."""
    counts = all_counts(on_grid(plain_space(table), choice.radius))
    relation = Neighbours.REPLACE_ONE if choice.floor is None else Neighbours.ADD_REMOVE
    return stability(counts, Fraction(choice.full_share), choice.budget, relation)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_edges_of_the_statistic(epsilon):
    size = 60 + 90 * math.ceil(1 / epsilon)
    choice = stable_choice(Budget(epsilon, 1e-2), size)
    edges = [pair for pair in stable_pairs(choice, size) if "edge" in pair.name and pair.name.startswith("T")]
    for pair in edges:
        named = int(pair.name.split()[2])
        assert [statistic(table, choice) for table in (pair.here, pair.there)] == [named, named - 1]
    assert len(edges) == 3


def test_the_edge_under_add_remove():
    pair = at_stability(Neighbours.ADD_REMOVE, TableSize(40, radius=3.0), 4)
    choice = stable_choice(Budget(3.0, 1e-2), 150)
    found = [stability(counts(table), Fraction(3, 5), 6, Neighbours.ADD_REMOVE) for table in (pair.here, pair.there)]
    assert found == [2, 1]
    assert choice.budget > 2
