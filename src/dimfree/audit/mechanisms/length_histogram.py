"""The histogram of the records' lengths (P20)."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import CHANGED_RECORDS, Neighbours
from dimfree.audit.audited import (
    MU,
    Audited,
    ChargeCase,
    Subject,
    off_list,
    plain_space,
    prepared,
    suite,
    value_off_lattice,
    whole_mu,
)
from dimfree.audit.mechanisms.search import ASKED
from dimfree.audit.numerics.records import BALL, GRID, made_up, space_of
from dimfree.audit.pairs.pair import Table, TableSize
from dimfree.audit.search.climb import Target
from dimfree.audit.search.gaussian import gaussian_target, in_stddevs
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Ball
from dimfree.kernel.statistics.length_histogram import noisy_length, noisy_length_counts
from dimfree.noise import Noise
from dimfree.paper.charged import Measured

EDGES: Floats = np.array([0.25, 0.75, 1.0, 1.5, 4.0])


def released(space: Space, mu: float, relation: Neighbours, *, noise: Noise) -> Measured[Floats]:
    """Lengths as seen from the origin."""
    ball = Ball(np.zeros(space.dimension), 1.0, 1.0)
    return noisy_length_counts(space, ball, EDGES, mu, relation, noise=noise)


def lengths_target(epsilon: float, relation: Neighbours) -> Target:
    mu = whole_mu(epsilon)

    def location(table: Table) -> Floats:
        return in_stddevs(partial(released, plain_space(table), mu, relation))

    return gaussian_target("lengths of records", epsilon, relation, location)


def lengths(epsilon: float, relation: Neighbours) -> Subject:
    mu, space_at = whole_mu(epsilon), prepared(plain_space)

    def draw(table: Table, noise: Noise) -> Floats:
        value = released(space_at(table), mu, relation, noise=noise).value
        return np.array([value[0], value[-1], value[0] - value[-1], value.sum()])

    tables = suite(relation, TableSize(4), "clipping boundary", "far outlier", "wide", "sparse")
    return Subject(f"lengths of records, {relation}", epsilon, relation, draw, tables)


def _charges() -> Iterator[ChargeCase]:
    space = space_of(made_up())
    for relation in Neighbours:
        release = partial(noisy_length_counts, space, BALL, EDGES, MU, relation)
        moves = math.sqrt(CHANGED_RECORDS[relation])
        yield ChargeCase(f"lengths of records, {relation}", release, MU, moves, len(EDGES) + 1, value_off_lattice)
    search = partial(noisy_length, space, BALL, GRID, 0.5, 40.0, MU)
    yield ChargeCase("length of most records", search, MU, math.sqrt(ASKED), ASKED, off_list(GRID))


AUDIT = Audited(
    searches={"lengths of records": lengths_target},
    subjects=(lengths,),
    charges=_charges,
)
