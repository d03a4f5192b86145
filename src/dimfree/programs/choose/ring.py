"""The public choices of the way by the ring: whether it is taken, the core's share, the coordinates of the stages.

Sees no record. Letters: n = released or public number of records; P = precision of the branch; σ = learned standard
deviations; V = variance of the core's mean in each coordinate; N = that of one stage's output.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from dimfree._types import Floats
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.core import Size
from dimfree.programs.choose.stages import look_share


def few_for_columns(size: Size, dimension: int, mu: float) -> bool:
    """Whether records are few beside the root of the number of columns, but not too few for the ring."""
    return c.RING_LEAST <= size.count * size.rate * mu < c.RING_RULE * math.sqrt(dimension)


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
    ends, spread = np.cumsum(sizes), np.cumsum(levels * sizes)
    looks = np.array([look_share(rank) for rank in spread**2 / np.cumsum(levels**2 * sizes)])
    best = (math.inf, c.RING_CORE_SHARES[0], len(stddev))
    for share in c.RING_CORE_SHARES:
        core = moves**2 / (share * precision) * levels
        outside = float((core * sizes).sum()) - np.cumsum(core * sizes)
        left = precision * (1 - share - looks)
        inside = np.min([_stages_errors(core, levels, sizes, left, each, strength) for each in _ratios()], axis=0)
        k = int(np.argmin(inside + outside))
        best = min(best, (float(inside[k] + outside[k]), share, int(ends[k])))
    return CorePlan(*best[1:])


def _binned(ordered: Floats) -> tuple[Floats, Floats]:
    """(number of coordinates, mean σ) of consecutive groups, which grow with the rank."""
    edges = np.unique(np.round(np.geomspace(1, len(ordered) + 1, c.RING_BINS)).astype(int)) - 1
    sizes = np.diff(edges)
    return sizes.astype(np.float64), np.add.reduceat(ordered, edges[:-1]) / sizes


@cache
def _ratios() -> list[Floats]:
    """Shares of the precision that each stage has, (division, stage), for each number of stages."""
    parts = (
        np.array([ratio ** np.arange(count) for ratio in (c.STAGE_RATIOS if count > 1 else (1.0,))])
        for count in range(1, c.MOST_STAGES)
    )
    return [each / each.sum(axis=1, keepdims=True) for each in parts]


def _stages_errors(
    core: Floats, levels: Floats, sizes: Floats, left: Floats, ratios: Floats, strength: float
) -> Floats:
    """Σ of the answer's variances over each block, after stages of the best of these divisions of the precision left.

    V <- 1/(1/V + 1/N) for the centre. Axes: block, division, group; a block is all groups up to its own number.
    """
    members = np.tri(len(sizes))[:, None] * sizes
    variance, answer = np.broadcast_to(core, (len(sizes), len(ratios), len(sizes))), np.zeros(1)
    for ratio in ratios.T:
        middle = np.sqrt(levels**2 + variance)
        output = middle * (middle * members).sum(axis=2, keepdims=True)
        gained = (strength**2 * np.outer(left, ratio))[..., None] / output
        variance, answer = 1 / (1 / variance + gained), answer + gained
    return np.asarray((members / answer).sum(axis=2).min(axis=1))
