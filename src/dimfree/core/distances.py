"""How many pairs are friends at any radius: one table of approximate distances, exact decisions.

The predicate at radius u is the one of `friends`: whole-number records in steps of u / 2^20; a record off the grid is
nobody's friend. A float table screens the pairs; those that its error or the rounding to steps could turn are decided
in integers. So each pair's part of the count is a symmetric function of two records. Proof: proofs/core/distances.md.
"""

import math
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dimfree.core.device_offsets import DeviceOffsets
from dimfree.core.friends import NEAR, within_radius
from dimfree.core.products import DenseOffsets, Offsets, about, middle
from dimfree.device_rows import DeviceRows, Tensor, here
from dimfree.grid import EDGE, RADIUS, rows_to_steps, to_steps
from dimfree.rows import Floats, Integers, Mask, Rows, SparseRows, densely, minus, width
from dimfree.threads import cores, in_order

_CELLS = 2**22
_ROWS = 512  # tile of the table
_CROWD = 256  # where more than one pair in so many is in doubt, all are multiplied faster
_THREADS = 4  # each holds a strip of it; the products have threads of their own

Pairs = NDArray[np.intp]


@dataclass(frozen=True, repr=False)
class PairDistances:
    """Private: rows, and bounds on the squared distance of every pair, the first row's pairs first."""

    rows: Rows
    invalid: int
    peaks: Floats  # the largest absolute value in each row
    least: Floats | Tensor  # where the rows are
    most: Floats | Tensor

    @classmethod
    def of(cls, rows: Rows, invalid: int) -> "PairDistances":
        with np.errstate(all="ignore"):  # a warning would speak of records
            offsets = about(rows, np.arange(len(rows)), middle(rows))
            squares = offsets.squares()
            error = (rows.shape[1] + 100) * 2.0**-50 * squares  # of the float sums behind each row's part
            if isinstance(offsets, DeviceOffsets):
                return cls(rows, invalid, _peaks(rows), *offsets.bounds(squares, error))
            least, most = _bounds(offsets, squares, error)
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
        return self.count + 2 * (_count(surely) + self._decided(_where(perhaps), step))

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
        if isinstance(self.rows, np.ndarray) and _CROWD * len(doubtful) > len(self.least):
            friends, doubtful = self._by_products(self.rows, doubtful, step)
            return friends + self._one_by_one(doubtful, step)
        return self._one_by_one(doubtful, step)

    def _one_by_one(self, doubtful: Pairs, step: float) -> int:
        chunk, friends = max(1, _CELLS // width(self.rows)), 0
        for start in range(0, len(doubtful), chunk):
            left, right = self.ends(doubtful[start : start + chunk])
            offsets = minus(rows_to_steps(self.rows[left], step), rows_to_steps(self.rows[right], step))
            friends += int(within_radius(offsets).sum())
        return friends

    def _by_products(self, rows: Floats, doubtful: Pairs, step: float) -> tuple[int, Pairs]:
        """How many pairs of two records near the middle are friends, by the exact products of `friends`; the others."""
        centre = to_steps(densely(middle(rows))[0], step)
        offsets = StepOffsets(rows, np.arange(len(rows)), centre, step)
        squares = offsets.squares()
        strips = np.searchsorted(doubtful, [*self._begins()[::_ROWS], len(self.least)])
        decide = partial(_decided_in_strip, self, offsets, squares)
        work = [doubtful[first:last] for first, last in pairwise(strips) if last > first]
        found = list(in_order(decide, work, min(cores(), _THREADS)))
        return sum(friends for friends, _ in found), np.concatenate([doubtful[:0], *(left for _, left in found)])


def _decided_in_strip(table: PairDistances, offsets: Offsets, squares: Floats, pairs: Pairs) -> tuple[int, Pairs]:
    """Of some pairs whose first rows are of one tile: how many are friends, and the pairs that are not both near."""
    left, right = table.ends(pairs)
    near = np.maximum(squares[left], squares[right]) <= NEAR**2 * (1 - 1e-6)
    start, friends = int(left[0]) // _ROWS * _ROWS, 0
    rows = np.arange(start, min(start + _ROWS, len(squares)))
    for first in range(start, len(squares), _ROWS):
        some = near & (right >= first) & (right < first + _ROWS)
        if some.any():
            products = offsets.products(rows, np.arange(first, min(first + _ROWS, len(squares))))
            i, j = left[some], right[some]
            friends += int((2 * products[i - start, j - first] - squares[i] >= squares[j] - float(RADIUS) ** 2).sum())
    return friends, pairs[~near]


@dataclass(frozen=True, repr=False)
class StepOffsets(DenseOffsets):
    """Private: of rows in whole steps, which are rounded block by block as they are needed."""

    step: float

    def _offsets(self, rows: Integers | slice, block: slice) -> Floats:
        return (to_steps(self.records[self.which[rows], block], self.step) - self.centre[block]).astype(np.float64)


def _count(marked: Mask | Tensor) -> int:
    return int(np.count_nonzero(marked)) if isinstance(marked, np.ndarray) else int(marked.sum())


def _where(marked: Mask | Tensor) -> Pairs:
    return np.flatnonzero(marked) if isinstance(marked, np.ndarray) else here(marked.nonzero()[:, 0])


def _peaks(rows: Rows) -> Floats:
    if isinstance(rows, SparseRows | DeviceRows):
        return rows.peaks()
    return np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))


def _bounds(offsets: Offsets, squares: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Of the squared distance of every pair, at least and at most."""
    count = len(squares)
    pairs = count * (count - 1) // 2
    bounds = np.empty(pairs), np.empty(pairs)
    strips = range(0, count, _ROWS)
    for _ in in_order(partial(_fill, bounds, offsets, squares, error), strips, min(cores(), _THREADS)):
        pass  # a strip is filled where it is computed: none waits for its turn
    return bounds


def _fill(bounds: tuple[Floats, Floats], offsets: Offsets, squares: Floats, error: Floats, start: int) -> None:
    """The pairs of a tile's rows with later rows."""
    least, most = bounds
    squared, doubt = _screened(offsets, squares, error, start)
    done = start * len(squares) - start * (start + 1) // 2
    for row in range(len(squared)):
        span = slice(done, done + squared.shape[1] - row - 1)
        np.subtract(squared[row, row + 1 :], doubt[row, row + 1 :], out=least[span])
        np.add(squared[row, row + 1 :], doubt[row, row + 1 :], out=most[span])
        done = span.stop


def _screened(offsets: Offsets, squares: Floats, error: Floats, start: int) -> tuple[Floats, Floats]:
    """Squared distances of a tile's rows to their own and all later rows, and how far they may be off."""
    rows = np.arange(start, min(start + _ROWS, len(squares)))
    later = np.arange(start, len(squares))
    squared, doubt = squares[rows, None] + squares[later], error[rows, None] + error[later]
    for first in range(0, len(later), _ROWS):
        products = offsets.products(rows, later[first : first + _ROWS])
        products *= 2
        squared[:, first : first + _ROWS] -= products
    doubt[~np.isfinite(squared)] = np.inf  # out of range: the table says nothing of such a pair
    squared[np.isinf(doubt)] = 0.0
    return squared, doubt
