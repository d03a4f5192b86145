"""The noisy search of a stage for its clipping radius, by the excess of records beyond it (P8)."""

import math
from collections.abc import Iterator

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Gaussian
from dimfree.audit.audited import MU, Audited, ChargeCase, Subject, plain_space, prepared, whole_mu
from dimfree.audit.mechanisms.search import OTHERS, beyond_or_within
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.audit.numerics.records import BALL, made_up, space_of
from dimfree.audit.pairs.pair import Table
from dimfree.audit.search.climb import Target
from dimfree.audit.search.gaussian import Decision, decision_target
from dimfree.estimators.learn.radius import RadiusSearch, searched_radius
from dimfree.mechanisms import Charged
from dimfree.mechanisms.clipped_sum import Ball
from dimfree.noise import Noise


def excess_target(epsilon: float, relation: Neighbours) -> Target:
    """By how much records lie outside a ball."""
    search = RadiusSearch(whole_mu(epsilon), 0.0, 1e3, window=(1.0, 1.1))  # two cells: one question

    def decision(table: Table) -> Decision:
        space = plain_space(table)
        ball = Ball(np.zeros(space.dimension), 1.0, 1.0)
        return lambda noise: searched_radius(space, ball, search, noise=noise).value

    return decision_target("excess", epsilon, relation, decision)


def excess_search(epsilon: float, relation: Neighbours) -> Subject:
    space_at = prepared(plain_space)
    search = RadiusSearch(whole_mu(epsilon), float(OTHERS), farthest=1e9, window=(0.5, 2.0))

    def draw(table: Table, noise: Noise) -> Floats:
        space = space_at(table)
        ball = Ball(np.zeros(space.dimension), 1.0, 1.0)
        return np.array([searched_radius(space, ball, search, noise=noise).value])

    return Subject(f"excess search, {relation}", epsilon, relation, draw, beyond_or_within(relation))


def _charges() -> Iterator[ChargeCase]:
    space = space_of(made_up())

    def release(noise: Noise) -> Charged[float, Gaussian]:
        return searched_radius(space, BALL, RadiusSearch(MU, 2.0, 100.0), noise=noise)

    noise = ZeroNoise()
    release(noise)
    yield ChargeCase("excess search", release, MU, math.sqrt(len(noise.asked)), None)


AUDIT = Audited(searches={"excess": excess_target}, subjects=(excess_search,), charges=_charges)
