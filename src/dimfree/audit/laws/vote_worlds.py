"""Tiny worlds of counts: a Laplace count, thresholded histograms.

What is asked of a mechanism is what makes its returned event state the claim.
"""

import math
from collections.abc import Hashable

from dimfree.audit.laws.claims import promising
from dimfree.audit.laws.exact import World, laplace_masses, laws
from dimfree.audit.noise_doubles import Asked, Law, exact_law
from dimfree.mechanisms.paper.laplace_count import laplace_count
from dimfree.mechanisms.paper.stable_histogram import heaviest_cell, publishing_threshold, stable_histogram

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
