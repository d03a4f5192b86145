"""How many pairs are friends at any radius: two bounds for every pair, exact decisions between them.

The predicate at radius u is the one of `friends`: integer records in steps of u / 2^20; a record off the grid has no
friends. Float bounds give for every pair a radius below which it is surely apart and one from which on it is surely a
pair of friends; between them it is decided in integers. So the decision is a symmetric function of the two records.
Proof: proofs/core/distances.md.

Memory: the table has space for a public number of records, and a thread works on one tile of public size at a time.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.core.friends import NEAR, within_radius
from dimfree.core.gpu_offsets import DeviceOffsets
from dimfree.core.products import Offsets, about, middle
from dimfree.data.blocks import Mask, Rows, densely, minus, peaks, width
from dimfree.data.gpu.rows import DeviceRows, Tensor, beside, here, namespace
from dimfree.data.threads import cores, in_order
from dimfree.geometry.grid import EDGE, RADIUS, are_on_grid, rows_to_steps, to_steps

_ROWS = 512  # of a tile of the table
_DEVICE_ROWS = 2048  # the same, on a GPU
_SCREENED = 64  # rows of a tile whose pairs are screened, or listed, at a time: small arrays beside the tile
_CELLS = 2**15  # entries of rows whose pairs are decided one by one
_DEVICE_CELLS = 2**22
_STEP_CELLS = 2**16  # entries of rows that are rounded to steps and multiplied
_CROWD = 256  # if more than one pair in so many is in doubt, multiplying all pairs is faster
_THREADS = 4  # each works on a tile; the products have threads of their own
_SPARE = 1 + 1e-6  # covers the rounding of the bounds themselves

Pairs = NDArray[np.intp]


@dataclass(frozen=True, repr=False)
class PairDistances:
    """Private: rows, and two radii of every pair: below the first no friends, from the second on friends."""

    rows: Rows
    invalid: int
    peaks: Floats  # the largest absolute value in each row
    centre: Floats  # a point that many rows are near, if there is one
    limits: Floats | Tensor  # (tile, which of the two radii, row, later row), where the rows are

    @classmethod
    def of(cls, rows: Rows, invalid: int, capacity: int = 0) -> "PairDistances":
        """Of finite rows; with space for `capacity` of them, or for more if there are more."""
        size = _DEVICE_ROWS if isinstance(rows, DeviceRows) else _ROWS
        space = len(_tiles(max(len(rows), capacity), size))
        limits, centre = _empty(rows, (space, 2, size, size)), middle(rows)
        table = cls(rows, invalid, peaks(rows), densely(centre)[0], limits)
        with np.errstate(all="ignore"):  # a warning could reveal records
            offsets = about(rows, np.arange(len(rows)), centre)
            fill = partial(table._fill, offsets, offsets.squares())
            for _ in in_order(fill, list(enumerate(table.tiles)), table._threads):
                pass  # a tile is filled by the thread that computes it
        return table

    @property
    def count(self) -> int:
        return len(self.rows) + self.invalid

    @property
    def tiles(self) -> list[tuple[slice, slice]]:
        return _tiles(len(self.rows), self.limits.shape[-1])

    def friend_pairs(self, radius: float) -> int:
        """Σ_j c_j at this radius: ordered pairs of friends, every record its own."""
        found = in_order(partial(self._friends_in, radius), list(enumerate(self.tiles)), self._threads)
        return self.count + 2 * sum(found)

    @property
    def _threads(self) -> int:
        return 1 if isinstance(self.rows, DeviceRows) else min(cores(), _THREADS)

    def _fill(
        self, offsets: Offsets | DeviceOffsets, squares: Floats, numbered: tuple[int, tuple[slice, slice]]
    ) -> None:
        """The two radii of the pairs of a tile; infinite where a row is not the earlier one of two."""
        place, (rows, columns) = numbered
        squared = _squared(offsets, squares, rows, columns)
        error = (self.rows.shape[1] + 100) * 2.0**-50 * squares  # of the float sums behind each row's part
        both = self.limits[place, :, : squared.shape[0], : squared.shape[1]]
        for start in range(0, len(squared), _SCREENED):
            some = slice(start, start + _SCREENED)
            doubt, peak = (beside(squared, each[columns]) for each in (error, self.peaks))
            doubt = beside(squared, error[rows][some, None]) + doubt
            peak = namespace(squared).maximum(beside(squared, self.peaks[rows][some, None]), peak)
            self._screen(squared[some], doubt, peak, both[:, some])
        if rows == columns:
            both[:, beside(squared, np.tri(len(squared), dtype=np.bool_))] = math.inf

    def _screen(
        self, squared: Floats | Tensor, doubt: Floats | Tensor, peak: Floats | Tensor, both: Floats | Tensor
    ) -> None:
        """From squared distances, how far they may be off, and the larger peak of each pair; overwrites all."""
        xp = namespace(squared)
        unknown = ~xp.isfinite(squared)  # overflow: no bound for such a pair
        squared[unknown], doubt[unknown] = 0.0, math.inf
        least, most = squared - doubt, squared
        most += doubt
        xp.sqrt(xp.clip(least, 0.0, math.inf, out=least), out=least)
        xp.sqrt(most, out=most)
        blur = math.sqrt(self.rows.shape[1]) * 2.0**-52 * _SPARE * peak  # of quotients by the step, but for their rint
        least -= blur
        most += blur
        peak *= RADIUS / EDGE  # the grid reaches both from this radius on
        xp.maximum(least, peak, out=both[0])
        xp.maximum(most, peak, out=both[1])

    def _friends_in(self, radius: float, numbered: tuple[int, tuple[slice, slice]]) -> int:
        """How many pairs of a tile are friends."""
        place, (rows, columns) = numbered
        height, across = rows.stop - rows.start, columns.stop - columns.start
        blur = math.sqrt(self.rows.shape[1]) / RADIUS * _SPARE  # of rint, in radii
        surely = self.limits[place, 1, :height, :across] <= radius * (1 - blur)
        perhaps = self.limits[place, 0, :height, :across] <= radius * (1 + blur)
        sure, doubts = _count(surely), _count(perhaps) - _count(surely)  # sure pairs are among the possible ones
        if not doubts:
            return sure
        perhaps ^= surely
        doubtful = perhaps if isinstance(perhaps, np.ndarray) else here(perhaps)
        return sure + self._decided(doubtful, doubts, rows, columns, radius / RADIUS)

    def _decided(self, perhaps: Mask, doubts: int, rows: slice, columns: slice, step: float) -> int:
        """How many of the doubtful pairs of a tile are friends, in integers."""
        friends = 0
        there = are_on_grid(self.peaks, step)
        perhaps &= there[rows, None] & there[columns]
        if isinstance(self.rows, np.ndarray) and _CROWD * doubts > perhaps.size:
            near, within = _by_products(self.rows, self.centre, rows, columns, step)
            friends = int(np.count_nonzero(within & near & perhaps))
            perhaps &= ~near
        for start in range(0, len(perhaps), _SCREENED):
            left, right = np.nonzero(perhaps[start : start + _SCREENED])
            left += rows.start + start
            right += columns.start
            friends += self._one_by_one(left, right, step)
        return friends

    def _one_by_one(self, left: Pairs, right: Pairs, step: float) -> int:
        cells = _DEVICE_CELLS if isinstance(self.rows, DeviceRows) else _CELLS
        chunk, friends = max(1, cells // width(self.rows)), 0
        for start in range(0, len(left), chunk):
            pair = (rows_to_steps(self.rows[ends[start : start + chunk]], step) for ends in (left, right))
            friends += int(within_radius(minus(next(pair), next(pair))).sum())
        return friends


def _tiles(count: int, size: int) -> list[tuple[slice, slice]]:
    """Consecutive rows against the same and against all later ones."""
    parts = [slice(start, min(start + size, count)) for start in range(0, count, size)]
    return [(rows, columns) for place, rows in enumerate(parts) for columns in parts[place:]]


def _count(marked: Mask | Tensor) -> int:
    return int(np.count_nonzero(marked)) if isinstance(marked, np.ndarray) else int(marked.sum())


def _empty(rows: Rows, shape: tuple[int, ...]) -> Floats | Tensor:
    if isinstance(rows, DeviceRows):
        torch = namespace(rows.tensor)
        return torch.empty(shape, dtype=torch.float64, device=rows.tensor.device)
    return np.empty(shape)


def _squared(offsets: Offsets | DeviceOffsets, squares: Floats, rows: slice, columns: slice) -> Floats | Tensor:
    """Squared distances of a tile, by float sums; as a fresh array, where the rows are."""
    if isinstance(offsets, DeviceOffsets):
        return offsets.squared_distances(squares, rows, columns)
    squared = offsets.products(np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop))
    squared *= -2
    squared += squares[rows, None]
    squared += squares[columns]
    return squared


def _by_products(table: Floats, about: Floats, rows: slice, columns: slice, step: float) -> tuple[Mask, Mask]:
    """Of the pairs of a tile: which have two records near the centre, and which of those are friends.

    By the exact products of `friends` about the centre in whole steps; where not both are near it says nothing.
    """
    centre = to_steps(about, step)
    products = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
    left_squares, right_squares = np.zeros(products.shape[0]), np.zeros(products.shape[1])
    across = max(1, _STEP_CELLS // max(products.shape))
    for start in range(0, len(centre), across):
        block = slice(start, start + across)
        left = _in_steps(table[rows, block], step, centre[block])
        right = left if rows == columns else _in_steps(table[columns, block], step, centre[block])
        products += left @ right.T
        left_squares += np.einsum("ij,ij->i", left, left)
        right_squares += np.einsum("ij,ij->i", right, right)
    near = (left_squares <= NEAR**2 * (1 - 1e-6))[:, None] & (right_squares <= NEAR**2 * (1 - 1e-6))
    products *= 2
    products -= left_squares[:, None]
    return near, products >= right_squares - float(RADIUS) ** 2


def _in_steps(rows: Floats, step: float, centre: NDArray[np.int64]) -> Floats:
    """Rows in whole steps about a centre, as floats."""
    return (to_steps(rows, step) - centre).astype(np.float64)
