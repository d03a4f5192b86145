"""The noisy clipped mean: a stage of recentring (P8)."""

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
from dimfree.audit.numerics.records import BALL, COLUMNS, made_up, space_of
from dimfree.audit.pairs.pair import Table, TableSize
from dimfree.audit.search.climb import Target
from dimfree.audit.search.gaussian import gaussian_target, in_stddevs
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Ball, noisy_clipped_mean
from dimfree.noise import Noise

COUNT = 4.0  # what sums are divided by: a public number
_CHARGED_COUNT = 210.7


def clipped_target(epsilon: float, relation: Neighbours) -> Target:
    """The ball is off the origin."""
    mu = whole_mu(epsilon)

    def location(table: Table) -> Floats:
        space = plain_space(table)
        ball = Ball(np.full(space.dimension, 0.5 / math.sqrt(space.dimension)), 1.0, 1.0)
        return in_stddevs(partial(noisy_clipped_mean, space, ball, COUNT, mu, relation, "audit"), COUNT)

    return gaussian_target("clipped mean", epsilon, relation, location)


def clipped_mean(epsilon: float, relation: Neighbours) -> Subject:
    """The Gaussian release of a clipped sum at the whole budget: shows how much the sampling audit can see."""
    mu, space_at = whole_mu(epsilon), prepared(plain_space)

    def draw(table: Table, noise: Noise) -> Floats:
        return clipped_row(space_at(table), COUNT, mu, relation, noise)

    tables = suite(relation, TableSize(4), "clipping boundary", "far outlier", "wide", "sparse")
    return Subject(f"clipped mean, {relation}", epsilon, relation, draw, tables, 20.0)


def clipped_row(space: Space, count: float, mu: float, relation: Neighbours, noise: Noise) -> Floats:
    """First coordinate, mean of all, length: the pairs differ in one, in all alike, or in the length of the noise."""
    ball = Ball(np.zeros(space.dimension), 1.0, 1.0)
    value = noisy_clipped_mean(space, ball, count, mu, relation, "audit", noise=noise).value
    return np.array([value[0], value.mean(), float(np.linalg.norm(value))])


def canary_play(epsilon: float, canaries: int = FEW) -> Play:
    """The clipped sum at the whole budget; canaries on the sphere."""
    mu, ball = whole_mu(epsilon), Ball(np.zeros(canaries), 1.0, 1.0)
    others = np.zeros((1, canaries))

    def play(coins: Mask, noise: Noise) -> Floats:
        space = plain_space(with_canaries(others, 1.0, coins))
        return noisy_clipped_mean(space, ball, 1.0, mu, Neighbours.ADD_REMOVE, "audit", noise=noise).value

    return play


def _charges() -> Iterator[ChargeCase]:
    space = space_of(made_up())
    for relation, radii in ((Neighbours.ADD_REMOVE, 1), (Neighbours.REPLACE_ONE, 2)):
        release = partial(noisy_clipped_mean, space, BALL, _CHARGED_COUNT, MU, relation, "audit")
        off = partial(value_off_lattice, divisor=_CHARGED_COUNT)
        yield ChargeCase(f"clipped mean, {relation}", release, MU, radii * BALL.radius, COLUMNS, off)


AUDIT = Audited(
    searches={"clipped mean": clipped_target},
    subjects=(clipped_mean,),
    charges=_charges,
    canaries={"clipped mean, add-remove": partial(mechanism_run, canary_play)},
)
