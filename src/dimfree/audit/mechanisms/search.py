"""The noisy searches for a point of a grid (M5'), and the pairs for searches.

In the first pair of a search every query moves by its whole sensitivity, and the counts are at the target: there the
answers tell most about one record.
"""

import math
from collections.abc import Iterator
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
from dimfree.mechanisms.search import STEPS, noisy_crossing, noisy_search
from dimfree.noise import Noise

OTHERS = 5  # records beside the one that differs
ASKED = 12  # counts of a search over the sixteen cells of GRID
_BEYOND, _WITHIN = 40.0, 0.01  # every radius that is asked about
_REACH = 12  # records of noise: more is lumped together
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


def every_answer(epsilon: float, delta: float) -> Laws:
    """`noisy_crossing` on two cells, for every outcome of its three answers in whole records.

    An answer rounded down to whole records is the count plus the noise rounded down, as counts are whole: a function
    of the answer. The draws are cut there, so the law is that of a search which sees such answers alone.
    """
    grid, mu = np.arange(3.0), divergence.whole_mu(epsilon, delta)
    search = partial(noisy_crossing, grid=grid, share=0.5, count=4.0, sensitivity=1.0, purpose="audit")
    asked = precise(mu, lambda each: search(lambda _: 0, mu=each, noise=ZeroNoise()).event)

    def law(inside: tuple[int, ...]) -> Law:
        value = partial(search, lambda _: (len(inside) - 2) * STEPS, mu=asked)
        return exact_law(lambda noise: value(noise=noise).value, partial(pieces, STEPS, _REACH))

    tables = [(1,) * size for size in range(5)]
    return laws(law, one_removed(tables), slack=10 * _LATTICE)


def pieces(unit: int, reach: int, stddev: float) -> Masses:
    """{one value of each piece: mass of the piece}; pieces begin at the multiples of `unit` up to ±reach."""
    starts = [k * unit for k in range(-reach, reach + 1)]
    edges = [0.0, *(float(ndtr((start - 0.5) / stddev)) for start in starts), 1.0]
    return dict(zip([starts[0] - 1, *starts], [high - low for low, high in pairwise(edges)], strict=True))


def search(epsilon: float, relation: Neighbours) -> Subject:
    """The search for the point up to which five values lie."""
    mu, grid = whole_mu(epsilon), np.arange(9.0)

    def draw(table: Table, noise: Noise) -> Floats:
        excess = partial(_less_others, np.asarray(table)[:, 0])
        return np.array([noisy_search(excess, grid, 1.0, mu, "audit", noise=noise).value])

    return Subject(f"search, {relation}", epsilon, relation, draw, _five_values(relation))


def crossing(epsilon: float, relation: Neighbours) -> Subject:
    """The same by the search that asks where the answers so far place the crossing."""
    mu, grid = whole_mu(epsilon), np.arange(9.0)

    def draw(table: Table, noise: Noise) -> Floats:
        excess = partial(_less_others, np.asarray(table)[:, 0])
        found = noisy_crossing(excess, grid, 0.5, 2.0 * OTHERS, 1.0, mu, "audit", noise=noise)
        return np.array([found.value])

    return Subject(f"crossing, {relation}", epsilon, relation, draw, _five_values(relation))


def _less_others(column: Floats, point: float) -> int:
    return (int((column <= point).sum()) - OTHERS) * STEPS


def _five_values(relation: Neighbours) -> Pairs:
    low, high, middle = (np.full((1, 1), value) for value in (-1.0, 99.0, 3.5))
    others = np.vstack([np.full((OTHERS - 1, 1), -1.0), high])
    return of_tables(relation, _counted(relation, others, low, high, some=middle))


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
    """Counts that one record moves by one."""
    halving = partial(noisy_search, _excess, GRID, 1.0, MU, "audit")
    yield ChargeCase("search", halving, MU, 2.0, 4, off_list(GRID))
    placing = partial(noisy_crossing, _excess, GRID, 0.5, 9.0, 1.0, MU, "audit")
    yield ChargeCase("crossing", placing, MU, math.sqrt(ASKED), ASKED, off_list(GRID))


def _excess(point: float) -> int:
    return round((point - 1) * STEPS)


AUDIT = Audited(
    exact={"search": ExactCheck(every_walk), "crossing": ExactCheck(every_answer)},
    subjects=(search, crossing),
    charges=_charges,
)
