"""Records clipped around a public center and summed (P8), their lengths about it (P20), their farthest entries (P23).

A clipped record is in the ball, so one record moves the sum by a radius, two under replace-one. A length is in one
cell, so one record moves one count by one: 1, √2 under replace-one; the number of records up to an edge by one. So is
a vote, for the column, side and level of the largest entry.
Proofs: proofs/statistics/clipped_sum.md, proofs/statistics/length_histogram.md, proofs/statistics/votes.md.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.data.blocks import ALL, Columns, Rows, SparseRows, densely
from dimfree.data.gpu.rows import namespace
from dimfree.kernel.rows.clip import clipped_total, norms
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.centred import Centred
from dimfree.kernel.statistics.unit_vectors import some_rows
from dimfree.progress import during

Block = NDArray[np.intp] | None  # which coordinates; None: all


@dataclass(frozen=True)
class Ball(Centred):
    """Where a stage clips. Public. `block`: the coordinates that are summed.

    `cap`: in units of the scale, how far from the centre an entry may lie; a farther one is held there before its
    record is clipped.
    """

    radius: float
    block: Block = None
    cap: float = math.inf

    def seen(self, rows: Rows) -> Rows:
        """The coordinates in `block`."""
        return rows if self.block is None else rows[:, self.block]

    def offsets(self, values: Floats, columns: Columns, step: float = 1.0) -> Floats:
        """(value - centre) / scale / step, held within ±cap / step, entry by entry; what is missing stays so.

        `columns` are positions within `block`.
        """
        with np.errstate(all="ignore"):  # a warning could reveal records
            offsets = values - self.per_column("centre", 1.0, self._centre).beside(values, columns)
            offsets *= self.per_column("step", step, partial(self._per_step, step)).beside(values, columns)
            if self.cap < math.inf:  # a map of one entry, before the norm is taken: no sensitivity changes (P8, P20)
                far = np.float64(self.cap) / step
                namespace(offsets).clip(offsets, -far, far, out=offsets)
            return offsets

    def _centre(self) -> Floats:
        return self._of_seen(self.centre)

    def _per_step(self, step: float) -> Floats:
        return 1 / (self._of_seen(np.asarray(self.scale, dtype=np.float64)) * step)

    def _of_seen(self, coordinates: Floats) -> Floats:
        return coordinates if self.block is None or not coordinates.ndim else coordinates[self.block]


def clipped_sum(space: Space, ball: Ball, inner: int = 0) -> Integers:
    """Σ clip((y - c)/scale) in steps of radius / BALL. Private. Exact, in any order of blocks.

    `inner`, in steps: of each clipped offset only what lies beyond that length.
    """
    size = space.dimension if ball.block is None else len(ball.block)
    return space.summed(partial(_clipped_total, ball.before(space.units), inner), size)


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
    """Of sparse rows the stored entries alone are looked at, unless a zero reaches the first level in some column."""
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
    """Offsets; what is no number, or missing, is not far."""
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
