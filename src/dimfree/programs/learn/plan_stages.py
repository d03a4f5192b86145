"""The public plan of the stages of a learned shape: how many, and how precise each is. Sees no record.

Letters: P = precision of the branch; V = variance of what is known; N = that of one stage's output.
"""

import math
from dataclasses import dataclass

import numpy as np

from dimfree._types import Booleans, Floats
from dimfree.programs.choose.constants import COUNTED_PRECISION, MOST_STAGES, STAGE_RATIOS
from dimfree.programs.choose.stages import good_enough
from dimfree.programs.learn.state import State


@dataclass(frozen=True, order=True)
class Planned:
    """One stage to come: its mu, and its weight in the answer (0: it serves the centre alone)."""

    mu: float
    weight: float


def plan_stages(state: State, budget: float, most: int = MOST_STAGES, *, answer: bool = False) -> list[Planned]:
    """Stages of geometric precisions that sum to `budget`: the plan with the least predicted error.

    Of those that are good enough, the one with the fewest stages: each is a pass over the records. `answer`: the error
    is that of the answer, in which precise stages count, not of the centre.
    """
    plans: list[tuple[float, list[Planned]]] = []
    (_, variance), (_, blur) = state.known.combined(), state.centre()
    before = state.seen(variance), state.seen(blur)
    for count in range(1, most + 1):
        for ratio in STAGE_RATIOS if count > 1 else (1.0,):
            shares = budget * ratio ** np.arange(count) / (ratio ** np.arange(count)).sum()
            least = min(COUNTED_PRECISION * state.precision, shares[-1]) if answer else math.inf
            plans.append(_predicted(state, *before, shares, shares >= least))
    enough = good_enough(min(error for error, _ in plans), state.sampling_error**2)
    return min((len(plan), error, plan) for error, plan in plans if error <= enough)[2]


def _predicted(
    state: State, variance: Floats, blur: Floats, shares: Floats, counts: Booleans
) -> tuple[float, list[Planned]]:
    """The squared error in the block after stages of these precisions, and the stages with their weights.

    V <- 1/(1/V + 1/N) for the centre, which is off by `blur`; the answer has the weights of P21, in proportion to
    predicted precisions.
    """
    shrunk, outputs = blur / variance, []
    for share in shares:
        outputs.append(_output_variance(state, shrunk * variance, math.sqrt(share)))
        variance = 1 / (1 / variance + 1 / outputs[-1])
    if not counts.any():
        return float(variance.sum()), [Planned(math.sqrt(share), 0.0) for share in shares]
    weights = counts / np.sum(outputs, axis=1)
    weights /= weights.sum()
    error = float((np.sqrt(weights[:, None] / outputs).sum(axis=0) ** -2).sum())
    return error, [Planned(math.sqrt(p), float(weight)) for p, weight in zip(shares, weights, strict=True)]


def _output_variance(state: State, blur: Floats, mu: float) -> Floats:
    """N of a stage about a centre whose coordinates are off by `blur`, at the expected length of a record."""
    middle = np.sqrt(state.seen(state.stddev) ** 2 + blur)
    return np.asarray(middle * middle.sum() * (state.setting.moves / state.setting.count / mu) ** 2)
