"""Pairs for estimators that learn a scale: most records spread out, so that there is a scale to be found.

The crowd is a fixed set of points, spread like a standard normal law in every coordinate; lengths are in units of the
friend radius that the code learns on it.
"""

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.neighbours import Pair, Place, Table, pairs

_FAR = 1e6
SEVERAL = 16  # coordinates of the wider tables
_CAMPS = ("two cliques", "count at threshold")  # of the plain suite: they have a scale already

Both = tuple[Table, Table]


def crowd(size: int, dimension: int = 2) -> Floats:
    """Multiples of irrational numbers, modulo one, at the quantiles of a normal law: no coins."""
    candidates = np.arange(2, 2 * dimension + 10)
    irrational = np.sqrt(candidates[np.sqrt(candidates) % 1 > 0][:dimension])
    shares = np.multiply.outer(np.arange(1.0, size + 1), irrational) % 1
    return np.asarray(ndtri(np.clip(shares, 1e-6, 1 - 1e-6)))


def spread_pairs(relation: Neighbours, place: Place) -> Iterator[Pair]:
    """A record at the edge, far away or in the middle, one more or in exchange; two camps; wide and sparse tables."""
    build = _arrivals if relation is Neighbours.ADD_REMOVE else _exchanges
    for name, both in build(place).items():
        yield Pair(name, relation, *both)
    yield from pairs(relation, Place(place.size), _CAMPS)
    yield Pair("sparse", relation, *_sparse(relation, place))


def _arrivals(place: Place) -> dict[str, Both]:
    points, wide = crowd(place.size - 1), crowd(place.size - 1, SEVERAL)
    return {
        "edge of friendliness": (_with(points, place.radius), points),
        "far outlier": (_with(points, _FAR * place.radius), points),
        "one in the middle": (_with(points, 0.0), points),
        "one dimension": (_with(points[:, :1], place.radius), points[:, :1]),
        "wide": (_with(wide, place.radius), wide),
    }


def _exchanges(place: Place) -> dict[str, Both]:
    points, wide, radius = crowd(place.size - 1), crowd(place.size - 1, SEVERAL), place.radius
    return {
        "edge of friendliness": (_with(points, radius), _with(points, -radius)),
        "far outlier": (_with(points, 0.0), _with(points, _FAR * radius)),
        "turned": (_with(points, radius), _with(points, radius, coordinate=1)),
        "one dimension": (_with(points[:, :1], radius), _with(points[:, :1], -radius)),
        "wide": (_with(wide, radius), _with(wide, -radius)),
    }


def _with(points: Floats, where: float, coordinate: int = 0) -> Floats:
    record = np.zeros((1, points.shape[1]))
    record[0, coordinate] = where
    return np.vstack([points, record])


def _sparse(relation: Neighbours, place: Place) -> Both:
    """Two stored entries in every row, each in one of several coordinates."""
    spread, table = crowd(place.size - 1), np.zeros((place.size - 1, SEVERAL))
    for part in (0, 1):
        table[np.arange(len(table)), np.arange(part, part + len(table)) % SEVERAL] = spread[:, part]
    here, there = (sparse.csr_array(_with(table, where)) for where in (place.radius, -place.radius))
    return here, there if relation is Neighbours.REPLACE_ONE else sparse.csr_array(table)


def at_spread_stability(relation: Neighbours, place: Place, outliers: int) -> Pair:
    """The crowd and so many records that see nobody; the neighbour has one more of them (P4)."""
    lonely = np.zeros((outliers + 1, 2))
    lonely[:, 0] = 100.0 * place.radius * np.arange(1, outliers + 2)
    points = crowd(place.size - outliers)
    there = np.vstack([points[1:], lonely])
    here = np.vstack([points[1:] if relation is Neighbours.ADD_REMOVE else points, lonely[:-1]])
    return Pair("T = 2 edge", relation, here, there)
