"""The space in which records are compared, clipped and summed: rescaled rows, block by block, always the same bits.

Two methods pass over all records, on any device: `sum_over` sums whole numbers, `map_records` computes one number of
each record. `valid_blocks` reads a sample. Proofs: proofs/rows/clip.md, proofs/statistics/friends.md.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import TypeAlias, TypeVar

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.data.blocks import Mask, Rows, SparseRows, to_dense
from dimfree.data.gpu.device import Place
from dimfree.data.gpu.rows import DeviceRows
from dimfree.data.records import Records, are_finite, mark_missing
from dimfree.kernel.rows.bases import KEPT_BYTES, Basis
from dimfree.shapes import Covariance, DiagonalCovariance, IsotropicCovariance, Rescaling
from dimfree.shapes.exact_product import LARGEST, saturate
from dimfree.threads import cores, in_order

_BLOCK_ENTRIES = 2**21  # handed to a thread at a time: threads wait for each other at every handing over
_MADE_ENTRIES = 2**20  # the same if a block is read, or made dense, for it: small relative to any memory
_TILE_ENTRIES = 2**18  # worked on at a time: an array of so many and its successors stay near a core
_MIN_TILE_ROWS = 8  # rows of a tile, if the block has them: with fewer, the work per tile would dominate
_THREADED_BYTES = 2**24  # a smaller table is done before threads are started

Result = TypeVar("Result")
Piece: TypeAlias = tuple[Rows, slice, Mask]  # valid rows, their slice of the block, which of its rows they are
Work: TypeAlias = Callable[[Iterator[Piece], int], Result]  # on the pieces of a block of so many rows


@dataclass(frozen=True, repr=False)
class Space:
    """Private: the records, the public basis that they are rotated into, the public covariance that rescales them."""

    records: Records
    shape: Covariance
    basis: Basis | None = None
    by_entry: bool = False  # no row is invalid: an entry that is not finite is missing, passed on as NaN
    _kept: list[tuple[Rows, Mask]] = field(default_factory=list, init=False)  # not in what `replace` makes

    @property
    def count(self) -> int:
        return self.records.count

    @property
    def dimension(self) -> int:
        return self.records.dimension if self.basis is None else self.basis.width

    @cached_property
    def units(self) -> Floats | None:
        """The divisor of each coordinate, if the covariance is diagonal; None: rows are rescaled here.
        With units, `sum_over` and `map_records` pass raw rows on, and the map of entries that follows divides them."""
        apart = self.basis is None and isinstance(self.shape, DiagonalCovariance | IsotropicCovariance)
        return self.shape.restore(np.ones(self.records.dimension)) if apart else None

    def sum_over(
        self, of_rows: Callable[[Rows], Integers], size: int, among: Mask | None = None, *, tiles: bool = True
    ) -> Integers:
        """Sum whole numbers over pieces of the valid rows (`among`: of these), whose bounds must not matter.
        Without `tiles` a piece is a whole block: for sums that are larger than a tile of rows."""
        return self._work_on(partial(_sum_over if tiles else _sum_of_all, of_rows, size), among, partial(_add_up, size))

    def map_records(self, of_rows: Callable[[Rows], Floats], among: Mask | None = None) -> Floats:
        """Compute one number for each record (`among`: for each of these), zero for an invalid one."""
        return self._work_on(partial(_list_over, of_rows), among, _join)

    def blocks(self) -> Iterator[tuple[Rows, Mask]]:
        """Return consecutive blocks of rescaled rows, each with the mask of its valid rows; kept if they fit memory."""
        if not self._keeps():
            return self._read_blocks()
        if not self._kept:
            self._kept.extend(list(self._read_blocks()))  # all or nothing: of some, one record more would move two
        return iter(self._kept)

    def valid_blocks(self, sampled: Mask | None = None) -> Iterator[Rows]:
        """Yield the valid rows alone, rescaled, among the sampled ones: an invalid record adds nothing to any sum."""
        for rows, chosen in self.chosen_blocks(sampled):
            yield rows if chosen.all() else rows[chosen]

    def chosen_blocks(self, sampled: Mask | None = None) -> Iterator[tuple[Rows, Mask]]:
        """Yield blocks of rescaled rows, each with the mask of valid and sampled rows; others may hold anything."""
        if self.records.place is not None:
            for placed in self._read_placed(self.records.place, sampled):
                yield placed, np.ones(len(placed), dtype=np.bool_)
            return
        if sampled is not None and self._is_large() and not self._stays_sparse():
            yield from replace(self, records=self.records.select_rows(sampled))._read_blocks()  # others are not read
            return
        for rows, part, valid in _with_parts(self.blocks(), sampled):
            yield rows, valid if part is None else valid & part

    def _work_on(self, work: Work[Result], among: Mask | None, merge: Callable[[Iterable[Result]], Result]) -> Result:
        """Do the work on every block in order, by all cores or on the device of the records, and merge."""
        threads = cores() if self._bytes() >= _THREADED_BYTES else 1
        if self._keeps():
            blocks = _with_parts(self.blocks(), among)
            return merge(in_order(lambda block: _on_block(work, None, False, False, *block), blocks, threads))
        rescaling = None if self.units is not None else self._rescaling()
        on_block = partial(_on_block, work, rescaling, self.records.known_valid, self.by_entry)
        records = self.records if self.units is not None else self.records.on(None)
        return merge(records.map_blocks(on_block, self._block_rows(), among, threads, merge))

    def _read_placed(self, place: Place, sampled: Mask | None) -> Iterator[DeviceRows]:
        """Yield `valid_blocks` on a device; a covariance that mixes coordinates rescales the rows on the host."""
        records = self.records if sampled is None else self.records.select_rows(sampled)
        if self.units is None:
            rescaled = replace(self, records=records.on(None))._read_blocks()
            yield from (place.rows(to_dense(rows)[valid]) for rows, valid in rescaled)
            return
        for rows in records.read_placed_blocks(place, self._block_rows()):
            finite = rows.are_finite()
            kept = rows if finite.all() else rows[finite]
            yield kept if (self.units == 1).all() else kept.divide_columns(self.units, LARGEST)

    def _read_blocks(self) -> Iterator[tuple[Rows, Mask]]:
        """Read blocks; an invalid row is zero, or unchanged if the covariance is diagonal and rows are dense."""
        given: Iterator[tuple[Rows, Mask]]
        if self._stays_sparse():
            given = self.records.sparse_blocks()
        elif self.units is not None:
            given = self.records.read_raw_blocks(self._block_rows())
        else:
            given = self.records.blocks(self._block_rows())
        return ((self._rescale(rows), valid) for rows, valid in given)

    def _rescale(self, rows: Rows) -> Rows:
        """Rescale valid rows. Sparse rows have the same quotients as dense ones; zero stays zero."""
        if self.units is not None and (self.units == 1).all():
            return rows  # no second copy of the entries
        if isinstance(rows, SparseRows) and self.units is not None:
            with np.errstate(all="ignore"):  # a warning or error could reveal records
                quotients = rows.values / self.units[rows.columns]
            return rows.with_values(saturate(quotients))
        rescaled = self._rescaling()(to_dense(rows))
        rescaled.setflags(write=False)
        return rescaled

    def _rescaling(self) -> Rescaling:
        """Return the public map of finite dense rows."""
        if self.basis is None:
            return self.shape.rescaling()
        return partial(_rotate_first, self.basis, self.shape.rescaling())

    def _block_rows(self) -> int:
        """Return the rows of a block: as many whole tiles as fit."""
        entries = _BLOCK_ENTRIES if self.records.is_plain_array else min(_MADE_ENTRIES, _BLOCK_ENTRIES)
        rows, tile = max(1, entries // self.dimension), _tile_rows(self.dimension)
        return max(rows - rows % tile, min(rows, tile))

    def _stays_sparse(self) -> bool:
        """Return whether the records are sparse and rescaling acts on each coordinate separately."""
        return self.records.is_sparse and self.units is not None

    def _keeps(self) -> bool:
        """Return whether rows are rescaled once and kept: not if a pass can divide them, or there are too many."""
        return self.units is None and not self._is_large()

    def _is_large(self) -> bool:
        """Return whether every pass reads and rescales the records again."""
        return self.records.streams or self._bytes() > KEPT_BYTES

    def _bytes(self) -> int:
        entries = self.records.stored if self._stays_sparse() else self.count * self.dimension
        return 8 * entries


def _rotate_first(basis: Basis, rescaling: Rescaling, rows: Floats) -> Floats:
    """Rotate and rescale; overflow saturates, and NaN becomes zero: a function of each row alone."""
    return rescaling(np.nan_to_num(basis.rotate(rows), copy=False, nan=0.0, posinf=LARGEST, neginf=-LARGEST))


def _on_block(
    work: Work[Result],
    rescaling: Rescaling | None,
    known_valid: bool,
    by_entry: bool,
    rows: Rows,
    among: Mask | None,
    valid: Mask | None = None,
) -> Result:
    """Do the work on a block; for a raw block the valid rows are found here, unless all are."""
    if known_valid:
        valid = np.ones(len(rows), dtype=np.bool_)
    pieces = _pieces(rows, valid, among, rescaling, by_entry=by_entry)
    return work(pieces, len(rows) if among is None else int(among.sum()))


def _sum_over(of_rows: Callable[[Rows], Integers], size: int, pieces: Iterator[Piece], count: int) -> Integers:
    return _add_up(size, (of_rows(rows) for rows, _, _ in pieces))


def _sum_of_all(of_rows: Callable[[Rows], Integers], size: int, pieces: Iterator[Piece], count: int) -> Integers:
    """Stack dense pieces into one table: the sum is as large as the total."""
    table, filled = np.empty(0), 0
    for rows, _, _ in pieces:
        if not isinstance(rows, np.ndarray):
            return _add_up(size, map(of_rows, chain([rows], (others for others, _, _ in pieces))))
        if not filled:
            table = np.empty((count, rows.shape[1]))
        table[filled : filled + len(rows)] = rows
        filled += len(rows)
    return of_rows(table[:filled]) if filled else np.zeros(size, dtype=np.int64)


def _add_up(size: int, parts: Iterable[Integers]) -> Integers:
    """Sum whole numbers, in any order."""
    total = np.zeros(size, dtype=np.int64)
    for part in parts:
        total += part
    return total


def _join(parts: Iterable[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *parts])


def _list_over(of_rows: Callable[[Rows], Floats], pieces: Iterator[Piece], count: int) -> Floats:
    numbers = np.zeros(count)
    for rows, place, which in pieces:
        numbers[place][which] = of_rows(rows)
    return numbers


def _pieces(
    rows: Rows, valid: Mask | None, among: Mask | None, rescaling: Rescaling | None, *, by_entry: bool = False
) -> Iterator[Piece]:
    """Yield the valid rows, few at a time; sparse rows, and those on a device, all at once.
    The next piece may reuse the memory of a dense one. `by_entry`: all rows, with missing entries as NaN."""
    if among is not None:
        rows, valid = rows if among.all() else rows[among], None if valid is None else valid[among]
    at_once = rescaling is None and isinstance(rows, SparseRows | DeviceRows)
    step = len(rows) if at_once else _tile_rows(rows.shape[1])
    # for the valid rows of a tile, whether there is an invalid one or not
    space = None if at_once or by_entry else np.empty((min(step, len(rows)), rows.shape[1]))
    for start in range(0, len(rows), max(1, step)):
        place = slice(start, start + step)
        tile: Rows = rows[place] if rescaling is None else to_dense(rows[place])
        if by_entry:
            yield mark_missing(tile), place, np.ones(len(tile), dtype=np.bool_)
            continue
        finite = are_finite(tile) if valid is None else valid[place]
        if finite.any():
            kept = tile
            if not finite.all() and space is not None and isinstance(tile, np.ndarray):
                out = space[: int(finite.sum())]
                kept = tile.take(np.flatnonzero(finite), axis=0, out=out, mode="clip")  # "raise" would make a copy
            elif not finite.all():
                kept = tile[finite]
            yield (kept if rescaling is None else rescaling(to_dense(kept))), place, finite


def _tile_rows(width: int) -> int:
    return max(_MIN_TILE_ROWS, _TILE_ENTRIES // width)


def _with_parts(blocks: Iterator[tuple[Rows, Mask]], among: Mask | None) -> Iterator[tuple[Rows, Mask | None, Mask]]:
    """Yield each block with its part of a mask of all rows."""
    start = 0
    for rows, valid in blocks:
        yield rows, None if among is None else among[start : start + len(rows)], valid
        start += len(rows)
