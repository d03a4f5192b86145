"""The public plan of the stages of a learned shape: how many, and how precise each is. Sees no record.

Proof: proofs/estimators/learn/variances.md (A1). Letters: P = precision of the branch; V = variance of what is known;
N = that of one stage's output.
"""

import math
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.estimators.choose.constants import COUNTED_PRECISION, MOST_STAGES, STAGE_RATIOS
from dimfree.estimators.choose.stages import good_enough
from dimfree.estimators.learn.state import State


@dataclass(frozen=True, order=True)
class Planned:
    """One stage to come: its mu, and whether it counts in the answer rather than serving the centre alone."""

    mu: float
    counts: bool


def plan_stages(state: State, budget: float, most: int = MOST_STAGES, *, answer: bool = False) -> list[Planned]:
    """Stages of geometric precisions that sum to `budget`: the plan with the least predicted error.

    Of those that are good enough, the one with the fewest stages: each is a pass over the records. `answer`: the error
    is that of the answer, not of the centre.
    """
    plans: list[tuple[float, list[Planned]]] = []
    for count in range(1, most + 1):
        for ratio in STAGE_RATIOS if count > 1 else (1.0,):
            shares = budget * ratio ** np.arange(count) / (ratio ** np.arange(count)).sum()
            least = min(COUNTED_PRECISION * state.precision, shares[-1]) if answer else math.inf
            plan = [Planned(math.sqrt(p), bool(p >= least)) for p in shares]
            plans.append((_predicted(state, plan), plan))
    enough = good_enough(min(error for error, _ in plans), state.sampling_error**2)
    return min((len(plan), error, plan) for error, plan in plans if error <= enough)[2]


def _predicted(state: State, plan: list[Planned]) -> float:
    """The squared error after a plan: V <- 1/(1/V + 1/N) for the centre; 1/Σ(1/N) of what counts for the answer."""
    (_, variance), (_, blur) = state.known.combined(), state.centre()
    shrunk, counted = blur / variance, np.zeros_like(variance)
    for planned in plan:
        output = _output_variance(state, shrunk * variance, planned.mu)
        variance = 1 / (1 / variance + 1 / output)
        counted += planned.counts / output
    return float((1 / counted if plan[-1].counts else variance).sum())


def _output_variance(state: State, blur: Floats, mu: float) -> Floats:
    """N of a stage about a centre whose coordinates are off by `blur`, at the expected length of a record."""
    middle = np.sqrt(state.stddev**2 + blur)
    return np.asarray(middle * middle.sum() * (state.setting.moves / state.setting.count / mu) ** 2)
