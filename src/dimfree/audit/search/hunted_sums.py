"""Gaussian releases to be hunted: how far the real code moves between two tables, in units of the noise it asks for.

Two Gaussians that far apart have a known divergence. The noise is read as continuous: its grid is so fine that this
moves a delta by less than a ten-thousandth of itself.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import ndtr

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.precision import hockey_stick
from dimfree.audit.laws.exact import Laws, World, true_epsilon
from dimfree.audit.neighbours import Pair, Place, Table, huge, pairs
from dimfree.audit.noise_doubles import Asked, Law
from dimfree.audit.search.climb import Quarry
from dimfree.audit.search.moves import Terrain
from dimfree.audit.subjects.subject import DELTA, whole_mu
from dimfree.data.records import as_records
from dimfree.estimators.learn.radius import RadiusSearch, searched_radius
from dimfree.estimators.learn.scale import pair_distances
from dimfree.geometry.shape import Isotropic
from dimfree.geometry.space import Space
from dimfree.mechanisms.clipped_sum import Ball, noisy_clipped_mean
from dimfree.mechanisms.friend_radius import noisy_friend_radius
from dimfree.mechanisms.paper.group_means import noisy_group_means
from dimfree.mechanisms.scores import Scoring, noisy_scores, noisy_unit
from dimfree.noise import Noise

INSIDE, OUTSIDE = 1 - 2.0**-19, 1 + 2.0**-19  # the edge is resolved to 2^-20 of the radius
MARKS = (0.0, *(sign * x for x in (0.5, INSIDE, 1.0, OUTSIDE, 2.0, 1e6) for sign in (1, -1)))
STEPS = (0.25, 0.1, 0.01)
_FARTHEST_DRAW = 2**26  # steps of a count: more records than there are

Spread = Callable[[Table], Floats]  # a table -> what is released, in units of its noise
Decision = Callable[[Noise], float]


@dataclass(frozen=True)
class GaussianWorld:
    """Two Gaussians of the same spread, `mu` of it apart."""

    mu: float
    pairs: int = 1
    slack: float = 0.0

    def delta_at(self, level: float) -> float:
        return float(hockey_stick(self.mu, level))


def space_of(table: Table) -> Space:
    return Space(as_records(table), Isotropic(1.0))


def suite(relation: Neighbours, place: Place) -> tuple[Pair, ...]:
    """Every named pair, the huge ones too."""
    return (*pairs(relation, place), *huge(relation, place))


def shifted(name: str, epsilon: float, relation: Neighbours, spread: Spread, terrain: Terrain, *, size: int) -> Quarry:
    """A release that is a Gaussian about `spread`."""

    def distance(here: Table, there: Table) -> float:
        return float(np.linalg.norm(spread(here) - spread(there)))

    def world(here: Table, there: Table) -> World:
        return GaussianWorld(distance(here, there))

    starts = suite(relation, Place(size))
    return Quarry(name, relation, epsilon, DELTA, distance, world, starts, terrain)


NEAR_THE_EDGE = Terrain(MARKS, STEPS, fewest=2, most=8)


def clipped_sum(epsilon: float, relation: Neighbours) -> Quarry:
    """A stage of recentring, its ball off the origin (P8)."""
    mu, count = whole_mu(epsilon), 4.0

    def spread(table: Table) -> Floats:
        space, door = space_of(table), Asked()
        ball = Ball(np.full(space.dimension, 0.5 / math.sqrt(space.dimension)), 1.0, 1.0)
        found = noisy_clipped_mean(space, ball, count, mu, relation, "audit", noise=door)
        return found.value * count / (door.asked[0][1] * found.event.step)

    return shifted("clipped mean", epsilon, relation, spread, NEAR_THE_EDGE, size=4)


def scores(epsilon: float, relation: Neighbours) -> Quarry:
    """The sum of clipped scores (P10)."""
    mu = whole_mu(epsilon)

    def spread(table: Table) -> Floats:
        space, door = space_of(table), Asked()
        found = noisy_scores(space, Scoring(np.zeros(space.dimension), 1.0, 1.0), 1.0, mu, relation, noise=door)
        return found.value / (door.asked[0][1] * found.event.step)

    return shifted("scores", epsilon, relation, spread, NEAR_THE_EDGE, size=4)


def group_means(epsilon: float, relation: Neighbours) -> Quarry:
    """Sums over complete groups and their number, in one Gaussian (M2); a record is a group."""
    mu, most = whole_mu(epsilon), 2.0

    def spread(table: Table) -> Floats:
        door, values = Asked(), np.asarray(table, dtype=np.float64)
        found = noisy_group_means(values, most, mu, "audit", noise=door)
        number, unit = found.value.groups, most / 2 / found.event.step  # of the grid, half the largest value
        sums = (2 * found.value.means / most - 1) * max(number, 1.0) * unit
        return np.append(sums, number * math.floor(unit * math.sqrt(3 * values.shape[1]))) / door.asked[0][1]

    terrain = Terrain((0.0, 1.0, 2.0, 3.0, -1.0), (0.25,), fewest=3, most=6)
    quarry = shifted("group means", epsilon, relation, spread, terrain, size=4)
    return replace(quarry, starts=tuple(pair for pair in quarry.starts if not issparse(pair.here)))


# ---- numbers that only decide


class Pushed(Asked):
    """Every Gaussian draw is the number given."""

    def __init__(self, draw: int) -> None:
        super().__init__()
        self.draw = draw

    def gaussian(self, stddev: float, size: int) -> NDArray[np.int64]:
        return super().gaussian(stddev, size) + self.draw


def turning_draw(decide: Decision) -> float:
    """The draw from which on a noisy number is found positive, in units of its noise: minus the number itself."""
    low, high = -_FARTHEST_DRAW, _FARTHEST_DRAW
    door = Pushed(high)
    positive = decide(door)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decide(Pushed(middle)) == positive else (middle, high)
    return (high - 0.5) / door.asked[0][1]


def decided(name: str, epsilon: float, relation: Neighbours, decision: Callable[[Table], Decision]) -> Quarry:
    """A noisy number compared with a public target, any target: some target tells as much as the number would."""

    def spread(table: Table) -> Floats:
        return np.array([turning_draw(decision(table))])

    return shifted(name, epsilon, relation, spread, NEAR_THE_EDGE, size=4)


def excess(epsilon: float, relation: Neighbours) -> Quarry:
    """By how much records stick out of a ball: the search for a stage's radius (P8)."""
    search = RadiusSearch(whole_mu(epsilon), 0.0, 1e3, window=(1.0, 1.1))  # two cells: one question

    def decision(table: Table) -> Decision:
        space = space_of(table)
        ball = Ball(np.zeros(space.dimension), 1.0, 1.0)
        return lambda noise: searched_radius(space, ball, search, noise=noise).value

    return decided("excess", epsilon, relation, decision)


def unit(epsilon: float, relation: Neighbours) -> Quarry:
    """How many scores would be clipped (P10)."""
    mu, grid = whole_mu(epsilon), np.array([0.25, 1.0, 4.0])

    def decision(table: Table) -> Decision:
        space = space_of(table)
        scoring = Scoring(np.zeros(space.dimension), 1.0, 1.0)
        return lambda noise: noisy_unit(space, scoring, 1.0, grid, mu, noise=noise).value

    return decided("unit of scores", epsilon, relation, decision)


def friend_radius(epsilon: float, relation: Neighbours, share: Fraction = Fraction(9, 10)) -> Quarry:
    """The friend average at one radius (M5'). What leaves is whether it reaches its share: a bit with a known law."""
    mu, grid = whole_mu(epsilon), np.array([0.5, 1.0, 2.0])

    def number(table: Table) -> float:
        distances = pair_distances(space_of(table), None)
        return turning_draw(lambda noise: noisy_friend_radius(distances, share, grid, mu, relation, noise=noise).value)

    def world(here: Table, there: Table) -> World:
        return Laws([(_bit(number(here)), _bit(number(there)))])

    def score(here: Table, there: Table) -> float:
        numbers = number(here), number(there)
        told = true_epsilon(Laws([(_bit(numbers[0]), _bit(numbers[1]))]), DELTA)
        return told + 1e-3 * abs(numbers[0] - numbers[1])

    terrain = Terrain(MARKS, STEPS, fewest=2, most=40)
    return Quarry("friend radius", relation, epsilon, DELTA, score, world, suite(relation, Place(8)), terrain)


def _bit(below: float) -> Law:
    return {True: float(ndtr(-below)), False: float(ndtr(below))}
