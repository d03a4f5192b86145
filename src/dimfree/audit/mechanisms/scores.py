"""The noisy sum of clipped scores (P10)."""

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
    Subject,
    plain_space,
    prepared,
    suite,
    value_off_lattice,
    whole_mu,
)
from dimfree.audit.canaries.canaries import FEW, mechanism_run, with_canaries
from dimfree.audit.canaries.one_run import Mask, Play
from dimfree.audit.numerics.records import COLUMNS, SCORING, made_up, space_of
from dimfree.audit.pairs.pair import Table, TableSize
from dimfree.audit.search.climb import Target
from dimfree.audit.search.gaussian import gaussian_target, in_stddevs
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.scores import Scoring, noisy_scores
from dimfree.noise import Noise

_BEYOND = 1e3  # so far from the centre that every score is clipped


def scoring_of(space: Space) -> Scoring:
    return Scoring(np.zeros(space.dimension), 1.0, 1.0)


def scores_target(epsilon: float, relation: Neighbours) -> Target:
    mu = whole_mu(epsilon)

    def location(table: Table) -> Floats:
        space = plain_space(table)
        return in_stddevs(partial(noisy_scores, space, scoring_of(space), 1.0, mu, relation))

    return gaussian_target("scores", epsilon, relation, location)


def scores(epsilon: float, relation: Neighbours) -> Subject:
    mu, space_at = whole_mu(epsilon), prepared(plain_space)

    def draw(table: Table, noise: Noise) -> Floats:
        space = space_at(table)
        value = noisy_scores(space, scoring_of(space), 1.0, mu, relation, noise=noise).value
        return np.array([value[0], value[1], value.mean()])

    first = "turned" if relation is Neighbours.REPLACE_ONE else "edge of friendliness"
    tables = suite(relation, TableSize(4), first, "far outlier", "wide", "sparse")
    return Subject(f"scores, {relation}", epsilon, relation, draw, tables)


def canary_play(epsilon: float, canaries: int = FEW) -> Play:
    """Canaries beyond the norm at which a score is clipped."""
    mu, scoring = whole_mu(epsilon), Scoring(np.zeros(canaries), 1.0, 1.0)
    others = np.zeros((1, canaries))

    def play(coins: Mask, noise: Noise) -> Floats:
        space = plain_space(with_canaries(others, _BEYOND, coins))
        return noisy_scores(space, scoring, 1.0, mu, Neighbours.ADD_REMOVE, noise=noise).value

    return play


def _charges() -> Iterator[ChargeCase]:
    space = space_of(made_up())
    for relation, norms in ((Neighbours.ADD_REMOVE, 1.0), (Neighbours.REPLACE_ONE, math.sqrt(2))):
        release = partial(noisy_scores, space, SCORING, 0.7, MU, relation)
        yield ChargeCase(f"scores, {relation}", release, MU, norms * SCORING.norm, COLUMNS, value_off_lattice)


AUDIT = Audited(
    searches={"scores": scores_target},
    subjects=(scores,),
    charges=_charges,
    canaries={"scores, add-remove": partial(mechanism_run, canary_play)},
)
