"""The profile of variances: a release of its own."""

import math
from collections.abc import Iterator

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import DELTA, Audited, Subject
from dimfree.audit.pairs.pair import Pair, Table
from dimfree.audit.pairs.spread import spread_points
from dimfree.noise import Noise
from dimfree.paper.profile_result import VarianceProfile
from dimfree.paper.variance_profile import variance_profile
from dimfree.programs.choose.constants import GROUP

_FAR = 1e6


def profile(epsilon: float, relation: Neighbours) -> Subject:
    """`variance_profile` with just enough records to be answered most of the time."""
    size = GROUP * (30 + math.ceil(100 / epsilon))  # measured: 30 groups, and more for a smaller epsilon

    def draw(table: Table, noise: Noise) -> Floats:
        return _row(variance_profile(table, epsilon=epsilon, delta=DELTA, neighbours=relation, noise=noise))

    name = f"release: variance profile, {relation}"
    return Subject(name, epsilon, relation, draw, lambda: tuple(_pairs(relation, size)), 2.0)


def _row(found: VarianceProfile) -> Floats:
    """Whether it was refused, the largest edge as a power of four, how many coordinates lie above each edge."""
    if found.refused:
        return np.array([1.0, math.nan, math.nan, math.nan, math.nan])
    above = np.cumsum(found.counts)
    return np.array([0.0, math.log2(found.edges[0]) / 2, above[0], above[1], found.log2_stddev])


def _pairs(relation: Neighbours, size: int) -> Iterator[Pair]:
    """The total variance is a power of four, where groups vote for two buckets; or no record varies but one."""
    points = spread_points(size - 1)
    points /= math.sqrt(float(points.var(axis=0).sum()))
    far, middle = np.array([[_FAR, _FAR]]), np.zeros((1, 2))
    for name, table in (("at a power of four", points), ("no spread", np.zeros((size - 1, 2)))):
        without = table if relation is Neighbours.ADD_REMOVE else np.vstack([table, middle])
        yield Pair(name, relation, np.vstack([table, far]), without)
    if relation is Neighbours.ADD_REMOVE:
        yield Pair("one in the middle", relation, np.vstack([points, middle]), points)


AUDIT = Audited(subjects=(profile,))
