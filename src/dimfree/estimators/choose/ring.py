"""The public choices of the way by the ring: whether it is taken, the core's share, the coordinates of the stages.

Sees no record. Letters: n = released or public number of records; P = precision of the branch; σ = learned standard
deviations; V = variance of the core's mean in each coordinate; N = that of one stage's output.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.estimators.choose.constants import (
    MOST_STAGES,
    RING_BINS,
    RING_CORE_SHARES,
    RING_LEAST,
    RING_RULE,
    STAGE_RATIOS,
)
from dimfree.estimators.choose.core import Size
from dimfree.estimators.choose.stages import look_share


def few_for_columns(size: Size, dimension: int, mu: float) -> bool:
    """Whether records are few beside the root of the number of columns, but not too few for the ring."""
    return RING_LEAST <= size.count * size.rate * mu < RING_RULE * math.sqrt(dimension)


@dataclass(frozen=True)
class CorePlan:
    """Share of P for the core's mean, and how many of the largest coordinates the stages work on."""

    share: float
    block: int

    def largest(self, stddev: Floats) -> np.ndarray | None:
        """The coordinates of the stages, fixed before the core is drawn; None: all."""
        if self.block == len(stddev):
            return None
        return np.sort(np.argsort(-stddev, kind="stable")[: self.block])


def plan_core(moves: float, stddev: Floats, precision: float, strength: float) -> CorePlan:
    """What is predicted to leave the least error: the core alone outside the block, stages inside it.

    `moves`: of the core's mean, in the shape of σ. `strength`: n over what one neighbour moves a clipped sum by.
    """
    sizes, levels = _binned(np.sort(stddev)[::-1])
    ends = np.cumsum(sizes)
    best = (math.inf, RING_CORE_SHARES[0], len(stddev))
    for share in RING_CORE_SHARES:
        core = moves**2 / (share * precision) * levels
        outside = float((core * sizes).sum()) - np.cumsum(core * sizes)
        for k in range(1, len(sizes) + 1):
            left = precision * (1 - share - look_share(_rank(levels[:k], sizes[:k])))
            for parts in _divisions(left):
                inside = _stages_error(core[:k], levels[:k], sizes[:k], parts, strength)
                best = min(best, (inside + float(outside[k - 1]), share, int(ends[k - 1])))
    return CorePlan(*best[1:])


def _binned(ordered: Floats) -> tuple[Floats, Floats]:
    """(number of coordinates, mean σ) of consecutive groups, which grow with the rank."""
    edges = np.unique(np.round(np.geomspace(1, len(ordered) + 1, RING_BINS)).astype(int)) - 1
    sizes = np.diff(edges)
    return sizes.astype(np.float64), np.add.reduceat(ordered, edges[:-1]) / sizes


def _rank(levels: Floats, sizes: Floats) -> float:
    return float((levels * sizes).sum() ** 2 / (levels**2 * sizes).sum())


def _divisions(left: float) -> Iterator[Floats]:
    for count in range(1, MOST_STAGES):
        for ratio in STAGE_RATIOS if count > 1 else (1.0,):
            parts = ratio ** np.arange(count)
            yield left * parts / parts.sum()


def _stages_error(variance: Floats, levels: Floats, sizes: Floats, parts: Floats, strength: float) -> float:
    """Σ of the answer's variances over a block, after stages of these precisions; V <- 1/(1/V + 1/N) for the centre."""
    answer = np.zeros_like(variance)
    for part in parts:
        middle = np.sqrt(levels**2 + variance)
        output = middle * float((middle * sizes).sum()) / (strength**2 * part)
        variance, answer = 1 / (1 / variance + 1 / output), answer + 1 / output
    return float((sizes / answer).sum())
