"""What may be a table: arrays, frames, sparse matrices, tensors and Dask collections, checked by schema and converted.

Types are recognised by the names of their classes, so that no library is imported only for the check. Errors state
columns and types, never a value or the number of rows.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from dimfree._validate.column_names import check_names, check_untyped_names
from dimfree.data.entries import are_numbers, floats_of
from dimfree.data.gpu.device import from_tensor
from dimfree.data.gpu.rows import DeviceRows
from dimfree.errors import InvalidRecords

ONE_ROW_EACH = "Pass a table with one row per person and one numeric column per coordinate."
_ONE_DIMENSION = (
    "For a single coordinate, pass X.reshape(-1, 1); an empty list does not tell its columns, numpy.empty((0, d)) does."
)
_REAL = "biuf"  # kinds of NumPy's types
_UNDECLARED = "OUSTc"  # what one entry may make of all: objects, text, complex numbers
_LEFT_OUT = 2  # columns of integer labels that may be missing among 0, 1, 2...: keys of units and of groups
_KINDS = {"O": "object", "c": "complex", "S": "bytes", "U": "text", "T": "text", "M": "datetime", "m": "timedelta"}

Source: TypeAlias = Any  # NDArray of real numbers, scipy's csr_array of float64, a Stream, or DeviceRows


def source_of(X: Any, lenient: bool = False) -> tuple[Source, tuple[str, ...] | None]:
    """The numbers and the names of a table.

    `lenient`: where one entry may have made text or objects of a column, or of a whole list, its entries are read one
    by one, and what is no number becomes NaN. Otherwise such a table is an error.
    """
    # By name, so that no DataFrame library is imported for its own sake; the ancestors, so that subclasses count.
    ancestors = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(X).__mro__}
    for kind, convert in _FRAMES.items():
        if kind in ancestors:
            return convert(X, lenient)
    package = type(X).__module__.partition(".")[0]
    if package in ("pandas", "polars", "pyarrow", "dask", "anndata"):
        raise InvalidRecords(f"A {package} {type(X).__name__} is not a table. {ONE_ROW_EACH}")
    return (from_sparse(X) if sparse.issparse(X) else _from_array(X, lenient)), None


def _from_array(X: Any, lenient: bool = False) -> NDArray[Any]:
    try:
        array = _array_of(X, lenient)
    except MemoryError:
        raise  # `memory_unspoken` words it
    except Exception:  # noqa: BLE001 - it may quote an entry
        raise InvalidRecords(f"The records do not form a table of numbers. {ONE_ROW_EACH}") from None
    _check_rank(array.ndim)
    if _is_read_by_entry(array, lenient, declared=isinstance(X, np.ndarray)):
        array = floats_of(array.flat).reshape(array.shape)
    _check_dtype(array.dtype)
    view = array.view()
    view.flags.writeable = False
    return view


def _array_of(X: Any, lenient: bool) -> NDArray[Any]:
    """An array; a masked entry, which is a missing one, is NaN or None."""
    if isinstance(X, np.ma.MaskedArray):
        return _unmasked(X, lenient)
    if isinstance(X, np.ndarray):
        return np.asarray(X)
    if isinstance(X, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        return _unmasked(np.ma.array(X), lenient)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of a masked entry
        return _array_of_list(X, lenient)


def _array_of_list(X: Any, lenient: bool) -> NDArray[Any]:
    try:
        array = np.asarray(X)
    except ValueError:  # an entry that is a list itself, or rows of different lengths
        if not lenient:
            raise
        return np.asarray(X, dtype=object)
    return np.asarray(X, dtype=object) if lenient and array.dtype.kind not in _REAL else array  # entries as they were


def _unmasked(X: Any, lenient: bool) -> NDArray[Any]:
    if X.dtype.kind in _REAL:
        return np.asarray(X.astype(np.float64).filled(np.nan))
    if not lenient:
        return np.asarray(X)
    array = X.data.astype(object)
    array[np.ma.getmaskarray(X)] = None
    return np.asarray(array)


def _is_read_by_entry(array: NDArray[Any], lenient: bool, declared: bool) -> bool:
    """Whether an array without a type of numbers is a table of them all the same.

    One without rows has the type object wherever nobody declared another. Of a list that came with missing entries, or
    with numbers too large for NumPy, nobody has declared the type.
    """
    if lenient:
        return array.dtype.kind in _UNDECLARED
    return array.dtype.kind == "O" and (len(array) == 0 or (not declared and are_numbers(array.flat)))


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


def _from_pandas(X: Any, lenient: bool) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    names = _pandas_names(X, lenient, declared=len(X) > 0)  # without rows, nothing has declared a type
    if all(map(_is_pandas_number, X.dtypes)):
        return X.to_numpy(dtype=np.float64, na_value=np.nan, copy=True), names
    return _stacked(X.shape, (_pandas_floats(X.iloc[:, place]) for place in range(len(names)))), names


def _pandas_names(X: Any, lenient: bool, *, declared: bool) -> tuple[str, ...]:
    """Of a frame whose columns hold numbers, or with `lenient` or undeclared types may do so."""
    names = tuple(str(name) for name in X.columns)
    numeric = [_is_pandas_number(dtype) for dtype in X.dtypes]
    if _are_counted_labels(X.columns):
        pass
    elif lenient:
        check_untyped_names(_parts(X.columns))
    else:
        check_names(names, [str(part) for part in _parts(X.columns[numeric])])
    loose = lenient or not declared
    for name, dtype, number in zip(names, X.dtypes, numeric, strict=True):
        _check_column(name, number or (loose and _is_undeclared(dtype)))
    return names


def _are_counted_labels(labels: Any) -> bool:
    """Whether pandas numbered the columns itself, perhaps of a frame that some of them were left out of since."""
    return (
        labels.dtype.kind == "i"
        and labels.is_monotonic_increasing
        and labels.is_unique
        and all(0 <= label < len(labels) + _LEFT_OUT for label in labels)
    )


def _parts(labels: Any) -> list[object]:
    """Labels; one of several levels becomes several."""
    return [part for label in labels for part in (label if isinstance(label, tuple) else (label,))]


def _is_pandas_number(dtype: Any) -> bool:
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(dtype) and not is_complex_dtype(dtype))


def _is_undeclared(dtype: Any) -> bool:
    from pandas.api.types import is_complex_dtype, is_object_dtype, is_string_dtype

    return bool(is_object_dtype(dtype) or is_string_dtype(dtype) or is_complex_dtype(dtype))


def _pandas_floats(column: Any) -> NDArray[np.float64]:
    if _is_pandas_number(column.dtype):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return floats_of(column.tolist())


def _from_polars(X: Any, lenient: bool) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    import polars

    names, loose = tuple(X.columns), lenient or X.height == 0
    numeric = [dtype.is_numeric() or dtype in (polars.Boolean, polars.Null) for dtype in X.dtypes]
    if lenient:
        check_untyped_names(names)
    else:
        check_names(names, [name for name, number in zip(names, numeric, strict=True) if number])
    for name, dtype, number in zip(names, X.dtypes, numeric, strict=True):
        _check_column(name, number or (loose and dtype in (polars.String, polars.Object)))
    return _stacked(X.shape, map(_polars_floats, X.get_columns(), numeric)), names


def _polars_floats(column: Any, number: bool) -> NDArray[np.float64]:
    import polars

    return np.asarray(column.cast(polars.Float64).to_numpy()) if number else floats_of(column.to_list())


def _from_anndata(X: Any, lenient: bool) -> tuple[Source, tuple[str, ...]]:
    """X alone: observations are the rows, variables the columns. `obs` enters by the names of its columns only."""
    matrix = (X.to_memory() if X.isbacked else X).X
    if matrix is None:
        raise InvalidRecords(f"The AnnData has no X. {ONE_ROW_EACH}")
    names = tuple(map(str, X.var_names))
    check_names(names)
    return from_sparse(matrix) if sparse.issparse(matrix) else _from_array(matrix), names


def _from_arrow_table(X: Any, lenient: bool) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    check_arrow_names(X.schema, lenient=lenient)
    return from_arrow(X, lenient or X.num_rows == 0)


def check_arrow_names(schema: Any, apart: Sequence[int] = (), *, lenient: bool = False) -> None:
    """An error where the names of the coordinates could be a record; columns that are apart hold keys."""
    from pyarrow.types import is_fixed_size_list

    rest = [field for place, field in enumerate(schema) if place not in apart]
    if any(is_fixed_size_list(field.type) for field in rest):
        return  # whose column has a name that nobody sees
    if lenient:
        check_untyped_names(schema.names)
    else:
        check_names(schema.names, [field.name for field in rest if _is_arrow_number(field.type)])


def from_arrow(table: Any, lenient: bool = False) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """Values and names of an Arrow table: numeric columns, or one column of fixed-size lists (which has no names)."""
    import pyarrow.types

    types = table.schema.types
    if len(types) == 1 and pyarrow.types.is_fixed_size_list(types[0]):
        return _from_lists(table.column(0), types[0]), None
    names = tuple(table.schema.names)
    for name, type_ in zip(names, types, strict=True):
        _check_column(name, _is_arrow_number(type_) or (lenient and _is_arrow_text(type_)))
    return _stacked(table.shape, map(_arrow_floats, table.columns)), names


def _from_lists(column: Any, type_: Any) -> NDArray[np.float64]:
    _check_column("", _is_arrow_number(type_.value_type))
    values = np.full((len(column), type_.list_size), np.nan)
    present = ~np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    values[present] = _arrow_floats(_one_chunk(column).flatten()).reshape(-1, type_.list_size)  # flatten skips nulls
    return values


def _from_dask_array(X: Any, lenient: bool) -> tuple[Source, None]:
    """Nothing is computed but the lengths of chunks that are not known."""
    from dimfree.data.cluster.dask_table import of_array

    _check_rank(X.ndim)
    _check_dtype(X.dtype)
    return of_array(X), None


def _from_dask_frame(X: Any, lenient: bool) -> tuple[Source, tuple[str, ...]]:
    """Its types are declared: a partition that has others is an error."""
    from dimfree.data.cluster.dask_table import of_frame

    names = _pandas_names(X._meta, lenient=False, declared=True)
    return of_frame(X, names), names


def _is_arrow_number(type_: Any) -> bool:
    """Real numbers, truth, or nothing at all: the type of a column of which every entry is missing."""
    from pyarrow.types import is_boolean, is_decimal, is_floating, is_integer, is_null

    return any(is_kind(type_) for is_kind in (is_integer, is_floating, is_boolean, is_decimal, is_null))


def _is_arrow_text(type_: Any) -> bool:
    """Text, or the bytes that Arrow's reader makes of a whole column where one cell is no UTF-8."""
    from pyarrow.types import is_binary, is_large_binary, is_large_string, is_string, is_string_view

    return any(is_kind(type_) for is_kind in (is_string, is_large_string, is_string_view, is_binary, is_large_binary))


def _one_chunk(column: Any) -> Any:
    """One Arrow array: combining the chunks of a column without chunks needs its type, which `concat_arrays` lacks."""
    import pyarrow

    chunks = getattr(column, "chunks", [column])
    return pyarrow.concat_arrays(chunks) if chunks else pyarrow.array([], type=column.type)


def _arrow_floats(column: Any) -> NDArray[np.float64]:
    """Null becomes NaN; integers beyond 2**53 are rounded, as NumPy rounds them; text is read entry by entry."""
    import pyarrow

    if _is_arrow_text(column.type):
        return floats_of(column.to_pylist())
    return np.asarray(column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _from_tensor(X: Any, lenient: bool) -> tuple[Source, None]:
    source = from_tensor(X)
    return source if isinstance(source, DeviceRows) else _from_array(source), None


_FRAMES = {
    ("torch", "Tensor"): _from_tensor,
    ("anndata", "AnnData"): _from_anndata,
    ("pandas", "DataFrame"): _from_pandas,
    ("polars", "DataFrame"): _from_polars,
    ("pyarrow", "Table"): _from_arrow_table,
    ("pyarrow", "RecordBatch"): _from_arrow_table,
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
        hint = {0: " Load a file first.", 1: f" {_ONE_DIMENSION}"}.get(rank, "")
        raise InvalidRecords(f"Expected a table with 2 dimensions, got {rank}. {ONE_ROW_EACH}{hint}")


def _check_dtype(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in _REAL:
        # The word alone: a full text dtype would tell the length of the longest entry.
        kind = _KINDS.get(dtype.kind, "structured")
        hint = " If the entries are numbers, pass X.astype(float)." if kind in ("object", "text") else ""
        raise InvalidRecords(f"Expected real numbers, got {kind} entries. {ONE_ROW_EACH}{hint}")
