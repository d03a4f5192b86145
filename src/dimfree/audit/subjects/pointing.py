"""Directions as subjects (P11, P12): three numbers of one pass together, the togetherness, the matrix."""

import math

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Neighbours
from dimfree.audit.neighbours import Table
from dimfree.audit.subjects.subject import DELTA, Subject, Suite, of_tables, prepared, whole_mu
from dimfree.audit.subjects.sums import plain_space
from dimfree.geometry.bases.cosine import Cosine
from dimfree.mechanisms.directions import Lookout, Sighting, noisy_spread, noisy_unevenness, noisy_weight, sighted
from dimfree.mechanisms.outer_sum import noisy_outer_sum, noisy_togetherness, outer_sum
from dimfree.noise import Noise

_CROWD, _WIDE = 5, 32


def directions(epsilon: float, relation: Neighbours) -> Subject:
    """Unevenness, weight and spread, each with a third of the precision."""
    mu, seen_in = whole_mu(epsilon) / math.sqrt(3), prepared(_seen_in)

    def draw(table: Table, noise: Noise) -> Floats:
        seen = seen_in(table)
        uneven = noisy_unevenness(seen, mu, noise=noise).value
        weight, spread = (release(seen, mu, noise=noise).value for release in (noisy_weight, noisy_spread))
        return np.array([uneven, weight, spread, uneven / 0.3 + weight + spread])

    return Subject(f"directions, {relation}", epsilon, DELTA, relation, draw, _pairs(relation, 2))


def togetherness(epsilon: float, relation: Neighbours) -> Subject:
    mu, outer_in = whole_mu(epsilon), prepared(_outer_in)

    def draw(table: Table, noise: Noise) -> Floats:
        return np.array([noisy_togetherness(outer_in(table), mu, relation, noise=noise).value])

    width = 2 if relation is Neighbours.REPLACE_ONE else _WIDE  # where an exchange, or an arrival, moves the most
    return Subject(f"togetherness, {relation}", epsilon, DELTA, relation, draw, _pairs(relation, width))


def outer_products(epsilon: float, relation: Neighbours) -> Subject:
    mu, outer_in = whole_mu(epsilon), prepared(_outer_in)

    def draw(table: Table, noise: Noise) -> Floats:
        return matrix_row(outer_in(table), mu, relation, noise)

    return Subject(f"outer products, {relation}", epsilon, DELTA, relation, draw, _pairs(relation, 2))


def matrix_row(outer: Integers, mu: float, relation: Neighbours, noise: Noise) -> Floats:
    """One entry, and what an exchange of the axes, and one of the diagonals, moves."""
    found = noisy_outer_sum(outer, mu, relation, noise=noise).value
    return np.array([found[0, 0], found[0, 0] - found[1, 1], found[0, 1]])


def _lookout(width: int) -> Lookout:
    return Lookout(np.zeros(width), np.ones(width))


def _seen_in(table: Table) -> Sighting:
    width = table.shape[1]
    return sighted(plain_space(table), _lookout(width), Cosine(width))


def _outer_in(table: Table) -> Integers:
    return outer_sum(plain_space(table), _lookout(table.shape[1]))


def _pairs(relation: Neighbours, width: int) -> Suite:
    """A crowd that points one way. One more along it, along an axis, at the origin; or one of these for another."""
    oblique, crossed, axis, across, nowhere = _ways(width)
    crowd = np.repeat(oblique, _CROWD, axis=0)

    def with_one(row: Floats) -> Floats:
        return np.vstack([crowd, row])

    if relation is Neighbours.ADD_REMOVE:
        arrivals = {"one_more_of_them": oblique, "along_an_axis": axis, "at_the_centre": nowhere}
        return of_tables(relation, **{name: (with_one(row), crowd) for name, row in arrivals.items()})
    exchanges = {"diagonals": (oblique, crossed), "axes": (axis, across), "to_the_centre": (oblique, nowhere)}
    return of_tables(relation, **{name: (with_one(one), with_one(two)) for name, (one, two) in exchanges.items()})


def _ways(width: int) -> list[Floats]:
    """All coordinates alike; half of them negative; the first alone; the second alone; none."""
    half = np.where(np.arange(width) < width // 2, 1.0, -1.0)
    first, second = np.eye(2, width)
    return [row[None] for row in (np.ones(width), half, first, second, np.zeros(width))]
