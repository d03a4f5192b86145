"""The noisy search for the unit at which few scores are clipped (P10)."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import MU, Audited, ChargeCase, Subject, off_list, plain_space, prepared, whole_mu
from dimfree.audit.mechanisms.scores import scoring_of
from dimfree.audit.mechanisms.search import ASKED, OTHERS, beyond_or_within
from dimfree.audit.numerics.records import GRID, SCORING, made_up, space_of
from dimfree.audit.pairs.pair import Table
from dimfree.audit.search.climb import Target
from dimfree.audit.search.gaussian import Decision, decision_target
from dimfree.kernel.statistics.scores import noisy_unit
from dimfree.mechanisms.search import geometric_grid
from dimfree.noise import Noise


def unit_target(epsilon: float, relation: Neighbours) -> Target:
    """How many scores would be clipped."""
    mu, grid = whole_mu(epsilon), np.array([0.25, 1.0, 4.0])

    def decision(table: Table) -> Decision:
        space = plain_space(table)
        return lambda noise: noisy_unit(space, scoring_of(space), 0.5, 2.0, grid, mu, noise=noise).value

    return decision_target("unit of scores", epsilon, relation, decision)


def unit_of_scores(epsilon: float, relation: Neighbours) -> Subject:
    """The unit at which about five records are clipped."""
    mu, space_at, grid = whole_mu(epsilon), prepared(plain_space), geometric_grid(0.5, 64.0, 2.0)

    def draw(table: Table, noise: Noise) -> Floats:
        space = space_at(table)
        search = partial(noisy_unit, space, scoring_of(space), 0.5, 2.0 * OTHERS, grid, mu)
        return np.array([search(noise=noise).value])

    return Subject(f"unit of scores, {relation}", epsilon, relation, draw, beyond_or_within(relation))


def _charges() -> Iterator[ChargeCase]:
    release = partial(noisy_unit, space_of(made_up()), SCORING, 0.8, 200.0, GRID, MU)
    yield ChargeCase("unit of the scores", release, MU, math.sqrt(ASKED), ASKED, off_list(GRID))


AUDIT = Audited(searches={"unit of scores": unit_target}, subjects=(unit_of_scores,), charges=_charges)
