"""Tiny worlds of votes and choices: thresholded histograms, top-k, a quantile.

What is asked of a mechanism is what makes its returned event state the claim.
"""

import math
from collections.abc import Hashable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np

from dimfree.audit.laws.claims import promising, stating
from dimfree.audit.laws.exact import Laws, World, laplace_masses, laws
from dimfree.audit.laws.gaussian_worlds import no_noise
from dimfree.audit.noise_doubles import Asked, Law, exact_law
from dimfree.mechanisms.paper.laplace_count import laplace_count
from dimfree.mechanisms.paper.quantile import private_quantile
from dimfree.mechanisms.paper.stable_histogram import heaviest_cell, publishing_threshold, stable_histogram
from dimfree.mechanisms.paper.top_k import top_k

Items = tuple[Hashable, ...]

_REACH = 12.0  # scales of Laplace noise that are enumerated where two are drawn; e^-12 is left out of each


def pure_count(epsilon: float, delta: float) -> World:
    """`laplace_count`: pure, so delta is not used."""
    asked, _ = promising(epsilon, delta, lambda each, _: laplace_count(3, each, noise=Asked()).event)

    def law(count: int) -> Law:
        return exact_law(lambda noise: laplace_count(count, asked, noise=noise).value, laplace_masses(30))

    return laws(law, [(3, 4), (0, 1)], slack=1e-12)


# ---- histograms


def histogram_pairs(heavy: int) -> list[tuple[Items, Items]]:
    """A cell that appears, one that grows, an item that moves to an empty cell; an item between two heavy cells."""
    one, other = ("a",) * heavy, ("b",) * heavy
    light: list[tuple[Items, Items]] = [(("a",), ()), (("a", "a"), ("a",)), (("a",), ("b",)), (("a", "a"), ("a", "b"))]
    return [*light, (one + other, (*one, "a", *other[1:])), (one, one[1:])]


def histogram(epsilon: float, delta: float) -> World:
    """`stable_histogram`, run on every draw."""
    asked = promising(epsilon, delta, lambda *each: stable_histogram(("a",), *each, noise=Asked()).event)

    def law(cells: Items) -> Law:
        return exact_law(
            lambda noise: tuple(stable_histogram(cells, *asked, noise=noise).value.items()), laplace_masses(_REACH)
        )

    return laws(law, histogram_pairs(publishing_threshold(*asked)), slack=2 * math.exp(-_REACH))


def heaviest(epsilon: float, delta: float) -> World:
    """`heaviest_cell`, run on every draw: which cell, or none."""
    asked = promising(epsilon, delta, lambda *each: heaviest_cell(("a",), *each, noise=Asked()).event)

    def law(cells: Items) -> Law:
        return exact_law(lambda noise: heaviest_cell(cells, *asked, noise=noise).value, laplace_masses(_REACH))

    return laws(law, histogram_pairs(publishing_threshold(*asked)), slack=2 * math.exp(-_REACH))


# ---- choices


def choices(epsilon: float, delta: float) -> World:
    """`top_k` with one and two picks: scores that move in every direction. Pure at range·picks."""
    both: list[tuple[Law, Law]] = []
    for count in (1, 2):
        scale = choice_scale(epsilon, count)

        def law(scores: Items, count: int = count, scale: float = scale) -> Law:
            whole = np.array(scores, dtype=np.int64)
            return exact_law(
                lambda noise: tuple(top_k(whole, count, scale, "audit", noise=noise).value.tolist()), no_noise
            )

        both += laws(law, _moved_scores()).both
    return Laws(both)


def choice_scale(epsilon: float, count: int) -> float:
    """At which so many picks of `top_k` state epsilon."""
    scores = np.zeros(count, dtype=np.int64)
    return stating(epsilon, lambda scale: top_k(scores, count, scale, "audit", noise=Asked()).event)


def _moved_scores() -> Iterator[tuple[Items, Items]]:
    for scores in ((0, 0, 0), (4, 2, 0), (0, 0, 0, 9)):
        for shift in product((-1, 0, 1), repeat=len(scores)):
            yield scores, tuple(a + b for a, b in zip(scores, shift, strict=True))


SHARE, GRID = Fraction(2, 3), np.array([0.0, 1.0, 2.0, 4.0])


def quantile_scale(epsilon: float) -> float:
    """At which `private_quantile` states epsilon."""
    return stating(epsilon, lambda scale: private_quantile(GRID, SHARE, GRID, scale, "audit", noise=Asked()).event)


def quantile(epsilon: float, delta: float) -> World:
    """`private_quantile`: tables of at most three values, one removed or exchanged. Pure."""
    places, scale = (-1.0, 0.5, 1.0, 3.0, math.inf), quantile_scale(epsilon)

    def law(values: Items) -> Law:
        given = np.array(values, dtype=np.float64)
        return exact_law(
            lambda noise: private_quantile(given, SHARE, GRID, scale, "audit", noise=noise).value, no_noise
        )

    tables = [table for size in (1, 2, 3) for table in combinations_with_replacement(places, size)]
    removed = [(table, table[:j] + table[j + 1 :]) for table in tables for j in range(len(table))]
    exchanged = [(table, tuple(sorted((*table[1:], place)))) for table in tables for place in places]
    return laws(law, removed + exchanged)
