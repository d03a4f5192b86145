"""The noisy searches for a point of a grid (M5'), and the pairs for searches.

In the first pair of a search every query moves by its whole sensitivity, and the counts are at the target: there the
answers tell most about one record.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations_with_replacement, pairwise

import numpy as np
from scipy.special import ndtr

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import MU, Audited, ChargeCase, ExactCheck, Pairs, Subject, of_tables, off_list, whole_mu
from dimfree.audit.exact import divergence
from dimfree.audit.exact.claims import precise
from dimfree.audit.exact.divergence import Laws, laws, one_removed
from dimfree.audit.noise_doubles import Law, Masses, ZeroNoise, exact_law
from dimfree.audit.numerics.records import GRID
from dimfree.audit.pairs.pair import Both, Table
from dimfree.mechanisms import Measured
from dimfree.mechanisms.search import STEPS, noisy_crossing, noisy_search
from dimfree.noise import Noise

Excess = Callable[[float], int]

OTHERS = 5  # records beside the one that differs
_BEYOND, _WITHIN = 40.0, 0.01  # every radius that is asked about
_LATTICE = 1e-12  # of a tail: the half step by which a sum over a fine lattice differs from its integral


def every_walk(epsilon: float, delta: float) -> Laws:
    """`noisy_search` on a grid of nine points, for every outcome of its answers.

    The count is that of values up to a point, less two; tables of at most three values, one added or exchanged.
    Only whether the noise reaches minus the count matters, so the noise is cut into the pieces between the counts.
    """
    grid, places, mu = np.arange(9.0), (0.5, 3.5, 4.5, 9.5), divergence.whole_mu(epsilon, delta)
    asked = precise(mu, lambda each: noisy_search(round, grid, 1.0, each, "audit", noise=ZeroNoise()).event)

    def law(values: tuple[float, ...]) -> Law:
        def excess(point: float) -> int:
            return (sum(value <= point for value in values) - 2) * STEPS

        return exact_law(
            lambda noise: noisy_search(excess, grid, 1.0, asked, "audit", noise=noise).value, partial(pieces, STEPS, 2)
        )

    tables = [table for size in range(4) for table in combinations_with_replacement(places, size)]
    exchanged = [(table, tuple(sorted((*table[1:], place)))) for table in tables if table for place in places]
    return laws(law, one_removed(tables) + exchanged, slack=10 * _LATTICE)


def pieces(unit: int, reach: int, stddev: float) -> Masses:
    """{one value of each piece: mass of the piece}; pieces begin at the multiples of `unit` up to ±reach."""
    starts = [k * unit for k in range(-reach, reach + 1)]
    edges = [0.0, *(float(ndtr((start - 0.5) / stddev)) for start in starts), 1.0]
    return dict(zip([starts[0] - 1, *starts], [high - low for low, high in pairwise(edges)], strict=True))


def search(epsilon: float, relation: Neighbours) -> Subject:
    """The search for the point up to which five values lie, by halving."""

    def found(excess: Excess, grid: Floats, mu: float, noise: Noise) -> Measured[float]:
        return noisy_search(excess, grid, 1.0, mu, "audit", noise=noise)

    return _searched("search", epsilon, relation, found)


def crossing(epsilon: float, relation: Neighbours) -> Subject:
    """The same, by a posterior."""

    def found(excess: Excess, grid: Floats, mu: float, noise: Noise) -> Measured[float]:
        share, count = OTHERS / (OTHERS + 1), OTHERS + 1.0
        return noisy_crossing(excess, grid, share, count, 1.0, mu, "audit", noise=noise)

    return _searched("crossing", epsilon, relation, found)


def _searched(
    name: str, epsilon: float, relation: Neighbours, found: Callable[[Excess, Floats, float, Noise], Measured[float]]
) -> Subject:
    mu, grid = whole_mu(epsilon), np.arange(9.0)

    def draw(table: Table, noise: Noise) -> Floats:
        column = np.asarray(table)[:, 0]

        def excess(point: float) -> int:
            return (int((column <= point).sum()) - OTHERS) * STEPS

        return np.array([found(excess, grid, mu, noise).value])

    low, high, middle = (np.full((1, 1), value) for value in (-1.0, 99.0, 3.5))
    others = np.vstack([np.full((OTHERS - 1, 1), -1.0), high])
    tables = of_tables(relation, _counted(relation, others, low, high, some=middle))
    return Subject(f"{name}, {relation}", epsilon, relation, draw, tables)


def beyond_or_within(relation: Neighbours) -> Pairs:
    """Five records beyond every radius and three within; one more beyond, or beyond some of them."""
    beyond, within, between = (np.array([[length, 0.0]]) for length in (_BEYOND, _WITHIN, 1.3))
    others = np.vstack([np.repeat(beyond, OTHERS, axis=0), np.repeat(within, 3, axis=0)])
    return of_tables(relation, _counted(relation, others, beyond, within, some=between))


def _counted(relation: Neighbours, others: Floats, every: Floats, none: Floats, some: Floats) -> dict[str, Both]:
    """One more record that every query counts, or some queries; or in exchange for one that none counts."""
    with_every, with_some, with_none = (np.vstack([others, one]) for one in (every, some, none))
    without = others if relation is Neighbours.ADD_REMOVE else with_none
    return {"counted everywhere": (with_every, without), "counted by some": (with_some, without)}


def _charges() -> Iterator[ChargeCase]:
    """Four queries, or twelve, of a count that one record moves by one."""
    release = partial(noisy_search, _upward, GRID, 1.0, MU, "audit")
    yield ChargeCase("search", release, MU, 2.0, 4, off_list(GRID))
    release = partial(noisy_crossing, _upward, GRID, 0.5, 4.0, 1.0, MU, "audit")
    yield ChargeCase("crossing", release, MU, math.sqrt(12), 12, off_list(GRID))


def _upward(point: float) -> int:
    return round((point - 1) * STEPS)


AUDIT = Audited(exact={"search": ExactCheck(every_walk)}, subjects=(search, crossing), charges=_charges)
