"""Pairs for estimators that learn a scale: most records are spread out, so that there is a scale to learn.

The records are fixed points, distributed like a standard normal in every coordinate. Lengths are in units of the friend
radius that the code learns on them.
"""

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.pairs.pair import Both, Pair, TableSize
from dimfree.audit.pairs.suites import pairs

_FAR = 1e6
SEVERAL = 16  # coordinates of the wider tables
_CLIQUES = ("two cliques", "count at threshold")  # of the plain suite: they have a scale already


def spread_points(size: int, dimension: int = 2) -> Floats:
    """Multiples of irrational numbers, modulo one, at the quantiles of a normal law: nothing random."""
    candidates = np.arange(2, 2 * dimension + 10)
    irrational = np.sqrt(candidates[np.sqrt(candidates) % 1 > 0][:dimension])
    shares = np.multiply.outer(np.arange(1.0, size + 1), irrational) % 1
    return np.asarray(ndtri(np.clip(shares, 1e-6, 1 - 1e-6)))


def spread_pairs(relation: Neighbours, given: TableSize) -> Iterator[Pair]:
    """A record at the edge, far away or in the middle, added or exchanged; two cliques; wide and sparse tables."""
    build = _added if relation is Neighbours.ADD_REMOVE else _exchanged
    for name, both in build(given).items():
        yield Pair(name, relation, *both)
    yield from pairs(relation, TableSize(given.size), _CLIQUES)
    yield Pair("sparse", relation, *_sparse(relation, given))


def _added(given: TableSize) -> dict[str, Both]:
    points, wide = spread_points(given.size - 1), spread_points(given.size - 1, SEVERAL)
    return {
        "edge of friendliness": (_with(points, given.radius), points),
        "far outlier": (_with(points, _FAR * given.radius), points),
        "one in the middle": (_with(points, 0.0), points),
        "one dimension": (_with(points[:, :1], given.radius), points[:, :1]),
        "wide": (_with(wide, given.radius), wide),
    }


def _exchanged(given: TableSize) -> dict[str, Both]:
    points, wide, radius = spread_points(given.size - 1), spread_points(given.size - 1, SEVERAL), given.radius
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


def _sparse(relation: Neighbours, given: TableSize) -> Both:
    """Two stored entries in every row, each in one of several coordinates."""
    points, table = spread_points(given.size - 1), np.zeros((given.size - 1, SEVERAL))
    for part in (0, 1):
        table[np.arange(len(table)), np.arange(part, part + len(table)) % SEVERAL] = points[:, part]
    here, there = (sparse.csr_array(_with(table, where)) for where in (given.radius, -given.radius))
    return here, there if relation is Neighbours.REPLACE_ONE else sparse.csr_array(table)


def at_spread_stability(relation: Neighbours, given: TableSize, outliers: int) -> Pair:
    """The points and `outliers` records without friends; the neighbour has one more of those (P4)."""
    lonely = np.zeros((outliers + 1, 2))
    lonely[:, 0] = 100.0 * given.radius * np.arange(1, outliers + 2)
    points = spread_points(given.size - outliers)
    there = np.vstack([points[1:], lonely])
    here = np.vstack([points[1:] if relation is Neighbours.ADD_REMOVE else points, lonely[:-1]])
    return Pair("T = 2 edge", relation, here, there)
