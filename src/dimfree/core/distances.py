"""How many pairs are friends at any radius: one table of approximate distances, exact decisions.

The predicate at radius u is the one of `friends`: whole-number records in steps of u / 2^20; a record off the grid is
nobody's friend. A float table screens the pairs; those that its error or the rounding to steps could turn are decided
in integers. So each pair's part of the count is a symmetric function of two records. Proof: proofs/core/distances.md.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree.core.friends import within_radius
from dimfree.core.products import Offsets, about, middle
from dimfree.grid import EDGE, RADIUS, rows_to_steps
from dimfree.rows import Floats, Rows, SparseRows, minus, width

_CELLS = 2**22
_ROWS = 512  # tile of the table

Pairs = NDArray[np.intp]


@dataclass(frozen=True, repr=False)
class PairDistances:
    """Private: rows, and bounds on the squared distance of every pair, the first row's pairs first."""

    rows: Rows
    invalid: int
    peaks: Floats  # the largest absolute value in each row
    least: Floats
    most: Floats

    @classmethod
    def of(cls, rows: Rows, invalid: int) -> "PairDistances":
        count, filled = len(rows), 0
        least, most = np.empty((2, count * (count - 1) // 2))
        with np.errstate(all="ignore"):  # a warning would speak of records
            offsets = about(rows, np.arange(count), middle(rows))
            squares = offsets.squares()
            error = (rows.shape[1] + 100) * 2.0**-50 * squares  # of the float sums behind each row's part
            for start in range(0, count, _ROWS):
                squared, doubt = _screened(offsets, squares, error, start)
                upper = np.arange(start, count) > np.arange(start, start + len(squared))[:, None]
                span = slice(filled, filled + int(np.count_nonzero(upper)))
                least[span], most[span] = (squared - doubt)[upper], (squared + doubt)[upper]
                filled = span.stop
        return cls(rows, invalid, _peaks(rows), least, most)

    @property
    def count(self) -> int:
        return len(self.rows) + self.invalid

    def friend_pairs(self, radius: float) -> int:
        """Σ_j c_j at this radius: ordered pairs of friends, every record its own."""
        step = radius / RADIUS
        beyond = self.peaks >= EDGE / 2 * step  # off the grid: nobody's friends
        largest = float(self.peaks[~beyond].max(initial=0.0))
        blur = math.sqrt(self.rows.shape[1]) * (step + 2.0**-52 * largest) * (1 + 1e-6)  # of quotients and their rint
        surely = self.most <= max(0.0, radius - blur) ** 2
        perhaps = (self.least <= (radius + blur) ** 2) & ~surely
        for row in np.flatnonzero(beyond):  # one by one: whether there are any must not show in the memory taken
            for places in self._places(int(row)):
                surely[places] = perhaps[places] = False
        return self.count + 2 * (int(np.count_nonzero(surely)) + self._decided(np.flatnonzero(perhaps), step))

    def ends(self, pairs: Pairs) -> tuple[Pairs, Pairs]:
        """The two rows of each pair, by its place in the table."""
        begins = self._begins()
        left = np.searchsorted(begins, pairs, side="right") - 1
        return left, pairs - begins[left] + left + 1

    def _places(self, row: int) -> tuple[Pairs, slice]:
        """Where the table keeps a row's pairs with earlier and with later rows."""
        begins, earlier = self._begins(), np.arange(row)
        return begins[:row] + row - earlier - 1, slice(begins[row], begins[row] + len(self.rows) - 1 - row)

    def _begins(self) -> Pairs:
        """The place of each row's first pair with a later one."""
        later = np.arange(len(self.rows))[::-1]
        return np.cumsum(later) - later

    def _decided(self, doubtful: Pairs, step: float) -> int:
        """How many of the doubtful pairs are friends, in integers."""
        chunk, friends = max(1, _CELLS // width(self.rows)), 0
        for start in range(0, len(doubtful), chunk):
            left, right = self.ends(doubtful[start : start + chunk])
            offsets = minus(rows_to_steps(self.rows[left], step), rows_to_steps(self.rows[right], step))
            friends += int(within_radius(offsets).sum())
        return friends


def _peaks(rows: Rows) -> Floats:
    if isinstance(rows, SparseRows):
        return rows.peaks()
    return np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))


def _screened(offsets: Offsets, squares: Floats, error: Floats, start: int) -> tuple[Floats, Floats]:
    """Squared distances of a tile's rows to their own and all later rows, and how far they may be off."""
    rows = np.arange(start, min(start + _ROWS, len(squares)))
    later = np.arange(start, len(squares))
    tiles = [offsets.products(rows, later[k : k + _ROWS]) for k in range(0, len(later), _ROWS)]
    squared = squares[rows, None] + squares[later] - 2 * np.concatenate(tiles, axis=1)
    doubt = error[rows, None] + error[later]
    doubt[~np.isfinite(squared)] = np.inf  # out of range: the table says nothing of such a pair
    squared[np.isinf(doubt)] = 0.0
    return squared, doubt
