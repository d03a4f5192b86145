"""Discrete mechanisms to be hunted: the exact law of the code on the counts, votes and values of two small tables."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.audit.laws.claims import promising
from dimfree.audit.laws.exact import Laws, World, laplace_masses, true_epsilon
from dimfree.audit.laws.sparse_worlds import WHOLE, coded_sparse_law, sparse_cost
from dimfree.audit.neighbours import SUITES, Pair, Place, Table, pairs
from dimfree.audit.noise_doubles import Asked, Law, Masses, exact_law
from dimfree.audit.search.climb import Quarry
from dimfree.audit.search.moves import Terrain
from dimfree.audit.subjects.subject import DELTA
from dimfree.mechanisms.paper.stable_histogram import publishing_threshold, stable_histogram

_REACH = 9.0  # scales of Laplace noise where two are drawn; e^-9 is left out of each
_NARROW = ("one dimension", "wide", "sparse")  # pairs of another width

Key = tuple[float, ...]  # what a mechanism sees of a table


def lawful(
    name: str,
    claim: tuple[float, float],
    relation: Neighbours,
    view: Callable[[Table], Key],
    law: Callable[[Key], Law],
    place: Place,
    terrain: Terrain,
    slack: float = 0.0,
) -> Quarry:
    """A mechanism of which the law is known, whatever it sees of a table; each law is computed once."""
    known = lru_cache(maxsize=4096)(law)
    epsilon, delta = claim

    def world(here: Table, there: Table) -> World:
        return Laws([(known(view(here)), known(view(there)))], slack)

    def score(here: Table, there: Table) -> float:
        found = world(here, there)
        return true_epsilon(found, delta + 1e-12) + 1e-3 * found.delta_at(0.0)  # where it is 0, the tables may differ

    return Quarry(name, relation, epsilon, delta, score, world, _starts(relation, place), terrain)


def _starts(relation: Neighbours, place: Place) -> tuple[Pair, ...]:
    apart = _NARROW if place.dimension > 1 else (*_NARROW, "turned")
    names = [name for name in SUITES[relation] if name not in apart]
    return tuple(pairs(relation, place, tuple(names)))


def _cells(table: Table) -> Key:
    """On which side of the origin each record is; sorted, as the order of items must not matter."""
    return tuple(np.sort(table[:, 0] > 0).astype(np.float64).tolist())


def histogram(epsilon: float, relation: Neighbours) -> Quarry:
    """`stable_histogram` on two cells (M4)."""
    asked = promising(epsilon, DELTA, lambda *each: stable_histogram((0.0,), *each, noise=Asked()).event)
    heavy = publishing_threshold(*asked)
    terrain, slack = Terrain((0.0, 1.0), fewest=1, most=heavy + 3), 2 * math.exp(-_REACH)

    def law(cells: Key) -> Law:
        return exact_law(
            lambda noise: tuple(stable_histogram(cells, *asked, noise=noise).value.items()),
            lambda scale: unpublished_together(laplace_masses(_REACH)(scale), heavy - terrain.most),
        )

    return lawful(
        "stable histogram", (epsilon, DELTA), relation, _cells, law, Place(heavy, dimension=1), terrain, slack
    )


def unpublished_together(masses: Masses, least: int) -> Masses:
    """The same noise with all draws below `least` as one: with them no count is published, however low they are."""
    low = math.fsum(mass for z, mass in masses.items() if z < least)
    return {least - 1: low, **{z: mass for z, mass in masses.items() if z >= least}}


def _votes(table: Table) -> Key:
    """How many records vote for each coordinate: with one record no count moves by more than one."""
    return tuple((np.asarray(table) > 0.5).sum(axis=0).tolist())


def _ballot(scale: float) -> Terrain:
    """Enough records that a choice may become as unlikely as e^-8."""
    return Terrain((0.0, 1.0), fewest=1, most=8 + math.ceil(8 * scale))


def sparse(epsilon: float, relation: Neighbours) -> Quarry:
    """One stretch of the sparse vector, which is pure: the code up to its first answer."""
    asked = promising(epsilon, WHOLE, sparse_cost)

    def law(counts: Key) -> Law:
        return coded_sparse_law(tuple(int(count) for count in counts), 2, 1, asked)

    place, slack = Place(4, dimension=6), 1e-12  # the law leaves e^-30 of each noise out
    return lawful("sparse vector", (epsilon, 0.0), relation, _votes, law, place, _ballot(2 / epsilon), slack)
