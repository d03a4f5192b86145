"""Records clipped around a public center and summed (P8), their lengths about it (P20), their farthest entries (P23).

A clipped record is in the ball, so one record moves the sum by a radius, two under replace-one. A length is in one
cell, so one record moves one count by one: 1, √2 under replace-one; the number of records up to an edge by one. So is
a vote, for the column, side and level of the largest entry.
Proofs: proofs/statistics/clipped_sum.md, proofs/statistics/length_histogram.md, proofs/statistics/votes.md.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.data.blocks import ALL, Columns, Rows, densely
from dimfree.data.gpu.rows import namespace
from dimfree.kernel.rows.clip import clipped_total, norms
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.centred import Centred
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
    offsets = np.nan_to_num(ball.offsets(densely(rows), ALL), nan=0.0)  # what is no number, or missing, is not far
    column = np.abs(offsets).argmax(axis=1)
    largest = np.take_along_axis(offsets, column[:, None], axis=1)[:, 0]
    passed = np.searchsorted(levels, np.abs(largest), side="right")
    cells = (column * 2 + (largest > 0)) * len(levels) + passed - 1
    return np.bincount(cells[passed > 0], minlength=offsets.shape[1] * 2 * len(levels)).astype(np.int64)
