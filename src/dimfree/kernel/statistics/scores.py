"""The variance of every coordinate: one noisy sum of clipped per-record scores (P10).

A record's score is the vector φ((x - c)²/(R·g²)), φ(u) = u up to 1 and 2√u - 1 beyond, clipped to norm C. Small
coordinates vanish in φ, so C pays only for those that matter. Sensitivity C; √2·C under replace-one, since scores are
non-negative.

How many scores are clipped at any unit R follows from the lengths at one unit for most records: a score shrinks as its
unit grows, by the ratio of the units at most and by its root at least, since φ is concave and φ(u)/√u grows. Where
rounding to whole steps could change the decision, the record is scored again, so that the counts equal those of scoring
every record. Proof: proofs/statistics/scores.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Neighbours
from dimfree.data.blocks import Columns, Entrywise, Mask, Rows, densely
from dimfree.data.gpu.rows import Tensor, namespace, rooted
from dimfree.kernel.rows.clip import BALL, are_outside, clipped_total, squares
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Centred

SCORE_SENSITIVITY = {Neighbours.ADD_REMOVE: 1.0, Neighbours.REPLACE_ONE: math.sqrt(2)}  # of a clipped sum (P10)
_SOUND = (1e-250, 1e250)  # of R·g² and g²: no quotient of a square is spoilt by the ends of the floats
_SOUND_NORMS = (1e-12, 1e9)
_LARGEST_BLUR = 0.01
_UNHELD = 2.0**44  # of a squared length: below it no coordinate was at the cap of `clip`, whose square this is
_PROBES, _FEWEST_PROBES = 256, 48  # records, at most and at least, for a good first unit
_PROBED = 2**20  # entries of theirs


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
    """Public: the center, the guessed standard deviations (`scale`, the g above), and the norm C of a score."""

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


def total_scores(space: Space, scoring: Scoring, unit: float) -> Integers:
    """The sum of clipped scores, in steps of norm / BALL. Private. Exact, in any order of blocks."""
    return space.summed(partial(_clipped_total, scoring.before(space.units), unit), space.dimension)


def _clipped_total(scoring: Scoring, unit: float, rows: Rows) -> Integers:
    return clipped_total(rows, scoring.norm, partial(scoring.scores, unit))


@dataclass(repr=False)
class ScoreLengths:
    """Private: for every record the units up to which its score is surely clipped, and from which it is not.

    An invalid record has the score 0.
    """

    space: Space
    norm: float
    scores: Callable[[float], Entrywise]  # of a unit
    blur: float = math.inf  # by how much a length over C may be off; infinite: only what was looked at is known
    _until: Floats = field(default_factory=lambda: np.zeros(0))
    _from: Floats = field(default_factory=lambda: np.zeros(0))
    _looked: bool = False

    def clipped(self, unit: float) -> int:
        """How many scores are clipped at this unit."""
        if not self._looked:
            self.look(unit)
        doubtful = (self._until < unit) & (unit < self._from)
        if doubtful.any():
            self._learn(np.flatnonzero(doubtful), unit, self._squares(unit, doubtful))
        return int(np.count_nonzero(unit <= self._until))

    def look(self, unit: float) -> None:
        """Scores every record at this unit."""
        found = self._squares(unit, None)
        self._until, self._from, self._looked = np.zeros(len(found)), np.full(len(found), math.inf), True
        self._learn(np.arange(len(found)), unit, found)

    def likely_unit(self, grid: Floats, share: float) -> float:
        """The unit at which this share of the first few records is clipped: a good unit for `look`."""
        enough = min(_PROBES, max(_FEWEST_PROBES, _PROBED // self.space.dimension))
        rows: Rows = next(self.space.valid_blocks(), np.zeros((0, self.space.dimension)))[:enough]
        if self.space.units is not None and (self.space.units != 1).any():
            rows = densely(rows) * self.space.units  # as they were before, up to rounding
        low, high = 0, len(grid) - 1
        while high - low > 1:
            middle = (low + high) // 2
            many = are_outside(rows, self.norm, self.scores(float(grid[middle]))).sum() > share * len(rows)
            low, high = (middle, high) if many else (low, middle)
        return float(grid[high])

    def _squares(self, unit: float, among: Mask | None) -> Floats:
        """Squared lengths in steps of norm / BALL."""
        return self.space.listed(partial(squares, step=self.norm / BALL, entrywise=self.scores(unit)), among)

    def _learn(self, which: NDArray[np.intp], unit: float, found: Floats) -> None:
        """Updates the bounds of these records by their squared lengths at this unit."""
        outside = found > float(BALL) ** 2  # exact
        low, high = self._bounds(found)
        until, beyond = unit * np.minimum(low, low**2), unit * np.maximum(high, high**2)
        until[outside] = np.maximum(until[outside], unit)
        beyond[~outside] = np.minimum(beyond[~outside], unit)
        self._until[which] = np.maximum(self._until[which], until)
        self._from[which] = np.minimum(self._from[which], beyond)

    def _bounds(self, found: Floats) -> tuple[Floats, Floats]:
        """Factors: divided by less than the first a length is surely above C, by more than the second surely below."""
        if self.blur > _LARGEST_BLUR:
            return np.zeros(len(found)), np.full(len(found), math.inf)
        lengths = np.sqrt(found) / BALL
        low = np.maximum((lengths - self.blur) / (1 + self.blur), 0.0)
        return low, np.where(found < _UNHELD, (lengths + self.blur) / (1 - self.blur), math.inf)


def blur(guess: Floats | float, norm: float, grid: Floats, dimension: int) -> float:
    """How far two lengths over C may be off by rounding to steps; infinite near the ends of the floats. Public.

    A coordinate of infinite guess scores 0 at every unit, and spoils nothing.
    """
    with np.errstate(all="ignore"):
        squared = np.square(np.ravel(guess)[~np.isinf(np.ravel(guess))])
        ends = np.concatenate([np.ravel(factor * squared) for factor in (1.0, grid.min(), grid.max())])
    sound = ((_SOUND[0] <= ends) & (ends <= _SOUND[1])).all() and _SOUND_NORMS[0] <= norm <= _SOUND_NORMS[1]
    return math.sqrt(dimension) / BALL + 1e-9 if sound else math.inf  # half a step a coordinate, twice


def lengths_of(space: Space, scoring: Scoring, grid: Floats | None = None) -> ScoreLengths:
    """Private: the lengths of scores; with a grid of units, one length bounds the others."""
    scoring = scoring.before(space.units)
    off = math.inf if grid is None else blur(scoring.scale, scoring.norm, grid, space.dimension)
    return ScoreLengths(space, scoring.norm, lambda unit: partial(scoring.scores, unit), off)
