"""The variance of every coordinate: one noisy sum of clipped per-record scores (P10).

A record's score is the vector φ((x - c)²/(R·g²)), φ(u) = u up to 1 and 2√u - 1 beyond, clipped to norm C. Small
coordinates vanish in φ, so C pays only for those that matter. Sensitivity C; √2·C under replace-one, since scores are
non-negative. Proof: proofs/statistics/scores.md.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Neighbors
from dimfree.data.blocks import Columns, Mask, Rows, to_dense
from dimfree.data.gpu.rows import namespace, take_roots
from dimfree.kernel.rows.clip import BALL, squares, total_clipped
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Centered, for_columns

SCORE_SENSITIVITY = {Neighbors.ADD_REMOVE: 1.0, Neighbors.REPLACE_ONE: math.sqrt(2)}  # of a clipped sum (P10)
_PROBES, _MIN_PROBES = 256, 48  # records, at most and at least, for a good first unit
_PROBED = 2**20  # entries of theirs


def _become_phi(u: Any) -> Any:
    """Overwrite u by φ(u): u up to 1, then 2√u - 1; roots take long, and few entries need one."""
    if not isinstance(u, np.ndarray):  # on a device it is quicker to take all roots
        xp = namespace(u)
        slow = take_roots(xp.clip(u, 1, None))
        slow *= 2
        slow -= 1
        return xp.minimum(u, slow, out=slow)  # up to 1 `slow` is 1; beyond, 2√u - 1 <= u, also as rounded
    flat = u.ravel(order="K")  # a view
    large = np.flatnonzero(flat > 1)
    flat[large] = 2 * np.sqrt(flat[large]) - 1
    return u


def phi_inverse(v: Floats) -> Floats:
    return np.where(v <= 1, v, ((np.maximum(v, 1) + 1) / 2) ** 2)


@dataclass(frozen=True)
class Scoring(Centered):
    """Public: the center, the guessed standard deviations (`scale`, the g above), and the norm C of a score."""

    norm: float

    def scores(self, unit: float, values: Floats, columns: Columns, step: float = 1.0) -> Floats:
        """Return φ of squared offsets in units of R·g², in steps; one entry at a time."""
        with np.errstate(all="ignore"):
            squares = values - for_columns(self.center, values, columns)
            squares *= squares
            squares *= for_columns(1 / np.asarray(unit * np.square(self.scale)), values, columns)
            scores = _become_phi(squares)
            scores *= 1 / np.float64(step)
            return scores


def total_scores(space: Space, scoring: Scoring, unit: float) -> Integers:
    """Sum the clipped scores, in steps of norm / BALL. Private. Exact, in any order of blocks."""
    return space.sum_over(partial(_total_clipped, scoring.before(space.units), unit), space.dimension)


def _total_clipped(scoring: Scoring, unit: float, rows: Rows) -> Integers:
    return total_clipped(rows, scoring.norm, partial(scoring.scores, unit))


class ScoreLengths:
    """Private: the number of scores that are clipped at a unit. Records decided by other units are not scored again.
    A score shrinks as its unit grows, also as rounded: a score clipped at one unit is clipped at all smaller ones. An
    invalid record has the score 0."""

    def __init__(self, space: Space, scoring: Scoring) -> None:
        self.space, self.scoring = space, scoring.before(space.units)
        self._clipped = np.zeros(0)  # of each record the largest unit that clips its score, of the units so far
        self._whole = np.zeros(0)  # and the smallest that does not

    def clipped(self, unit: float) -> int:
        """Count the scores that are clipped at this unit."""
        if not len(self._clipped):
            self._decide(unit, None)
        elif (doubtful := (self._clipped < unit) & (unit < self._whole)).any():
            self._decide(unit, doubtful)
        return int(np.count_nonzero(unit <= self._clipped))

    def likely_unit(self, grid: Floats, share: float) -> float:
        """Return the unit at which this share of the first few records is clipped: a good first unit."""
        enough = min(_PROBES, max(_MIN_PROBES, _PROBED // self.space.dimension))
        rows: Rows = next(self.space.valid_blocks(), np.zeros((0, self.space.dimension)))[:enough]
        if self.space.units is not None and (self.space.units != 1).any():
            rows = to_dense(rows) * self.space.units  # as they were before, up to rounding
        low, high = 0, len(grid) - 1
        while high - low > 1:
            middle = (low + high) // 2
            scores = partial(self.scoring.scores, float(grid[middle]))
            outside = squares(rows, self.scoring.norm / BALL, scores) > float(BALL) ** 2
            many = outside.sum() > share * len(rows)
            low, high = (middle, high) if many else (low, middle)
        return float(grid[high])

    def _decide(self, unit: float, among: Mask | None) -> None:
        """Score these records, or all, at this unit."""
        step, scores = self.scoring.norm / BALL, partial(self.scoring.scores, unit)
        outside = (
            self.space.map_records(partial(squares, step=step, entrywise=scores), among) > float(BALL) ** 2
        )  # exact
        if among is None:
            self._clipped, self._whole = np.zeros(len(outside)), np.full(len(outside), math.inf)
            among = np.ones(len(outside), dtype=np.bool_)
        which = np.flatnonzero(among)
        self._clipped[which[outside]] = unit
        self._whole[which[~outside]] = unit
