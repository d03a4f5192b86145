"""Named pairs of neighbouring tables, each the worst case of a drift, a threshold or a boundary.

Lengths are in units of the given radius. Letters: n = records of the larger table, B = budget of the stability
statistic T (P4).
"""

from collections.abc import Iterator

from dimfree.accounting.budget import Neighbours
from dimfree.audit.pairs.add_remove import ADD_REMOVE, HUGE_ADD_REMOVE
from dimfree.audit.pairs.pair import Pair, TableSize
from dimfree.audit.pairs.replace_one import HUGE_REPLACE_ONE, REPLACE_ONE

SUITES = {Neighbours.ADD_REMOVE: ADD_REMOVE, Neighbours.REPLACE_ONE: REPLACE_ONE}
HUGE = {Neighbours.ADD_REMOVE: HUGE_ADD_REMOVE, Neighbours.REPLACE_ONE: HUGE_REPLACE_ONE}


def pairs(relation: Neighbours, given: TableSize, names: tuple[str, ...] | None = None) -> Iterator[Pair]:
    """The pairs of a relation in a fixed order: those named, or all but the huge ones."""
    known = SUITES[relation] | HUGE[relation]
    for name in SUITES[relation] if names is None else names:
        yield Pair(name, relation, *known[name](given))


def huge(relation: Neighbours, given: TableSize) -> Iterator[Pair]:
    """Thousands of coordinates, dense and sparse: too slow for many samples."""
    return pairs(relation, given, tuple(HUGE[relation]))


def at_stability(relation: Neighbours, given: TableSize, outliers: int, name: str = "T = 2 edge") -> Pair:
    """Friends at one point and `outliers` records without friends; the neighbour has one more of those.

    Each of them lowers T by one (P4). With B - 2 of them T = 2 here and T = 1 there: `here` must pass no more often
    than the failure probability, and about `there` nothing is promised.
    """
    lonely = [(1, 100.0 * (k + 1)) for k in range(outliers + 1)]
    friends = given.size - outliers - 1
    there = given.table((friends, 0.0), *lonely)
    exchanged = int(relation is Neighbours.REPLACE_ONE)
    return Pair(name, relation, given.table((friends + exchanged, 0.0), *lonely[:-1]), there)
