"""The public plan of the stages of a learned shape: how many, and how precise each is. Sees no record.

Proof: proofs/estimators/learn/variances.md (A1). Letters: P = precision of the branch; V = variance of what is known;
N = that of one stage's output.
"""

import math
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.estimators.choose.constants import (
    MOST_STAGES,
    SEARCH_RANK,
    SEARCH_SHARES,
    SEARCHED_PRECISION,
    STAGE_RATIOS,
)
from dimfree.estimators.choose.stages import good_enough
from dimfree.estimators.learn.radius import RadiusSearch, one_sided, searched, target_deviations, unsearched
from dimfree.estimators.learn.state import State


@dataclass(frozen=True, order=True)
class Planned:
    """One stage to come: its mu, and that of the search of its radius (0: none)."""

    mu: float
    search_mu: float


def plan_stages(state: State, budget: float, rank: float, most: int = MOST_STAGES) -> list[Planned]:
    """Stages of geometric precisions that sum to `budget`: the plan with the least predicted error.

    Of those that are good enough, the one with the fewest stages: each is a pass or two over the records.
    """
    search = float(np.clip(SEARCH_RANK / rank, *SEARCH_SHARES)) * state.precision
    (_, variance), (_, blur) = state.known.combined(), state.centre()
    plans: list[tuple[float, list[Planned]]] = []
    for count in range(1, most + 1):
        for ratio in STAGE_RATIOS if count > 1 else (1.0,):
            shares = budget * ratio ** np.arange(count) / (ratio ** np.arange(count)).sum()
            plan = [_planned(state, p, search, last=p == shares[-1]) for p in shares]
            plans.append((_predicted(state, plan, rank, variance, blur), plan))
    enough = good_enough(min(error for error, _ in plans), state.sampling_error**2)
    return min((len(plan), error, plan) for error, plan in plans if error <= enough)[2]


def _planned(state: State, precision: float, search: float, *, last: bool) -> Planned:
    """A precise stage, and the last one, gives a little of its precision for a search of its radius."""
    if precision < SEARCHED_PRECISION * state.precision and not last:
        return Planned(math.sqrt(precision), 0.0)
    search = min(search, precision / 4)
    return Planned(math.sqrt(precision - search), math.sqrt(search))


def _predicted(state: State, plan: list[Planned], rank: float, variance: Floats, blur: Floats) -> float:
    """The squared error after a plan, by the recursion V <- 1/(1/V + 1/(N + bias²))."""
    shrunk, count, variances = blur / variance, state.setting.count, state.stddev**2
    for planned in plan:
        middle = np.sqrt(variances + shrunk * variance)
        output = middle * middle.sum() * (state.setting.moves / count / planned.mu) ** 2
        clipping = unsearched(variances)
        if planned.search_mu:
            window, deviations = state.radius.window, target_deviations(rank)
            search = RadiusSearch.balanced(planned.search_mu, planned.mu, rank, math.inf, window, deviations)
            clipping = searched(search, count, variances, one_sided(rank))
        variance = 1 / (1 / variance + 1 / (output + clipping.bias))
    return float(variance.sum())
