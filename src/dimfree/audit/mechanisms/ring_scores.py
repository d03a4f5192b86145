"""The noisy sum of clipped scores of neighbours on the secret ring, and the search for its unit (P15)."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import (
    MU,
    Audited,
    ChargeCase,
    Pairs,
    Subject,
    of_tables,
    off_list,
    plain_space,
    prepared,
    value_off_lattice,
    whole_mu,
)
from dimfree.audit.mechanisms.ring_lengths import ASKED, COUNT, HALF, PAIR_MOVES, ring_in_order
from dimfree.audit.numerics.records import COLUMNS, GRID, made_up, space_of
from dimfree.audit.pairs.pair import Table
from dimfree.audit.search.climb import Target
from dimfree.audit.search.gaussian import Decision, decision_target, gaussian_target, in_stddevs
from dimfree.kernel.statistics.ring_scores import noisy_ring_scores, noisy_ring_unit, pair_scoring
from dimfree.kernel.statistics.scores import Scoring
from dimfree.kernel.statistics.secret_ring import Ring
from dimfree.mechanisms.search import geometric_grid
from dimfree.noise import Noise

_GAP = 1.414  # two records so far apart have the whole score but for a hair
_FAR = 1e6
_NORM = 3.0


def scoring_of(ring: Ring) -> Scoring:
    return pair_scoring(np.ones(ring.space.dimension), 1.0)


def scores_target(epsilon: float, relation: Neighbours) -> Target:
    mu = whole_mu(epsilon)

    def location(table: Table) -> Floats:
        ring = ring_in_order(plain_space(table))
        return in_stddevs(partial(noisy_ring_scores, ring, scoring_of(ring), 1.0, mu, relation))

    return gaussian_target("ring scores", epsilon, relation, location)


def unit_target(epsilon: float, relation: Neighbours) -> Target:
    """How many pairs keep their whole score."""
    mu, grid = whole_mu(epsilon), np.array([0.25, 1.0, 4.0])

    def decision(table: Table) -> Decision:
        ring = ring_in_order(plain_space(table))
        scoring = scoring_of(ring)
        return lambda noise: noisy_ring_unit(ring, scoring, HALF, grid, COUNT, mu, relation, noise=noise).value

    return decision_target("ring unit", epsilon, relation, decision)


def between_two(relation: Neighbours) -> Pairs:
    """A record far along one axis, between two that differ along another; or far along that one. A ring of three."""
    others = np.array([[0.0, 0.0], [0.0, _GAP]])
    far, across = np.array([[_FAR, _GAP / 2]]), np.array([[0.0, _FAR]])
    there = others if relation is Neighbours.ADD_REMOVE else np.vstack([others, across])
    return of_tables(relation, {"between two": (np.vstack([others, far]), there)})


def ring_scores(epsilon: float, relation: Neighbours) -> Subject:
    """On a ring of fresh keys."""
    mu, space_at = whole_mu(epsilon), prepared(plain_space)

    def draw(table: Table, noise: Noise) -> Floats:
        ring = Ring.of(space_at(table), None, 0, noise=noise)
        value = noisy_ring_scores(ring, scoring_of(ring), 1.0, mu, relation, noise=noise).value
        return np.array([value[0], value[1], value[0] - value[1]])

    return Subject(f"ring scores, {relation}", epsilon, relation, draw, between_two(relation))


def ring_unit(epsilon: float, relation: Neighbours) -> Subject:
    mu, grid, space_at = whole_mu(epsilon), geometric_grid(0.5, 64.0, 2.0), prepared(plain_space)

    def draw(table: Table, noise: Noise) -> Floats:
        ring = Ring.of(space_at(table), None, 0, noise=noise)
        return np.array([noisy_ring_unit(ring, scoring_of(ring), HALF, grid, 3.0, mu, relation, noise=noise).value])

    return Subject(f"ring unit, {relation}", epsilon, relation, draw, between_two(relation))


def _charges() -> Iterator[ChargeCase]:
    ring, scoring = ring_in_order(space_of(made_up())), pair_scoring(np.ones(COLUMNS), _NORM)
    for relation, squares in ((Neighbours.ADD_REMOVE, 5), (Neighbours.REPLACE_ONE, 8)):
        release = partial(noisy_ring_scores, ring, scoring, 0.7, MU, relation)
        norms = math.sqrt(squares) * _NORM
        yield ChargeCase(f"ring scores, {relation}", release, MU, norms, COLUMNS, value_off_lattice)
        search, moves = partial(noisy_ring_unit, ring, scoring, HALF, GRID, COUNT, MU, relation), PAIR_MOVES[relation]
        yield ChargeCase(f"ring unit, {relation}", search, MU, math.sqrt(ASKED) * moves, ASKED, off_list(GRID))


AUDIT = Audited(
    searches={"ring scores": scores_target, "ring unit": unit_target},
    subjects=(ring_scores, ring_unit),
    charges=_charges,
)
