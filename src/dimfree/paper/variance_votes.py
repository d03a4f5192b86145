"""Variances by groups, as the paper learns them: each group estimates every variance, then the groups vote.

Records fill a fixed number of slots by secret coins, so that between neighbors at most one slot, and one group, changes
(M1). A group is 2·l records; V_i = (1/2l) Σ_r (x_{2r-1,i} - x_{2r,i})² estimates the variance of coordinate i without
knowing its mean. Each mechanism here is private separately, at the cost that its caller states (M2, M4).
Proof: proofs/paper/groups.md. Letters: m = number of groups, d = number of coordinates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from dimfree._types import Booleans, Floats, Integers
from dimfree._validate import check_between, check_count, check_finite, check_integers, check_kind, check_probability
from dimfree.accounting.events import Gaussian, charge_gaussian
from dimfree.accounting.losses import Approximate
from dimfree.data.records import Records
from dimfree.errors import InvalidParameterError
from dimfree.kernel import Released
from dimfree.noise import Noise
from dimfree.paper.mechanisms import Priced, heaviest_cell, sparse_vector

EMPTY = -1  # a slot without a record
ZERO = -1024  # the bucket {0} has a key of its own; 4^ZERO is 0.0 in floats
LARGEST = 511  # the bucket of everything from 4^511 on, overflow included
SMALLEST_POSITIVE = math.ulp(0.0)
_KEY = 2**62
_STEPS = 2**30  # grid steps to the largest value of a mean over groups
_ENTRIES = 2**25  # of the groups held at once
_ROUNDING = 1e-9

Coordinates = Sequence[int] | NDArray[np.intp]


def slots(count: int, groups: int, size: int, noise: Noise) -> Integers:
    """Draw record indices for slots (groups, size), EMPTY if there are more slots than records, in a secret order.

    `groups` and `size` are public or released: under add-remove they must not be computed from `count`. The order is
    uniform but for equal keys, which have a probability below items²·2^-125.
    """
    wanted = groups * size
    items = max(count, wanted)
    first, second = noise.below(_KEY, items), noise.below(_KEY, items)
    order = np.lexsort((second, first)).astype(np.int64)[:wanted]
    return np.where(order < count, order, EMPTY).reshape(groups, size)


def full_groups(count: float, size: int) -> int:
    """Return the number of full groups of a public or released number of records."""
    return max(0, int(count // size))


class NoisyMeans(NamedTuple):
    """Released: the means, and N̂, the number of complete groups."""

    means: Floats
    groups: float


def group_means_event(statistics: int, most: float, mu: float, purpose: str) -> Gaussian:
    """Return the charge of `noisy_group_means` of this number of statistics."""
    sensitivity = 2 * _STEPS * math.sqrt(statistics) * (1 + 1e-15)
    return charge_gaussian(sensitivity, mu, statistics + 1, most / _STEPS / 2, purpose)


def noisy_group_means(values: Floats, most: float, mu: float, purpose: str, *, noise: Noise) -> Released[NoisyMeans]:
    """Release the mean of every column of `values` (groups, statistics), each entry clipped to [0, most], and N̂.

    One group replaced changes the sums of 2v - L by at most 2L·sqrt(k) in L2; one that appears or vanishes adds
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
    return Released(NoisyMeans(means, groups), event)


@dataclass(frozen=True, repr=False)
class GroupVariances:
    """Private: one row of variance estimates for every complete group. Public: how many groups there are slots for."""

    values: Floats
    groups: int

    @property
    def dimension(self) -> int:
        return int(self.values.shape[1])


def group_variances(records: Records, layout: Integers) -> GroupVariances:
    """Compute V of every group whose slots all hold a valid record. The result is private.

    The slots of a group are paired (1, 2), (3, 4), …; a row of V is a function of its own group's records, bit for bit.

    Parameters
    ----------
    records : Records
        The records of the table.
    layout : array of int, shape (groups, size)
        Which record is in each slot, -1 for an empty one, as `slots` makes it.

    Returns
    -------
    GroupVariances
        One row of estimates for every complete group.
    """
    check_kind("records", records, Records)
    if not isinstance(layout, np.ndarray) or layout.dtype.kind != "i" or layout.ndim != 2:
        raise InvalidParameterError("`layout` must be a table of whole numbers, the positions of records.")
    groups, size = layout.shape
    step = max(1, _ENTRIES // max(1, size * records.dimension))
    parts = [_complete_variances(records, layout[start : start + step]) for start in range(0, groups, step)]
    return GroupVariances(np.concatenate([np.zeros((0, records.dimension)), *parts]), groups)


def _complete_variances(records: Records, layout: Integers) -> Floats:
    rows, present = _gather(records, layout.ravel())
    complete = present.reshape(layout.shape).all(axis=1)
    members = rows.reshape(*layout.shape, records.dimension)[complete]
    total, pairs = np.zeros((len(members), records.dimension)), layout.shape[1] // 2
    with np.errstate(all="ignore"):  # a warning would reveal records; an overflow is counted in the largest bucket
        for pair in range(pairs):  # entry by entry, in a fixed order: the bits do not depend on the batch
            offsets = members[:, 2 * pair] - members[:, 2 * pair + 1]
            total += offsets * offsets
        total /= 2 * pairs
    return total


def _gather(records: Records, wanted: Integers) -> tuple[Floats, Booleans]:
    """Return the wanted records in their order, and which of them exist and are valid."""
    rows, present = np.zeros((len(wanted), records.dimension)), np.zeros(len(wanted), dtype=np.bool_)
    start = 0
    for block, valid in records.blocks():
        inside = np.flatnonzero((wanted != EMPTY) & (wanted >= start) & (wanted < start + len(block)))
        rows[inside], present[inside] = block[wanted[inside] - start], valid[wanted[inside] - start]
        start += len(block)
    return rows, present


def bucket(value: float) -> int:
    """Return b with 4^b <= value < 4^{b+1}, exactly; ZERO for 0, LARGEST for an overflow."""
    if value == 0:
        return ZERO
    return (math.frexp(value)[1] - 1) // 2 if math.isfinite(value) else LARGEST  # frexp: 2^{e-1} <= value < 2^e


def bucket_edge(found: int) -> float:
    """Return 4^b, and 0.0 for the bucket {0}."""
    return math.ldexp(1.0, 2 * found)


def find_kth_largest_variance(
    groups: GroupVariances, k: int, epsilon: float, delta: float, *, noise: Noise
) -> Priced[float | None, Approximate]:
    """Release the k-th largest variance as a power of four: each group votes with its own k-th largest estimate.

    Guarantee: (epsilon, delta) when one group changes, appears or vanishes. Accuracy: valid estimates and
    m >= 2.5 (τ + (2/ε)·log(1/β)) give Q/8 < value <= 2Q with probability 1 - β.

    Parameters
    ----------
    groups : GroupVariances
        The private estimates of all groups.
    k : int
        Which variance, counted from 1, the largest.
    epsilon, delta : float
        The privacy loss of this release.
    noise : Noise
        The source of noise.

    Returns
    -------
    Priced
        The variance, or None if no bucket has enough votes; and the privacy loss.
    """
    check_kind("groups", groups, GroupVariances)
    place = groups.dimension - check_count("k", k, least=1, most=groups.dimension)
    largest = np.partition(groups.values, place, axis=1)[:, place]
    return _release_vote(largest.tolist(), epsilon, delta, "k-th largest variance", noise)


def variance_sum(
    groups: GroupVariances, coordinates: Coordinates, epsilon: float, delta: float, *, noise: Noise
) -> Priced[float | None, Approximate]:
    """Release the sum of the variances of some coordinates, as a power of four.

    Guarantee, accuracy, parameters and result as for `find_kth_largest_variance`.

    Parameters
    ----------
    coordinates : sequence of int
        Columns, counted from 0; public or released.
    """
    return _release_vote(
        group_sums(groups, _coordinates(groups, coordinates)), epsilon, delta, "sum of variances", noise
    )


def coordinate_variances(
    groups: GroupVariances, coordinates: Sequence[int], epsilon: float, delta: float, *, noise: Noise
) -> list[Priced[float | None, Approximate]]:
    """Release the variance of each coordinate, one `variance_sum` each; (epsilon, delta) for all of them together.

    The share of each is the largest whose repeated composition fits (the printed ε/sqrt(k·log(1/δ)) does not).
    """
    chosen = _coordinates(groups, coordinates)
    budget = check_between("epsilon", epsilon, 1e-9, 1e9), check_probability("delta", delta)
    each, failure = share_repeated(len(chosen), *budget)
    return [variance_sum(groups, [i], each, failure, noise=noise) for i in chosen.tolist()]


def _coordinates(groups: GroupVariances, coordinates: Coordinates) -> Integers:
    """Check that there is at least one coordinate, each a column."""
    chosen, dimension = (
        check_integers("coordinates", coordinates),
        check_kind("groups", groups, GroupVariances).dimension,
    )
    if not len(chosen) or not 0 <= chosen.min() <= chosen.max() < dimension:
        raise InvalidParameterError("`coordinates` must be a non-empty list of columns, counted from 0.")
    return chosen


def top_variances(
    groups: GroupVariances, threshold: float, k: int, epsilon: float, delta: float, *, noise: Noise
) -> Priced[list[int], Approximate]:
    """Release at most k coordinates whose variance is at least about `threshold` in more than half of the groups.

    Guarantee: (epsilon, delta) when one group changes, appears or vanishes; each counts at most once in a query (M2).
    Accuracy: valid estimates and enough groups give only coordinates of variance at least threshold/4, and k of them
    if k have variance at least `threshold`.

    Parameters
    ----------
    groups, epsilon, delta, noise
        As in `find_kth_largest_variance`.
    threshold : float
        The variance to reach; 0 accepts any positive variance.
    k : int
        The maximal number of coordinates.
    """
    check_kind("groups", groups, GroupVariances)
    k = check_count("k", k, least=1, most=groups.dimension)
    least = max(check_finite("threshold", threshold) / 2, SMALLEST_POSITIVE)
    votes = (groups.values >= least).sum(axis=0).astype(np.int64)
    return sparse_vector(votes, groups.groups / 2, k, epsilon, delta, noise=noise, purpose="top variances")


def _release_vote(
    values: Sequence[float], epsilon: float, delta: float, purpose: str, noise: Noise
) -> Priced[float | None, Approximate]:
    """Release the lower edge of the bucket with the most votes, in a stable histogram over powers of four (M4)."""
    found = heaviest_cell([bucket(value) for value in values], epsilon, delta, noise=noise, purpose=purpose)
    return Priced(None if found.value is None else bucket_edge(found.value), found.event)


def group_sums(groups: GroupVariances, coordinates: Coordinates) -> list[float]:
    """Return Σ V_i, private, over the given coordinates, for every complete group."""
    chosen = np.asarray(coordinates, dtype=np.intp)
    return [_sum(row[chosen]) for row in groups.values]


def _sum(row: Floats) -> float:
    """Sum with correct rounding, so the same in any order; infinite if it overflows."""
    try:
        return math.fsum(row)
    except OverflowError:
        return math.inf


def share_repeated(times: int, epsilon: float, delta: float) -> tuple[float, float]:
    """Return (ε', δ') of each of `times` adaptive mechanisms that cost (epsilon, delta) together; rounded down."""
    failure = delta / 2 / times
    low, high = epsilon / times, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_repeated(times, middle, failure, epsilon) <= delta else (low, middle)
    return low * (1 - _ROUNDING), failure


def delta_repeated(times: int, each: float, failure: float, epsilon: float) -> float:
    """Return δ at level epsilon of `times` adaptive (each, failure)-private mechanisms, rounded up.

    Every one is dominated by a coin: a loss of ±each, + with probability e^each/(1 + e^each) (Kairouz, Oh, Viswanath).
    """
    if times * each <= epsilon:
        return times * failure
    least = math.floor((times + epsilon / each) / 2) + 1  # fewer pluses than this lose at most epsilon
    plus = 1 / (1 + math.exp(-each))
    over = bdtrc(least - 1, times, plus) - math.exp(epsilon) * bdtrc(least - 1, times, 1 - plus)
    return float(times * failure + max(over, 0.0) + _ROUNDING * bdtrc(least - 1, times, plus))
