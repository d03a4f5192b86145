"""The sum of outer products of directions, and the length of its part off the diagonal (P12)."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import (
    MU,
    Audited,
    ChargeCase,
    Subject,
    off_lattice,
    plain_space,
    prepared,
    value_off_lattice,
    whole_mu,
)
from dimfree.audit.mechanisms.directions import ANGLES, direction_pairs, from_origin
from dimfree.audit.noise_doubles import ConstantNoise, ZeroNoise
from dimfree.audit.numerics.records import COLUMNS, LOOKOUT, made_up, space_of
from dimfree.audit.pairs.pair import Pair, Table
from dimfree.audit.search.climb import Target
from dimfree.audit.search.gaussian import gaussian_target, in_stddevs
from dimfree.kernel.statistics.outer_sum import noisy_outer_sum, noisy_togetherness, outer_sum
from dimfree.kernel.statistics.unit_vectors import LENGTH
from dimfree.noise import Noise
from dimfree.paper.charged import Charged

_WIDEST = 64  # coordinates of a pair whose outer products are searched
_WIDE = 32


def outer_in(table: Table) -> Integers:
    return outer_sum(plain_space(table), from_origin(table.shape[1]))


def _narrow(pair: Pair) -> bool:
    """Whether the matrix of a pair fits into memory."""
    return bool(pair.here.shape[1] <= _WIDEST)


def togetherness_target(epsilon: float, relation: Neighbours) -> Target:
    """The length of the sum of outer products without its diagonal."""
    mu = whole_mu(epsilon)

    def location(table: Table) -> Floats:
        return in_stddevs(partial(noisy_togetherness, outer_in(table), mu, relation))

    return gaussian_target("togetherness", epsilon, relation, location, ANGLES, _narrow)


def products_target(epsilon: float, relation: Neighbours) -> Target:
    """The sum of outer products itself: every entry over the noise that it gets, each noise once."""
    mu = whole_mu(epsilon)

    def location(table: Table) -> Floats:
        outer, noise = outer_in(table), ZeroNoise()
        value = noisy_outer_sum(outer, mu, relation, noise=noise).value
        step = noisy_outer_sum(np.zeros_like(outer), mu, relation, noise=ConstantNoise(draw=1)).value
        once = np.triu_indices(len(outer))
        return value[once] / (step[once] * noise.asked[0][1])

    return gaussian_target("outer products", epsilon, relation, location, ANGLES, _narrow)


def togetherness(epsilon: float, relation: Neighbours) -> Subject:
    mu, outer_at = whole_mu(epsilon), prepared(outer_in)

    def draw(table: Table, noise: Noise) -> Floats:
        return np.array([noisy_togetherness(outer_at(table), mu, relation, noise=noise).value])

    width = 2 if relation is Neighbours.REPLACE_ONE else _WIDE  # where one record moves the most
    return Subject(f"togetherness, {relation}", epsilon, relation, draw, direction_pairs(relation, width))


def outer_products(epsilon: float, relation: Neighbours) -> Subject:
    mu, outer_at = whole_mu(epsilon), prepared(outer_in)

    def draw(table: Table, noise: Noise) -> Floats:
        return matrix_row(outer_at(table), mu, relation, noise)

    return Subject(f"outer products, {relation}", epsilon, relation, draw, direction_pairs(relation, 2))


def matrix_row(outer: Integers, mu: float, relation: Neighbours, noise: Noise) -> Floats:
    """One entry, and what an exchange of the axes, and one of the diagonals, moves."""
    found = noisy_outer_sum(outer, mu, relation, noise=noise).value
    return np.array([found[0, 0], found[0, 0] - found[1, 1], found[0, 1]])


def _off_lattice(found: Charged[Any, Any]) -> int:
    """The diagonal is counted in 29ths and the rest in 41sts of a step (P12)."""
    steps, whole = found.value * float(LENGTH) ** 2, replace(found.event, step=1.0)
    beside = steps[np.triu_indices(len(steps), 1)]
    return off_lattice(np.diagonal(steps), whole, 29.0) + off_lattice(beside, whole, 41.0)


def _charges() -> Iterator[ChargeCase]:
    outer, entries = outer_sum(space_of(made_up()), LOOKOUT), COLUMNS * (COLUMNS + 1) // 2
    for relation, moves in ((Neighbours.ADD_REMOVE, 1.0), (Neighbours.REPLACE_ONE, math.sqrt(2))):
        length, products = (partial(each, outer, MU, relation) for each in (noisy_togetherness, noisy_outer_sum))
        yield ChargeCase(f"togetherness, {relation}", length, MU, moves, 1, value_off_lattice)
        yield ChargeCase(f"outer products, {relation}", products, MU, moves, entries, _off_lattice)


AUDIT = Audited(
    searches={"togetherness": togetherness_target, "outer products": products_target},
    subjects=(togetherness, outer_products),
    charges=_charges,
)
