"""Which groups exist, where nobody listed them (M4)."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.special import ndtr

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_unlisted
from dimfree.accounting.events import Unlisted
from dimfree.audit.audited import DELTA, MU, Audited, ChargeCase, ExactCheck
from dimfree.audit.exact.divergence import Laws, laws
from dimfree.audit.noise_doubles import Law, Masses, exact_law
from dimfree.data.people.labels import Key, split_unlisted
from dimfree.kernel.statistics.group_keys import least_people, published_keys
from dimfree.mechanisms.gaussian_histogram import moved_counts, publishing
from dimfree.noise import Noise
from dimfree.paper.charged import Measured

Held = tuple[str, ...]  # the key of each person, in the order of the rows

_PARTS = 2  # to one person: cells of the noise begin at every half


def named(held: Held, branch: Unlisted, relation: Neighbours, *, noise: Noise) -> Measured[tuple[Key, ...]]:
    """As `release_means` asks: keys in the order in which they appear."""
    _, labels, keys = split_unlisted(None, list(held), "drop")
    return published_keys(labels, keys, branch, relation, noise=noise)


def key_pairs(heavy: int, relation: Neighbours) -> list[tuple[Held, Held]]:
    """A key that appears, or is exchanged; one that grows; of two large groups, one person whose row is the first."""
    many, both = ("a",) * heavy, ("a",) * heavy + ("b",) * heavy
    light: list[tuple[Held, Held]] = [(("a",), ()), (("a", "a"), ("a",)), (many, many[1:]), ((*many, "b"), many)]
    if relation is Neighbours.ADD_REMOVE:
        return [*light, (("b", *both), both)]
    moved: list[tuple[Held, Held]] = [(("a",), ("b",)), (("a", "a"), ("a", "b")), ((*many, "b"), (*many, "a"))]
    return [*moved, (("b", *both), ("a", *both))]


def keys_law(relation: Neighbours, epsilon: float, delta: float) -> Laws:
    """`published_keys`, run on every draw that matters; the noise in cells that begin at halves of a person."""
    branch = calibrate_unlisted(Budget(epsilon, delta))
    heavy = math.ceil(least_people(branch, relation))
    _, bits, least = publishing(moved_counts(1, relation), branch.mu, branch.failure, "")

    def masses(stddev: float) -> Masses:
        edges = [least + part * 2**bits // _PARTS for part in range(-_PARTS * (heavy + 3), 2 * _PARTS)]
        above = [1.0, *ndtr(-np.array(edges) / stddev).tolist(), 0.0]
        return dict(zip([edges[0] - 1, *edges], (-np.diff(above)).tolist(), strict=True))

    def law(held: Held) -> Law:
        return exact_law(lambda noise: named(held, branch, relation, noise=noise).value, masses)

    return laws(law, key_pairs(heavy, relation), slack=1e-6)


def _charges() -> Iterator[ChargeCase]:
    held = tuple("abbcccc" * 9)
    for relation in Neighbours:
        release = partial(named, held, Unlisted(MU, DELTA), relation)
        yield ChargeCase(f"group keys, {relation}", release, MU, math.sqrt(moved_counts(1, relation)), None)


AUDIT = Audited(
    exact={f"group keys, {relation}": ExactCheck(partial(keys_law, relation)) for relation in Neighbours},
    charges=_charges,
)
