"""Noisy searches as subjects (M5'): a count, the friend average, the unit of scores, the excess beyond a ball.

In the first pair of each every query of the search moves by its whole sensitivity, and the counts stand at the target:
what the answers can tell of one record, they tell there.
"""

from fractions import Fraction

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.neighbours import Place, Table
from dimfree.audit.subjects.subject import DELTA, Subject, Suite, of_tables, prepared, suite, whole_mu
from dimfree.audit.subjects.sums import plain_space
from dimfree.estimators.learn.radius import RadiusSearch, searched_radius
from dimfree.estimators.learn.scale import pair_distances
from dimfree.mechanisms.clipped_sum import Ball
from dimfree.mechanisms.friend_radius import noisy_friend_radius
from dimfree.mechanisms.scores import Scoring, noisy_unit
from dimfree.mechanisms.search import STEPS, geometric_grid, noisy_search
from dimfree.noise import Noise

_CROWD = 5
_BEYOND, _WITHIN = 40.0, 0.01  # of every radius that is looked at

Both = tuple[Table, Table]


def search(epsilon: float, relation: Neighbours) -> Subject:
    """The search itself, for the point up to which five values lie."""
    mu, grid = whole_mu(epsilon), np.arange(9.0)

    def draw(table: Table, noise: Noise) -> Floats:
        column = np.asarray(table)[:, 0]

        def excess(point: float) -> int:
            return (int((column <= point).sum()) - _CROWD) * STEPS

        return np.array([noisy_search(excess, grid, 1.0, mu, "audit", noise=noise).value])

    low, high, middle = (np.full((1, 1), value) for value in (-1.0, 99.0, 3.5))
    crowd = np.full((_CROWD - 1, 1), -1.0)
    tables = _moved(relation, np.vstack([crowd, high]), low, high, half=middle)
    return Subject(f"search, {relation}", epsilon, DELTA, relation, draw, of_tables(relation, **tables))


def friend_radius(epsilon: float, relation: Neighbours) -> Subject:
    """The noisy search for the radius at which the friend average reaches a share."""
    mu, grid = whole_mu(epsilon), geometric_grid(0.25, 4.0, 2.0)
    distances = prepared(lambda table: pair_distances(plain_space(table), None))

    def draw(table: Table, noise: Noise) -> Floats:
        return np.array([noisy_friend_radius(distances(table), Fraction(1, 2), grid, mu, relation, noise=noise).value])

    names = ("two cliques", "edge of friendliness", "far outlier")
    place = Place(5, radius=1.0)
    return Subject(f"friend radius, {relation}", epsilon, DELTA, relation, draw, suite(relation, place, *names))


def unit_of_scores(epsilon: float, relation: Neighbours) -> Subject:
    """The search for the unit at which about five records are clipped."""
    mu, space_of, grid = whole_mu(epsilon), prepared(plain_space), geometric_grid(0.5, 64.0, 2.0)

    def draw(table: Table, noise: Noise) -> Floats:
        space = space_of(table)
        scoring = Scoring(np.zeros(space.dimension), 1.0, 1.0)
        return np.array([noisy_unit(space, scoring, float(_CROWD), grid, mu, noise=noise).value])

    return Subject(f"unit of scores, {relation}", epsilon, DELTA, relation, draw, _beyond_or_within(relation))


def excess_search(epsilon: float, relation: Neighbours) -> Subject:
    """The search of a stage for its clipping radius, by the excess of records beyond it (P8)."""
    mu, space_of = whole_mu(epsilon), prepared(plain_space)
    looked = RadiusSearch(mu, float(_CROWD), farthest=1e9, window=(0.5, 2.0))

    def draw(table: Table, noise: Noise) -> Floats:
        space = space_of(table)
        ball = Ball(np.zeros(space.dimension), 1.0, 1.0)
        return np.array([searched_radius(space, ball, looked, noise=noise).value])

    return Subject(f"excess search, {relation}", epsilon, DELTA, relation, draw, _beyond_or_within(relation))


def _beyond_or_within(relation: Neighbours) -> Suite:
    beyond, within, between = (np.array([[length, 0.0]]) for length in (_BEYOND, _WITHIN, 1.3))
    crowd = np.vstack([np.repeat(beyond, _CROWD, axis=0), np.repeat(within, 3, axis=0)])
    return of_tables(relation, **_moved(relation, crowd, beyond, within, half=between))


def _moved(relation: Neighbours, crowd: Floats, counted: Floats, uncounted: Floats, half: Floats) -> dict[str, Both]:
    """One more that is counted everywhere, or by half of the queries; or in exchange for one that never is."""
    with_one, with_half, without = (np.vstack([crowd, one]) for one in (counted, half, uncounted))
    if relation is Neighbours.ADD_REMOVE:
        return {"counted_everywhere": (with_one, crowd), "counted_by_some": (with_half, crowd)}
    return {"counted_everywhere": (with_one, without), "counted_by_some": (with_half, without)}
