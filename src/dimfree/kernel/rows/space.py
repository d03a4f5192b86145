"""The space in which records are compared, clipped and summed: rescaled rows, block by block, always the same bits.

Two verbs walk over all records, wherever they lie: `summed` adds whole numbers up, `listed` makes one number of each
record. `valid_blocks` fetches a sample. Proofs: proofs/rows/clip.md, proofs/statistics/friends.md.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import TypeAlias, TypeVar

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.data.blocks import Mask, Rows, SparseRows, densely
from dimfree.data.gpu.device import Place
from dimfree.data.gpu.rows import DeviceRows
from dimfree.data.records import Records, are_finite, with_gaps
from dimfree.kernel.rows.bases import KEPT_BYTES, Basis
from dimfree.shapes import Diagonal, Isotropic, Rescaling, Shape
from dimfree.shapes.exact_product import LARGEST, saturate
from dimfree.threads import cores, in_order

_BLOCK_ENTRIES = 2**21  # handed to a thread at a time: threads wait for each other at every handing over
_MADE_ENTRIES = 2**20  # the same where a block is read, or laid out, for it: small beside any memory
_TILE_ENTRIES = 2**18  # worked on at a time: an array of so many and its successors stay near a core
_FEWEST = 8  # rows of a tile, if the block has so many: for fewer, what is done once for each tile would show
_THREADED_BYTES = 2**24  # a smaller table is done before threads are started

Result = TypeVar("Result")
Piece: TypeAlias = tuple[Rows, slice, Mask]  # valid rows, where they are from, and which of those there they are
Work: TypeAlias = Callable[[Iterator[Piece], int], Result]  # on the pieces of a block of so many rows


@dataclass(frozen=True, repr=False)
class Space:
    """Private: the records, the public basis that they are rotated into, and the public shape that rescales them."""

    records: Records
    shape: Shape
    basis: Basis | None = None
    by_entry: bool = False  # no row is invalid: an entry that is not finite is missing, and handed over as NaN
    _kept: list[tuple[Rows, Mask]] = field(default_factory=list, init=False)  # not in what `replace` makes

    @property
    def count(self) -> int:
        return self.records.count

    @property
    def dimension(self) -> int:
        return self.records.dimension if self.basis is None else self.basis.width

    @cached_property
    def units(self) -> Floats | None:
        """What each coordinate is divided by, if the shape leaves coordinates apart: `summed` and `listed` hand out raw
        rows, and leave that to the map of entries that follows. None: they hand out rescaled rows."""
        apart = self.basis is None and isinstance(self.shape, Diagonal | Isotropic)
        return self.shape.restore(np.ones(self.records.dimension)) if apart else None

    def summed(
        self, of_rows: Callable[[Rows], Integers], size: int, among: Mask | None = None, *, tiles: bool = True
    ) -> Integers:
        """Σ of whole numbers over pieces of the valid rows (`among`: of these); their bounds must not matter. Without
        `tiles` a piece is all of a block: for sums that are larger than a tile of rows."""
        return self._worked(partial(_sum_over if tiles else _sum_of_all, of_rows, size), among, partial(_added, size))

    def listed(self, of_rows: Callable[[Rows], Floats], among: Mask | None = None) -> Floats:
        """One number for each record (`among`: for each of these), zero for an invalid one."""
        return self._worked(partial(_list_over, of_rows), among, _joined)

    def blocks(self) -> Iterator[tuple[Rows, Mask]]:
        """Consecutive blocks of rescaled rows, each with the mask of its valid rows; kept if they fit memory."""
        if not self._keeps():
            return self._passing()
        if not self._kept:
            self._kept.extend(self._passing())
        return iter(self._kept)

    def valid_blocks(self, sampled: Mask | None = None) -> Iterator[Rows]:
        """The valid rows alone, rescaled, among the sampled ones: an invalid record adds nothing to any sum."""
        for rows, chosen in self.chosen_blocks(sampled):
            yield rows if chosen.all() else rows[chosen]

    def chosen_blocks(self, sampled: Mask | None = None) -> Iterator[tuple[Rows, Mask]]:
        """Blocks of rescaled rows, each with the mask of those that are valid and sampled; others may hold anything."""
        if self.records.place is not None:
            for placed in self._placed(self.records.place, sampled):
                yield placed, np.ones(len(placed), dtype=np.bool_)
            return
        if sampled is not None and self._is_large() and not self._stays_sparse():
            yield from replace(self, records=self.records.chosen(sampled))._passing()  # others are not read
            return
        for rows, part, valid in _with_parts(self.blocks(), sampled):
            yield rows, valid if part is None else valid & part

    def _worked(self, work: Work[Result], among: Mask | None, merge: Callable[[Iterable[Result]], Result]) -> Result:
        """The work done on every block, in their order, by all cores or wherever the records lie, and merged."""
        threads = cores() if self._bytes() >= _THREADED_BYTES else 1
        if self._keeps():
            blocks = _with_parts(self.blocks(), among)
            return merge(in_order(lambda block: _on_block(work, None, False, False, *block), blocks, threads))
        rescaling = None if self.units is not None else self._rescaling()
        on_block = partial(_on_block, work, rescaling, self.records.known_valid, self.by_entry)
        records = self.records if self.units is not None else self.records.on(None)
        return merge(records.mapped(on_block, self._block_rows(), among, threads, merge))

    def _placed(self, place: Place, sampled: Mask | None) -> Iterator[DeviceRows]:
        """`valid_blocks` on a device; a shape that mixes coordinates rescales the rows before they go there."""
        records = self.records if sampled is None else self.records.chosen(sampled)
        if self.units is None:
            rescaled = replace(self, records=records.on(None))._passing()
            yield from (place.rows(densely(rows)[valid]) for rows, valid in rescaled)
            return
        for rows in records.placed_blocks(place, self._block_rows()):
            finite = rows.are_finite()
            kept = rows if finite.all() else rows[finite]
            yield kept if (self.units == 1).all() else kept.over(self.units, LARGEST)

    def _passing(self) -> Iterator[tuple[Rows, Mask]]:
        """An invalid row is zero, or, where coordinates are apart and rows dense, whatever it was."""
        given: Iterator[tuple[Rows, Mask]]
        if self._stays_sparse():
            given = self.records.sparse_blocks()
        elif self.units is not None:
            given = self.records.looked_at(self._block_rows())
        else:
            given = self.records.blocks(self._block_rows())
        return ((self._rescaled(rows), valid) for rows, valid in given)

    def _rescaled(self, rows: Rows) -> Rows:
        """Of valid rows. Entry by entry the same quotients in sparse rows as in dense ones; zero stays zero."""
        if self.units is not None and (self.units == 1).all():
            return rows  # no second copy of the entries
        if isinstance(rows, SparseRows) and self.units is not None:
            with np.errstate(all="ignore"):  # a warning or error could reveal records
                quotients = rows.values / self.units[rows.columns]
            return rows.with_values(saturate(quotients))
        rescaled = self._rescaling()(densely(rows))
        rescaled.setflags(write=False)
        return rescaled

    def _rescaling(self) -> Rescaling:
        """A public map of finite dense rows."""
        if self.basis is None:
            return self.shape.rescaling()
        return partial(_rotated_first, self.basis, self.shape.rescaling())

    def _block_rows(self) -> int:
        """As many whole tiles as fit."""
        entries = _BLOCK_ENTRIES if self.records.are_at_hand else min(_MADE_ENTRIES, _BLOCK_ENTRIES)
        rows, tile = max(1, entries // self.dimension), _tile_rows(self.dimension)
        return max(rows - rows % tile, min(rows, tile))

    def _stays_sparse(self) -> bool:
        """Whether the records are sparse and rescaling acts on each coordinate by itself."""
        return self.records.is_sparse and self.units is not None

    def _keeps(self) -> bool:
        """Whether rows are rescaled once and kept: not where a pass can as well divide them, or there are too many."""
        return self.units is None and not self._is_large()

    def _is_large(self) -> bool:
        """Whether every pass reads and rescales the records anew."""
        return self.records.streams or self._bytes() > KEPT_BYTES

    def _bytes(self) -> int:
        entries = self.records.stored if self._stays_sparse() else self.count * self.dimension
        return 8 * entries


def _rotated_first(basis: Basis, rescaling: Rescaling, rows: Floats) -> Floats:
    """What overflows saturates; what is then no number becomes zero: a function of its row alone."""
    return rescaling(np.nan_to_num(basis.rotated(rows), copy=False, nan=0.0, posinf=LARGEST, neginf=-LARGEST))


def _on_block(
    work: Work[Result],
    rescaling: Rescaling | None,
    known_valid: bool,
    by_entry: bool,
    rows: Rows,
    among: Mask | None,
    valid: Mask | None = None,
) -> Result:
    """The work on a block; of one as it was read it is not known which rows are valid, unless all are."""
    if known_valid:
        valid = np.ones(len(rows), dtype=np.bool_)
    pieces = _pieces(rows, valid, among, rescaling, by_entry=by_entry)
    return work(pieces, len(rows) if among is None else int(among.sum()))


def _sum_over(of_rows: Callable[[Rows], Integers], size: int, pieces: Iterator[Piece], count: int) -> Integers:
    return _added(size, (of_rows(rows) for rows, _, _ in pieces))


def _sum_of_all(of_rows: Callable[[Rows], Integers], size: int, pieces: Iterator[Piece], count: int) -> Integers:
    """Dense pieces one below the other: their sum is as long as the total."""
    table, filled = np.empty(0), 0
    for rows, _, _ in pieces:
        if not isinstance(rows, np.ndarray):
            return _added(size, map(of_rows, chain([rows], (others for others, _, _ in pieces))))
        if not filled:
            table = np.empty((count, rows.shape[1]))
        table[filled : filled + len(rows)] = rows
        filled += len(rows)
    return of_rows(table[:filled]) if filled else np.zeros(size, dtype=np.int64)


def _added(size: int, parts: Iterable[Integers]) -> Integers:
    """Whole numbers: in any order, and as often as parts are merged."""
    total = np.zeros(size, dtype=np.int64)
    for part in parts:
        total += part
    return total


def _joined(parts: Iterable[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *parts])


def _list_over(of_rows: Callable[[Rows], Floats], pieces: Iterator[Piece], count: int) -> Floats:
    numbers = np.zeros(count)
    for rows, place, which in pieces:
        numbers[place][which] = of_rows(rows)
    return numbers


def _pieces(
    rows: Rows, valid: Mask | None, among: Mask | None, rescaling: Rescaling | None, *, by_entry: bool = False
) -> Iterator[Piece]:
    """The valid rows, few at a time; sparse ones, and those on a device, all at once. The next piece may take the
    memory of a dense one. `by_entry`: all rows, of coordinates that are apart; missing entries are NaN."""
    if among is not None:
        rows, valid = rows if among.all() else rows[among], None if valid is None else valid[among]
    at_once = rescaling is None and isinstance(rows, SparseRows | DeviceRows)
    step = len(rows) if at_once else _tile_rows(rows.shape[1])
    # for the valid rows of a tile, whether there is an invalid one or not
    space = None if at_once or by_entry else np.empty((min(step, len(rows)), rows.shape[1]))
    for start in range(0, len(rows), max(1, step)):
        place = slice(start, start + step)
        tile: Rows = rows[place] if rescaling is None else densely(rows[place])
        if by_entry:
            yield with_gaps(tile), place, np.ones(len(tile), dtype=np.bool_)
            continue
        finite = are_finite(tile) if valid is None else valid[place]
        if finite.any():
            kept = tile
            if not finite.all() and space is not None and isinstance(tile, np.ndarray):
                out = space[: int(finite.sum())]
                kept = tile.take(np.flatnonzero(finite), axis=0, out=out, mode="clip")  # "raise" would make a copy
            elif not finite.all():
                kept = tile[finite]
            yield (kept if rescaling is None else rescaling(densely(kept))), place, finite


def _tile_rows(width: int) -> int:
    return max(_FEWEST, _TILE_ENTRIES // width)


def _with_parts(blocks: Iterator[tuple[Rows, Mask]], among: Mask | None) -> Iterator[tuple[Rows, Mask | None, Mask]]:
    """Each block with its part of a mask of all rows."""
    start = 0
    for rows, valid in blocks:
        yield rows, None if among is None else among[start : start + len(rows)], valid
        start += len(rows)
