"""The pairs are neighbours, and each is the extreme that its name says."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.audit.neighbours import ADD_REMOVE, REPLACE_ONE, Place, at_stability, pairs
from dimfree.audit.subjects import cores
from dimfree.core import basic, soft
from dimfree.core.friends import friend_counts
from dimfree.geometry.grid import RADIUS

PLACE = Place(11, radius=3.0)
CASES = [
    (relation, name) for relation, suite in zip(Neighbours, (ADD_REMOVE, REPLACE_ONE), strict=True) for name in suite
]


def rows(table):
    dense = table.toarray() if sparse.issparse(table) else table
    return Counter(map(tuple, dense.tolist()))


def counts(table):
    return friend_counts(np.rint(table / PLACE.radius * RADIUS).astype(np.int64))


@pytest.mark.parametrize(("relation", "name"), CASES)
def test_the_tables_are_neighbours(relation, name):
    (pair,) = pairs(relation, PLACE, (name,))
    gone, new = rows(pair.here) - rows(pair.there), rows(pair.there) - rows(pair.here)
    assert (gone.total(), new.total()) == ((1, 0) if relation is Neighbours.ADD_REMOVE else (1, 1))
    assert pair.here.shape[1] == pair.there.shape[1]
    assert repr(pair) == f"<Pair: {name}, {relation}>"  # no record in it


def test_all_pairs_come_in_a_fixed_order():
    assert [pair.name for pair in pairs(Neighbours.ADD_REMOVE, PLACE)] == list(ADD_REMOVE)
    assert {pair.here.shape[1] for pair in pairs(Neighbours.ADD_REMOVE, PLACE)} == {1, 2, 64}


def keep_chance(table):
    n = len(table)
    return np.clip(2 * counts(table) - n, 0, n) / n


def test_two_cliques_attain_the_drift():
    (pair,) = pairs(Neighbours.ADD_REMOVE, PLACE, ("two cliques",))
    before, after = keep_chance(pair.there), keep_chance(pair.here)
    drift = after[-1] + np.abs(after[:-1] - before).sum()
    assert drift == pytest.approx(2 - 1 / PLACE.size)
    assert basic.COUNT_SENSITIVITY < drift < soft.TOTAL_SENSITIVITY


def test_the_edge_is_a_friend_and_a_step_beyond_is_not():
    (pair,) = pairs(Neighbours.REPLACE_ONE, PLACE, ("just beyond the edge",))
    assert counts(pair.here)[-1] == PLACE.size
    assert counts(pair.there)[-1] == 1


def test_the_count_at_the_threshold_is_half():
    (pair,) = pairs(Neighbours.ADD_REMOVE, Place(10, radius=3.0), ("count at threshold",))
    assert set(counts(pair.here)) == {5}
    assert keep_chance(pair.here).sum() == 0
    assert keep_chance(pair.there).sum() > 0


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_edges_of_the_statistic(epsilon):
    size = 60 + 90 * math.ceil(1 / epsilon)
    choice = cores.stable_choice(Budget(epsilon, 1e-2), size)
    edges = [pair for pair in cores.stable_pairs(choice, size) if "edge" in pair.name and pair.name.startswith("T")]
    for pair in edges:
        named = int(pair.name.split()[2])
        assert (cores.statistic(pair.here, choice), cores.statistic(pair.there, choice)) == (named, named - 1)
    assert len(edges) == 3


def test_the_edge_under_add_remove():
    pair = at_stability(Neighbours.ADD_REMOVE, Place(40, radius=3.0), 4)
    choice = cores.stable_choice(Budget(3.0, 1e-2), 150)
    found = [cores.stability(counts(table), Fraction(3, 5), 6) for table in (pair.here, pair.there)]
    assert found == [2, 1]
    assert choice.budget > 2
