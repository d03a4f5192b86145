"""The noisy search for the radius at which the friend average reaches a share (M5')."""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np
from scipy.special import ndtr

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import (
    DELTA,
    MU,
    Audited,
    ChargeCase,
    Subject,
    off_list,
    plain_space,
    prepared,
    suite,
    whole_mu,
)
from dimfree.audit.exact.divergence import Divergence, Laws, true_epsilon
from dimfree.audit.mechanisms.search import ASKED
from dimfree.audit.noise_doubles import Law
from dimfree.audit.numerics.records import GRID, made_up, space_of
from dimfree.audit.pairs.pair import Table, TableSize
from dimfree.audit.search.climb import Target
from dimfree.audit.search.gaussian import STEPS, VALUES, every_start, turning_draw
from dimfree.audit.search.moves import Domain
from dimfree.kernel.statistics.distances import pair_distances
from dimfree.kernel.statistics.friend_radius import noisy_friend_radius
from dimfree.mechanisms.search import geometric_grid
from dimfree.noise import Noise

_SHARE = Fraction(9, 10)
_COUNT = 8.0  # the public number of records that searches are told


def radius_target(epsilon: float, relation: Neighbours) -> Target:
    """The friend average at one radius. Only whether it reaches its share is released: a bit with a known law."""
    mu, grid = whole_mu(epsilon), np.array([0.5, 1.0, 2.0])

    def number(table: Table) -> float:
        distances = pair_distances(plain_space(table), None)
        search = partial(noisy_friend_radius, distances, _SHARE, grid, _COUNT, mu, relation)
        return turning_draw(lambda noise: search(noise=noise).value)

    def divergence(here: Table, there: Table) -> Divergence:
        return Laws([(_bit(number(here)), _bit(number(there)))])

    def score(here: Table, there: Table) -> float:
        numbers = number(here), number(there)
        told = true_epsilon(Laws([(_bit(numbers[0]), _bit(numbers[1]))]), DELTA)
        return told + 1e-3 * abs(numbers[0] - numbers[1])

    starts, domain = every_start(relation, TableSize(8)), Domain(VALUES, STEPS, fewest=2, most=40)
    return Target("friend radius", relation, epsilon, DELTA, score, divergence, starts, domain)


def _bit(below: float) -> Law:
    return {True: float(ndtr(-below)), False: float(ndtr(below))}


def friend_radius(epsilon: float, relation: Neighbours) -> Subject:
    mu, grid = whole_mu(epsilon), geometric_grid(0.25, 4.0, 2.0)
    distances = prepared(lambda table: pair_distances(plain_space(table), None))

    def draw(table: Table, noise: Noise) -> Floats:
        search = partial(noisy_friend_radius, distances(table), Fraction(1, 2), grid, _COUNT, mu, relation)
        return np.array([search(noise=noise).value])

    tables = suite(relation, TableSize(5), "two cliques", "edge of friendliness", "far outlier")
    return Subject(f"friend radius, {relation}", epsilon, relation, draw, tables)


def _charges() -> Iterator[ChargeCase]:
    """All noisy counts of one search."""
    distances = pair_distances(space_of(made_up()), None)
    for relation, move in ((Neighbours.ADD_REMOVE, 1.9), (Neighbours.REPLACE_ONE, 2.0)):
        release = partial(noisy_friend_radius, distances, _SHARE, GRID, _COUNT, MU, relation)
        yield ChargeCase(f"friend radius, {relation}", release, MU, math.sqrt(ASKED) * move, ASKED, off_list(GRID))


AUDIT = Audited(searches={"friend radius": radius_target}, subjects=(friend_radius,), charges=_charges)
