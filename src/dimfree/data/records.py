"""Records: an array, a DataFrame, an AnnData or a sparse matrix as a read-only table, one row per person.

No error, repr or pickle shows a value of the table or its number of rows.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_choice
from dimfree.data import sparse
from dimfree.data.blocks import Mask, Rows, SparseRows, densely, float_squares, gathered
from dimfree.data.boundary import boundary
from dimfree.data.bounds import Bounds, Limits
from dimfree.data.convert import ONE_ROW_EACH, Source, source_of
from dimfree.data.gpu.device import Place, block_rows, lies_at
from dimfree.data.gpu.rows import DeviceRows
from dimfree.data.stream import SparseStream, Stream, pieces, row_bounds
from dimfree.errors import InvalidRecords
from dimfree.progress import during, heard
from dimfree.threads import cores, in_order

BY_ROW = ("raise", "drop")  # rules for whole rows
ON_MISSING = (*BY_ROW, "column")

_BLOCK_ENTRIES = 2**22  # 32 MiB of float64: large enough for fast arithmetic, small compared with the table
_LOOK_ENTRIES = 2**20  # where a block is read only
_SPARSE_BLOCK_ENTRIES = 2**20  # stored entries; what is computed from them takes some such arrays

Result = TypeVar("Result")


class Records:
    """A read-only table of real numbers, one row per person; it shows its dimension and column names only.

    A row with a non-finite entry is invalid: `blocks` masks it and returns zeros for it.
    """

    __slots__ = ("_bounds", "_columns", "_copy", "_known_valid", "_limits", "_place", "_source")

    def __init__(self, source: Source, columns: tuple[str, ...] | None, place: Place | None = None) -> None:
        self._source = source
        self._columns = columns
        self._place = place
        self._copy: DeviceRows | None = source if isinstance(source, DeviceRows) else None
        self._known_valid = False
        self._bounds: Bounds | None = None
        self._limits: Limits | None = None  # what clips the blocks of a stream

    @property
    def columns(self) -> tuple[str, ...] | None:
        return self._columns

    @property
    def bounds(self) -> Bounds | None:
        """The public bounds to which entries were clipped as they were read, if any; a release states them."""
        return self._bounds

    @property
    def dimension(self) -> int:
        return int(self._source.shape[1])

    @property
    def count(self) -> int:
        """How many rows. PRIVATE under add/remove: never store, print or raise it."""
        return int(self._source.shape[0])

    @property
    def streams(self) -> bool:
        """Whether every pass reads the table again from its source, because it may not fit into memory."""
        return isinstance(self._source, Stream)

    @property
    def are_at_hand(self) -> bool:
        """Whether a block of rows is a part of the table itself, an array of 64-bit floats: none is made for a pass."""
        source = self._source
        return isinstance(source, np.ndarray) and source.dtype == np.float64 and source.flags.c_contiguous

    @property
    def known_valid(self) -> bool:
        """Whether this run has seen that every row is valid, of a table in memory or a file that must stay as it is: no
        pass need look again."""
        return self._known_valid

    @property
    def place(self) -> Place | None:
        """The device on which `mapped` works; None: the main memory, as always for a sparse table."""
        return None if self.is_sparse else self._place

    def on(self, place: Place | None) -> "Records":
        """The same table, processed on this device."""
        return self._like(self._source, place)

    def within(self, bounds: Bounds | None) -> "Records":
        """The same table, made of entries that were clipped to these public bounds; None: to none."""
        if bounds is None:
            return self
        records = self._like(self._source, self._place)
        records._bounds = bounds
        return records

    def clipped(self, bounds: Bounds) -> "Records":
        """The table with each entry beyond public bounds at the bound: a copy, or for a stream, block by block."""
        limits = bounds.limits(self._columns, self.dimension) if bounds.ends else None
        if limits is None:
            return self
        if self.is_sparse:
            limits.require_zero()
        both = (self._bounds or Bounds()).within(bounds)
        records = self._like(self._source if self.streams else limits.clip(self._source), self._place)
        records._limits = both.limits(self._columns, self.dimension) if self.streams else None
        return records.within(both.among(self._columns or list(map(str, range(self.dimension)))))

    def where_it_lies(self) -> "Records":
        """A tensor on a GPU is worked on there, whatever else is."""
        return self.on(lies_at(self._source)) if isinstance(self._source, DeviceRows) else self

    def placed_blocks(self, place: Place, rows: int) -> Iterator[DeviceRows]:
        """Consecutive blocks of `rows` rows or more on the device, invalid rows included.

        An array that fits is copied once, other tables on every pass.
        """
        if self._copy is None and isinstance(self._source, np.ndarray) and place.has_room(self._source):
            self._copy = place.table(self._source)
        step, read = block_rows(rows, self.dimension, self._copy is not None), 0
        for block in self._dense_blocks(step) if self._copy is None else pieces(self._copy, step):
            read += len(block)
            yield place.rows(block)
            heard(read, self.count)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[NDArray[np.float64], Mask]]:
        """Consecutive blocks of at most `rows` rows: read-only dense float64, and the mask of the valid rows."""
        for block in self._unmasked(rows):
            valid = are_finite(block)
            masked = block if valid.all() else np.where(valid[:, None], block, 0.0)
            masked.flags.writeable = False
            yield masked, valid
            del block, masked  # before there is another

    def looked_at(self, rows: int | None = None) -> Iterator[tuple[NDArray[np.float64], Mask]]:
        """`blocks` with invalid rows as they are: no copy of a block tells that it has one.

        Rows that are known to be valid are not looked at again.
        """
        look = _all_valid if self.known_valid else are_finite
        return ((block, look(block)) for block in self._unmasked(rows))

    def as_it_is(self, sampled: Mask | None) -> tuple[NDArray[np.float64], NDArray[np.intp]] | None:
        """A table that passes need not read or convert, and which of its rows are valid and sampled; None: it is none.

        Which ones is for the caller to keep private.
        """
        if not self.are_at_hand or self.place is not None:
            return None
        every = np.concatenate([np.ones(0, dtype=np.bool_), *(valid for _, valid in self.looked_at())])
        return self._source, np.flatnonzero(every if sampled is None else every & sampled)

    def mapped(
        self,
        work: Callable[[Rows, Mask | None], Result],
        rows: int,
        among: Mask | None,
        threads: int,
        merge: Callable[[Iterable[Result]], Result],
    ) -> Iterator[Result]:
        """work(block, its part of `among`) on consecutive blocks, invalid rows and all, results in their order.

        Blocks are dense, or sparse where the table is. The work must not depend on where blocks begin; it runs on so
        many threads, or where the records lie, perhaps more than once, and consecutive results may come merged into
        one. It must not hold Records.
        """
        if hasattr(self._source, "mapped"):
            return iter(self._source.mapped(partial(_on_dense, work, self._limits), rows, among, merge))
        if self.place is None and hasattr(self._source, "worked"):
            return iter(self._source.worked(partial(_on_dense, work, self._limits), rows, among, threads))
        blocks: Iterator[Rows] = self.stored_blocks() if self.is_sparse else self._unmasked(rows)
        if self.place is not None:
            blocks, threads = self.placed_blocks(self.place, rows), min(threads, 2)  # one on its way, one worked on
        return in_order(lambda block: work(*block), _with_parts(blocks, among), threads)

    def _unmasked(self, rows: int | None) -> Iterator[NDArray[np.float64]]:
        step = max(1, _BLOCK_ENTRIES // self.dimension) if rows is None else rows
        read = 0
        for block in self._dense_blocks(step):
            read += block.shape[0]
            yield _dense(block)
            del block  # it may be a view of a larger block
            heard(read, self.count)

    @property
    def is_sparse(self) -> bool:
        return isinstance(self._source, SparseStream) or sparse.issparse(self._source)

    @property
    def stored(self) -> int:
        """How many entries a sparse table stores. PRIVATE: never store, print or raise it."""
        return int(self._source.nnz)

    def sparse_blocks(self) -> Iterator[tuple[SparseRows, Mask]]:
        """Of a sparse table: consecutive blocks of rows as they are stored, and the mask of the valid rows."""
        return map(_masked_entries, self.stored_blocks())

    def stored_blocks(self) -> Iterator[SparseRows]:
        """`sparse_blocks` with invalid rows as they are."""
        read = 0
        for rows in self._csr_blocks():
            read += len(rows)
            yield rows
            heard(read, self.count)

    def chosen(self, rows: Mask) -> "Records":
        """Some of the rows, as a table of its own. Which ones is for the caller to keep private."""
        return self if rows.all() else self._like(self._some(rows), self._place)

    def _some(self, rows: Mask) -> Source:
        if not self.streams:
            return self._source[np.flatnonzero(rows)]
        some = self._source.chosen(rows)
        return self._limits.clip(some) if self._limits is not None and sparse.issparse(some) else some

    def _like(self, source: Source, place: Place | None) -> "Records":
        """All or some of the rows, known to be valid if they are."""
        records = Records(source, self._columns, place)
        records._known_valid, records._bounds, records._limits = self._known_valid, self._bounds, self._limits
        return records

    @during("drawing a sample")
    def held(self, rows: Mask, capacity: int) -> "Records":
        """Some of the rows in memory, to the last bit as they are. Which ones is for the caller to keep private.

        Dense ones lie in a table with space for `capacity` rows, a public number, and for more only if there are more.
        """
        if self.is_sparse or isinstance(self._source, DeviceRows):
            return self._like(self._some(rows), self._place)
        some = self._some(rows) if self.streams else self._source
        shape, kept = (max(int(rows.sum()), capacity), self.dimension), self._like(some, None)._unmasked(None)
        parts = ((block, np.ones(len(block), np.bool_)) for block in kept) if self.streams else ((some, rows),)
        table = gathered(parts, shape, np.float64 if self.streams else some.dtype)
        table.flags.writeable = False
        return self._like(table, self._place)

    def _dense_blocks(self, step: int) -> Iterator[Source]:
        if self.streams:
            blocks = self._source.row_blocks(step)
            return blocks if self._limits is None else map(self._limits.clip, blocks)
        return (self._source[start : start + step] for start in range(0, self.count, step))

    def _csr_blocks(self) -> Iterator[SparseRows]:
        # a block costs a row of zeros, too
        ends = row_bounds(self._source.indptr, max(_SPARSE_BLOCK_ENTRIES, 4 * self.dimension))
        if not self.streams:
            return (_rows_of(self._source, first, last) for first, last in ends)
        blocks = self._source.csr_blocks(ends)
        return map(SparseRows, blocks if self._limits is None else map(self._limits.clip, blocks))

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
    records._known_valid = False
    if on_missing != "raise":
        return
    if not all(records.mapped(_all_finite, max(1, _LOOK_ENTRIES // records.dimension), None, cores(), all)):
        raise InvalidRecords(
            "The table has an entry that is not a finite number (NaN, infinity or missing), and on_missing='raise' "
            "forbids it: clean the table, pass on_missing='column' (--on-missing column) to average each column over "
            "the rows that have it, or on_missing='drop' to give such rows no weight."
        )
    records._known_valid = not records.streams or records._source.sealed


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
        source, names = source_of(X, lenient=on_missing != "raise")
    if source.shape[1] == 0:
        raise InvalidRecords(f"The table has no columns. {ONE_ROW_EACH}")
    return Records(source, names or columns).clipped(bounds)


def plain_table(X: object, on_missing: str = "raise") -> Source:
    """The numbers of a table as they are, non-finite ones included: a dense array, or CSR.

    For transformers, whose output goes back to the owner of the records. An error still states the schema only.
    """
    records = as_records(X, on_missing=on_missing)
    source = records._source.whole() if records.streams else records._source
    return source if records._limits is None else records._limits.clip(source)


def _dense(rows: Source) -> NDArray[np.float64]:
    """Fresh memory, or a view that cannot be written through."""
    numbers = rows.floats() if isinstance(rows, DeviceRows) else rows
    plain = numbers.toarray() if sparse.issparse(numbers) else densely(numbers)
    with np.errstate(all="ignore"):  # a long double beyond float64 becomes infinite, hence invalid
        block = np.ascontiguousarray(plain, dtype=np.float64)
    block.flags.writeable = False
    return block


def are_finite(rows: Rows) -> Mask:
    """Which rows are valid: every entry is a finite number."""
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


def _all_valid(rows: Rows) -> Mask:
    return np.ones(len(rows), dtype=np.bool_)


def with_gaps(rows: Rows) -> Rows:
    """The same rows, every entry that is not a finite number as NaN: a copy, whatever the entries are."""
    if isinstance(rows, SparseRows):
        return rows.with_values(np.where(np.isfinite(rows.values), rows.values, np.nan))
    return rows.with_gaps() if isinstance(rows, DeviceRows) else np.where(np.isfinite(rows), rows, np.nan)


def _on_dense(
    work: Callable[[Rows, Mask | None], Result], limits: Limits | None, rows: Source, among: Mask | None
) -> Result:
    return work(_dense(rows if limits is None else limits.clip(rows)), among)


def _rows_of(matrix: Any, first: int, last: int) -> SparseRows:
    """Consecutive rows that share the memory of the table's entries."""
    begin, end = matrix.indptr[first], matrix.indptr[last]
    parts = (matrix.data[begin:end], matrix.indices[begin:end], matrix.indptr[first : last + 1] - begin)
    return SparseRows(sparse.csr_array(parts, shape=(last - first, matrix.shape[1]), copy=False))


def _masked_entries(rows: SparseRows) -> tuple[SparseRows, Mask]:
    valid = are_finite(rows)
    return rows if valid.all() else rows.with_values(np.where(rows.spread(valid), rows.values, 0.0)), valid


def _with_parts(blocks: Iterator[Rows], among: Mask | None) -> Iterator[tuple[Rows, Mask | None]]:
    """Each block with its part of a mask of all rows."""
    start = 0
    for rows in blocks:
        yield rows, None if among is None else among[start : start + len(rows)]
        start += len(rows)


def _all_finite(rows: Rows, among: Mask | None) -> bool:
    return bool(are_finite(rows).all())
