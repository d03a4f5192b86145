"""What may be a table: arrays, frames, sparse matrices, tensors and dask collections, checked by schema and converted.

Told apart by the names of their classes, so that no library is imported for its own sake. Errors speak of columns and
types, never of a value or of how many rows there are.
"""

import math
from collections.abc import Iterator
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from dimfree.device import from_tensor
from dimfree.device_rows import DeviceRows
from dimfree.errors import InvalidRecords

ONE_ROW_EACH = "Pass a table with one row per person and one numeric column per coordinate."
_KINDS = {"O": "object", "c": "complex", "S": "bytes", "U": "text", "T": "text", "M": "datetime", "m": "timedelta"}

Source: TypeAlias = Any  # NDArray of real numbers, scipy's csr_array of float64, a Stream, or DeviceRows


def source_of(X: Any) -> tuple[Source, tuple[str, ...] | None]:
    # By name, so that no DataFrame library is imported for its own sake; the ancestors, so that subclasses count.
    ancestors = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(X).__mro__}
    for kind, convert in _FRAMES.items():
        if kind in ancestors:
            return convert(X)
    package = type(X).__module__.partition(".")[0]
    if package in ("pandas", "polars", "pyarrow", "dask", "anndata"):
        raise InvalidRecords(f"A {package} {type(X).__name__} is not a table. {ONE_ROW_EACH}")
    return (from_sparse(X) if sparse.issparse(X) else _from_array(X)), None


def _from_array(X: Any) -> NDArray[Any]:
    try:
        # A masked entry is a missing one; filling needs a dtype that can say so.
        array = X.astype(np.float64).filled(np.nan) if _is_masked_numeric(X) else np.asarray(X)
    except MemoryError:
        raise  # `memory_unspoken` words it
    except Exception:  # noqa: BLE001 - it may quote an entry
        raise InvalidRecords(f"The records do not form a table of numbers. {ONE_ROW_EACH}") from None
    _check_rank(array.ndim)
    if array.dtype.kind == "O" and not isinstance(X, np.ndarray):
        array = _from_objects(array)
    _check_dtype(array.dtype)
    view = array.view()
    view.flags.writeable = False
    return view


def _from_objects(array: NDArray[Any]) -> NDArray[Any]:
    """Lists of numbers, some missing or too large for NumPy: one such entry must not turn the table into an error."""
    if not all(entry is None or isinstance(entry, Real) for entry in array.flat):
        return array  # not a table of numbers at all
    return np.array([[_as_float(entry) for entry in row] for row in array], dtype=np.float64).reshape(array.shape)


def _as_float(entry: Real | None) -> float:
    try:
        return math.nan if entry is None else float(entry)
    except OverflowError:
        return math.inf


def _is_masked_numeric(X: object) -> bool:
    return isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "biuf"


def from_sparse(X: Any) -> sparse.csr_array:
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


def _from_pandas(X: Any) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    names = tuple(str(name) for name in X.columns)
    for name, dtype in zip(names, X.dtypes, strict=True):
        _check_column(name, is_numeric_dtype(dtype) and not is_complex_dtype(dtype))
    return X.to_numpy(dtype=np.float64, na_value=np.nan, copy=True), names


def _from_polars(X: Any) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    import polars

    names = tuple(X.columns)
    for name, dtype in zip(names, X.dtypes, strict=True):
        _check_column(name, dtype.is_numeric() or dtype == polars.Boolean)
    return _stacked(X.shape, (X[name].cast(polars.Float64).to_numpy() for name in names)), names


def _from_anndata(X: Any) -> tuple[Source, tuple[str, ...]]:
    """X alone: observations are the rows, variables the columns. `obs` enters by the names of its columns only."""
    matrix = (X.to_memory() if X.isbacked else X).X
    if matrix is None:
        raise InvalidRecords(f"The AnnData has no X. {ONE_ROW_EACH}")
    return from_sparse(matrix) if sparse.issparse(matrix) else _from_array(matrix), tuple(map(str, X.var_names))


def from_arrow(table: Any) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """Values and names of an Arrow table: numeric columns, or one column of fixed-size lists (which has no names)."""
    import pyarrow.types

    types = table.schema.types
    if len(types) == 1 and pyarrow.types.is_fixed_size_list(types[0]):
        return _from_lists(table.column(0), types[0]), None
    for name, type_ in zip(table.schema.names, types, strict=True):
        _check_column(name, _is_arrow_number(type_))
    return _stacked(table.shape, (_arrow_floats(column) for column in table.columns)), tuple(table.schema.names)


def _from_lists(column: Any, type_: Any) -> NDArray[np.float64]:
    _check_column("", _is_arrow_number(type_.value_type))
    values = np.full((len(column), type_.list_size), np.nan)
    present = ~np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    values[present] = _arrow_floats(_one_chunk(column).flatten()).reshape(-1, type_.list_size)  # flatten skips nulls
    return values


def _from_dask_array(X: Any) -> tuple[Source, None]:
    """Nothing is computed but the lengths of chunks that are not known."""
    from dimfree.sources.dask_table import of_array

    _check_rank(X.ndim)
    _check_dtype(X.dtype)
    return of_array(X), None


def _from_dask_frame(X: Any) -> tuple[Source, tuple[str, ...]]:
    from dimfree.sources.dask_table import of_frame

    names = _from_pandas(X._meta)[1]
    return of_frame(X, names), names


def _is_arrow_number(type_: Any) -> bool:
    from pyarrow.types import is_boolean, is_decimal, is_floating, is_integer

    return any(is_kind(type_) for is_kind in (is_integer, is_floating, is_boolean, is_decimal))


def _one_chunk(column: Any) -> Any:
    """One Arrow array: combining the chunks of a column without chunks needs its type, which `concat_arrays` lacks."""
    import pyarrow

    chunks = getattr(column, "chunks", [column])
    return pyarrow.concat_arrays(chunks) if chunks else pyarrow.array([], type=column.type)


def _arrow_floats(column: Any) -> NDArray[np.float64]:
    """Null becomes NaN; integers beyond 2**53 are rounded, as NumPy rounds them."""
    import pyarrow

    return np.asarray(column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _from_tensor(X: Any) -> tuple[Source, None]:
    source = from_tensor(X)
    return source if isinstance(source, DeviceRows) else _from_array(source), None


_FRAMES = {
    ("torch", "Tensor"): _from_tensor,
    ("anndata", "AnnData"): _from_anndata,
    ("pandas", "DataFrame"): _from_pandas,
    ("polars", "DataFrame"): _from_polars,
    ("pyarrow", "Table"): from_arrow,
    ("pyarrow", "RecordBatch"): from_arrow,
    ("dask", "Array"): _from_dask_array,
    ("dask", "DataFrame"): _from_dask_frame,
}


def _stacked(shape: tuple[int, int], columns: Iterator[NDArray[np.float64]]) -> NDArray[np.float64]:
    values = np.empty(shape, order="F")  # filled column by column
    for index, column in enumerate(columns):
        values[:, index] = column
    return values


def _check_column(name: str, numeric: bool) -> None:
    if name.startswith("__index_level_"):
        raise InvalidRecords(f"Column {name!r} is a pandas index, not a coordinate: write the table with index=False.")
    if not numeric:
        column = f"Column {name!r}" if name else "The list column"
        raise InvalidRecords(f"{column} does not hold real numbers: drop it or turn it into numbers first.")


def _check_rank(rank: int) -> None:
    if rank != 2:
        hint = {0: " Load a file first.", 1: " For a single coordinate, pass X.reshape(-1, 1)."}.get(rank, "")
        raise InvalidRecords(f"Expected a table with 2 dimensions, got {rank}. {ONE_ROW_EACH}{hint}")


def _check_dtype(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biuf":
        # The word alone: a full text dtype would tell the length of the longest entry.
        kind = _KINDS.get(dtype.kind, "structured")
        hint = " If the entries are numbers, pass X.astype(float)." if kind in ("object", "text") else ""
        raise InvalidRecords(f"Expected real numbers, got {kind} entries. {ONE_ROW_EACH}{hint}")
