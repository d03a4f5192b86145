"""Named pairs of neighbouring tables, each the worst case of something: a drift, a threshold, a boundary.

The first coordinate tells the two tables apart; lengths are in units of the radius given. Letters: n = records of the
larger table, B = budget of the stability statistic T (P4).
"""

from collections.abc import Iterator

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.pairs.arrivals import ADD_REMOVE, HUGE_ADD_REMOVE
from dimfree.audit.pairs.exchanges import HUGE_REPLACE_ONE, REPLACE_ONE
from dimfree.audit.pairs.place import Pair, Place, Table

__all__ = [
    "ADD_REMOVE",
    "HUGE",
    "REPLACE_ONE",
    "SUITES",
    "Floats",
    "Pair",
    "Place",
    "Table",
    "at_stability",
    "huge",
    "pairs",
]

SUITES = {Neighbours.ADD_REMOVE: ADD_REMOVE, Neighbours.REPLACE_ONE: REPLACE_ONE}
HUGE = {Neighbours.ADD_REMOVE: HUGE_ADD_REMOVE, Neighbours.REPLACE_ONE: HUGE_REPLACE_ONE}


def pairs(relation: Neighbours, place: Place, names: tuple[str, ...] | None = None) -> Iterator[Pair]:
    """The named pairs of a relation, all of them or those named, in a fixed order; huge ones are to be named."""
    known = SUITES[relation] | HUGE[relation]
    for name in SUITES[relation] if names is None else names:
        yield Pair(name, relation, *known[name](place))


def huge(relation: Neighbours, place: Place) -> Iterator[Pair]:
    """Thousands of coordinates, dense and sparse: too slow for many samples."""
    return pairs(relation, place, tuple(HUGE[relation]))


def at_stability(relation: Neighbours, place: Place, outliers: int, name: str = "T = 2 edge") -> Pair:
    """A crowd and so many records that see nobody; the neighbour has one more of them.

    Each of them lowers T by one (P4), so with B - 2 of them T = 2 here and T = 1 there: the last table that must
    pass no more often than the failure probability, and the first about which nothing is promised.
    """
    lonely = [(1, 100.0 * (k + 1)) for k in range(outliers + 1)]
    crowd = place.size - outliers - 1
    there = place.at((crowd, 0.0), *lonely)
    if relation is Neighbours.ADD_REMOVE:
        return Pair(name, relation, place.at((crowd, 0.0), *lonely[:-1]), there)
    return Pair(name, relation, place.at((crowd + 1, 0.0), *lonely[:-1]), there)
