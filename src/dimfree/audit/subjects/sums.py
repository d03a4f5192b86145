"""Sums as subjects: the clipped mean, scores, means over groups, a sum over a sample, a count over groups."""

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.neighbours import Pair, Place, Table
from dimfree.audit.subjects.subject import DELTA, Subject, of_tables, prepared, suite, whole_mu
from dimfree.core.subsample import poisson_sample
from dimfree.data.records import as_records
from dimfree.geometry.shape import Isotropic
from dimfree.geometry.space import Space
from dimfree.mechanisms.clipped_sum import Ball, noisy_clipped_mean
from dimfree.mechanisms.paper.group_means import noisy_group_means
from dimfree.mechanisms.paper.laplace_count import laplace_count
from dimfree.mechanisms.scores import Scoring, noisy_scores
from dimfree.noise import Noise
from dimfree.paper.grouping import slots

RATE = 0.95  # of the sample
COUNT = 4.0  # what sums are divided by: a public number


def plain_space(table: Table) -> Space:
    return Space(as_records(table), Isotropic(1.0))


def clipped_mean(epsilon: float, relation: Neighbours) -> Subject:
    """The plain Gaussian release of a clipped sum at the whole budget: the audit's own measure."""
    mu, space_of = whole_mu(epsilon), prepared(plain_space)

    def draw(table: Table, noise: Noise) -> Floats:
        return clipped_row(space_of(table), COUNT, mu, relation, noise)

    names = ("clipping boundary", "far outlier", "wide", "sparse")
    return Subject(f"clipped mean, {relation}", epsilon, DELTA, relation, draw, suite(relation, Place(4), *names), 20.0)


def clipped_row(space: Space, count: float, mu: float, relation: Neighbours, noise: Noise) -> Floats:
    """First coordinate, mean of all, length: the pairs differ in one, in all alike, or in how far the noise reaches."""
    ball = Ball(np.zeros(space.dimension), 1.0, 1.0)
    value = noisy_clipped_mean(space, ball, count, mu, relation, "audit", noise=noise).value
    return np.array([value[0], value.mean(), float(np.linalg.norm(value))])


def scores(epsilon: float, relation: Neighbours) -> Subject:
    """The noisy sum of clipped scores (P10)."""
    mu, space_of = whole_mu(epsilon), prepared(plain_space)

    def draw(table: Table, noise: Noise) -> Floats:
        space = space_of(table)
        scoring = Scoring(np.zeros(space.dimension), 1.0, 1.0)
        value = noisy_scores(space, scoring, 1.0, mu, relation, noise=noise).value
        return np.array([value[0], value[1], value.mean()])

    names = (
        "turned" if relation is Neighbours.REPLACE_ONE else "edge of friendliness",
        "far outlier",
        "wide",
        "sparse",
    )
    return Subject(f"scores, {relation}", epsilon, DELTA, relation, draw, suite(relation, Place(4), *names))


def group_means(epsilon: float, relation: Neighbours) -> Subject:
    """Means of two statistics over an unknown number of groups (M2); a row of the table is a group."""
    mu = whole_mu(epsilon)

    def draw(table: Table, noise: Noise) -> Floats:
        found = noisy_group_means(np.asarray(table), 1.0, mu, "audit", noise=noise).value
        total = found.means * max(found.groups, 1.0)  # of the statistics: what the noise was added to
        return np.array([*total, total.sum(), found.groups])

    crowd = np.full((6, 2), 0.5)
    lowest, highest, middle = np.zeros((1, 2)), np.ones((1, 2)), np.full((1, 2), 0.5)
    if relation is Neighbours.ADD_REMOVE:
        tables = {name: (np.vstack([crowd, one]), crowd) for name, one in _named(lowest, middle, highest)}
    else:
        ends = np.vstack([crowd, lowest]), np.vstack([crowd, highest])
        tables = {"from_end_to_end": ends, "to_the_middle": (ends[0], np.vstack([crowd, middle]))}
    return Subject(f"group means, {relation}", epsilon, DELTA, relation, draw, of_tables(relation, **tables))


def _named(*rows: Floats) -> list[tuple[str, Floats]]:
    return list(zip(("lowest_group", "middle_group", "highest_group"), rows, strict=True))


def sampled_sum(epsilon: float) -> Subject:
    """The clipped mean of a secret Poisson sample (P8)."""
    mu, relation = whole_mu(epsilon), Neighbours.ADD_REMOVE

    def draw(table: Table, noise: Noise) -> Floats:
        sampled = poisson_sample(len(table), RATE, noise)
        return clipped_row(plain_space(np.asarray(table)[sampled]), COUNT, mu, relation, noise)

    return Subject("sample", epsilon, DELTA, relation, draw, lambda: (odd_one_out(),))


def odd_one_out(size: int = 20) -> Pair:
    """All say -1 but one, who says 1 and may be absent."""
    crowd = np.full((size, 1), -1.0)
    return Pair("odd one out", Neighbours.ADD_REMOVE, np.vstack([crowd, [[1.0]]]), crowd)


def grouped_count(epsilon: float) -> Subject:
    """A Laplace count of groups that agree, the groups laid out by secret coins (M1)."""

    def draw(table: Table, noise: Noise) -> Floats:
        column = np.append(np.asarray(table)[:, 0], np.nan)  # the last one stands for an empty slot
        layout = slots(len(column) - 1, 4, 2, noise)
        agree = int((column[layout[:, 0]] == column[layout[:, 1]]).sum())
        return np.array([laplace_count(agree, epsilon, noise=noise).value], dtype=np.float64)

    return Subject("grouping", epsilon, 0.0, Neighbours.ADD_REMOVE, draw, lambda: (first_leaves(),))


def first_leaves() -> Pair:
    """Rows that agree two by two; when the first leaves, no two consecutive ones do."""
    column = np.repeat(np.arange(5.0), 2)[:9, None]
    return Pair("first record leaves", Neighbours.ADD_REMOVE, column, column[1:])
