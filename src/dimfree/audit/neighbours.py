"""Named pairs of neighbouring tables, each the worst case of something: a drift, a threshold, a boundary.

The first coordinate tells the two tables apart; lengths are in units of the radius given. Letters: n = records of the
larger table, B = budget of the stability statistic T (P4).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dimfree.budget import Neighbours

Floats = NDArray[np.float64]
Table: TypeAlias = Any  # a dense array or a sparse matrix, one row per record

FAR = 1e6  # radii
WIDE = 64  # coordinates


@dataclass(frozen=True, repr=False)
class Pair:
    """Two tables that the promise says must look alike."""

    name: str
    relation: Neighbours
    here: Table
    there: Table

    def __repr__(self) -> str:
        return f"<Pair: {self.name}, {self.relation}>"


@dataclass(frozen=True)
class Place:
    """Where pairs are built: how many records, how wide, and the length that friendship or clipping is decided at."""

    size: int
    radius: float = 1.0
    dimension: int = 2

    def at(self, *positions: tuple[int, float]) -> Floats:
        """(how often, where along the first coordinate, in radii) for each kind of record."""
        column = np.concatenate([np.full(times, where * self.radius) for times, where in positions])
        table = np.zeros((len(column), self.dimension))
        table[:, 0] = column
        return table


Builder = Callable[[Place], tuple[Table, Table]]  # with the record and without it, or with either of two


def far_outlier(place: Place) -> tuple[Table, Table]:
    """One record beyond everything."""
    crowd = place.size - 1
    return place.at((crowd, 0.0), (1, FAR)), place.at((crowd, 0.0))


def edge_of_friendliness(place: Place) -> tuple[Table, Table]:
    """One record at exactly the radius from all the others: the farthest friend."""
    crowd = place.size - 1
    return place.at((crowd, 0.0), (1, 1.0)), place.at((crowd, 0.0))


def two_cliques(place: Place) -> tuple[Table, Table]:
    """A hub between two camps that do not know each other: the drift of P1 is attained."""
    camp = (place.size - 1) // 2
    return place.at((camp, -1.0), (camp, 1.0), (1, 0.0)), place.at((camp, -1.0), (camp, 1.0))


def clipping_boundary(place: Place) -> tuple[Table, Table]:
    """One record on the sphere, the others in its centre: the sum moves by a whole radius."""
    return edge_of_friendliness(place)


def count_at_threshold(place: Place) -> tuple[Table, Table]:
    """Two camps of equal size, out of sight of each other: everybody has exactly half of all as friends."""
    camp = place.size // 2
    return place.at((camp, 0.0), (camp, 10.0)), place.at((camp, 0.0), (camp - 1, 10.0))


def duplicated_rows(place: Place) -> tuple[Table, Table]:
    """Everybody says the same, away from the origin; only the number differs."""
    return place.at((place.size, 0.5)), place.at((place.size - 1, 0.5))


def one_dimension(place: Place) -> tuple[Table, Table]:
    """A line of records, evenly spread over a radius, with one at its upper end."""
    line = np.linspace(-0.5, 0.5, place.size)[:, None] * place.radius
    return line, line[:-1]


def wide(place: Place) -> tuple[Table, Table]:
    """A record at the radius that uses every coordinate alike; the others at the origin."""
    record = np.full((1, WIDE), place.radius / np.sqrt(WIDE) * (1 - 1e-12))
    crowd = np.zeros((place.size - 1, WIDE))
    return np.vstack([crowd, record]), crowd


def sparse_rows(place: Place) -> tuple[Table, Table]:
    """Stored entries in single places, and one record whose entry is in a place of its own."""
    crowd = np.zeros((place.size - 1, WIDE))
    crowd[::3, 1] = place.radius / 4
    record = np.zeros((1, WIDE))
    record[0, 0] = place.radius
    return sparse.csr_array(np.vstack([crowd, record])), sparse.csr_array(crowd)


ADD_REMOVE: dict[str, Builder] = {
    "edge of friendliness": edge_of_friendliness,
    "far outlier": far_outlier,
    "two cliques": two_cliques,
    "duplicated rows": duplicated_rows,
    "count at threshold": count_at_threshold,
    "clipping boundary": clipping_boundary,
    "one dimension": one_dimension,
    "wide": wide,
    "sparse": sparse_rows,
}


def _swapped(place: Place, old: float, new: float) -> tuple[Table, Table]:
    crowd = place.size - 1
    return place.at((crowd, 0.0), (1, old)), place.at((crowd, 0.0), (1, new))


def _turned(place: Place) -> tuple[Table, Table]:
    """At the radius along the first coordinate, or along the second: what is never negative moves by √2 of it."""
    here = place.at((place.size - 1, 0.0), (1, 1.0))
    there = here.copy()
    there[-1, :2] = 0.0, place.radius
    return here, there


def _camps_exchange(place: Place) -> tuple[Table, Table]:
    camp = (place.size - 1) // 2
    return place.at((camp, -1.0), (camp, 1.0), (1, -1.0)), place.at((camp, -1.0), (camp, 1.0), (1, 1.0))


def _sparse_exchange(place: Place) -> tuple[Table, Table]:
    here, crowd = sparse_rows(place)
    other = np.zeros((1, WIDE))
    other[0, 0] = -place.radius
    return here, sparse.vstack([crowd, other], format="csr")


def _wide_exchange(place: Place) -> tuple[Table, Table]:
    here, _ = wide(place)
    there = np.array(here)
    there[-1] *= -1
    return here, there


def _line_exchange(place: Place) -> tuple[Table, Table]:
    line = np.linspace(-0.5, 0.5, place.size)[:, None] * place.radius
    there = line.copy()
    there[-1] = -0.5 * place.radius
    return line, there


REPLACE_ONE: dict[str, Builder] = {
    "edge of friendliness": lambda place: _swapped(place, -1.0, 1.0),
    "just beyond the edge": lambda place: _swapped(place, 1.0, 1.0 + 1e-3),
    "far outlier": lambda place: _swapped(place, 0.0, FAR),
    "two cliques": _camps_exchange,
    "clipping boundary": lambda place: _swapped(place, -1.0, 1.0),
    "turned": _turned,
    "one dimension": _line_exchange,
    "wide": _wide_exchange,
    "sparse": _sparse_exchange,
}


def pairs(relation: Neighbours, place: Place, names: tuple[str, ...] | None = None) -> Iterator[Pair]:
    """The named pairs of a relation, all of them or those named, in a fixed order."""
    suite = ADD_REMOVE if relation is Neighbours.ADD_REMOVE else REPLACE_ONE
    for name in suite if names is None else names:
        yield Pair(name, relation, *suite[name](place))


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
