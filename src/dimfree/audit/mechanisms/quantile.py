"""The private quantile on a grid (M5)."""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import SCALE, Audited, ChargeCase, ExactCheck, off_list
from dimfree.audit.exact.claims import stating
from dimfree.audit.exact.divergence import Laws, laws, no_noise, one_removed
from dimfree.audit.noise_doubles import Law, ZeroNoise, exact_law
from dimfree.audit.numerics.records import GRID, made_up
from dimfree.audit.pairs.pair import Table, TableSize
from dimfree.audit.search.climb import Target
from dimfree.audit.search.laws import View, law_target
from dimfree.audit.search.moves import Domain
from dimfree.mechanisms.paper.quantile import private_quantile

_SHARE, _GRID = Fraction(2, 3), np.array([0.0, 1.0, 2.0, 4.0])


def quantile_scale(epsilon: float) -> float:
    """The scale at which `private_quantile` states epsilon."""
    return stating(
        epsilon, lambda scale: private_quantile(_GRID, _SHARE, _GRID, scale, "audit", noise=ZeroNoise()).event
    )


def quantile_law(values: View, scale: float) -> Law:
    given = np.array(values, dtype=np.float64)
    return exact_law(lambda noise: private_quantile(given, _SHARE, _GRID, scale, "audit", noise=noise).value, no_noise)


def quantile(epsilon: float, delta: float) -> Laws:
    """Tables of at most three values, one removed or exchanged. Pure."""
    places, scale = (-1.0, 0.5, 1.0, 3.0, math.inf), quantile_scale(epsilon)
    tables = [table for size in (1, 2, 3) for table in combinations_with_replacement(places, size)]
    exchanged = [(table, tuple(sorted((*table[1:], place)))) for table in tables for place in places]
    return laws(lambda values: quantile_law(values, scale), one_removed(tables) + exchanged)


def quantile_target(epsilon: float, relation: Neighbours) -> Target:
    scale = quantile_scale(epsilon)

    def law(values: View) -> Law:
        return quantile_law(values, scale)

    def view(table: Table) -> View:
        return tuple(np.sort(table[:, 0]).tolist())

    domain = Domain((-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0), fewest=1, most=40)
    return law_target("quantile", (epsilon, 0.0), relation, view, law, TableSize(4, dimension=1), domain)


def _charges() -> Iterator[ChargeCase]:
    column, parts = made_up()[:, 0], _SHARE.denominator  # scores and noise are counted in parts of an item (M5)
    release = partial(private_quantile, column, _SHARE, GRID, SCALE, "audit")
    yield ChargeCase("quantile", release, SCALE * parts, 2 * parts, 1, off_list(GRID))


AUDIT = Audited(
    exact={"quantile": ExactCheck(quantile, delta=0.0)}, searches={"quantile": quantile_target}, charges=_charges
)
