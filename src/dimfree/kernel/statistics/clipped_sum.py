"""Records clipped around a public center and summed (P8), their lengths about it (P20), their farthest entries (P23).

A clipped record is in the ball, so one record moves the sum by a radius, two under replace-one. A length, and a vote
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
from dimfree.data.blocks import ALL, Columns, Rows, SparseRows, densely
from dimfree.data.gpu.rows import DeviceRows, beside, namespace
from dimfree.kernel.rows.clip import clipped_total, norms
from dimfree.kernel.rows.space import Space
from dimfree.progress import during

Block = NDArray[np.intp] | None  # which coordinates; None: all
_CELLS = 2**19


def for_columns(numbers: Floats, values: Any, columns: Columns) -> Any:
    """Public numbers of these columns, or one for all of them, to be combined with values wherever they are."""
    return beside(values, numbers[columns]) if np.ndim(numbers) else numbers


@dataclass(frozen=True)
class Centred:
    """Public: a center, and what the offset of each coordinate from it is divided by."""

    centre: Floats
    scale: Floats | float

    def before(self, units: Floats | None) -> Self:
        """The same for records whose coordinates are not yet divided by the public `units`; None: nothing to divide."""
        if units is None or (units == 1).all():
            return self
        return replace(self, centre=self.centre * units, scale=self.scale * units)


@dataclass(frozen=True)
class Ball(Centred):
    """Public: where a stage clips. `block`: the coordinates that are summed. `cap`: in units of the scale, how far from
    the center an entry may lie; a farther one is clipped to it before its record is."""

    radius: float
    block: Block = None
    cap: float = math.inf

    def width(self, dimension: int) -> int:
        """How many coordinates are summed."""
        return dimension if self.block is None else len(self.block)

    def seen(self, rows: Rows) -> Rows:
        """The coordinates in `block`."""
        return rows if self.block is None else rows[:, self.block]

    def offsets(self, values: Floats, columns: Columns, step: float = 1.0) -> Floats:
        """(value - center) / scale / step, within ±cap / step, entry by entry; what is missing stays so. `columns` are
        positions within `block`."""
        with np.errstate(all="ignore"):  # a warning could reveal records
            offsets = values - for_columns(self._in_block(self.centre), values, columns)
            per_step = 1 / (self._in_block(np.asarray(self.scale, dtype=np.float64)) * step)
            offsets *= for_columns(per_step, values, columns)
            if self.cap < math.inf:  # a map of one entry, before the norm is taken: no sensitivity changes (P8, P20)
                far = np.float64(self.cap) / step
                namespace(offsets).clip(offsets, -far, far, out=offsets)
            return offsets

    def _in_block(self, coordinates: Floats) -> Floats:
        return coordinates if self.block is None or not coordinates.ndim else coordinates[self.block]


def clipped_sum(space: Space, ball: Ball, inner: int = 0) -> Integers:
    """Σ clip((y - c)/scale) in steps of radius / BALL. Private. Exact, in any order of blocks. `inner`, in steps: of
    each clipped offset only what lies beyond that length."""
    return space.summed(partial(_clipped_total, ball.before(space.units), inner), ball.width(space.dimension))


def _clipped_total(ball: Ball, inner: int, rows: Rows) -> Integers:
    return clipped_total(ball.seen(rows), ball.radius, ball.offsets, inner)


@during("lengths of the records")
def length_counts(space: Space, ball: Ball, edges: Floats) -> Integers:
    """How many valid records have a length up to the first edge, up to the next, …, beyond the last. Private."""
    return space.summed(partial(_counts_of, ball.before(space.units), edges), len(edges) + 1)


def _counts_of(ball: Ball, edges: Floats, rows: Rows) -> Integers:
    lengths = norms(ball.seen(rows), float(edges[-1]), ball.offsets)
    return np.bincount(np.searchsorted(edges, lengths, side="left"), minlength=len(edges) + 1).astype(np.int64)


@during("far entries of the columns")
def votes(space: Space, ball: Ball, levels: Floats) -> Integers:
    """How many valid records have their largest |(x - c)/s| in each column, below or above c, from one level up to the
    next: (columns, 2, levels) as one row. Private; a record below the first level is in none."""
    return space.summed(partial(_votes_of, ball.before(space.units), levels), space.dimension * 2 * len(levels))


def _votes_of(ball: Ball, levels: Floats, rows: Rows) -> Integers:
    """Sparse rows by their stored entries alone, unless a zero reaches the first level in some column."""
    size = rows.shape[1] * 2 * len(levels)
    found: Iterable[tuple[Integers, Floats]]
    if isinstance(rows, SparseRows) and (np.abs(_how_far(ball, np.zeros(rows.shape[1]), ALL)) < levels[0]).all():
        found = [_stored_farthest(rows.with_values(_how_far(ball, rows.values, rows.columns)), levels[0])]
    else:
        found = (_farthest(_how_far(ball, densely(some), ALL)) for some in some_rows(rows))
    total = np.zeros(size, dtype=np.int64)
    for column, farthest in found:
        passed = np.searchsorted(levels, np.abs(farthest), side="right")
        cells = (column * 2 + (farthest > 0)) * len(levels) + passed - 1
        total += np.bincount(cells[passed > 0], minlength=size)
    return total


def _how_far(ball: Ball, values: Floats, columns: Columns) -> Floats:
    """Offsets; NaN, and what is missing, is not far."""
    return np.nan_to_num(ball.offsets(values, columns), nan=0.0)


def _farthest(offsets: Floats) -> tuple[Integers, Floats]:
    """The largest offset of each row, the first of equals, and its column."""
    column = np.abs(offsets).argmax(axis=1)
    return column, np.take_along_axis(offsets, column[:, None], axis=1)[:, 0]


def _stored_farthest(offsets: SparseRows, least: float) -> tuple[Integers, Floats]:
    """The same among stored offsets, of the rows that have one of this size."""
    sizes, row = np.abs(offsets.values), offsets.spread(np.arange(len(offsets)))
    largest = np.flatnonzero((sizes >= least) & (sizes == offsets.peaks()[row]))
    largest = largest[np.lexsort((offsets.columns[largest], row[largest]))]
    first = largest[np.unique(row[largest], return_index=True)[1]]
    return offsets.columns[first].astype(np.intp), offsets.values[first]


def some_rows(rows: Rows) -> Iterator[Rows]:
    """Blocks of a few rows, so that sparse rows can be made dense."""
    step = max(1, _CELLS // rows.shape[1])
    return (rows[start : start + step] for start in range(0, len(rows), step))


def number_of(rows: Rows) -> Integers:
    return np.array([len(rows)], dtype=np.int64)


def number_missing(rows: Rows) -> Integers:
    if isinstance(rows, DeviceRows):
        return np.array([int(rows.tensor.isnan().sum())], dtype=np.int64)
    values = rows.values if isinstance(rows, SparseRows) else rows
    return np.array([np.count_nonzero(np.isnan(values))], dtype=np.int64)


def clipped_missing(norm: float, rows: Rows) -> Integers:
    return clipped_total(rows, norm, _ones_where_missing)


def _ones_where_missing(values: Floats, columns: Columns, step: float) -> Floats:
    """1 for a missing entry, 0 for any other, in steps; one entry at a time."""
    xp = namespace(values)
    return xp.where(xp.isnan(values), xp.full_like(values, 1 / step), xp.zeros_like(values))
