"""The histogram that publishes heavy cells, and its heaviest cell (M4)."""

import math
from collections.abc import Hashable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import DELTA, EPSILON, Audited, ChargeCase, ExactCheck
from dimfree.audit.exact.claims import promising
from dimfree.audit.exact.divergence import Laws, laplace_masses, laws
from dimfree.audit.noise_doubles import Law, Masses, ZeroNoise, exact_law
from dimfree.audit.numerics.records import made_up
from dimfree.audit.pairs.pair import Table, TableSize
from dimfree.audit.search.climb import Target
from dimfree.audit.search.laws import View, law_target
from dimfree.audit.search.moves import Domain
from dimfree.paper.charged import Charged
from dimfree.paper.stable_histogram import heaviest_cell, publishing_threshold, stable_histogram

Items = tuple[Hashable, ...]

_REACH, _SEARCH_REACH = 12.0, 9.0  # scales of Laplace noise where two are drawn; e^-reach is left out of each


def histogram_pairs(heavy: int) -> list[tuple[Items, Items]]:
    """A cell that appears, one that grows, an item that moves to an empty cell; an item between two heavy cells."""
    one, other = ("a",) * heavy, ("b",) * heavy
    light: list[tuple[Items, Items]] = [(("a",), ()), (("a", "a"), ("a",)), (("a",), ("b",)), (("a", "a"), ("a", "b"))]
    return [*light, (one + other, (*one, "a", *other[1:])), (one, one[1:])]


def histogram(epsilon: float, delta: float) -> Laws:
    """`stable_histogram`, run on every draw."""
    asked = promising(epsilon, delta, lambda *each: stable_histogram(("a",), *each, noise=ZeroNoise()).event)

    def law(cells: Items) -> Law:
        return exact_law(
            lambda noise: tuple(stable_histogram(cells, *asked, noise=noise).value.items()), laplace_masses(_REACH)
        )

    return laws(law, histogram_pairs(publishing_threshold(*asked)), slack=2 * math.exp(-_REACH))


def heaviest(epsilon: float, delta: float) -> Laws:
    """`heaviest_cell`, run on every draw: which cell, or none."""
    asked = promising(epsilon, delta, lambda *each: heaviest_cell(("a",), *each, noise=ZeroNoise()).event)

    def law(cells: Items) -> Law:
        return exact_law(lambda noise: heaviest_cell(cells, *asked, noise=noise).value, laplace_masses(_REACH))

    return laws(law, histogram_pairs(publishing_threshold(*asked)), slack=2 * math.exp(-_REACH))


def histogram_target(epsilon: float, relation: Neighbours) -> Target:
    """Two cells: on which side of the origin a record is."""
    asked = promising(epsilon, DELTA, lambda *each: stable_histogram((0.0,), *each, noise=ZeroNoise()).event)
    heavy = publishing_threshold(*asked)
    domain, given = Domain((0.0, 1.0), fewest=1, most=heavy + 3), TableSize(heavy, dimension=1)

    def law(cells: View) -> Law:
        return exact_law(
            lambda noise: tuple(stable_histogram(cells, *asked, noise=noise).value.items()),
            lambda scale: merged_below(laplace_masses(_SEARCH_REACH)(scale), heavy - domain.most),
        )

    slack = 2 * math.exp(-_SEARCH_REACH)
    return law_target("stable histogram", (epsilon, DELTA), relation, _cells, law, given, domain, slack)


def _cells(table: Table) -> View:
    """Sorted, as the order of items must not matter."""
    return tuple(np.sort(table[:, 0] > 0).astype(np.float64).tolist())


def merged_below(masses: Masses, least: int) -> Masses:
    """All draws below `least` as one: with any of them no count is published."""
    low = math.fsum(mass for z, mass in masses.items() if z < least)
    return {least - 1: low, **{z: mass for z, mass in masses.items() if z >= least}}


def _cells_off_list(found: Charged[Any, Any]) -> int:
    """Cells and counts that cannot be."""
    cells = found.value
    return int(
        (~np.isin(list(cells), (-1.0, 0.0, 1.0))).sum() + (~np.isin(list(cells.values()), np.arange(1000))).sum()
    )


def _charges() -> Iterator[ChargeCase]:
    items, cost = np.sign(made_up()[:, 0]).tolist(), (EPSILON, DELTA)
    cells = len(set(items))
    yield ChargeCase("histogram", partial(stable_histogram, items, *cost), cost, 2, cells, _cells_off_list)
    yield ChargeCase("heaviest cell", partial(heaviest_cell, items, *cost), cost, 2, cells)


AUDIT = Audited(
    exact={"stable histogram": ExactCheck(histogram), "heaviest cell": ExactCheck(heaviest)},
    searches={"stable histogram": histogram_target},
    charges=_charges,
)
