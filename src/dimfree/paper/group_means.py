"""Means over an unknown number of complete groups: centred sums and the number itself in one Gaussian (M2).

Letters: k = statistics of a group, L = their largest value, N = number of complete groups (private).
Proof: proofs/paper/groups.md.
"""

import math
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.events import Gaussian, charged_gaussian
from dimfree.noise import Noise
from dimfree.paper.charged import Measured

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


def noisy_group_means(values: Floats, most: float, mu: float, purpose: str, *, noise: Noise) -> Measured[GroupMeans]:
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
    return Measured(GroupMeans(means, groups), event)
