"""Stream: a source that is read again on every pass. Records reads its blocks in order, from the first."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree.data import sparse

_ENTRIES = 2**20  # stored entries read at a time


class Stream(ABC):
    """Private: a table of real numbers that is read again on every pass and never held completely."""

    shape: tuple[int, int]
    columns: tuple[str, ...] | None = None  # the names of the coordinates
    names: tuple[str, ...] | None = None  # of all columns of the source, where they are known
    texts: tuple[str, ...] = ()  # coordinates that a file with declared types stores as text
    is_sparse: bool = False
    sealed: bool = False  # a pass over rows that have changed since the first is an error

    @abstractmethod
    def row_blocks(self, rows: int) -> Iterator[NDArray[Any]]:
        """All rows in order, in fresh dense blocks of at most `rows`."""

    def whole(self) -> Any:
        """The table in memory, for one that is small."""
        blocks = list(self.row_blocks(max(1, self.shape[0])))
        return np.concatenate(blocks) if blocks else np.empty(self.shape)

    def chosen(self, rows: NDArray[np.bool_]) -> Any:
        """Some of the rows, as a source of its own."""
        return Chosen(self, rows)


class SparseStream(Stream):
    """Private: rows as a CSR matrix stores them; `indptr`, where each row begins, is in memory."""

    is_sparse = True
    indptr: NDArray[np.integer[Any]]

    @property
    def nnz(self) -> int:
        return int(self.indptr[-1])

    @abstractmethod
    def csr_blocks(self, bounds: Iterator[tuple[int, int]]) -> Iterator[Any]:
        """The rows between each pair of bounds: a csr_array of float64, no entry stored twice."""

    def row_blocks(self, rows: int) -> Iterator[NDArray[Any]]:
        starts = range(0, self.shape[0], rows)
        bounds = ((start, min(start + rows, self.shape[0])) for start in starts)
        return (block.toarray() for block in self.csr_blocks(bounds))

    def whole(self) -> Any:
        return self.chosen(np.ones(self.shape[0], dtype=np.bool_))

    def chosen(self, rows: NDArray[np.bool_]) -> Any:
        """In memory, as their entries are few."""
        kept: list[Any] = [sparse.csr_array((0, self.shape[1]))]
        first = 0
        for block in self.csr_blocks(row_bounds(self.indptr, _ENTRIES)):
            kept.append(block[np.flatnonzero(rows[first : first + block.shape[0]])])
            first += block.shape[0]
        return sparse.vstack(kept, format="csr")


def row_bounds(indptr: NDArray[Any], entries: int) -> Iterator[tuple[int, int]]:
    """First and last row of consecutive blocks that store about so many entries, a row at least."""
    first, count = 0, len(indptr) - 1
    while first < count:
        full = int(np.searchsorted(indptr, int(indptr[first]) + entries, side="right")) - 1
        last = max(first + 1, min(full, first + entries, count))
        yield first, last
        first = last


def pieces(block: Any, rows: int) -> Iterator[Any]:
    """A block in smaller ones, without copies."""
    return (block[start : start + rows] for start in range(0, len(block), rows))


class Chosen(Stream):
    """Private: some of the rows of another stream. Which ones is for the caller to keep private."""

    def __init__(self, stream: Stream, rows: NDArray[np.bool_]) -> None:
        self._stream, self._rows = stream, rows
        self.shape = int(rows.sum()), stream.shape[1]
        self.columns = stream.columns

    def row_blocks(self, rows: int) -> Iterator[NDArray[Any]]:
        start = 0
        for block in self._stream.row_blocks(rows):
            kept = self._rows[start : start + len(block)]
            start += len(block)
            if kept.any():
                yield block[kept]
