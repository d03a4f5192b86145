"""Rows of numbers, one per record: a dense array, the stored entries of a sparse matrix, or a tensor on a GPU.

Results are the same, bit for bit, for all three: maps act on one entry and its column, and sums are of integers.
Proofs: proofs/rows/clip.md, proofs/statistics/friends.md.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Booleans, Floats, Integers
from dimfree.data.extras import sparse
from dimfree.data.gpu.rows import DeviceRows
from dimfree.threads import in_order

Mask = Booleans
Columns: TypeAlias = slice | NDArray[np.integer[Any]]
Entrywise: TypeAlias = Callable[[Floats, Columns, float], Floats]  # entries, their columns and a step -> steps

ALL = slice(None)
_LONG = 2**13  # entries of a row; above, BLAS starts threads of its own next to ours, which is far slower


@dataclass(frozen=True, repr=False)
class SparseRows:
    """Private: rows of integers or floats; an entry that is not stored is zero."""

    __array_ufunc__ = None  # NumPy leaves operators to this class

    matrix: Any  # scipy's csr_array, no entry stored twice (SciPy ships no types)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), int(self.matrix.shape[1])

    @property
    def values(self) -> NDArray[Any]:
        """Return the stored entries, row by row."""
        return self.matrix.data

    @property
    def columns(self) -> NDArray[np.integer[Any]]:
        """Return the column of each stored entry."""
        return self.matrix.indices

    @property
    def stored(self) -> NDArray[np.intp]:
        return np.diff(self.matrix.indptr)

    def __getitem__(self, key: Any) -> "SparseRows":
        """Return some rows, or `[:, columns]`, always as a table."""
        return SparseRows(self.matrix[key])

    def toarray(self) -> NDArray[Any]:
        return self.matrix.toarray()

    def with_values(self, values: NDArray[Any]) -> "SparseRows":
        """Return the same stored entries with other values, for maps that keep zero."""
        parts = (values, self.matrix.indices, self.matrix.indptr)
        return SparseRows(sparse.csr_array(parts, shape=self.matrix.shape, copy=False))

    def repeat_by_row(self, of_rows: NDArray[Any]) -> NDArray[Any]:
        """Repeat one number per row for every entry that the row stores."""
        return np.repeat(of_rows, self.stored)

    def sum_rows(self, entries: NDArray[Any]) -> NDArray[Any]:
        return self._reduce(np.add, entries)

    def peaks(self) -> NDArray[Any]:
        """Return the largest absolute value of each row, zero included."""
        return self._reduce(np.maximum, np.abs(self.values))

    def __sub__(self, other: "SparseRows") -> "SparseRows":
        """Subtract row by row, or a single row from every row."""
        if len(other) == len(self):
            return SparseRows(self.matrix - other.matrix)
        ends = np.arange(len(self) + 1) * len(other.values)
        parts = np.tile(other.values, len(self)), np.tile(other.columns, len(self)), ends
        return SparseRows(self.matrix - sparse.csr_array(parts, shape=self.shape))

    def __rmatmul__(self, weights: NDArray[Any]) -> NDArray[Any]:
        return weights @ self.matrix

    def _reduce(self, by: np.ufunc, entries: NDArray[Any]) -> NDArray[Any]:
        reduced = np.zeros(len(self), dtype=entries.dtype)
        some = self.stored > 0  # reduceat gives a row without entries the next row's entry
        if some.any():
            reduced[some] = by.reduceat(entries, self.matrix.indptr[:-1][some])
        return reduced


Rows: TypeAlias = Floats | SparseRows | DeviceRows
IntegerRows: TypeAlias = Integers | SparseRows | DeviceRows
Table: TypeAlias = NDArray[Any] | SparseRows | DeviceRows


def width(rows: Table) -> int:
    """Return the largest number of entries that a row stores, at least 1."""
    return max(1, int(rows.stored.max(initial=0)) if isinstance(rows, SparseRows) else rows.shape[1])


def subtract_rows(rows: Any, others: Any) -> Any:
    """Subtract row by row, or a single row from every row; both tables are of one kind."""
    return rows - others


def pick_row(rows: IntegerRows, which: Integers) -> IntegerRows:
    """Return one of the rows `which` as a table: the first, or in a sparse table the first with few entries."""
    first = 0
    if isinstance(rows, SparseRows):
        stored = rows.stored[which]
        first = int(np.argmax(stored <= 2 * stored.mean()))
    return rows[which[first : first + 1]]


def to_dense(rows: Table) -> NDArray[Any]:
    return rows.toarray() if isinstance(rows, SparseRows | DeviceRows) else rows


def peaks(rows: Rows) -> Floats:
    """Return the largest absolute value of each row; NaN if an entry is NaN."""
    if isinstance(rows, SparseRows | DeviceRows):
        return rows.peaks()
    return np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))


def float_squares(rows: Floats) -> Floats:
    """Sum the squares of each row in floats, in any order."""
    some = rows[:, :_LONG]
    total = np.vecdot(some, some)
    for start in range(_LONG, rows.shape[1], _LONG):
        some = rows[:, start : start + _LONG]
        total += np.vecdot(some, some)
    return total


def gather_rows(parts: Iterable[tuple[Table, Mask]], shape: tuple[int, int], dtype: type, threads: int = 1) -> Any:
    """Stack the marked rows of the parts; `shape` has space for all. Unmarked rows take no memory."""
    waiting: Iterator[tuple[Any, Mask]] = iter(parts)
    first = next(waiting, None)
    if first is not None and not isinstance(first[0], np.ndarray):
        kept = [rows if marked.all() else rows[marked] for rows, marked in chain([first], waiting)]
        if isinstance(kept[0], DeviceRows):
            return DeviceRows.stack_rows(kept)
        return SparseRows(sparse.vstack([rows.matrix for rows in kept], format="csr"))
    table: NDArray[Any] = np.empty(shape, dtype=dtype)
    dense = () if first is None else chain([first], waiting)
    del first  # frees the part

    def with_places() -> Iterator[tuple[NDArray[Any], NDArray[np.intp], NDArray[Any]]]:
        filled = 0
        for rows, marked in dense:
            which = np.flatnonzero(marked)
            yield rows, which, table[filled : filled + len(which)]
            filled += len(which)
            del rows

    return table[: sum(in_order(_copy_rows, with_places(), threads))]


def _copy_rows(part: tuple[NDArray[Any], NDArray[np.intp], NDArray[Any]]) -> int:
    rows, which, place = part
    rows.take(which, axis=0, out=place, mode="clip")  # "raise" would make a copy
    return len(which)
