"""`Source`: the rows of a table. Every adapter has a shape, column names, blocks of rows and keys.

Adapters: `InMemory` (arrays, CSR, tensors; frames become arrays), the files of formats/, and `partitions.DaskTable`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree.data.blocks import Mask, SparseRows, to_dense
from dimfree.data.extras import sparse
from dimfree.data.gpu.rows import DeviceRows
from dimfree.progress import report_progress
from dimfree.threads import in_order

if TYPE_CHECKING:
    from dimfree.data.schema import Limits

SPARSE_BLOCK_ENTRIES = 2**20  # stored entries; computations need several such arrays

Result = TypeVar("Result")
Work: TypeAlias = Callable[[Any, Mask | None], Result]  # on a block of rows and its part of a mask of all rows
Merge: TypeAlias = Callable[[Iterable[Result]], Result]


class Source(ABC):
    """Private: a table of real numbers that every pass reads in order. Its column names are public."""

    shape: tuple[int, int]
    columns: tuple[str, ...] | None = None  # the names of the coordinates
    names: tuple[str, ...] | None = None  # of all columns of a file, if known
    texts: tuple[str, ...] = ()  # coordinates that a file with declared types stores as text
    table: Any = None  # the numbers if all are in memory: an array, scipy's csr_array, or DeviceRows
    indptr: Any = None  # the start of each row, if rows are stored as CSR
    limits: "Limits | None" = None  # public bounds to which every block is clipped
    is_remote = False  # work runs where the rows are, whatever the device
    is_sealed = False  # a pass over rows that have changed since the first pass is an error

    @abstractmethod
    def row_blocks(self, rows: int) -> Iterator[Any]:
        """Return all stored rows in order, in blocks of at most `rows`: dense, or slices of `table`."""

    def csr_blocks(self, ends: Iterable[tuple[int, int]]) -> Iterator[Any]:
        """Return the rows between each pair as csr_array of float64 without duplicates, if rows are stored as CSR."""
        raise NotImplementedError

    def keys(self, name: str) -> Any:
        raise NotImplementedError

    @property
    def is_sparse(self) -> bool:
        return self.indptr is not None

    def clip(self, rows: Any) -> Any:
        return rows if self.limits is None else self.limits.clip(rows)

    def apply_bounds(self, limits: "Limits") -> "Source":
        """Return the same rows; every block is clipped when it is read."""
        some = copy(self)
        some.limits = limits
        return some

    def blocks(self, rows: int) -> Iterator[NDArray[np.float64]]:
        """Return all rows in order, clipped, in read-only dense blocks of float64."""
        read = 0
        for block in self.row_blocks(rows):
            read += block.shape[0]
            yield to_float_rows(self.clip(block))
            del block  # it may be a view of a larger block
            report_progress(read, self.shape[0])

    def read_stored_blocks(self) -> Iterator[SparseRows]:
        """Return all rows of a CSR table in order, clipped, in sparse blocks."""
        read = 0
        ends = row_bounds(self.indptr, max(SPARSE_BLOCK_ENTRIES, 4 * self.shape[1]))  # a block costs a row of zeros
        for block in self.csr_blocks(ends):
            read += block.shape[0]
            yield SparseRows(self.clip(block))
            report_progress(read, self.shape[0])

    def map_blocks(
        self, work: Work[Result], rows: int, among: Mask | None, threads: int, merge: Merge[Result]
    ) -> Iterator[Result]:
        """work(block, its part of `among`) for all blocks in order; some of the results may come merged into one."""
        blocks: Iterator[Any] = self.read_stored_blocks() if self.is_sparse else self.blocks(rows)
        return in_order(lambda block: work(*block), pair_with_mask(blocks, among), threads)

    def select_rows(self, rows: Mask) -> "Source":
        """Return some of the rows; the caller keeps private which ones. Sparse ones are few, and held in memory."""
        if not self.is_sparse:
            return SelectedRows(self, rows)
        blocks = pair_with_mask(self.read_stored_blocks(), rows)
        kept = [block[np.flatnonzero(part)].matrix for block, part in blocks]
        return InMemory(sparse.vstack([sparse.csr_array((0, self.shape[1])), *kept], format="csr"), self.columns)

    def read_whole(self) -> Any:
        """All numbers, clipped: for a table that is small."""
        if self.is_sparse:
            return self.select_rows(np.ones(self.shape[0], dtype=np.bool_)).table
        blocks = list(self.row_blocks(max(1, self.shape[0])))
        return self.clip(np.concatenate(blocks) if blocks else np.empty(self.shape))


class InMemory(Source):
    """Private: read-only numbers in memory or on a device."""

    is_sealed = True

    def __init__(self, table: Any, columns: tuple[str, ...] | None = None) -> None:
        self.table, self.columns = table, columns
        self.shape = int(table.shape[0]), int(table.shape[1])
        self.indptr = table.indptr if sparse.issparse(table) else None

    def row_blocks(self, rows: int) -> Iterator[Any]:
        return (self.table[start : start + rows] for start in range(0, self.shape[0], rows))

    def csr_blocks(self, ends: Iterable[tuple[int, int]]) -> Iterator[Any]:
        """Return blocks that share the memory of the table's entries."""
        data, indices, starts = self.table.data, self.table.indices, self.indptr
        for first, last in ends:
            begin, end = starts[first], starts[last]
            parts = data[begin:end], indices[begin:end], starts[first : last + 1] - begin
            yield sparse.csr_array(parts, shape=(last - first, self.shape[1]), copy=False)

    def apply_bounds(self, limits: "Limits") -> "InMemory":
        return InMemory(limits.clip(self.table), self.columns)

    def select_rows(self, rows: Mask) -> "InMemory":
        return InMemory(self.table[np.flatnonzero(rows)], self.columns)

    def read_whole(self) -> Any:
        return self.table


class SelectedRows(Source):
    """Private: some of the rows of another source."""

    def __init__(self, source: Source, rows: Mask) -> None:
        self._source, self._rows = source, rows
        self.shape = int(rows.sum()), source.shape[1]
        self.columns, self.limits = source.columns, source.limits

    def row_blocks(self, rows: int) -> Iterator[Any]:
        for block, kept in pair_with_mask(self._source.row_blocks(rows), self._rows):
            if kept.any():
                yield block[kept]


def pair_with_mask(blocks: Iterable[Any], mask: Mask | None) -> Iterator[tuple[Any, Any]]:
    """Return each block with its part of a mask of all rows; None without a mask."""
    start = 0
    for rows in blocks:
        yield rows, None if mask is None else mask[start : start + len(rows)]
        start += len(rows)


def row_bounds(indptr: NDArray[Any], entries: int) -> Iterator[tuple[int, int]]:
    """Return first and last row of consecutive blocks with about `entries` stored entries, at least one row each."""
    first, count = 0, len(indptr) - 1
    while first < count:
        full = int(np.searchsorted(indptr, int(indptr[first]) + entries, side="right")) - 1
        last = max(first + 1, min(full, first + entries, count))
        yield first, last
        first = last


def pieces(block: Any, rows: int) -> Iterator[Any]:
    return (block[start : start + rows] for start in range(0, len(block), rows))


def to_float_rows(rows: Any) -> NDArray[np.float64]:
    """Return dense rows in float64, read-only."""
    numbers = rows.floats() if isinstance(rows, DeviceRows) else rows
    plain = numbers.toarray() if sparse.issparse(numbers) else to_dense(numbers)
    with np.errstate(all="ignore"):  # a long double beyond float64 becomes infinite, hence invalid
        block = np.ascontiguousarray(plain, dtype=np.float64)
    block.flags.writeable = False
    return block
