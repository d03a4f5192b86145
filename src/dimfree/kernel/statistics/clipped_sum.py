"""Sums of records clipped around a public center (P8), their lengths (P20), their farthest entries (P23).

A clipped record is in the ball, so the sensitivity of the sum is a radius, two under replace-one. A length, and a vote
for the column, side and level of the largest entry, is in one cell: 1, √2 under replace-one. An entry that is not a
finite number is missing (`Space.by_entry`): a record has at most as many as there are columns, and counts in each
column by the vector of its missing entries, clipped to a norm (P22).
Proofs: proofs/statistics/clipped_sum.md, length_histogram.md, votes.md, counts.md.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.data.blocks import ALL, Columns, Rows, SparseRows, to_dense
from dimfree.data.gpu.rows import DeviceRows, copy_to_device_of, namespace
from dimfree.kernel.rows.clip import norms, total_clipped
from dimfree.kernel.rows.space import Space
from dimfree.progress import during

Block = NDArray[np.intp] | None  # which coordinates; None: all
_CELLS = 2**19


def for_columns(numbers: Floats, values: Any, columns: Columns) -> Any:
    """Return public numbers of these columns, or one for all of them, on the device of the values."""
    return copy_to_device_of(values, numbers[columns]) if np.ndim(numbers) else numbers


@dataclass(frozen=True)
class Centered:
    """Public: a center, and the divisor of the offset of each coordinate from it."""

    center: Floats
    scale: Floats | float

    def before(self, units: Floats | None) -> Self:
        """Return the same for records not yet divided by the public `units` of their coordinates; None: no division."""
        if units is None or (units == 1).all():
            return self
        return replace(self, center=self.center * units, scale=self.scale * units)


@dataclass(frozen=True)
class Ball(Centered):
    """Public: the ball to which a stage clips. `block`: the coordinates that are summed. `cap`: a bound on offsets,
    in units of the scale; a larger offset is clipped to it before the record is clipped."""

    radius: float
    block: Block = None
    cap: float = math.inf

    def width(self, dimension: int) -> int:
        """Return the number of coordinates that are summed."""
        return dimension if self.block is None else len(self.block)

    def select_block(self, rows: Rows) -> Rows:
        """Return the coordinates in `block`."""
        return rows if self.block is None else rows[:, self.block]

    def offsets(self, values: Floats, columns: Columns, step: float = 1.0) -> Floats:
        """Return (value - center) / scale / step within ±cap / step, entry by entry; missing entries stay missing.
        `columns` are positions within `block`."""
        with np.errstate(all="ignore"):  # a warning could reveal records
            offsets = values - for_columns(self._in_block(self.center), values, columns)
            per_step = 1 / (self._in_block(np.asarray(self.scale, dtype=np.float64)) * step)
            offsets *= for_columns(per_step, values, columns)
            if self.cap < math.inf:  # a map of one entry, before the norm is taken: no sensitivity changes (P8, P20)
                far = np.float64(self.cap) / step
                namespace(offsets).clip(offsets, -far, far, out=offsets)
            return offsets

    def _in_block(self, coordinates: Floats) -> Floats:
        return coordinates if self.block is None or not coordinates.ndim else coordinates[self.block]


def sum_clipped(space: Space, ball: Ball, inner: int = 0) -> Integers:
    """Return Σ clip((y - c)/scale) in steps of radius / BALL. Private. Exact, in any order of blocks.
    With `inner`, in steps, only the part of each clipped offset beyond that length."""
    return space.sum_over(partial(_total_clipped, ball.before(space.units), inner), ball.width(space.dimension))


def _total_clipped(ball: Ball, inner: int, rows: Rows) -> Integers:
    return total_clipped(ball.select_block(rows), ball.radius, ball.offsets, inner)


@during("lengths of the records")
def length_counts(space: Space, ball: Ball, edges: Floats) -> Integers:
    """Count valid records by length: up to the first edge, up to the next, …, beyond the last. Private."""
    return space.sum_over(partial(_counts_of, ball.before(space.units), edges), len(edges) + 1)


def _counts_of(ball: Ball, edges: Floats, rows: Rows) -> Integers:
    lengths = norms(ball.select_block(rows), float(edges[-1]), ball.offsets)
    return np.bincount(np.searchsorted(edges, lengths, side="left"), minlength=len(edges) + 1).astype(np.int64)


@during("far entries of the columns")
def votes(space: Space, ball: Ball, levels: Floats) -> Integers:
    """Count valid records by the column, side of c and level of their largest |(x - c)/s|. Private.
    The counts are (columns, 2, levels) as one row; a record below the first level is in none."""
    return space.sum_over(partial(_votes_of, ball.before(space.units), levels), space.dimension * 2 * len(levels))


def _votes_of(ball: Ball, levels: Floats, rows: Rows) -> Integers:
    """Read sparse rows by their stored entries alone, unless a zero reaches the first level in some column."""
    size = rows.shape[1] * 2 * len(levels)
    found: Iterable[tuple[Integers, Floats]]
    if isinstance(rows, SparseRows) and (np.abs(_how_far(ball, np.zeros(rows.shape[1]), ALL)) < levels[0]).all():
        found = [_find_stored_farthest(rows.with_values(_how_far(ball, rows.values, rows.columns)), levels[0])]
    else:
        found = (_farthest(_how_far(ball, to_dense(some), ALL)) for some in some_rows(rows))
    total = np.zeros(size, dtype=np.int64)
    for column, farthest in found:
        passed = np.searchsorted(levels, np.abs(farthest), side="right")
        cells = (column * 2 + (farthest > 0)) * len(levels) + passed - 1
        total += np.bincount(cells[passed > 0], minlength=size)
    return total


def _how_far(ball: Ball, values: Floats, columns: Columns) -> Floats:
    """Return offsets; NaN and missing entries become 0."""
    return np.nan_to_num(ball.offsets(values, columns), nan=0.0)


def _farthest(offsets: Floats) -> tuple[Integers, Floats]:
    """Return the column of the largest offset of each row, the first of equals, and that offset."""
    column = np.abs(offsets).argmax(axis=1)
    return column, np.take_along_axis(offsets, column[:, None], axis=1)[:, 0]


def _find_stored_farthest(offsets: SparseRows, least: float) -> tuple[Integers, Floats]:
    """Return the same among stored offsets, for the rows that have one of at least this size."""
    sizes, row = np.abs(offsets.values), offsets.repeat_by_row(np.arange(len(offsets)))
    largest = np.flatnonzero((sizes >= least) & (sizes == offsets.peaks()[row]))
    largest = largest[np.lexsort((offsets.columns[largest], row[largest]))]
    first = largest[np.unique(row[largest], return_index=True)[1]]
    return offsets.columns[first].astype(np.intp), offsets.values[first]


def some_rows(rows: Rows) -> Iterator[Rows]:
    """Return blocks of a few rows, so that sparse rows can be made dense."""
    step = max(1, _CELLS // rows.shape[1])
    return (rows[start : start + step] for start in range(0, len(rows), step))


def number_of(rows: Rows) -> Integers:
    return np.array([len(rows)], dtype=np.int64)


def number_missing(rows: Rows) -> Integers:
    if isinstance(rows, DeviceRows):
        return np.array([int(rows.tensor.isnan().sum())], dtype=np.int64)
    values = rows.values if isinstance(rows, SparseRows) else rows
    return np.array([np.count_nonzero(np.isnan(values))], dtype=np.int64)


def clip_missing(norm: float, rows: Rows) -> Integers:
    return total_clipped(rows, norm, _ones_where_missing)


def _ones_where_missing(values: Floats, columns: Columns, step: float) -> Floats:
    """Return 1 for a missing entry and 0 for any other, in steps; one entry at a time."""
    xp = namespace(values)
    return xp.where(xp.isnan(values), xp.full_like(values, 1 / step), xp.zeros_like(values))
