"""The space in which records are compared, clipped and summed: rescaled rows, block by block, always the same bits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree.exact_product import saturate
from dimfree.records import Records
from dimfree.rows import Rows, SparseRows
from dimfree.shape import Diagonal, Isotropic, Shape
from dimfree.threads import cores, in_order

_BLOCK_ENTRIES = 2**19  # handed to a thread at a time: worth the handing over, small beside any memory
_TILE_ENTRIES = 2**16  # worked on at a time: an array of so many and its successors stay in a core's own cache
_KEPT_BYTES = 2**31  # rescaled rows are kept in memory up to this size, else, or where they stream, rescaled anew
_THREADED_BYTES = 2**24  # a smaller table is done before threads are started

Mask = NDArray[np.bool_]
Result = TypeVar("Result")


@dataclass(frozen=True, repr=False)
class Space:
    """Private: the records, rescaled by a public shape."""

    records: Records
    shape: Shape
    _kept: list[tuple[Rows, Mask]] = field(default_factory=list)

    @property
    def dimension(self) -> int:
        return self.records.dimension

    @property
    def count(self) -> int:
        return self.records.count

    def blocks(self) -> Iterator[tuple[Rows, Mask]]:
        """Consecutive blocks of rescaled rows, each with the mask of its valid rows."""
        return self._passing() if self._is_large() else self._at_hand()

    def valid_blocks(self, sampled: Mask | None = None) -> Iterator[Rows]:
        """The valid rows alone, among the sampled ones: an invalid record adds nothing to any sum."""
        if sampled is not None and self._is_large() and not self._stays_sparse():
            some = replace(self, records=self.records.chosen(sampled), _kept=[])  # the others are not read
            yield from (rows if valid.all() else rows[valid] for rows, valid in some._passing())
            return
        start = 0
        for rows, valid in self.blocks():
            chosen = valid if sampled is None else valid & sampled[start : start + len(rows)]
            start += len(rows)
            yield rows if chosen.all() else rows[chosen]

    def each(self, of_rows: Callable[[Rows], Result], among: Mask | None = None) -> Iterator[Result]:
        """A function of the valid rows, piece by piece in their order, on all cores; `among`: of some valid rows only.

        Pieces are small enough for a core's cache; their bounds must not matter to the caller.
        """
        large = self._is_large()

        def work(block: tuple[Rows, Mask]) -> list[Result]:
            return [of_rows(self._rescaled(rows) if large else rows) for rows in _tiles(*block)]

        blocks = self._given() if large else self._at_hand()
        threads = cores() if self._bytes() >= _THREADED_BYTES else 1
        for results in in_order(work, blocks if among is None else _narrowed(blocks, among), threads):
            yield from results

    def _at_hand(self) -> Iterator[tuple[Rows, Mask]]:
        """The rescaled blocks of a table that fits memory: rescaled once."""
        if not self._kept:
            self._kept.extend(self._passing())
        yield from self._kept

    def _passing(self) -> Iterator[tuple[Rows, Mask]]:
        return ((self._rescaled(rows), valid) for rows, valid in self._given())

    def _given(self) -> Iterator[tuple[Rows, Mask]]:
        """Blocks of the records themselves; an invalid row is zero."""
        if self._stays_sparse():
            return self.records.sparse_blocks()
        return self.records.blocks(max(1, _BLOCK_ENTRIES // self.records.dimension))

    def _rescaled(self, rows: Rows) -> Rows:
        """Of finite rows. Entry by entry the same quotients in sparse rows as in dense ones; zero stays zero."""
        if self._changes_nothing:
            return rows  # no second copy of the entries
        if isinstance(rows, SparseRows):
            with np.errstate(all="ignore"):  # a warning or error would speak of records
                quotients = rows.values / self._divisors[rows.columns]
            return rows.with_values(saturate(quotients))
        rescaled = self.shape.rescale_finite(rows)
        rescaled.setflags(write=False)
        return rescaled

    @cached_property
    def _changes_nothing(self) -> bool:
        """Whether every coordinate is divided by one."""
        return isinstance(self.shape, Diagonal | Isotropic) and bool((self._divisors == 1).all())

    @cached_property
    def _divisors(self) -> NDArray[np.float64]:
        return self.shape.restore(np.ones(self.records.dimension))

    def _stays_sparse(self) -> bool:
        """Whether the records are sparse and rescaling acts on each coordinate by itself."""
        return self.records.is_sparse and isinstance(self.shape, Diagonal | Isotropic)

    def _is_large(self) -> bool:
        """Whether every pass reads and rescales the records anew."""
        return self.records.streams or self._bytes() > _KEPT_BYTES

    def _bytes(self) -> int:
        entries = self.records.stored if self._stays_sparse() else self.count * self.dimension
        return 8 * entries


def _tiles(rows: Rows, valid: Mask) -> Iterator[Rows]:
    """The valid rows of a block, few at a time; sparse rows all at once, as their entries are few."""
    step = len(rows) if isinstance(rows, SparseRows) else max(1, _TILE_ENTRIES // rows.shape[1])
    for start in range(0, len(rows), max(1, step)):
        chosen = valid[start : start + step]
        if chosen.any():
            yield rows[start : start + step] if chosen.all() else rows[start : start + step][chosen]


def _narrowed(blocks: Iterator[tuple[Rows, Mask]], among: Mask) -> Iterator[tuple[Rows, Mask]]:
    """The same blocks with fewer rows marked; `among` speaks of the valid rows."""
    start = 0
    for rows, valid in blocks:
        marked, end = valid.copy(), start + int(valid.sum())
        marked[valid] = among[start:end]
        start = end
        yield rows, marked
