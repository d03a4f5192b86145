"""Worst cases under add/remove: tables with a record and without it."""

from functools import partial

import numpy as np
from scipy import sparse

from dimfree.audit.pairs.place import Builder, Place, Table

FAR = 1e6  # radii
OFF_CENTRE = 100.0  # radii
WIDE, HUGE_DENSE, HUGE_SPARSE = 64, 4096, 20_000  # coordinates
OUTSIDE = 1 + 1e-3  # radii: no friend any more, and clipped


def far_outlier(place: Place) -> tuple[Table, Table]:
    """One record beyond everything."""
    crowd = place.size - 1
    return place.at((crowd, 0.0), (1, FAR)), place.at((crowd, 0.0))


def edge_of_friendliness(place: Place, where: float = 1.0) -> tuple[Table, Table]:
    """One record at exactly the radius from all the others: the farthest friend."""
    crowd = place.size - 1
    return place.at((crowd, 0.0), (1, where)), place.at((crowd, 0.0))


def two_cliques(place: Place) -> tuple[Table, Table]:
    """A hub between two camps that do not know each other: the drift of P1 is attained."""
    camp = (place.size - 1) // 2
    return place.at((camp, -1.0), (camp, 1.0), (1, 0.0)), place.at((camp, -1.0), (camp, 1.0))


def far_side(place: Place) -> tuple[Table, Table]:
    """A newcomer at the edge, a quarter of all at the opposite edge, who do not know it: the worst mean of P5."""
    strangers = place.size // 4
    rest = (place.size - 1 - strangers, 0.0), (strangers, -1.0)
    return place.at(*rest, (1, 1.0)), place.at(*rest)


def clipping_boundary(place: Place) -> tuple[Table, Table]:
    """All on the sphere around the origin; one, on the other side, a little outside: the sum moves by a radius."""
    crowd = place.size - 1
    return place.at((crowd, 1.0), (1, -OUTSIDE)), place.at((crowd, 1.0))


def off_centre(place: Place) -> tuple[Table, Table]:
    """A crowd far from the origin, and one more at the edge of friendliness."""
    crowd = place.size - 1
    return place.at((crowd, OFF_CENTRE), (1, OFF_CENTRE + 1)), place.at((crowd, OFF_CENTRE))


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


def wide(place: Place, width: int = WIDE) -> tuple[Table, Table]:
    """A record at the radius that uses every coordinate alike; the others at the origin."""
    record = np.full((1, width), place.radius / np.sqrt(width) * (1 - 1e-12))
    crowd = np.zeros((place.size - 1, width))
    return np.vstack([crowd, record]), crowd


def sparse_rows(place: Place, width: int = WIDE) -> tuple[Table, Table]:
    """Stored entries in single places, and one record whose entry is in a place of its own."""
    crowd = sparse.lil_array((place.size - 1, width))
    crowd[::3, 1] = place.radius / 4
    record = sparse.csr_array(([place.radius], ([0], [0])), shape=(1, width))
    return sparse.vstack([crowd, record], format="csr"), sparse.csr_array(crowd)


ADD_REMOVE: dict[str, Builder] = {
    "edge of friendliness": edge_of_friendliness,
    "just beyond the edge": partial(edge_of_friendliness, where=OUTSIDE),
    "far outlier": far_outlier,
    "two cliques": two_cliques,
    "far side": far_side,
    "duplicated rows": duplicated_rows,
    "count at threshold": count_at_threshold,
    "clipping boundary": clipping_boundary,
    "off centre": off_centre,
    "one dimension": one_dimension,
    "wide": wide,
    "sparse": sparse_rows,
}
HUGE_ADD_REMOVE: dict[str, Builder] = {
    "huge": partial(wide, width=HUGE_DENSE),
    "huge and sparse": partial(sparse_rows, width=HUGE_SPARSE),
}
