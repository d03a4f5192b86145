"""Records: a table from any source, one row per person. No error, repr or pickle shows values or the row count."""

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_choice
from dimfree.data.blocks import Mask, Rows, SparseRows, float_squares, gather_rows
from dimfree.data.boundary import boundary
from dimfree.data.gpu.device import Place, block_rows, find_device
from dimfree.data.gpu.rows import DeviceRows
from dimfree.data.schema import Bounds
from dimfree.data.source import InMemory, Merge, Result, Source, Work, pair_with_mask, pieces
from dimfree.data.tables import NO_COLUMNS, ONE_ROW_EACH, open_source
from dimfree.errors import InvalidDataError
from dimfree.progress import during, report_progress
from dimfree.threads import cores, in_order

BY_ROW = ("raise", "complete-case")  # rules for whole rows
ON_MISSING = (*BY_ROW, "available-case")

_BLOCK_ENTRIES = 2**22  # 32 MiB of float64: large enough for fast arithmetic, small compared with the table
_READ_ENTRIES = 2**20  # the same if blocks are read only


class Records:
    """A read-only table of real numbers, one row per person; only its dimension and column names are visible.

    A row with a non-finite entry is invalid: `blocks` masks it and returns zeros for it.
    """

    __slots__ = (
        "_copy", "_place", "_source", "bounds", "columns", "count", "dimension", "is_plain_array", "is_sparse",
        "known_valid", "streams",
    )  # fmt: skip

    def __init__(self, source: Any, columns: tuple[str, ...] | None = None, place: Place | None = None) -> None:
        """Wrap a Source, or numbers in memory whose columns have these names."""
        self._source = own = source if isinstance(source, Source) else InMemory(source, columns)
        self.count, self.dimension = own.shape  # the number of rows is PRIVATE under add/remove
        self.columns, self.is_sparse = own.columns, own.is_sparse
        self.bounds: Bounds | None = None  # public: entries were clipped to them when read; a release states them
        self.known_valid = False  # this run has checked that every row of a table that cannot change is valid
        self.streams = own.table is None  # every pass reads the table again, because it may not fit into memory
        is_array = isinstance(own.table, np.ndarray)  # then a pass needs no copies of rows
        self.is_plain_array = is_array and own.table.dtype == np.float64 and bool(own.table.flags.c_contiguous)
        self._place, self._copy = place, own.table if isinstance(own.table, DeviceRows) else None

    @property
    def place(self) -> Place | None:
        """Return the device of `map_blocks`; None for the main memory, which sparse tables always use."""
        return None if self.is_sparse else self._place

    @property
    def stored(self) -> int:
        """Count the stored entries of a sparse table. PRIVATE: never store, print or raise it."""
        return int(self._source.indptr[-1])

    def on(self, place: Place | None) -> "Records":
        return self._like(self._source, place)

    def on_its_device(self) -> "Records":
        """Process a GPU tensor on its own device."""
        table = self._source.table
        return self.on(find_device(table)) if isinstance(table, DeviceRows) else self

    def within(self, bounds: Bounds | None) -> "Records":
        """Return the same table, with the public bounds to which its entries were clipped."""
        records = self._like(self._source, self._place)
        records.bounds = bounds or self.bounds
        return records

    def apply_bounds(self, bounds: Bounds) -> "Records":
        """Clip each entry to public bounds: a copy of the table, or of a stream block by block."""
        limits = bounds.limits(self.columns, self.dimension) if bounds.ends else None
        if limits is None:
            return self
        if self.is_sparse:
            limits.require_zero()
        both = (self.bounds or Bounds()).within(bounds)
        source = self._source.apply_bounds(both.limits(self.columns, self.dimension) or limits)
        return self._like(source, self._place).within(both.among(self.columns or list(map(str, range(self.dimension)))))

    def select_rows(self, rows: Mask) -> "Records":
        """Return some of the rows as a table. The caller keeps private which ones."""
        return self if rows.all() else self._like(self._source.select_rows(rows), self._place)

    def _like(self, source: Any, place: Place | None) -> "Records":
        """Wrap all or some of the rows, with what is known of their validity and bounds."""
        records = Records(source, self.columns, place)
        records.known_valid, records.bounds = self.known_valid, self.bounds
        return records

    @during("drawing a sample")
    def load_rows(self, rows: Mask, capacity: int) -> "Records":
        """Load some of the rows into memory, bit for bit. The caller keeps private which ones.

        Dense rows lie in a table with space for `capacity` rows, a public number, or more if there are more.
        """
        source = self._source
        if self.is_sparse or isinstance(source.table, DeviceRows):
            return self._like(source.select_rows(rows), self._place)
        parts: Iterable[tuple[Any, Mask]] = ((source.table, rows),)
        if self.streams:
            kept = source.select_rows(rows).blocks(max(1, _BLOCK_ENTRIES // self.dimension))
            parts = ((block, np.ones(len(block), np.bool_)) for block in kept)
        shape = max(int(rows.sum()), capacity), self.dimension
        table = gather_rows(parts, shape, np.float64 if self.streams else source.table.dtype)
        table.flags.writeable = False
        return self._like(table, self._place)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[NDArray[np.float64], Mask]]:
        """Return consecutive blocks of at most `rows` rows: read-only dense float64 and the mask of valid rows."""
        for block in self._read_dense_blocks(rows):
            valid = are_finite(block)
            masked = block if valid.all() else np.where(valid[:, None], block, 0.0)
            masked.flags.writeable = False
            yield masked, valid
            del block, masked  # before the next block

    def read_raw_blocks(self, rows: int | None = None) -> Iterator[tuple[NDArray[np.float64], Mask]]:
        """Return `blocks` with invalid rows unchanged; rows known to be valid are not checked again."""
        known = self.known_valid
        for block in self._read_dense_blocks(rows):
            yield block, np.ones(len(block), dtype=np.bool_) if known else are_finite(block)
            del block

    def _read_dense_blocks(self, rows: int | None) -> Iterator[NDArray[np.float64]]:
        return self._source.blocks(max(1, _BLOCK_ENTRIES // self.dimension) if rows is None else rows)

    def read_stored_blocks(self) -> Iterator[SparseRows]:
        """Return consecutive blocks of the stored rows of a sparse table, invalid ones included."""
        return self._source.read_stored_blocks()

    def sparse_blocks(self) -> Iterator[tuple[SparseRows, Mask]]:
        """Return `read_stored_blocks` with zeros for the entries of invalid rows, and the mask of valid rows."""
        for rows in self.read_stored_blocks():
            valid = are_finite(rows)
            yield (
                rows if valid.all() else rows.with_values(np.where(rows.repeat_by_row(valid), rows.values, 0.0)),
                valid,
            )

    def read_placed_blocks(self, place: Place, rows: int) -> Iterator[DeviceRows]:
        """Return consecutive blocks of at least `rows` rows on the device; an array that fits is copied once."""
        source = self._source
        if self._copy is None and isinstance(source.table, np.ndarray) and place.has_room(source.table):
            self._copy = place.table(source.table)
        step, read = block_rows(rows, self.dimension, self._copy is not None), 0
        for block in map(source.clip, source.row_blocks(step)) if self._copy is None else pieces(self._copy, step):
            read += len(block)
            yield place.rows(block)
            report_progress(read, self.count)

    def map_blocks(
        self, work: Work[Result], rows: int, among: Mask | None, threads: int, merge: Merge[Result]
    ) -> Iterator[Result]:
        """Return work(block, its part of `among`) for consecutive blocks in order, invalid rows included.

        Blocks are dense, or sparse if the table is. The work must not depend on where blocks begin. It runs on
        `threads` threads or where the records lie, possibly more than once; consecutive results may come merged. The
        work must not contain Records.
        """
        if self.place is None or self._source.is_remote:
            return self._source.map_blocks(work, rows, among, threads, merge)
        blocks = pair_with_mask(self.read_placed_blocks(self.place, rows), among)
        return in_order(lambda block: work(*block), blocks, min(threads, 2))  # one is copied, one processed

    def __repr__(self) -> str:
        return f"<Records: dimension={self.dimension}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Records are private and cannot be copied or pickled. Open the table again where you need it.")


def open_records(X: object, *, missing: str = "raise") -> Records:
    """Open an array, DataFrame or sparse matrix, under a rule for invalid rows chosen before reading it.

    `missing="raise"` is for the data owner only: an error that depends on the data is outside the guarantee.
    `missing="complete-case"` is inside it: an invalid record is close to itself only and adds 0 to every sum.
    """
    check_choice("missing", missing, BY_ROW)
    records = as_records(X, missing=missing)
    require_valid(records, missing)
    return records


@during("checking the rows")
def require_valid(records: Records, missing: str) -> None:
    """Under the rule "raise", refuse a table with an invalid row; the error names the rule, never a row or value."""
    records.known_valid = False
    if missing != "raise":
        return
    if not all(records.map_blocks(_all_finite, max(1, _READ_ENTRIES // records.dimension), None, cores(), all)):
        raise InvalidDataError(
            "The table has an entry that is not a finite number (NaN, infinity or missing), which missing='raise' "
            "forbids. Clean the table, pass missing='available-case' (--missing available-case) to average each column "
            "over the rows with a value there, or missing='complete-case' to leave out rows with a missing value."
        )
    records.known_valid = records._source.is_sealed


def as_records(
    X: object, columns: tuple[str, ...] | None = None, *, missing: str = "raise", bounds: Bounds = Bounds()
) -> Records:
    """Check rank, type, names and width, and clip to `bounds`. `columns` names unnamed columns.

    Under "complete-case" and "available-case", if one entry may have decided the type of others, each entry is read
    separately, and an entry that is not a number is NaN. Under "raise" such a type is an error.
    """
    if isinstance(X, Records):
        return X.apply_bounds(bounds)
    with boundary(lambda _: InvalidDataError(f"The records are not a table of numbers. {ONE_ROW_EACH}")):
        source = open_source(X, lenient=missing != "raise")
    if source.shape[1] == 0:
        raise InvalidDataError(NO_COLUMNS)
    source.columns = source.columns or columns
    return Records(source).apply_bounds(bounds)


def to_plain_table(X: object, missing: str = "raise") -> Any:
    """Return the numbers of a table, dense or CSR, for transformers, whose output goes back to the data owner."""
    return as_records(X, missing=missing)._source.read_whole()


def are_finite(rows: Rows) -> Mask:
    if isinstance(rows, SparseRows):
        finite = np.isfinite(rows.values)
        return np.ones(len(rows), dtype=np.bool_) if finite.all() else rows.sum_rows((~finite).astype(np.int64)) == 0
    if isinstance(rows, DeviceRows):
        return rows.are_finite()
    with np.errstate(all="ignore"):  # a warning or error could reveal records
        valid = np.isfinite(float_squares(rows))  # fast check: with a finite sum of squares all entries are finite
    if not valid.all():
        doubtful = np.flatnonzero(~valid)
        valid[doubtful] = np.isfinite(rows[doubtful]).all(axis=1)
    return valid


def mark_missing(rows: Rows) -> Rows:
    """Copy the rows with NaN for every entry that is not finite."""
    if isinstance(rows, SparseRows):
        return rows.with_values(np.where(np.isfinite(rows.values), rows.values, np.nan))
    return rows.mark_missing() if isinstance(rows, DeviceRows) else np.where(np.isfinite(rows), rows, np.nan)


def _all_finite(rows: Rows, among: Mask | None) -> bool:
    return bool(are_finite(rows).all())
