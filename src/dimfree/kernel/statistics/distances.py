"""Friends at any radius: one product for all radii, exact decisions if its error leaves a pair in doubt.

Squared distances in floats, with a bound on their error, show most pairs to be surely friends or surely apart; the
others are decided in integers. So the decision is a symmetric function of the two records. The table has space for a
public number of records, and a thread works on tiles of public size. Proof: proofs/statistics/friends.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.data.blocks import IntegerRows, Mask, Rows, Table, gather_rows, peaks, to_dense, width
from dimfree.data.gpu.rows import DeviceRows, Tensor, copy_to_device_of, fetch_array, namespace
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.friends import (
    RADIUS,
    SMALL,
    DenseOffsets,
    Offsets,
    about,
    are_on_grid,
    as_slice,
    by_products,
    float32_is_whole,
    middle,
    overwrite_with_steps,
    partners_are_friends,
    rows_to_steps,
)
from dimfree.progress import during
from dimfree.threads import cores, in_order

_ROWS = 512  # of a tile of the table
_DEVICE_ROWS = 2048  # the same, on a GPU
_LISTED = 64  # rows of a tile whose pairs are listed at a time, if these are many: small arrays next to the tile
_CELLS = 2**15  # entries of rows whose pairs are decided one by one
_DEVICE_CELLS = 2**22
_CROWD = 256  # if more than one pair in so many is in doubt, multiplying all pairs is faster
_ACROSS = 16  # times sqrt(d): coordinates in one product of 32 bits; its error is then half of that of `rint`
_MAX_ACROSS = 2**14  # of them: the error of a longer sum would exceed the reserve in `errors`
_SIDE_BY_SIDE = 8  # tiles of the same rows that are multiplied at once: few large products are faster than many
_THREADS = 4  # each works on a tile, or on so many; the products have threads of their own
_FEW_TILES = 48  # for which one thread is faster: half a millisecond each, in steps for which threads wait in turn
_SPARE = 1 + 1e-6  # covers the rounding of the bounds themselves
_KEPT_FREE = 2**25  # bytes: enough for what a tile with a crowd of doubts needs
_LARGEST = 1e300  # a larger square is not used: sums of two might overflow

Pairs = NDArray[np.intp]
Result = TypeVar("Result")
Tile = tuple[int, tuple[slice, slice]]  # its place in the table, its rows, its columns


@dataclass(frozen=True, repr=False)
class PairDistances:
    """Private: rows, and the squared distance of every pair, up to an error that is bounded by the pair itself."""

    rows: Rows
    invalid: int
    peaks: Floats  # the largest absolute value in each row
    center: Table  # one row: a point that many rows are near, if there is one
    squares: Floats  # of the rows about the center; not a number where too large
    squared: Floats | Tensor  # (tile, row, later row), where the rows are
    errors: Floats  # of each tile: at most so large a share of the squares of the two rows
    extremes: Floats  # (tile, 2): its least and its largest squared distance

    @classmethod
    def of(cls, rows: Rows, invalid: int, capacity: int = 0) -> "PairDistances":
        """Compute the distances of finite rows, with memory for `capacity` of them, or for more if there are more."""
        size = _DEVICE_ROWS if isinstance(rows, DeviceRows) else _ROWS
        space, center = len(_tiles(max(len(rows), capacity), size)), middle(rows)
        with np.errstate(all="ignore"):  # a warning could reveal records
            offsets = about(rows, center)
            squares = offsets.squares()
            squares[~(squares < _LARGEST)] = math.nan
            errors, squared = np.full(space, _float64_error(rows.shape[1])), _zeros(rows, (space, size, size))
            table = cls(rows, invalid, peaks(rows), center, squares, squared, errors, np.zeros((space, 2)))
            large = space * size**2 * rows.shape[1] > SMALL  # by public numbers, but for more records than `capacity`
            if isinstance(offsets, DenseOffsets) and large and float32_is_whole():
                table._fill_in_32_bits(offsets)
            else:
                table._on_tiles(partial(table._fill, offsets))
        return table

    @property
    def count(self) -> int:
        return len(self.rows) + self.invalid

    @property
    def tiles(self) -> list[tuple[slice, slice]]:
        return _tiles(len(self.rows), self.squared.shape[-1])

    def friend_pairs(self, radius: float) -> int:
        """Return Σ_j c_j at this radius: ordered pairs of friends, every record its own."""
        return self.count + 2 * sum(
            self._on_tiles(lambda tile: sum(int(each.sum()) for each in self._friends_in(radius, tile)))
        )

    def friend_counts(self, radius: float) -> Integers:
        """Return c_j at this radius: of the records on its grid, in their order, then of all others."""
        counts = np.ones(len(self.rows), dtype=np.int64)
        for (rows, columns), (of_rows, of_columns) in zip(
            self.tiles, self._on_tiles(partial(self._counts_in, radius)), strict=True
        ):
            counts[rows] += of_rows
            counts[columns] += of_columns
        there = are_on_grid(self.peaks, radius / RADIUS)
        return np.concatenate([counts[there], np.ones(self.count - int(there.sum()), dtype=np.int64)])

    def in_steps(self, radius: float) -> IntegerRows:
        """Return the records on the grid of this radius, in its steps. Overwrites dense rows: it is the last query."""
        step = radius / RADIUS
        there = are_on_grid(self.peaks, step)
        if isinstance(self.rows, np.ndarray):
            return overwrite_with_steps(self.rows, there, step)
        return rows_to_steps(self.rows if there.all() else self.rows[there], step)

    @property
    def _threads(self) -> int:
        few = isinstance(self.rows, DeviceRows) or len(self.tiles) <= _FEW_TILES
        return 1 if few else min(cores(), _THREADS)

    def _on_tiles(self, work: Callable[[Tile], Result]) -> list[Result]:
        return list(in_order(work, list(enumerate(self.tiles)), self._threads))

    def _fill(self, offsets: Offsets, tile: Tile) -> None:
        """Compute squared distances by float sums in 64 bits."""
        view, rows, columns = self._view(tile)
        self.errors[tile[0]] = math.inf  # if it breaks off, every pair is in doubt
        view[:] = offsets.products(np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop))
        view *= -2
        self._add_squares(tile)
        self.errors[tile[0]] = _float64_error(self.rows.shape[1])

    def _fill_in_32_bits(self, offsets: DenseOffsets) -> None:
        """Compute products in 32 bits of a few coordinates at a time, summed in 64 bits: half the work.
        Each row is multiplied by its own power of two, so that its norm is about one."""
        dimension = self.rows.shape[1]
        across = min(math.ceil(_ACROSS * math.sqrt(dimension)), _MAX_ACROSS, dimension)
        self.errors[:] += (across + 32) * 2.0**-24
        exponents = np.frexp(np.sqrt(np.nan_to_num(self.squares)))[1]
        factors, memory = np.ldexp(1.0, -exponents), np.empty(len(self.rows) * across, dtype=np.float32)
        of_rows = [list(same) for _, same in groupby(enumerate(self.tiles), lambda tile: tile[1][0].start)]
        strips = [same[at : at + _SIDE_BY_SIDE] for same in of_rows for at in range(0, len(same), _SIDE_BY_SIDE)]
        for start in range(0, dimension, across):
            part = offsets.in_32_bits(slice(start, start + across), factors, min(cores(), _THREADS), memory)
            list(in_order(partial(self._add_products, part), strips, self._threads))
        self._on_tiles(partial(self._finish, exponents))

    def _add_products(self, part: NDArray[np.float32], strip: list[Tile]) -> None:
        (_, (rows, first)), (_, (_, last)) = strip[0], strip[-1]
        products = part[rows] @ part[first.start : last.stop].T
        for tile in strip:
            view, _, columns = self._view(tile)
            view += products[:, columns.start - first.start : columns.stop - first.start]

    def _finish(self, exponents: NDArray[np.int32], tile: Tile) -> None:
        view, rows, columns = self._view(tile)
        view *= np.ldexp(1.0, exponents[rows, None])
        view *= np.ldexp(-2.0, exponents[columns])
        self._add_squares(tile)

    def _add_squares(self, tile: Tile) -> None:
        """Add |x|² + |y|² to -2⟨x, y⟩."""
        view, rows, columns = self._view(tile)
        view += copy_to_device_of(view, self.squares[rows, None])
        view += copy_to_device_of(view, self.squares[columns])
        self.extremes[tile[0]] = float(view.min()), float(view.max())

    def _view(self, tile: Tile) -> tuple[Any, slice, slice]:
        place, (rows, columns) = tile
        return self.squared[place, : rows.stop - rows.start, : columns.stop - columns.start], rows, columns

    def _counts_in(self, radius: float, tile: Tile) -> tuple[Integers, Integers]:
        """Return, for the rows and the columns of a tile, how many friends each has on the other side."""
        sure, decided = self._friends_in(radius, tile)
        of_rows, of_columns = (_here(sure.sum(axis)) + decided.sum(axis) for axis in (1, 0))
        return of_rows, of_columns

    @np.errstate(all="ignore")  # a warning could reveal records
    def _friends_in(self, radius: float, tile: Tile) -> tuple[Mask | Tensor, Mask]:
        """Return (sure friends, pairs decided to be friends) among the pairs of a tile."""
        sure, doubtful = self._screen(radius, tile, self.errors[tile[0]])
        kept_free = np.empty(_KEPT_FREE, dtype=np.uint8)  # the memory that doubts may need is taken in any case
        del kept_free
        fine = _float64_error(self.rows.shape[1])
        if self.errors[tile[0]] > fine and _are_crowd(doubtful):
            fewer = self._screen(radius, tile, fine)[1]
            if 2 * int(fewer.sum()) < int(doubtful.sum()):  # the error of 32 bits leaves them in doubt
                self._fill(about(self.rows, self.center), tile)
                sure, doubtful = self._screen(radius, tile, self.errors[tile[0]])
        return sure, self._decide(_here(doubtful), *tile[1], radius / RADIUS)

    def _screen(self, radius: float, tile: Tile, error: float) -> tuple[Mask | Tensor, Mask | Tensor]:
        """Return (surely friends, in doubt) for the pairs of a tile, each once."""
        squared, rows, columns = self._view(tile)
        low, high = (radius * (1 + sign * math.sqrt(self.rows.shape[1]) / RADIUS * _SPARE) for sign in (-1, 1))
        less, more = self._margins(rows, low, high, error)
        fewer, further = self._margins(columns, low, high, error)
        below, above = low**2 - less, high**2 + more
        candidates, (least, most) = self._select_pairs(rows, columns, radius / RADIUS), self.extremes[tile[0]]
        if least > above.max() + further.max():
            return np.zeros_like(candidates), np.zeros_like(candidates)
        if most <= below.min() - fewer.max():
            return candidates, np.zeros_like(candidates)
        sure = squared <= copy_to_device_of(squared, below[:, None]) - copy_to_device_of(squared, fewer)
        apart = squared > copy_to_device_of(squared, above[:, None]) + copy_to_device_of(squared, further)
        doubtful = sure == apart  # no pair is both; a pair with NaN is neither
        if not candidates.all():
            sure &= copy_to_device_of(squared, candidates)
            doubtful &= copy_to_device_of(squared, candidates)
        return sure, doubtful

    def _select_pairs(self, rows: slice, columns: slice, step: float) -> Mask:
        """Return the pairs of a tile that may be friends: both on the grid, and each pair once."""
        there = are_on_grid(self.peaks, step)
        both = there[rows, None] & there[columns]
        return both & _later(self.squared.shape[-1])[: len(both), : len(both)] if rows == columns else both

    def _margins(self, part: slice, low: float, high: float, error: float) -> tuple[Floats, Floats]:
        """Return what rows subtract from low², below which pairs are sure, and add to high², beyond which none is.
        The margins cover the error of the squared distance and that of quotients by the step, before their rint."""
        doubt = error * self.squares[part]
        blur = math.sqrt(self.rows.shape[1]) * 2.0**-52 * _SPARE * self.peaks[part]
        return doubt + 2 * low * blur, doubt + 2 * high * blur + 2 * blur**2

    def _decide(self, doubtful: Mask, rows: slice, columns: slice, step: float) -> Mask:
        """Decide in integers which of the doubtful pairs of a tile are friends. Overwrites the mask."""
        settled = np.zeros_like(doubtful)
        if isinstance(self.rows, np.ndarray) and _are_crowd(doubtful):
            near, within = by_products(self.rows, to_dense(self.center)[0], rows, columns, step)
            settled = within & near & doubtful
            doubtful &= ~near
        height = _LISTED if _are_crowd(doubtful) else max(len(doubtful), 1)  # a long list is made piece by piece
        for start in range(0, len(doubtful), height):
            some = doubtful[start : start + height]
            places = np.flatnonzero(some)  # many times as fast as `nonzero`
            left, right = np.divmod(places, some.shape[1])
            np.put(some, places, self._one_by_one(left + (rows.start + start), right + columns.start, step))
        doubtful |= settled
        return doubtful

    def _one_by_one(self, left: Pairs, right: Pairs, step: float) -> Mask:
        cells = _DEVICE_CELLS if isinstance(self.rows, DeviceRows) else _CELLS
        chunk = max(1, cells // width(self.rows))
        found = [
            partners_are_friends(self.rows[as_slice(left[part])], self.rows[as_slice(right[part])], step)
            for part in (slice(start, start + chunk) for start in range(0, len(left), chunk))
        ]
        return np.concatenate([np.zeros(0, dtype=np.bool_), *found])


@during("distances in the core's sample")
def pair_distances(space: Space, sampled: Mask | None = None, capacity: int = 0) -> PairDistances:
    """Return the distances among the (sampled) valid records; invalid ones are counted. Memory for `capacity`."""
    size = space.count if sampled is None else int(sampled.sum())
    rows = gather_rows(space.chosen_blocks(sampled), (max(size, capacity), space.dimension), np.float64, cores())
    return PairDistances.of(rows, size - len(rows), capacity)


def _float64_error(dimension: int) -> float:
    """Return the error of squared distances by 64-bit sums, as a share of the squares of the two rows."""
    return (dimension + 100) * 2.0**-50


def _tiles(count: int, size: int) -> list[tuple[slice, slice]]:
    """Return tiles: consecutive rows against the same and against all later ones."""
    parts = [slice(start, min(start + size, count)) for start in range(0, count, size)]
    return [(rows, columns) for place, rows in enumerate(parts) for columns in parts[place:]]


@cache
def _later(size: int) -> Mask:
    """Return the pairs (row, later row) of a tile of rows with themselves."""
    return np.triu(np.ones((size, size), dtype=np.bool_), k=1)


def _here(found: NDArray[Any] | Tensor) -> NDArray[Any]:
    return found if isinstance(found, np.ndarray) else fetch_array(found)


def _are_crowd(marked: Mask | Tensor) -> bool:
    return _CROWD * int(marked.sum()) > math.prod(marked.shape)


def _zeros(rows: Rows, shape: tuple[int, ...]) -> Floats | Tensor:
    if isinstance(rows, DeviceRows):
        torch = namespace(rows.tensor)
        return torch.zeros(shape, dtype=torch.float64, device=rows.tensor.device)
    return np.zeros(shape)
