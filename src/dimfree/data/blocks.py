"""Rows of numbers, one per record: a dense array, the stored entries of a sparse matrix, or a tensor on a GPU.

What is computed from any of them is the same to the last bit: maps act on one entry and its column, and sums are of
whole numbers. Proofs: proofs/rows/clip.md, proofs/statistics/friends.md.
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
Entrywise: TypeAlias = Callable[[Floats, Columns, float], Floats]  # of entries, their columns and a step: in steps

ALL = slice(None)
_LONG = 2**13  # entries of a row: for more, BLAS starts threads of its own beside ours, which takes far longer


@dataclass(frozen=True, repr=False)
class SparseRows:
    """Private: rows of whole or real numbers; an entry that is not stored is zero."""

    __array_ufunc__ = None  # NumPy leaves operators to this class

    matrix: Any  # scipy's csr_array, no entry stored twice (SciPy ships no types)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), int(self.matrix.shape[1])

    @property
    def values(self) -> NDArray[Any]:
        """The stored entries, row after row."""
        return self.matrix.data

    @property
    def columns(self) -> NDArray[np.integer[Any]]:
        """Where each of them stands."""
        return self.matrix.indices

    @property
    def stored(self) -> NDArray[np.intp]:
        return np.diff(self.matrix.indptr)

    def __getitem__(self, key: Any) -> "SparseRows":
        """Some rows, or `[:, columns]`: always a table again, never a single row's numbers."""
        return SparseRows(self.matrix[key])

    def toarray(self) -> NDArray[Any]:
        return self.matrix.toarray()

    def with_values(self, values: NDArray[Any]) -> "SparseRows":
        """The same entries stored, with other values: for maps that leave zero where it is."""
        parts = (values, self.matrix.indices, self.matrix.indptr)
        return SparseRows(sparse.csr_array(parts, shape=self.matrix.shape, copy=False))

    def spread(self, of_rows: NDArray[Any]) -> NDArray[Any]:
        """A number of each row, once for every entry the row stores."""
        return np.repeat(of_rows, self.stored)

    def sums(self, entries: NDArray[Any]) -> NDArray[Any]:
        return self._reduced(np.add, entries)

    def peaks(self) -> NDArray[Any]:
        """The largest absolute value in each row, zero included."""
        return self._reduced(np.maximum, np.abs(self.values))

    def __sub__(self, other: "SparseRows") -> "SparseRows":
        """Row by row; or every row less the single one given."""
        if len(other) == len(self):
            return SparseRows(self.matrix - other.matrix)
        ends = np.arange(len(self) + 1) * len(other.values)
        parts = np.tile(other.values, len(self)), np.tile(other.columns, len(self)), ends
        return SparseRows(self.matrix - sparse.csr_array(parts, shape=self.shape))

    def __rmatmul__(self, weights: NDArray[Any]) -> NDArray[Any]:
        return weights @ self.matrix

    def _reduced(self, by: np.ufunc, entries: NDArray[Any]) -> NDArray[Any]:
        reduced = np.zeros(len(self), dtype=entries.dtype)
        some = self.stored > 0  # a row without entries would be given its successor's
        if some.any():
            reduced[some] = by.reduceat(entries, self.matrix.indptr[:-1][some])
        return reduced


Rows: TypeAlias = Floats | SparseRows | DeviceRows
IntegerRows: TypeAlias = Integers | SparseRows | DeviceRows
Table: TypeAlias = NDArray[Any] | SparseRows | DeviceRows


def width(rows: Table) -> int:
    """How many entries a row takes, at most; one at least."""
    return max(1, int(rows.stored.max(initial=0)) if isinstance(rows, SparseRows) else rows.shape[1])


def minus(rows: Any, others: Any) -> Any:
    """Row by row, or every row less a single one: both tables of the same kind."""
    return rows - others


def one_row(rows: IntegerRows, which: Integers) -> IntegerRows:
    """A table of one row among those named: the first, or of sparse ones the first that adds few entries to others."""
    first = 0
    if isinstance(rows, SparseRows):
        stored = rows.stored[which]
        first = int(np.argmax(stored <= 2 * stored.mean()))
    return rows[which[first : first + 1]]


def densely(rows: Table) -> NDArray[Any]:
    return rows.toarray() if isinstance(rows, SparseRows | DeviceRows) else rows


def peaks(rows: Rows) -> Floats:
    """The largest absolute value in each row; no number where an entry is none."""
    if isinstance(rows, SparseRows | DeviceRows):
        return rows.peaks()
    return np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))


def float_squares(rows: Floats) -> Floats:
    """The sum of squares of each row in floats, added up in some order."""
    some = rows[:, :_LONG]
    total = np.vecdot(some, some)
    for start in range(_LONG, rows.shape[1], _LONG):
        some = rows[:, start : start + _LONG]
        total += np.vecdot(some, some)
    return total


def gathered(parts: Iterable[tuple[Table, Mask]], shape: tuple[int, int], dtype: type, threads: int = 1) -> Any:
    """The marked rows of the parts below each other; `shape` has space for all. Unmarked rows take no memory."""
    waiting: Iterator[tuple[Any, Mask]] = iter(parts)
    first = next(waiting, None)
    if first is not None and not isinstance(first[0], np.ndarray):
        kept = [rows if marked.all() else rows[marked] for rows, marked in chain([first], waiting)]
        if isinstance(kept[0], DeviceRows):
            return DeviceRows.stacked(kept)
        return SparseRows(sparse.vstack([rows.matrix for rows in kept], format="csr"))
    table: NDArray[Any] = np.empty(shape, dtype=dtype)
    dense = () if first is None else chain([first], waiting)
    del first  # no part is held to the end

    def with_places() -> Iterator[tuple[NDArray[Any], NDArray[np.intp], NDArray[Any]]]:
        filled = 0
        for rows, marked in dense:
            which = np.flatnonzero(marked)
            yield rows, which, table[filled : filled + len(which)]
            filled += len(which)
            del rows

    return table[: sum(in_order(_copied, with_places(), threads))]


def _copied(part: tuple[NDArray[Any], NDArray[np.intp], NDArray[Any]]) -> int:
    rows, which, place = part
    rows.take(which, axis=0, out=place, mode="clip")  # "raise" would make a copy
    return len(which)
