"""Worst cases under add/remove: a table with a record and the table without it."""

from functools import partial

import numpy as np
from scipy import sparse

from dimfree.audit.pairs.pair import Both, Builder, TableSize

FAR = 1e6  # radii
OFF_CENTRE = 100.0  # radii
WIDE, HUGE_DENSE, HUGE_SPARSE = 64, 4096, 20_000  # coordinates
OUTSIDE = 1 + 1e-3  # radii: no longer a friend, and clipped


def one_more(given: TableSize, record: float, others: float = 0.0) -> Both:
    """All other records at one point, and one record elsewhere."""
    rest = (given.size - 1, others)
    return given.table(rest, (1, record)), given.table(rest)


def two_cliques(given: TableSize) -> Both:
    """A record that is a friend of two cliques that are not friends of each other: attains the drift of P1."""
    half = (given.size - 1) // 2
    return given.table((half, -1.0), (half, 1.0), (1, 0.0)), given.table((half, -1.0), (half, 1.0))


def far_side(given: TableSize) -> Both:
    """A record at the edge, and a quarter of all at the opposite edge, no friends of it: the worst mean of P5."""
    strangers = given.size // 4
    rest = (given.size - 1 - strangers, 0.0), (strangers, -1.0)
    return given.table(*rest, (1, 1.0)), given.table(*rest)


def count_at_threshold(given: TableSize) -> Both:
    """Two cliques of equal size, far apart: every record has exactly half of all as friends."""
    half = given.size // 2
    return given.table((half, 0.0), (half, 10.0)), given.table((half, 0.0), (half - 1, 10.0))


def one_dimension(given: TableSize) -> Both:
    """Records evenly spread over a radius; the last one is at the upper end."""
    line = np.linspace(-0.5, 0.5, given.size)[:, None] * given.radius
    return line, line[:-1]


def wide(given: TableSize, width: int = WIDE) -> Both:
    """A record at the radius with equal coordinates; the others are at the origin."""
    record = np.full((1, width), given.radius / np.sqrt(width) * (1 - 1e-12))
    others = np.zeros((given.size - 1, width))
    return np.vstack([others, record]), others


def sparse_rows(given: TableSize, width: int = WIDE) -> Both:
    """Few stored entries, and one record whose entry is in a column of its own."""
    others = sparse.lil_array((given.size - 1, width))
    others[::3, 1] = given.radius / 4
    record = sparse.csr_array(([given.radius], ([0], [0])), shape=(1, width))
    return sparse.vstack([others, record], format="csr"), sparse.csr_array(others)


ADD_REMOVE: dict[str, Builder] = {
    "edge of friendliness": partial(one_more, record=1.0),
    "just beyond the edge": partial(one_more, record=OUTSIDE),
    "far outlier": partial(one_more, record=FAR),
    "two cliques": two_cliques,
    "far side": far_side,
    "duplicated rows": partial(one_more, record=0.5, others=0.5),
    "count at threshold": count_at_threshold,
    "clipping boundary": partial(one_more, record=-OUTSIDE, others=1.0),
    "off centre": partial(one_more, record=OFF_CENTRE + 1, others=OFF_CENTRE),
    "one dimension": one_dimension,
    "wide": wide,
    "sparse": sparse_rows,
}
HUGE_ADD_REMOVE: dict[str, Builder] = {
    "huge": partial(wide, width=HUGE_DENSE),
    "huge and sparse": partial(sparse_rows, width=HUGE_SPARSE),
}
