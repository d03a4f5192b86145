"""One soft histogram for every column: each entry is divided between its two nearest cells (P19).

An entry at the share f of the way from one cell to the next gives cos(πf/2) to the first and sin(πf/2) to the second.
So it is a vector of norm at most 1, whatever the number of cells, and a small change of the entry is a small change
of the histogram. The weights are floored whole numbers, so sums are exact. Proof: proofs/statistics/soft_histogram.md.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.data.blocks import ALL, Columns, Rows, SparseRows
from dimfree.data.gpu.rows import DeviceRows, copy_to_device_of, fetch_array, namespace, parts
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Centered, for_columns

STEP = 2**20  # the norm of one entry's weights, in whole numbers
_LARGE = 2**19  # cells of all columns, from which sums are taken over more rows at a time
_FEW = 2**17  # parts of all columns, up to which entries are counted tile by tile
_MAX_PARTS = 2**20  # parts of all columns, up to which entries are counted before they are weighed
_TILE = 2**18  # entries whose positions are computed at a time
_BITS = 6
PARTS = 2**_BITS  # between two cells: entries are rounded down to these
_FRACTION_BITS, _BIAS = 52, 1023  # of a float of 64 bits: 2^e·(1 + f/2^52), stored as (e + 1023)·2^52 + f
_INFINITE = 2047 << _FRACTION_BITS  # infinity as a whole number; NaN is above it
_TURN = np.pi / 2 * np.arange(PARTS) / PARTS
_HERE, _NEXT = np.floor(STEP * np.cos(_TURN)), np.floor(STEP * np.sin(_TURN))  # cos² + sin² = 1, rounded down


@dataclass(frozen=True)
class Magnitudes:
    """Cells of a factor 8 for |x|, and the first cell for zeros and all smaller values. Between powers of
    two the position is linear in |x|, like exponent and fraction of a float read as one whole number: no logarithm,
    whose last bit could depend on the batch."""

    lowest: ClassVar[int] = -60  # of the exponents, to base 2: 1e-18
    octaves: ClassVar[int] = 3
    cells: ClassVar[int] = 51  # up to 2^90 = 1e27

    def places(self, values: Any, columns: Columns) -> Any:
        """Return positions in parts of a cell: 0 is the first cell, PARTS·(cells - 1) the last; NaN if missing."""
        xp = namespace(values)
        levels = values.view(xp.int64) & (2**63 - 1)  # of |x|; a GPU's `abs` keeps the sign of NaN
        gaps = len(levels) and levels.max() > _INFINITE
        levels -= (_BIAS + self.lowest) << _FRACTION_BITS  # from the lowest on, 2^52 to an octave
        small = levels < 0
        places = levels.astype(np.float64) if xp is np else levels.to(xp.float64)
        del levels  # missing values take no more memory below
        places *= PARTS * (1 / self.octaves) * 2.0**-_FRACTION_BITS
        places += PARTS
        if small.any():
            places[small] = 0.0
        if gaps:
            places[xp.isnan(values)] = math.nan
        return places


@dataclass(frozen=True)
class Offsets(Centered):
    """Cells one `scale` wide about the center of each column: (x - c)/scale, within the first and last cell."""

    cells: ClassVar[int] = 6
    middle: ClassVar[float] = 2.5

    def places(self, values: Any, columns: Columns) -> Any:
        offsets = values - for_columns(self.center, values, columns)
        offsets *= for_columns(PARTS / np.asarray(self.scale), values, columns)
        offsets += PARTS * self.middle
        return offsets


Cells = Magnitudes | Offsets  # a public row of cells; `places` acts on each entry separately, in fresh memory


def soft_histograms(space: Space, cells: Cells, which: NDArray[np.intp]) -> Integers:
    """Sum the weights of all valid records, (columns, cells), in 1/STEP. Private; exact, in any order of blocks."""
    size = len(which) * cells.cells
    tiles = size * PARTS <= _FEW or _MAX_PARTS < size * PARTS < _LARGE * PARTS
    return space.sum_over(partial(_sums_of, cells, which), size, tiles=tiles).reshape(len(which), cells.cells)


def _sums_of(cells: Cells, which: NDArray[np.intp], rows: Rows) -> Integers:
    seen, size = rows if len(which) == rows.shape[1] else rows[:, which], len(which) * cells.cells
    with np.errstate(all="ignore"):  # a warning could reveal records
        if isinstance(seen, SparseRows):
            return _sparse_sums(cells, seen)
        if isinstance(seen, DeviceRows):
            return _device_sums(cells, seen)
        return _tally(_where(cells, seen), size)


def _where(cells: Cells, rows: Floats) -> Integers:
    """Return for each entry of dense rows its part of a cell, among those of all columns; for a missing one the next
    number, so that counting takes the same memory."""
    where, size = np.empty(rows.shape, dtype=np.intp), rows.shape[1] * cells.cells
    kind = np.int32 if 2 * size * PARTS < 2**31 else np.int64  # short numbers, if twice as many parts fit them
    firsts = np.arange(rows.shape[1], dtype=kind) * (cells.cells * PARTS)  # the first part of each column
    height = max(1, _TILE // rows.shape[1])
    for start in range(0, len(rows), height):
        tile = slice(start, start + height)
        parts = _parts(cells.places(rows[tile], ALL), cells.cells, size, kind)
        parts += firsts
        if parts.max(initial=0) > size * PARTS:
            np.minimum(parts, size * PARTS, out=parts)
        where[tile] = parts  # `bincount` would do that for all rows at once, and keep other threads waiting
    return where.ravel()


def weights_of(cells: Cells, values: Floats) -> Floats:
    """Return the histograms of a table of public values, one for each column; an entry has norm 1."""
    which = np.arange(values.shape[1])
    return _sums_of(cells, which, values).reshape(len(which), cells.cells) / STEP


def _parts(places: Any, cells: int, size: int, kind: Any = np.int64) -> Any:
    """Round positions down, within the row of cells; NaN goes beyond all `size` cells. Overwrites its argument."""
    xp, most = namespace(places), (cells - 1) * PARTS - 1
    if xp is not np:
        return xp.nan_to_num(xp.clip(xp.floor(places), 0, most), nan=size * PARTS).to(xp.int64)
    np.clip(places, 0, most, out=places)  # keeps NaN
    if np.isnan(places.min(initial=0)):
        places[np.isnan(places)] = size * PARTS
    return places.astype(kind)  # toward zero: rounded down


def _tally(where: Integers, size: int) -> Integers:
    """Sum the weights of entries, each given by its part of a cell. Whole numbers below 2^53: exact as floats.
    Few parts (a public number) are counted first, and weighed together. A missing entry lies beyond the cells."""
    if size * PARTS <= _MAX_PARTS:
        counted = np.bincount(where, minlength=size * PARTS + 1)[: size * PARTS].reshape(-1, PARTS)
        total, following = (counted @ weights.astype(np.int64) for weights in (_HERE, _NEXT))
        total[1:] += following[:-1]
        return total
    cell, part = np.minimum(where >> _BITS, size), where & (PARTS - 1)
    here, following = (np.bincount(cell, weights.take(part), size + 1)[:size] for weights in (_HERE, _NEXT))
    here[1:] += following[:-1]
    return here.astype(np.int64)


def _sparse_sums(cells: Cells, rows: SparseRows) -> Integers:
    """Sum the stored entries, and one zero for every entry that is not stored."""
    width, size = rows.shape[1], rows.shape[1] * cells.cells
    first = np.arange(width) * cells.cells * PARTS
    stored = _parts(cells.places(rows.values, rows.columns), cells.cells, size) + first[rows.columns]
    cell, part = np.divmod(_parts(cells.places(np.zeros(width), ALL), cells.cells, size) + first, PARTS)
    unstored = len(rows) - np.bincount(rows.columns, minlength=width)
    cell = np.minimum(cell, size)  # beyond all cells, if the position of zero is NaN
    total = np.append(_tally(stored, size), [0, 0])
    total[cell] += unstored * _HERE[part].astype(np.int64)
    total[cell + 1] += unstored * _NEXT[part].astype(np.int64)
    return total[:size]


def _device_sums(cells: Cells, rows: DeviceRows) -> Integers:
    """Sum on the device: whole numbers below 2^53, so that their order does not matter."""
    torch, size = namespace(rows.tensor), rows.shape[1] * cells.cells
    first = copy_to_device_of(rows.tensor, np.arange(rows.shape[1]) * cells.cells * PARTS)
    total = torch.zeros(size + 1, dtype=torch.float64, device=rows.tensor.device)
    for piece in parts(rows):
        where = (_parts(cells.places(rows.tensor[piece], ALL), cells.cells, size) + first).ravel()
        cell, part = (where // PARTS).clamp_(max=size), where % PARTS
        total += torch.bincount(cell, copy_to_device_of(rows.tensor, _HERE)[part], size + 1)
        total[1:] += torch.bincount(cell, copy_to_device_of(rows.tensor, _NEXT)[part], size + 1)[:-1]
    return fetch_array(total[:size].to(torch.int64))
