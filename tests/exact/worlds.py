"""Tiny worlds, enumerated: every table of a few records on a few places, with its neighbors. No sampling."""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.data.records import as_records
from dimfree.kernel.rows.grid import RADIUS
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.friends import friend_counts
from dimfree.shapes import Isotropic

INVALID = None  # a record ⊥: a friend of itself only, adding nothing to any sum

LINE = tuple((k,) for k in (0, RADIUS, -RADIUS, 2 * RADIUS, 9 * RADIUS))
PLANE = ((0, 0), (RADIUS, 0), (0, RADIUS), (-RADIUS, 0), (RADIUS, RADIUS), (0, -9 * RADIUS))
WORLDS = {"line": LINE, "plane": PLANE, "line with invalid records": (*LINE[:4], INVALID)}


def tables(places, size):
    """Every multiset of records; the order of rows does not matter (tests/kernel/statistics/test_friends.py)."""
    return combinations_with_replacement(sorted(places, key=lambda place: place or ()), size)


def removals(table):
    """Every table with one record less."""
    return {table[:j] + table[j + 1 :] for j in range(len(table))}


def replacements(table, places):
    """Every pair of positions and tables that differ in one record: (record taken out, record put in, rest)."""
    for j in range(len(table)):
        if j and table[j] == table[j - 1]:
            continue
        for place in places:
            if place != table[j]:
                yield table[j], place, table[:j] + table[j + 1 :]


@cache
def counts(table):
    """Friend counts in the order of the table, by the code under test; an invalid record counts itself."""
    valid = [record for record in table if record is not INVALID]
    width = len(valid[0]) if valid else 1
    found = iter(friend_counts(np.array(valid, dtype=np.int64).reshape(len(valid), width)))
    return tuple(1 if record is INVALID else int(next(found)) for record in table)


def as_counts(table):
    return np.array(counts(table), dtype=np.int64)


def mean(table, weights):
    """The weighted mean in radii, exactly; an invalid record adds nothing to either sum."""
    pairs = [(int(w), record) for w, record in zip(weights, table, strict=True) if w and record is not INVALID]
    total = sum(w for w, _ in pairs)
    width = len(pairs[0][1])
    return [Fraction(sum(w * record[i] for w, record in pairs), total * RADIUS) for i in range(width)]


def squared_distance(one, other):
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


# ---- tables of floats


def space_of(rows, dimension=None, *, by_entry=False):
    """Of rows; invalid ones are left out, or `by_entry` their entries are missing."""
    table = np.array(rows, dtype=np.float64).reshape(len(rows), dimension or len(rows[0]))
    return Space(as_records(table, on_missing="drop"), Isotropic(1.0), by_entry=by_entry)


def _ordered(table):
    return tuple(sorted(table, key=repr))


def neighbors(places, relation, most=3):
    """Every table of at most so many records on the places, with every neighbor."""
    for size in range(1, most + 1):
        for table in combinations_with_replacement(_ordered(places), size):
            for rest in removals(table):
                if relation is Neighbours.ADD_REMOVE:
                    yield table, rest
                else:
                    yield from ((table, _ordered((*rest, place))) for place in places)


def largest_move(places, relation, statistic, most=3):
    """The squared length of the largest move of a statistic (table, width) -> whole numbers, each computed once."""
    known, width = cache(lambda table: statistic(table, width)), len(places[0])
    return max(squared_distance(known(one), known(other)) for one, other in neighbors(places, relation, most))
