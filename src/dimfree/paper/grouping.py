"""Which records share a group: a fixed number of slots, filled by secret coins (M1).

Guarantee: between neighbors the layouts can be coupled so that they differ in at most one slot; whatever looks at
the records through the layout sees at most one group changed, appeared or vanished. Proof: proofs/paper/groups.md.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.accounting.events import Gaussian, charged_gaussian
from dimfree.kernel import Released
from dimfree.noise import Noise

EMPTY = -1  # a slot without a record
_KEY = 2**62

Layout = NDArray[np.int64]


def slots(count: int, groups: int, size: int, noise: Noise) -> Layout:
    """Record indices in slots (groups, size), EMPTY where there are more slots than records.

    `groups` and `size` are public or released numbers. Under add/remove `count` is private and `groups` must not be
    computed from it; under replace-one, where it is public, `full_groups` is the natural choice.
    """
    wanted = groups * size
    order = _permutation(max(count, wanted), noise)[:wanted]
    return np.where(order < count, order, EMPTY).reshape(groups, size)


def full_groups(count: float, size: int) -> int:
    """How many full groups a public or released number of records is worth."""
    return max(0, int(count // size))


def _permutation(items: int, noise: Noise) -> Layout:
    """Uniform, secret. Two keys for each item: both equal for some pair with probability below items²·2^-125."""
    first, second = noise.below(_KEY, items), noise.below(_KEY, items)
    return np.lexsort((second, first)).astype(np.int64)


_STEPS = 2**30  # grid steps to the largest value


@dataclass(frozen=True)
class GroupMeans:
    """Released: the means, and N̂, how many complete groups they are the means of."""

    means: Floats
    groups: float


def group_means_event(statistics: int, most: float, mu: float, purpose: str) -> Gaussian:
    """The charge of `noisy_group_means` of so many statistics."""
    sensitivity = 2 * _STEPS * math.sqrt(statistics) * (1 + 1e-15)
    return charged_gaussian(sensitivity, mu, statistics + 1, most / _STEPS / 2, purpose)


def noisy_group_means(values: Floats, most: float, mu: float, purpose: str, *, noise: Noise) -> Released[GroupMeans]:
    """The mean of every column of `values` (groups, statistics), each entry held in [0, most], and N̂.

    One group replaced moves the sums of 2v - L by at most 2L·sqrt(k) in L2; one that appears or vanishes adds
    L·sqrt(k) at most and h = floor(L·sqrt(3k)) to the last entry, which is 2L·sqrt(k) again: N is free of charge.
    """
    statistics = values.shape[1]
    unit = math.isqrt(3 * statistics * _STEPS**2)  # h
    event = group_means_event(statistics, most, mu, purpose)
    steps = np.clip(np.floor(values * (_STEPS / most)), 0, _STEPS).astype(np.int64)
    sums = np.append((2 * steps - _STEPS).sum(axis=0, dtype=np.int64), len(values) * unit)
    noisy = (sums + noise.gaussian(event.stddev, statistics + 1)).astype(np.float64)
    groups = float(noisy[-1] / unit)  # N̂; the private len(values) would not do
    means = (noisy[:-1] / max(groups, 1.0) + _STEPS) / 2 * (most / _STEPS)
    return Released(GroupMeans(means, groups), event)
