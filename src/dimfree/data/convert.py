"""What may be a table: arrays, lists, frames, sparse matrices, tensors, Dask collections, queries. Checked by schema.

Types are recognised by the names of their classes, so that no library is imported only for the check. Errors state
columns and types, never a value or the number of rows.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dimfree._validate.column_names import check_names
from dimfree.data import sparse
from dimfree.data.columns import refuse_types
from dimfree.data.entries import are_numbers, floats_of
from dimfree.data.frames import LIBRARIES, PANDAS, check_labels, from_frame
from dimfree.data.gpu.device import from_tensor
from dimfree.data.gpu.rows import DeviceRows
from dimfree.data.select import collected
from dimfree.errors import InvalidRecords

ONE_ROW_EACH = "Pass a table with one row per person and one numeric column per coordinate."
_ONE_DIMENSION = (
    "For a single coordinate, pass X.reshape(-1, 1); of a list of dicts make a frame; an empty list does not tell its "
    "columns, numpy.empty((0, d)) does."
)
_REAL = "biuf"  # kinds of NumPy's types
_UNDECLARED = "OUSTc"  # what one entry may make of all: objects, text, complex numbers
_KINDS = {"O": "object", "c": "complex", "S": "bytes", "U": "text", "T": "text", "M": "datetime", "m": "timedelta"}

Source: TypeAlias = Any  # NDArray of real numbers, scipy's csr_array of float64, a Stream, or DeviceRows


def source_of(X: Any, lenient: bool = False) -> tuple[Source, tuple[str, ...] | None]:
    """Return the numbers and the names of a table.

    `lenient`: where one entry may have made text or objects of a column, or of a whole list, its entries are read one
    by one, and what is not a number becomes NaN. Otherwise such a table is an error. To be called inside a `boundary`.
    """
    X = collected(X)
    # By name, so that no library is imported for its own sake; the ancestors, so that subclasses count.
    ancestors = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(X).__mro__}
    for package, _ in ancestors & _FRAMES:
        return from_frame(X, LIBRARIES[package], lenient)
    for name in ancestors & _OTHERS.keys():
        return _OTHERS[name](X)
    package = type(X).__module__.partition(".")[0]
    if package in ("pandas", "polars", "pyarrow", "dask", "anndata"):
        raise InvalidRecords(f"A {package} {type(X).__name__} is not a table. {ONE_ROW_EACH}")
    return (from_sparse(X) if sparse.issparse(X) else _from_array(X, lenient)), None


def _from_array(X: Any, lenient: bool = False) -> NDArray[Any]:
    array = _array_of(X, lenient)
    _check_rank(array.ndim)
    if lenient:
        by_entry = array.dtype.kind in _UNDECLARED
    else:  # without rows, or of a list with missing entries or too large numbers, nobody has declared the type
        undeclared = len(array) == 0 or (not isinstance(X, np.ndarray) and are_numbers(array.flat))
        by_entry = array.dtype.kind == "O" and undeclared
    if by_entry:
        array = floats_of(array.flat).reshape(array.shape)
    _check_dtype(array.dtype)
    view = array.view()
    view.flags.writeable = False
    return view


def _array_of(X: Any, lenient: bool) -> NDArray[Any]:
    """An array; a masked entry, which is a missing one, is NaN or None."""
    if isinstance(X, np.ma.MaskedArray):
        if X.dtype.kind in _REAL:
            return np.ma.filled(X.astype(np.float64), np.nan)
        array = X.data.astype(object) if lenient else X.data
        if lenient:
            array[np.ma.getmaskarray(X)] = None
        return np.asarray(array)
    if isinstance(X, np.ndarray):
        return np.asarray(X)
    if isinstance(X, list | tuple):
        X = [row.tolist() if isinstance(row, np.ma.MaskedArray) else row for row in X]  # masked: None
        return _entries_of(X) if lenient else np.asarray(X)
    array = np.asarray(X)
    return np.asarray(X, dtype=object) if lenient and array.dtype.kind not in _REAL else array  # entries as they were


def _entries_of(rows: list[Any]) -> NDArray[Any]:
    """The entries of a list of rows as they are: a type for all of them would have room for the longest text.

    An entry that is a list itself is no number, and no dimension either, even where every entry is one.
    """
    array = np.asarray(rows, dtype=object)
    return np.full(array.shape[:2], None) if array.ndim > 2 else array


def from_sparse(X: Any) -> Any:
    """A private CSR copy: duplicate entries are added up in float64, never in the caller's arrays."""
    _check_rank(X.ndim)
    _check_dtype(X.dtype)
    try:
        matrix = sparse.csr_array(X.astype(np.float64))  # astype copies, also from float64
        matrix.check_format(full_check=True)  # an index out of bounds would read someone else's memory
    except (ValueError, IndexError):
        raise InvalidRecords("The sparse matrix is damaged: its indices do not fit its shape.") from None
    matrix.sum_duplicates()
    return matrix


def _from_anndata(X: Any) -> tuple[Source, tuple[str, ...]]:
    """X alone: observations are the rows, variables the columns. `obs` enters by the names of its columns only."""
    matrix = (X.to_memory() if X.isbacked else X).X
    if matrix is None:
        raise InvalidRecords(f"The AnnData has no X. {ONE_ROW_EACH}")
    names = tuple(map(str, X.var_names))
    check_names(names)
    return from_sparse(matrix) if sparse.issparse(matrix) else _from_array(matrix), names


def _from_dask_array(X: Any) -> tuple[Source, None]:
    """Nothing is computed but the lengths of chunks that are not known."""
    from dimfree.data.cluster.dask_table import of_array

    _check_rank(X.ndim)
    _check_dtype(X.dtype)
    return of_array(X), None


def _from_dask_frame(X: Any) -> tuple[Source, tuple[str, ...]]:
    """Its types are declared: a partition that has others is an error."""
    from dimfree.data.cluster.dask_table import of_frame

    labels, types = list(PANDAS.labels(X._meta)), list(PANDAS.types(X._meta))
    names = tuple(map(str, labels))
    refuse_types(names, types, check_labels(labels, types, PANDAS))
    return of_frame(X, names), names


def _from_tensor(X: Any) -> tuple[Source, None]:
    source = from_tensor(X)
    return source if isinstance(source, DeviceRows) else _from_array(source), None


_FRAMES = {("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table"), ("pyarrow", "RecordBatch")}
_OTHERS: dict[tuple[str, str], Callable[[Any], tuple[Source, tuple[str, ...] | None]]] = {
    ("torch", "Tensor"): _from_tensor,
    ("anndata", "AnnData"): _from_anndata,
    ("dask", "Array"): _from_dask_array,
    ("dask", "DataFrame"): _from_dask_frame,
}


def _check_rank(rank: int) -> None:
    if rank != 2:
        hint = {
            0: " Read a file by dimfree.read_table(path) first; of a dict of columns make a frame.",
            1: f" {_ONE_DIMENSION}",
        }.get(rank, "")
        raise InvalidRecords(f"Expected a table with 2 dimensions, got {rank}. {ONE_ROW_EACH}{hint}")


def _check_dtype(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in _REAL:
        # The word alone: a full text dtype would tell the length of the longest entry.
        kind = _KINDS.get(dtype.kind, "structured")
        hint = " If the entries are numbers, pass X.astype(float)." if kind in ("object", "text") else ""
        raise InvalidRecords(f"Expected real numbers, got {kind} entries. {ONE_ROW_EACH}{hint}")
