"""The profile of variances as a subject: a release of its own, on crowds with a spread and a record that breaks it."""

import math
from collections.abc import Iterator

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.neighbours import Pair, Table
from dimfree.audit.pairs.crowds import crowd
from dimfree.audit.subjects.subject import DELTA, Subject
from dimfree.estimators.choose.constants import GROUP
from dimfree.noise import Noise
from dimfree.paper.profile_result import VarianceProfile
from dimfree.paper.variance_profile import variance_profile

_FAR = 1e6


def profile_of_variances(epsilon: float, relation: Neighbours) -> Subject:
    """`variance_profile` with just enough records to be answered most of the time."""
    size = profile_size(epsilon)

    def draw(table: Table, noise: Noise) -> Floats:
        return _row(variance_profile(table, epsilon=epsilon, delta=DELTA, neighbours=relation, noise=noise))

    name = f"release: variance profile, {relation}"
    return Subject(name, epsilon, DELTA, relation, draw, lambda: tuple(_pairs(relation, size)), 2.0)


def profile_size(epsilon: float) -> int:
    """Measured: 30 groups and as many more as a smaller epsilon needs."""
    return GROUP * (30 + math.ceil(100 / epsilon))


def _row(profile: VarianceProfile) -> Floats:
    """Whether it was refused, the largest edge on a scale of fours, how many coordinates lie above each."""
    if profile.refused:
        return np.array([1.0, math.nan, math.nan, math.nan, math.nan])
    above = np.cumsum(profile.counts)
    return np.array([0.0, math.log2(profile.edges[0]) / 2, above[0], above[1], profile.log2_stddev])


def _pairs(relation: Neighbours, size: int) -> Iterator[Pair]:
    """The total variance stands at a power of four, where the groups are of two minds; nobody varies but one."""
    points = crowd(size - 1)
    points /= math.sqrt(float(points.var(axis=0).sum()))
    still = np.zeros((size - 1, 2))
    far, middle = np.array([[_FAR, _FAR]]), np.zeros((1, 2))
    for name, table in (("at a power of four", points), ("no spread", still)):
        without = table if relation is Neighbours.ADD_REMOVE else np.vstack([table, middle])
        yield Pair(name, relation, np.vstack([table, far]), without)
    if relation is Neighbours.ADD_REMOVE:
        yield Pair("one in the middle", relation, np.vstack([points, middle]), points)
