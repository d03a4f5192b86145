"""How far neighbours on the secret ring lie apart (P15), and what the ring itself gives away (P16)."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import (
    MU,
    Audited,
    ChargeCase,
    ExactCheck,
    Subject,
    off_list,
    plain_space,
    prepared,
    suite,
    whole_mu,
)
from dimfree.audit.exact.counts import noisy_number
from dimfree.audit.exact.divergence import Laws, laws, no_noise, one_removed
from dimfree.audit.mechanisms.grouping import UniformOrder
from dimfree.audit.noise_doubles import Law, ZeroNoise, exact_law
from dimfree.audit.numerics.records import COLUMNS, GRID, made_up, space_of
from dimfree.audit.pairs.pair import Table, TableSize
from dimfree.audit.search.climb import Target
from dimfree.audit.search.gaussian import Decision, decision_target
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.ring_lengths import noisy_ring_length
from dimfree.kernel.statistics.secret_ring import Ring
from dimfree.mechanisms.search import geometric_grid
from dimfree.noise import Noise

COUNT = 8.0  # what the searches take for the number of records
HALF = Fraction(1, 2)
ASKED = 12  # counts of a search over GRID
PAIR_MOVES = {Neighbours.ADD_REMOVE: 1.5, Neighbours.REPLACE_ONE: 2.0}  # of a count less half of all (P15)


def ring_in_order(space: Space) -> Ring:
    """The ring of equal keys, which is the order of the records; the one that differs is the last."""
    return Ring.of(space, None, 0, noise=ZeroNoise())


def near_neighbours(epsilon: float, keys: Callable[[Noise], Noise]) -> Laws:
    """A noisy count of neighbours at most one apart, over all rings; one record moves it by two at most.

    Records that are 0, 1 or 2, in an order, and the tables that lack one.
    """

    def law(table: tuple[float, ...]) -> Law:
        space = plain_space(np.array(table).reshape(-1, 1))

        def near(noise: Noise) -> int:
            ring = Ring.of(space, None, 0, noise=keys(noise))
            return int((ring.lengths(np.ones(1)) <= 1).sum())

        return noisy_number(exact_law(near, no_noise), epsilon / 2, 0, 5)

    tables = [(0.0, 0.0, 2.0, 0.0, 2.0), (0.0, 0.0, 1.0, 2.0, 2.0), (0.0, 0.0, 2.0, 2.0), (0.0, 1.0, 2.0), (1.0,)]
    return laws(law, one_removed(tables))


def near(epsilon: float, delta: float) -> Laws:
    return near_neighbours(epsilon, UniformOrder)  # type: ignore[arg-type]


def lengths_target(epsilon: float, relation: Neighbours) -> Target:
    """The number of neighbours within one length."""
    mu, grid = whole_mu(epsilon), np.array([0.5, 1.0, 2.0])

    def decision(table: Table) -> Decision:
        ring = ring_in_order(plain_space(table))
        ones = np.ones(ring.space.dimension)
        return lambda noise: noisy_ring_length(ring, ones, HALF, grid, COUNT, mu, relation, noise=noise).value

    return decision_target("ring lengths", epsilon, relation, decision)


def ring_lengths(epsilon: float, relation: Neighbours) -> Subject:
    """On a ring of fresh keys."""
    mu, grid, space_at = whole_mu(epsilon), geometric_grid(0.25, 4.0, 2.0), prepared(plain_space)

    def draw(table: Table, noise: Noise) -> Floats:
        ring = Ring.of(space_at(table), None, 0, noise=noise)
        ones = np.ones(ring.space.dimension)
        return np.array([noisy_ring_length(ring, ones, HALF, grid, COUNT, mu, relation, noise=noise).value])

    tables = suite(relation, TableSize(5), "two cliques", "far outlier", "sparse")
    return Subject(f"ring lengths, {relation}", epsilon, relation, draw, tables)


def _charges() -> Iterator[ChargeCase]:
    ring = ring_in_order(space_of(made_up()))
    for relation, moves in PAIR_MOVES.items():
        release = partial(noisy_ring_length, ring, np.ones(COLUMNS), HALF, GRID, COUNT, MU, relation)
        yield ChargeCase(f"ring lengths, {relation}", release, MU, math.sqrt(ASKED) * moves, ASKED, off_list(GRID))


AUDIT = Audited(
    exact={"neighbours on the ring": ExactCheck(near, delta=0.0)},
    searches={"ring lengths": lengths_target},
    subjects=(ring_lengths,),
    charges=_charges,
)
