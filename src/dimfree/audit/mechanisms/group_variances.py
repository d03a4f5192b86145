"""Variances by votes of groups (M1, M4): a row of the table holds the estimates of a group, or is a record.

The pairs are at the thresholds: as many votes as are just published, coordinates with half of the votes.
"""

import math
from collections.abc import Callable

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.losses import Approximate
from dimfree.audit.audited import DELTA, Audited, Pairs, Subject, of_tables
from dimfree.audit.mechanisms.grouping import Grouping, first_leaves
from dimfree.audit.pairs.pair import Pair, Table
from dimfree.data.records import as_records
from dimfree.noise import Noise
from dimfree.paper.charged import Charged
from dimfree.paper.group_variances import (
    GroupVariances,
    coordinate_variances,
    find_kth_largest_variance,
    group_variances,
    repeated_share,
    top_variances,
    variance_sum,
)
from dimfree.paper.grouping import full_groups, slots
from dimfree.paper.stable_histogram import publishing_threshold

Answers = list[Charged[float | None, Approximate]]
Vote = Callable[[GroupVariances, Noise], Answers]

_LOW, _HIGH = 1.0, 64.0  # variances that fall into different buckets, alone and in sums
_TOP_GROUPS = 8


def kth_largest(epsilon: float, relation: Neighbours) -> Subject:
    """The second largest of two variances."""

    def vote(groups: GroupVariances, noise: Noise) -> Answers:
        return [find_kth_largest_variance(groups, 2, epsilon, DELTA, noise=noise)]

    return _voted("k-th largest variance", epsilon, relation, vote, publishing_threshold(epsilon, DELTA))


def sum_of_variances(epsilon: float, relation: Neighbours) -> Subject:
    """The sum of both."""

    def vote(groups: GroupVariances, noise: Noise) -> Answers:
        return [variance_sum(groups, [0, 1], epsilon, DELTA, noise=noise)]

    return _voted("variance sum", epsilon, relation, vote, publishing_threshold(epsilon, DELTA))


def each_variance(epsilon: float, relation: Neighbours) -> Subject:
    """Both, one after the other, for one budget."""

    def vote(groups: GroupVariances, noise: Noise) -> Answers:
        return coordinate_variances(groups, [0, 1], epsilon, DELTA, noise=noise)

    threshold = publishing_threshold(*repeated_share(2, epsilon, DELTA))
    return _voted("coordinate variances", epsilon, relation, vote, threshold)


def _voted(name: str, epsilon: float, relation: Neighbours, vote: Vote, threshold: int) -> Subject:
    def draw(table: Table, noise: Noise) -> Floats:
        values = np.asarray(table)
        return _row(vote(GroupVariances(values, len(values)), noise))

    return Subject(f"{name}, {relation}", epsilon, relation, draw, _at_the_threshold(relation, threshold))


def _row(found: Answers) -> Floats:
    """For each vote: whether it was refused, and the answer as a power of four."""
    answers = [(1.0, math.nan) if one.value is None else (0.0, math.log2(one.value or 0.5) / 2) for one in found]
    return np.array([number for answer in answers for number in answer])


def _at_the_threshold(relation: Neighbours, threshold: int) -> Pairs:
    low, high = np.full((1, 2), _LOW), np.full((1, 2), _HIGH)
    lows, highs = np.repeat(low, threshold, axis=0), np.repeat(high, threshold, axis=0)
    both = np.vstack([lows, highs])
    if relation is Neighbours.ADD_REMOVE:
        return of_tables(relation, {"at the threshold": (np.vstack([lows, low]), lows), "one of two": (both, both[1:])})
    between = np.vstack([both, low]), np.vstack([both, high])
    return of_tables(relation, {"between two": between, "to an empty cell": (lows, np.vstack([lows[1:], high]))})


def top(epsilon: float, relation: Neighbours) -> Subject:
    """Which of six coordinates have at least some variance: at most two, by the sparse vector."""

    def draw(table: Table, noise: Noise) -> Floats:
        groups = GroupVariances(np.asarray(table), _TOP_GROUPS)
        found = top_variances(groups, 2 * _LOW, 2, epsilon, DELTA, noise=noise).value
        return np.isin(np.arange(groups.dimension), found).astype(np.float64)

    half = np.repeat([[_HIGH] * 6, [0.0] * 6], _TOP_GROUPS // 2, axis=0)
    rows = np.full((1, 6), _HIGH), np.zeros((1, 6)), np.array([[_HIGH, 0.0] * 3]), np.array([[0.0, _HIGH] * 3])
    every, none, some, others = (np.vstack([half, row]) for row in rows)
    if relation is Neighbours.ADD_REMOVE:
        tables = {"one more says all": (every, half), "one more says some": (some, half)}
    else:
        tables = {"all or none": (every, none), "these or those": (some, others)}
    return Subject(f"top variances, {relation}", epsilon, relation, draw, of_tables(relation, tables))


def grouped_variances(epsilon: float, grouping: Grouping = slots) -> Subject:
    """From records to a vote: groups of two in slots, then the sum of variances; just enough groups to publish."""
    groups = publishing_threshold(epsilon, DELTA) + 2

    def draw(table: Table, noise: Noise) -> Floats:
        records = as_records(table)
        found = group_variances(records, grouping(records.count, groups, 2, noise))
        return _row([variance_sum(found, [0], epsilon, DELTA, noise=noise)])

    return Subject("grouped variances", epsilon, Neighbours.ADD_REMOVE, draw, lambda: _record_pairs(groups))


def _record_pairs(groups: int) -> tuple[Pair, ...]:
    """Records that agree two by two, the first of which leaves; all alike but one."""
    alike = np.zeros((full_groups(2 * groups, 2) * 2, 1))
    odd = Pair("odd one out", Neighbours.ADD_REMOVE, np.vstack([alike, [[8.0]]]), alike)
    return first_leaves(groups + 1, step=4.0), odd


AUDIT = Audited(
    subjects=(kth_largest, sum_of_variances, each_variance, top),
    other_subjects=lambda epsilon: (grouped_variances(epsilon),),
)
