"""Soft histograms of all columns at once (P19)."""

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
    plain_space,
    prepared,
    suite,
    value_off_lattice,
    whole_mu,
)
from dimfree.audit.numerics.records import BALL, COLUMNS, made_up, space_of
from dimfree.audit.pairs.pair import Table, TableSize
from dimfree.audit.search.climb import Target
from dimfree.audit.search.gaussian import gaussian_target, in_stddevs
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.soft_histogram import Cells, Magnitudes, Offsets, noisy_histograms
from dimfree.noise import Noise
from dimfree.paper.charged import Measured


def released(space: Space, mu: float, relation: Neighbours, *, noise: Noise) -> Measured[Floats]:
    """Of all columns, in cells one wide about the origin."""
    cells = Offsets(np.zeros(space.dimension), np.ones(space.dimension))
    return noisy_histograms(space, cells, np.arange(space.dimension), mu, relation, "audit", noise=noise)


def soft_target(epsilon: float, relation: Neighbours) -> Target:
    mu = whole_mu(epsilon)

    def location(table: Table) -> Floats:
        return in_stddevs(partial(released, plain_space(table), mu, relation)).ravel()

    return gaussian_target("soft histograms", epsilon, relation, location)


def soft_histograms(epsilon: float, relation: Neighbours) -> Subject:
    mu, space_at = whole_mu(epsilon), prepared(plain_space)

    def draw(table: Table, noise: Noise) -> Floats:
        return soft_row(released(space_at(table), mu, relation, noise=noise).value)

    tables = suite(relation, TableSize(4), "clipping boundary", "far outlier", "wide", "sparse")
    return Subject(f"soft histograms, {relation}", epsilon, relation, draw, tables)


def soft_row(value: Floats) -> Floats:
    """The last cell of the first column, its middle against its ends, and the same over all columns."""
    against = value[:, -2:].sum(axis=1) - value[:, 2:4].sum(axis=1)
    return np.array([value[0, -1], against[0], against.mean()])


def _charges() -> Iterator[ChargeCase]:
    space, every = space_of(made_up()), np.arange(COLUMNS)
    for relation in Neighbours:
        for which in (every, every[1:3]):
            offsets = Offsets(BALL.centre[which], np.full(len(which), 0.7))
            kinds: tuple[tuple[str, Cells], ...] = (("magnitudes", Magnitudes()), ("offsets", offsets))
            for name, cells in kinds:
                release = partial(noisy_histograms, space, cells, which, MU, relation, "audit")
                moves, draws = math.sqrt(len(which) * CHANGED_RECORDS[relation]), len(which) * cells.cells
                title = f"soft histograms, {relation}, {name} of {len(which)} columns"
                yield ChargeCase(title, release, MU, moves, draws, value_off_lattice)


AUDIT = Audited(
    searches={"soft histograms": soft_target},
    subjects=(soft_histograms,),
    charges=_charges,
)
