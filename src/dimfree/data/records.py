"""Records: a table from any source, one row per person. No error, repr or pickle shows a value or how many rows."""

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_choice
from dimfree.data.blocks import Mask, Rows, SparseRows, float_squares, gathered
from dimfree.data.boundary import boundary
from dimfree.data.gpu.device import Place, block_rows, lies_at
from dimfree.data.gpu.rows import DeviceRows
from dimfree.data.schema import Bounds
from dimfree.data.source import InMemory, Merge, Result, Source, Work, pieces, with_parts
from dimfree.data.tables import NO_COLUMNS, ONE_ROW_EACH, source_of
from dimfree.errors import InvalidRecords
from dimfree.progress import during, heard
from dimfree.threads import cores, in_order

BY_ROW = ("raise", "drop")  # rules for whole rows
ON_MISSING = (*BY_ROW, "column")

_BLOCK_ENTRIES = 2**22  # 32 MiB of float64: large enough for fast arithmetic, small compared with the table
_LOOK_ENTRIES = 2**20  # where a block is read only


class Records:
    """A read-only table of real numbers, one row per person; it shows its dimension and column names only.

    A row with a non-finite entry is invalid: `blocks` masks it and returns zeros for it.
    """

    __slots__ = (
        "_copy", "_place", "_source", "are_at_hand", "bounds", "columns", "count", "dimension", "is_sparse",
        "known_valid", "streams",
    )  # fmt: skip

    def __init__(self, source: Any, columns: tuple[str, ...] | None = None, place: Place | None = None) -> None:
        """`source`: a Source, or numbers in memory, whose columns have these names."""
        self._source = own = source if isinstance(source, Source) else InMemory(source, columns)
        self.count, self.dimension = own.shape  # the number of rows is PRIVATE under add/remove
        self.columns, self.is_sparse = own.columns, own.is_sparse
        self.bounds: Bounds | None = None  # public, to which entries were clipped as they were read; a release has them
        self.known_valid = False  # this run has seen that every row is valid, of a table that cannot change
        self.streams = own.table is None  # every pass reads the table again, because it may not fit into memory
        is_array = isinstance(own.table, np.ndarray)  # at hand: no block of rows has to be made for a pass
        self.are_at_hand = is_array and own.table.dtype == np.float64 and bool(own.table.flags.c_contiguous)
        self._place, self._copy = place, own.table if isinstance(own.table, DeviceRows) else None

    @property
    def place(self) -> Place | None:
        """The device on which `mapped` works; None: the main memory, as always for a sparse table."""
        return None if self.is_sparse else self._place

    @property
    def stored(self) -> int:
        """How many entries a sparse table stores. PRIVATE: never store, print or raise it."""
        return int(self._source.indptr[-1])

    def on(self, place: Place | None) -> "Records":
        return self._like(self._source, place)

    def where_it_lies(self) -> "Records":
        """A tensor on a GPU is worked on there, whatever else is."""
        table = self._source.table
        return self.on(lies_at(table)) if isinstance(table, DeviceRows) else self

    def within(self, bounds: Bounds | None) -> "Records":
        """The same table, made of entries that were clipped to these public bounds; None: to none."""
        records = self._like(self._source, self._place)
        records.bounds = bounds or self.bounds
        return records

    def clipped(self, bounds: Bounds) -> "Records":
        """The table with each entry beyond public bounds at the bound: a copy, or for a stream, block by block."""
        limits = bounds.limits(self.columns, self.dimension) if bounds.ends else None
        if limits is None:
            return self
        if self.is_sparse:
            limits.require_zero()
        both = (self.bounds or Bounds()).within(bounds)
        source = self._source.clipped(both.limits(self.columns, self.dimension) or limits)
        return self._like(source, self._place).within(both.among(self.columns or list(map(str, range(self.dimension)))))

    def chosen(self, rows: Mask) -> "Records":
        """Some of the rows, as a table of its own. Which ones is for the caller to keep private."""
        return self if rows.all() else self._like(self._source.chosen(rows), self._place)

    def _like(self, source: Any, place: Place | None) -> "Records":
        """All or some of the rows, known to be valid if they are."""
        records = Records(source, self.columns, place)
        records.known_valid, records.bounds = self.known_valid, self.bounds
        return records

    @during("drawing a sample")
    def held(self, rows: Mask, capacity: int) -> "Records":
        """Some of the rows in memory, to the last bit as they are. Which ones is for the caller to keep private.

        Dense ones lie in a table with space for `capacity` rows, a public number, and for more only if there are more.
        """
        source = self._source
        if self.is_sparse or isinstance(source.table, DeviceRows):
            return self._like(source.chosen(rows), self._place)
        parts: Iterable[tuple[Any, Mask]] = ((source.table, rows),)
        if self.streams:
            kept = source.chosen(rows).blocks(max(1, _BLOCK_ENTRIES // self.dimension))
            parts = ((block, np.ones(len(block), np.bool_)) for block in kept)
        shape = max(int(rows.sum()), capacity), self.dimension
        table = gathered(parts, shape, np.float64 if self.streams else source.table.dtype)
        table.flags.writeable = False
        return self._like(table, self._place)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[NDArray[np.float64], Mask]]:
        """Consecutive blocks of at most `rows` rows: read-only dense float64, and the mask of the valid rows."""
        for block in self._unmasked(rows):
            valid = are_finite(block)
            masked = block if valid.all() else np.where(valid[:, None], block, 0.0)
            masked.flags.writeable = False
            yield masked, valid
            del block, masked  # before there is another

    def looked_at(self, rows: int | None = None) -> Iterator[tuple[NDArray[np.float64], Mask]]:
        """`blocks` with invalid rows unchanged; rows that are known to be valid are not looked at again."""
        known = self.known_valid
        for block in self._unmasked(rows):
            yield block, np.ones(len(block), dtype=np.bool_) if known else are_finite(block)
            del block

    def _unmasked(self, rows: int | None) -> Iterator[NDArray[np.float64]]:
        return self._source.blocks(max(1, _BLOCK_ENTRIES // self.dimension) if rows is None else rows)

    def stored_blocks(self) -> Iterator[SparseRows]:
        """Of a sparse table: consecutive blocks of rows as they are stored, invalid ones included."""
        return self._source.stored_blocks()

    def sparse_blocks(self) -> Iterator[tuple[SparseRows, Mask]]:
        """`stored_blocks`, the entries of invalid rows as zeros, and the mask of the valid rows."""
        for rows in self.stored_blocks():
            valid = are_finite(rows)
            yield rows if valid.all() else rows.with_values(np.where(rows.spread(valid), rows.values, 0.0)), valid

    def placed_blocks(self, place: Place, rows: int) -> Iterator[DeviceRows]:
        """Consecutive blocks of `rows` rows or more on the device; an array that fits is copied once."""
        source = self._source
        if self._copy is None and isinstance(source.table, np.ndarray) and place.has_room(source.table):
            self._copy = place.table(source.table)
        step, read = block_rows(rows, self.dimension, self._copy is not None), 0
        for block in map(source.clip, source.row_blocks(step)) if self._copy is None else pieces(self._copy, step):
            read += len(block)
            yield place.rows(block)
            heard(read, self.count)

    def mapped(
        self, work: Work[Result], rows: int, among: Mask | None, threads: int, merge: Merge[Result]
    ) -> Iterator[Result]:
        """work(block, its part of `among`) on consecutive blocks, invalid rows and all, results in their order.

        Blocks are dense, or sparse where the table is. The work must not depend on where blocks begin; it runs on so
        many threads, or where the records lie, perhaps more than once, and consecutive results may come merged into
        one. It must not hold Records.
        """
        if self.place is None or self._source.is_remote:
            return self._source.mapped(work, rows, among, threads, merge)
        blocks = with_parts(self.placed_blocks(self.place, rows), among)
        return in_order(lambda block: work(*block), blocks, min(threads, 2))  # one on its way, one worked on

    def __repr__(self) -> str:
        return f"<Records: dimension={self.dimension}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Records are not copied or pickled: they are private. Open the table again where it is needed.")


def open_records(X: object, *, on_missing: str = "raise") -> Records:
    """Records of an array, DataFrame or sparse matrix, under a rule for invalid rows chosen before reading it.

    `on_missing="raise"` is for the data owner only: an error that depends on the data is outside the guarantee.
    `on_missing="drop"` is inside it: such a record is close to itself only and adds 0 to every sum.
    """
    check_choice("on_missing", on_missing, BY_ROW)
    records = as_records(X, on_missing=on_missing)
    require_valid(records, on_missing)
    return records


@during("checking the rows")
def require_valid(records: Records, on_missing: str) -> None:
    """Under the rule "raise", an error if any row is invalid; it names the rule, never a row or a value."""
    records.known_valid = False
    if on_missing != "raise":
        return
    if not all(records.mapped(_all_finite, max(1, _LOOK_ENTRIES // records.dimension), None, cores(), all)):
        raise InvalidRecords(
            "The table has an entry that is not a finite number (NaN, infinity or missing), and on_missing='raise' "
            "forbids it: clean the table, pass on_missing='column' (--on-missing column) to average each column over "
            "the rows that have it, or on_missing='drop' to give such rows no weight."
        )
    records.known_valid = records._source.is_sealed


def as_records(
    X: object, columns: tuple[str, ...] | None = None, *, on_missing: str = "raise", bounds: Bounds = Bounds()
) -> Records:
    """Records after checks of rank, type, names and width, clipped to `bounds`. `columns` names unnamed columns.

    Under "drop" and "column", where one entry may have decided the type of others, each entry is read by itself, and
    one that is no number is NaN. Under "raise" such a type is an error.
    """
    if isinstance(X, Records):
        return X.clipped(bounds)
    with boundary(lambda _: InvalidRecords(f"The records do not form a table of numbers. {ONE_ROW_EACH}")):
        source = source_of(X, lenient=on_missing != "raise")
    if source.shape[1] == 0:
        raise InvalidRecords(NO_COLUMNS)
    source.columns = source.columns or columns
    return Records(source).clipped(bounds)


def plain_table(X: object, on_missing: str = "raise") -> Any:
    """The numbers of a table, dense or CSR: for transformers, whose output goes back to the owner of the records."""
    return as_records(X, on_missing=on_missing)._source.whole()


def are_finite(rows: Rows) -> Mask:
    if isinstance(rows, SparseRows):
        finite = np.isfinite(rows.values)
        return np.ones(len(rows), dtype=np.bool_) if finite.all() else rows.sums((~finite).astype(np.int64)) == 0
    if isinstance(rows, DeviceRows):
        return rows.are_finite()
    with np.errstate(all="ignore"):  # a warning or error could reveal records
        valid = np.isfinite(float_squares(rows))  # a quick look: with a finite sum of squares all entries are finite
    if not valid.all():
        doubtful = np.flatnonzero(~valid)
        valid[doubtful] = np.isfinite(rows[doubtful]).all(axis=1)
    return valid


def with_gaps(rows: Rows) -> Rows:
    """The same rows, every entry that is not a finite number as NaN: a copy, whatever the entries are."""
    if isinstance(rows, SparseRows):
        return rows.with_values(np.where(np.isfinite(rows.values), rows.values, np.nan))
    return rows.with_gaps() if isinstance(rows, DeviceRows) else np.where(np.isfinite(rows), rows, np.nan)


def _all_finite(rows: Rows, among: Mask | None) -> bool:
    return bool(are_finite(rows).all())
