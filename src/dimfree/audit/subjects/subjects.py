"""Everything that is sampled, by epsilon: mechanisms first, then the cores, then whole releases."""

import math

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.audit.neighbours import Place, Table
from dimfree.audit.subjects import cores, looks, pointing, sums, votes
from dimfree.audit.subjects.estimators import estimator
from dimfree.audit.subjects.profiles import profile_of_variances
from dimfree.audit.subjects.subject import DELTA, Subject, prepared, suite
from dimfree.audit.subjects.sums import clipped_mean
from dimfree.audit.subjects.ways import ways
from dimfree.noise import Noise

__all__ = ["DELTA", "Subject", "clipped_mean", "subjects"]

_EITHER_RELATION = (
    sums.clipped_mean,
    sums.scores,
    sums.group_means,
    looks.search,
    looks.friend_radius,
    looks.unit_of_scores,
    looks.excess_search,
    pointing.directions,
    pointing.togetherness,
    pointing.outer_products,
    votes.kth_largest,
    votes.sum_of_variances,
    votes.each_variance,
    votes.top,
    profile_of_variances,
)


def subjects(epsilon: float) -> list[Subject]:
    """All of them at this epsilon, in a fixed order."""
    return [
        *(make(epsilon, relation) for make in _EITHER_RELATION for relation in Neighbours),
        sums.grouped_count(epsilon),
        votes.grouped_variances(epsilon),
        sums.sampled_sum(epsilon),
        soft(epsilon),
        stable(epsilon),
        *(estimator(way, epsilon) for way in ways(epsilon)),
    ]


def soft(epsilon: float) -> Subject:
    """The soft core; the pairs of the suite in units of its radius."""
    budget, relation, size = Budget(epsilon, DELTA), Neighbours.ADD_REMOVE, 25 + 25 * math.ceil(1 / epsilon)
    core = cores.soft_core(budget)
    run_on = prepared(lambda table: cores.run_on(table, budget, relation))

    def draw(table: Table, noise: Noise) -> Floats:
        return core.draw(cores.with_noise(run_on(table), noise))

    return Subject("soft core", epsilon, DELTA, relation, draw, suite(relation, Place(size, core.radius)), 2.0)


def stable(epsilon: float) -> Subject:
    """The stable core under replace-one, with the edges of its statistic."""
    budget, relation, size = Budget(epsilon, DELTA), Neighbours.REPLACE_ONE, 60 + 90 * math.ceil(1 / epsilon)
    choice = cores.stable_choice(budget, size)
    core = cores.stable_core(choice)
    run_on = prepared(lambda table: cores.run_on(table, budget, relation))

    def draw(table: Table, noise: Noise) -> Floats:
        return core.draw(cores.with_noise(run_on(table), noise))

    return Subject("stable core", epsilon, DELTA, relation, draw, lambda: cores.stable_pairs(choice, size), 2.0)
