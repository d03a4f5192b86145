"""Three numbers about the directions of the records: unevenness, its weight, and the spread in a basis (P11)."""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import (
    MU,
    Audited,
    ChargeCase,
    Pairs,
    Subject,
    of_tables,
    plain_space,
    prepared,
    value_off_lattice,
    whole_mu,
)
from dimfree.audit.numerics.records import COLUMNS, LOOKOUT, made_up, space_of
from dimfree.audit.pairs.pair import Table
from dimfree.audit.search.climb import Target
from dimfree.audit.search.gaussian import gaussian_target, in_stddevs
from dimfree.audit.search.moves import Domain
from dimfree.kernel.rows.bases.cosine import Cosine
from dimfree.kernel.statistics.unit_vectors import (
    EVEN,
    Lookout,
    Sighting,
    noisy_spread,
    noisy_unevenness,
    noisy_weight,
    sighted,
)
from dimfree.noise import Noise
from dimfree.paper.charged import Measured

ANGLES = Domain((0.0, 1.0, -1.0, 0.5, -0.5, 1e6), (0.25, 0.1), fewest=1, most=8)
NUMBERS: dict[str, tuple[Callable[..., Measured[float]], float]] = {  # and how far one record moves them
    "unevenness": (noisy_unevenness, EVEN),
    "weight of unevenness": (noisy_weight, 1.0),
    "spread in a basis": (noisy_spread, 1.0),
}


def from_origin(width: int) -> Lookout:
    return Lookout(np.zeros(width), np.ones(width))


def seen_in(table: Table) -> Sighting:
    width = table.shape[1]
    return sighted(plain_space(table), from_origin(width), Cosine(width))


def number_target(name: str, epsilon: float, relation: Neighbours) -> Target:
    mu, (release, _) = whole_mu(epsilon), NUMBERS[name]

    def location(table: Table) -> Floats:
        return in_stddevs(partial(release, seen_in(table), mu))

    return gaussian_target(name, epsilon, relation, location, ANGLES)


def directions(epsilon: float, relation: Neighbours) -> Subject:
    """All three, each with a third of the squared mu."""
    mu, seen_at = whole_mu(epsilon) / math.sqrt(3), prepared(seen_in)

    def draw(table: Table, noise: Noise) -> Floats:
        seen = seen_at(table)
        uneven, weight, spread = (release(seen, mu, noise=noise).value for release, _ in NUMBERS.values())
        return np.array([uneven, weight, spread, uneven / 0.3 + weight + spread])

    return Subject(f"directions, {relation}", epsilon, relation, draw, direction_pairs(relation, 2))


def direction_pairs(relation: Neighbours, width: int) -> Pairs:
    """Five records of one direction. One more along it, along an axis, at the origin; or one for another."""
    half = np.where(np.arange(width) < width // 2, 1.0, -1.0)
    first, second = np.eye(2, width)
    rows = (np.ones(width), half, first, second, np.zeros(width))
    others = np.repeat(rows[0][None], 5, axis=0)
    oblique, crossed, axis, across, origin = (np.vstack([others, row]) for row in rows)
    if relation is Neighbours.REPLACE_ONE:
        exchanges = {"diagonals": (oblique, crossed), "axes": (axis, across), "to the centre": (oblique, origin)}
        return of_tables(relation, exchanges)
    added = {"one more of them": oblique, "along an axis": axis, "at the centre": origin}
    return of_tables(relation, {name: (table, others) for name, table in added.items()})


def _charges() -> Iterator[ChargeCase]:
    seen = sighted(space_of(made_up()), LOOKOUT, Cosine(COLUMNS))
    for name, (release, moves) in NUMBERS.items():
        yield ChargeCase(name, partial(release, seen, MU), MU, moves, 1, value_off_lattice)


AUDIT = Audited(
    searches={name: partial(number_target, name) for name in NUMBERS}, subjects=(directions,), charges=_charges
)
