"""Search targets that are Gaussian releases: how far the real code moves, in standard deviations of its noise."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import DELTA
from dimfree.audit.exact.divergence import Divergence, GaussianShifts
from dimfree.audit.noise_doubles import ConstantNoise, ZeroNoise
from dimfree.audit.pairs.pair import Pair, Table, TableSize
from dimfree.audit.pairs.suites import huge, pairs
from dimfree.audit.search.climb import Target
from dimfree.audit.search.moves import Domain
from dimfree.noise import Noise
from dimfree.paper.charged import Measured

INSIDE, OUTSIDE = 1 - 2.0**-19, 1 + 2.0**-19  # the edge is resolved to 2^-20 of the radius
VALUES = (0.0, *(sign * x for x in (0.5, INSIDE, 1.0, OUTSIDE, 2.0, 1e6) for sign in (1, -1)))
STEPS = (0.25, 0.1, 0.01)
NEAR_THE_EDGE = Domain(VALUES, STEPS, fewest=2, most=8)
_FARTHEST_DRAW = 2**26  # steps of a count: more records than there are

Location = Callable[[Table], Floats]  # a table -> what is released without noise, in standard deviations
Decision = Callable[[Noise], float]


def every_start(relation: Neighbours, given: TableSize) -> tuple[Pair, ...]:
    """Every named pair, the huge ones too."""
    return (*pairs(relation, given), *huge(relation, given))


def in_stddevs(release: Callable[..., Measured[Any]], times: float = 1.0) -> Floats:
    """What a release gives without noise, times a number, over the standard deviation it asks for."""
    noise = ZeroNoise()
    found = release(noise=noise)
    return np.atleast_1d(found.value * times / (noise.asked[0][1] * found.event.step))


def gaussian_target(
    name: str,
    epsilon: float,
    relation: Neighbours,
    location: Location,
    domain: Domain = NEAR_THE_EDGE,
    starts: Callable[[Pair], bool] = lambda pair: True,
) -> Target:
    """A release that is a Gaussian at `location`; `starts` selects named pairs of tables of four records."""

    def distance(here: Table, there: Table) -> float:
        return float(np.linalg.norm(location(here) - location(there)))

    def divergence(here: Table, there: Table) -> Divergence:
        return GaussianShifts((distance(here, there),))

    chosen = tuple(filter(starts, every_start(relation, TableSize(4))))
    return Target(name, relation, epsilon, DELTA, distance, divergence, chosen, domain)


# ---- noisy numbers of which only a decision is released


def turning_draw(decide: Decision) -> float:
    """The lowest draw that makes a noisy number positive, in standard deviations: minus the number itself.

    A number that is asked for several times is known as well as by one draw of so much less noise.
    """
    low, high = -_FARTHEST_DRAW, _FARTHEST_DRAW
    noise = ConstantNoise(draw=high)
    positive = decide(noise)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decide(ConstantNoise(draw=middle)) == positive else (middle, high)
    return (high - 0.5) * math.sqrt(len(noise.asked)) / noise.asked[0][1]


def decision_target(name: str, epsilon: float, relation: Neighbours, decision: Callable[[Table], Decision]) -> Target:
    """A noisy number compared with a public target: for some target the answer tells as much as the number."""
    return gaussian_target(name, epsilon, relation, lambda table: np.array([turning_draw(decision(table))]))
