"""Worst cases under replace-one: a table with one record or with another in its place."""

from functools import partial

import numpy as np
from scipy import sparse

from dimfree.audit.pairs import add_remove
from dimfree.audit.pairs.add_remove import FAR, HUGE_DENSE, HUGE_SPARSE, OFF_CENTRE, OUTSIDE, WIDE
from dimfree.audit.pairs.pair import Both, Builder, TableSize


def swapped(given: TableSize, old: float, new: float, others: float = 0.0) -> Both:
    """All other records at one point, and one record at `old` or at `new`."""
    rest = (given.size - 1, others)
    return given.table(rest, (1, old)), given.table(rest, (1, new))


def turned(given: TableSize) -> Both:
    """At the radius along the first or the second coordinate: a sum of non-negative terms moves by √2 of it."""
    here = given.table((given.size - 1, 0.0), (1, 1.0))
    there = here.copy()
    there[-1, :2] = 0.0, given.radius
    return here, there


def two_cliques(given: TableSize) -> Both:
    """Two cliques, and one record that belongs to either."""
    half = (given.size - 1) // 2
    rest = (half, -1.0), (half, 1.0)
    return given.table(*rest, (1, -1.0)), given.table(*rest, (1, 1.0))


def far_side(given: TableSize) -> Both:
    """A quarter of all at one edge; one record is with them or at the opposite edge."""
    here, there = add_remove.far_side(given)
    return here, np.vstack([there, -here[-1:]])


def count_at_threshold(given: TableSize) -> Both:
    """Two cliques far apart: all have exactly half of all as friends, or half of them just fewer."""
    half = given.size // 2
    rest = (half, 0.0), (half - 1, 10.0)
    return given.table(*rest, (1, 10.0)), given.table(*rest, (1, 0.0))


def one_dimension(given: TableSize) -> Both:
    """Records evenly spread over a radius, one of them at the upper or at the lower end."""
    line = np.linspace(-0.5, 0.5, given.size)[:, None] * given.radius
    there = line.copy()
    there[-1] = -0.5 * given.radius
    return line, there


def wide(given: TableSize, width: int = WIDE) -> Both:
    """A record at the radius with equal coordinates, or its opposite."""
    here, _ = add_remove.wide(given, width)
    there = np.array(here)
    there[-1] *= -1
    return here, there


def sparse_exchange(given: TableSize, width: int = WIDE) -> Both:
    """One stored entry, or its opposite."""
    here, others = add_remove.sparse_rows(given, width)
    other = sparse.csr_array(([-given.radius], ([0], [0])), shape=(1, width))
    return here, sparse.vstack([others, other], format="csr")


REPLACE_ONE: dict[str, Builder] = {
    "edge of friendliness": partial(swapped, old=-1.0, new=1.0),
    "just beyond the edge": partial(swapped, old=1.0, new=OUTSIDE),
    "far outlier": partial(swapped, old=0.0, new=FAR),
    "two cliques": two_cliques,
    "far side": far_side,
    "duplicated rows": partial(swapped, old=0.5, new=-0.5, others=0.5),
    "count at threshold": count_at_threshold,
    "clipping boundary": partial(swapped, old=-OUTSIDE, new=OUTSIDE, others=1.0),
    "off centre": partial(swapped, old=OFF_CENTRE - 1, new=OFF_CENTRE + 1, others=OFF_CENTRE),
    "turned": turned,
    "one dimension": one_dimension,
    "wide": wide,
    "sparse": sparse_exchange,
}
HUGE_REPLACE_ONE: dict[str, Builder] = {
    "huge": partial(wide, width=HUGE_DENSE),
    "huge and sparse": partial(sparse_exchange, width=HUGE_SPARSE),
}
