"""How many scores are clipped at any unit R, from the lengths at one unit: few records are scored again.

A score shrinks as its unit grows, by the ratio of the units at most and by its root at least: φ is concave, and φ(u)/√u
grows. So the length at one unit says of most other units whether it is within the norm C; where rounding to
whole steps could change that, the record is scored again. The counts equal those of scoring every record. Private.
Proof: proofs/statistics/scores.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.data.blocks import Entrywise, Mask, Rows, densely
from dimfree.kernel.rows.clip import BALL, are_outside, squares
from dimfree.kernel.rows.space import Space

_SOUND = (1e-250, 1e250)  # of R·g² and g²: no quotient of a square is spoilt by the ends of the floats
_SOUND_NORMS = (1e-12, 1e9)
_LARGEST_BLUR = 0.01
_UNHELD = 2.0**44  # of a squared length: below it no coordinate was held at the cap of `clip`, whose square this is
_PROBES, _FEWEST_PROBES, _PROBED = (
    256,
    48,
    2**20,
)  # records, at most and at least, and entries of theirs, for a good first unit

Places = NDArray[np.intp]


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
        nobody: Rows = np.zeros((0, self.space.dimension))
        enough = min(_PROBES, max(_FEWEST_PROBES, _PROBED // self.space.dimension))
        rows = next(self.space.valid_blocks(), nobody)[:enough]
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

    def _learn(self, which: Places, unit: float, found: Floats) -> None:
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
    sound = _within(ends, _SOUND) and _within(np.array([norm]), _SOUND_NORMS)
    return math.sqrt(dimension) / BALL + 1e-9 if sound else math.inf  # half a step a coordinate, twice


def _within(values: Floats, window: tuple[float, float]) -> bool:
    return bool(((window[0] <= values) & (values <= window[1])).all())
