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
from dimfree.accounting.budget import Neighbours
from dimfree.data.blocks import Columns, Rows
from dimfree.data.gpu.rows import Tensor, namespace, rooted
from dimfree.kernel.rows.clip import clipped_total
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.centred import Centred
from dimfree.kernel.statistics.score_lengths import ScoreLengths, blur

SCORE_SENSITIVITY = {
    Neighbours.ADD_REMOVE: 1.0,
    Neighbours.REPLACE_ONE: math.sqrt(2),
}  # of a clipped sum (P10)


def phi(u: Floats) -> Floats:
    """u up to 1, then 2√u - 1: one extreme coordinate does not take the whole norm."""
    return _become_phi(np.array(u, dtype=np.float64))


def _become_phi(u: Any) -> Any:
    """φ of fresh memory, which it overwrites; roots take long, and few entries need one."""
    if not isinstance(u, np.ndarray):
        return _phi_there(u)
    flat = u.ravel(order="K")  # a view
    large = np.flatnonzero(flat > 1)
    flat[large] = 2 * np.sqrt(flat[large]) - 1
    return u


def _phi_there(u: Tensor) -> Tensor:
    """The same on a device, where it is quicker to take all roots."""
    xp = namespace(u)
    slow = rooted(xp.clip(u, 1, None))
    slow *= 2
    slow -= 1
    return xp.minimum(u, slow, out=slow)  # up to 1 `slow` is 1; beyond, 2√u - 1 <= u, also as rounded


def phi_inverse(v: Floats) -> Floats:
    return np.where(v <= 1, v, ((np.maximum(v, 1) + 1) / 2) ** 2)


@dataclass(frozen=True)
class Scoring(Centred):
    """Public: the centre, the guessed standard deviations (`scale`, the g above), and the norm C of a score."""

    norm: float

    def scores(self, unit: float, values: Floats, columns: Columns, step: float = 1.0) -> Floats:
        """φ of squared offsets in units of R·g², in steps; one entry at a time."""
        with np.errstate(all="ignore"):
            squares = values - self.per_column("centre", 1.0, lambda: self.centre).beside(values, columns)
            squares *= squares
            per_unit = self.per_column("unit", unit, lambda: 1 / np.asarray(unit * np.square(self.scale)))
            squares *= per_unit.beside(values, columns)
            scores = _become_phi(squares)
            scores *= 1 / np.float64(step)
            return scores


def lengths_of(space: Space, scoring: Scoring, grid: Floats | None = None) -> ScoreLengths:
    """Private: the lengths of scores; with a grid of units, what a length at one of them says of the others."""
    scoring = scoring.before(space.units)
    off = math.inf if grid is None else blur(scoring.scale, scoring.norm, grid, space.dimension)
    return ScoreLengths(space, scoring.norm, lambda unit: partial(scoring.scores, unit), off)


def total_scores(space: Space, scoring: Scoring, unit: float) -> Integers:
    """The sum of clipped scores, in steps of norm / BALL. Private. Exact, in any order of blocks."""
    return space.summed(partial(_clipped_total, scoring.before(space.units), unit), space.dimension)


def _clipped_total(scoring: Scoring, unit: float, rows: Rows) -> Integers:
    return clipped_total(rows, scoring.norm, partial(scoring.scores, unit))
