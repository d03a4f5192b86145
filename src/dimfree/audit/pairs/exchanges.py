"""Worst cases under replace-one: tables with one record or with another in its stead."""

from functools import partial

import numpy as np
from scipy import sparse

from dimfree.audit.pairs.arrivals import FAR, HUGE_DENSE, HUGE_SPARSE, OFF_CENTRE, OUTSIDE, WIDE, sparse_rows
from dimfree.audit.pairs.arrivals import far_side as far_side_of
from dimfree.audit.pairs.arrivals import wide as wide_rows
from dimfree.audit.pairs.place import Builder, Place, Table


def swapped(place: Place, old: float, new: float, crowd: float = 0.0) -> tuple[Table, Table]:
    """A crowd in one spot, and one record that stands elsewhere."""
    others = (place.size - 1, crowd)
    return place.at(others, (1, old)), place.at(others, (1, new))


def turned(place: Place) -> tuple[Table, Table]:
    """At the radius along the first coordinate, or along the second: what is never negative moves by √2 of it."""
    here = place.at((place.size - 1, 0.0), (1, 1.0))
    there = here.copy()
    there[-1, :2] = 0.0, place.radius
    return here, there


def two_cliques(place: Place) -> tuple[Table, Table]:
    """Two camps, and one record that belongs to either."""
    camp = (place.size - 1) // 2
    return place.at((camp, -1.0), (camp, 1.0), (1, -1.0)), place.at((camp, -1.0), (camp, 1.0), (1, 1.0))


def far_side(place: Place) -> tuple[Table, Table]:
    """A quarter of all at one edge; one record joins them or stands at the opposite edge."""
    here, there = far_side_of(place)
    return here, np.vstack([there, -here[-1:]])


def count_at_threshold(place: Place) -> tuple[Table, Table]:
    """Two camps out of sight of each other: all have exactly half of all as friends, or half just fall short of it."""
    camp = place.size // 2
    rest = (camp, 0.0), (camp - 1, 10.0)
    return place.at(*rest, (1, 10.0)), place.at(*rest, (1, 0.0))


def one_dimension(place: Place) -> tuple[Table, Table]:
    """A line of records, evenly spread over a radius, with one at its upper or at its lower end."""
    line = np.linspace(-0.5, 0.5, place.size)[:, None] * place.radius
    there = line.copy()
    there[-1] = -0.5 * place.radius
    return line, there


def wide(place: Place, width: int = WIDE) -> tuple[Table, Table]:
    """A record at the radius that uses every coordinate alike, or its opposite."""
    here, _ = wide_rows(place, width)
    there = np.array(here)
    there[-1] *= -1
    return here, there


def sparse_exchange(place: Place, width: int = WIDE) -> tuple[Table, Table]:
    """One stored entry, or its opposite."""
    here, crowd = sparse_rows(place, width)
    other = sparse.csr_array(([-place.radius], ([0], [0])), shape=(1, width))
    return here, sparse.vstack([crowd, other], format="csr")


REPLACE_ONE: dict[str, Builder] = {
    "edge of friendliness": partial(swapped, old=-1.0, new=1.0),
    "just beyond the edge": partial(swapped, old=1.0, new=OUTSIDE),
    "far outlier": partial(swapped, old=0.0, new=FAR),
    "two cliques": two_cliques,
    "far side": far_side,
    "duplicated rows": partial(swapped, old=0.5, new=-0.5, crowd=0.5),
    "count at threshold": count_at_threshold,
    "clipping boundary": partial(swapped, old=-OUTSIDE, new=OUTSIDE, crowd=1.0),
    "off centre": partial(swapped, old=OFF_CENTRE - 1, new=OFF_CENTRE + 1, crowd=OFF_CENTRE),
    "turned": turned,
    "one dimension": one_dimension,
    "wide": wide,
    "sparse": sparse_exchange,
}
HUGE_REPLACE_ONE: dict[str, Builder] = {
    "huge": partial(wide, width=HUGE_DENSE),
    "huge and sparse": partial(sparse_exchange, width=HUGE_SPARSE),
}
