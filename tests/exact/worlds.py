"""Tiny worlds, enumerated: every table of a few records on a few places, with its neighbors. No sampling."""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from dimfree.kernel.statistics.distances import PairDistances
from dimfree.kernel.statistics.friends import RADIUS

INVALID = None  # a record ⊥: a friend of itself only, adding nothing to any sum

LINE = tuple((k,) for k in (0, RADIUS, -RADIUS, 2 * RADIUS, 9 * RADIUS))
PLANE = ((0, 0), (RADIUS, 0), (0, RADIUS), (-RADIUS, 0), (RADIUS, RADIUS), (0, -9 * RADIUS))
WORLDS = {"line": LINE, "plane": PLANE, "line with invalid records": (*LINE[:4], INVALID)}


def tables(places, size):
    """Every multiset of records; the order of rows does not matter."""
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
    rows = np.array(valid, dtype=np.float64).reshape(len(valid), width)
    found = iter(PairDistances.of(rows, 0).friend_counts(float(RADIUS)))
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
