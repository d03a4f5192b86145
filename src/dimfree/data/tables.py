"""Open tables in memory: arrays, lists, frames, sparse matrices, tensors, Dask collections, queries.

Types are recognized by the names of their classes, so that the check imports no library. Errors state columns and
types, never a value or the number of rows.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import install_command
from dimfree._validate.column_names import check_names
from dimfree.data.boundary import boundary
from dimfree.data.columns import refuse_types
from dimfree.data.entries import parse_floats
from dimfree.data.extras import arrow, polars, sparse
from dimfree.data.frames import LIBRARIES, PANDAS, check_labels, from_frame
from dimfree.data.gpu.device import from_tensor
from dimfree.data.gpu.rows import DeviceRows
from dimfree.data.schema import Schema
from dimfree.data.source import InMemory, Source
from dimfree.errors import InvalidDataError, InvalidParameterError

ONE_ROW_EACH = "Pass a table with one row per person and one numeric column per coordinate."
NO_COLUMNS = f"The table has no columns. {ONE_ROW_EACH}"
_ONE_DIMENSION = (
    "For a single column, pass X.reshape(-1, 1); convert a list of dicts to a frame; for a table without rows pass "
    "numpy.empty((0, d))."
)
_REAL = "biuf"  # NumPy's kinds of real numbers
_UNDECLARED = "OUSTc"  # kinds that one entry may give a whole table: objects, text, complex numbers
_KINDS = {"O": "object", "c": "complex", "S": "bytes", "U": "text", "T": "text", "M": "datetime", "m": "timedelta"}
_KNOWN = ("pandas", "polars", "pyarrow", "dask", "anndata", "torch", "numpy", "scipy")  # recognized by their own types
_NO_QUERY = (
    "X cannot be read as a table. If X is a query, run it separately to see why, and pass its result. Column names "
    "must be text. No budget was charged."
)


def find_package(value: object) -> str:
    """Return the library of the type or of the nearest known base class; no library is imported."""
    packages = [cls.__module__.partition(".")[0] for cls in type(value).__mro__]
    return next((package for package in packages if package in _KNOWN), packages[0])


def select_columns(X: Any, schema: Schema, keys: Sequence[object] = ()) -> Any:
    """Return X in memory with the selected columns and those that `keys` names, in the order of the table.

    A path is read. A table from a file keeps its columns of keys apart (`Table.key`). Bounds must name columns of the
    table; entries are clipped to them when the table is opened.
    """
    apart = [key for key in keys if isinstance(key, str)]
    if isinstance(X, str | Path):
        from dimfree.data.read import open_path

        return open_path(X, schema, apart)
    if find_package(X) == "dimfree" and hasattr(X, "select"):  # what `read_table` returns
        return X.select(schema, apart)
    if schema.is_all and not schema.bounds.ends:
        return _collect(X)
    X = X if _is_lazy(X) else _collect(X)  # of a lazy query only the selected columns are fetched
    return _fetch(lambda: _choose(X, schema, apart))


def _choose(X: Any, schema: Schema, keys: Sequence[str]) -> Any:
    package = find_package(X)
    library = LIBRARIES.get(package)
    if _is_lazy(X):
        labels = X.collect_schema().names()
    elif package in ("anndata", "dask", "dimfree"):
        labels = getattr(X, "var_names" if package == "anndata" else "columns", None)
    else:
        labels = library.labels(X) if library is not None and hasattr(X, library.mark) else None
    names = None if labels is None else [str(label) for label in labels]
    schema.bounds.require_columns(names)
    if schema.is_all:
        return _collect(X)
    if names is None or package == "dimfree":
        raise InvalidParameterError(
            "`columns` and `exclude` need a table with column names. Select columns of an array by X[:, [0, 3]], of a "
            "file by read_table(path, columns=[...])."
        )
    if package == "anndata":  # keys are columns of `obs`, which is unchanged
        return X[:, schema.places(names)]
    # the parameter of a missing key raises its own error
    apart = [place for place, name in enumerate(names) if name in keys]
    places = sorted([*schema.places(names, apart), *apart])
    if _is_lazy(X):
        return X.select(polars.nth(places)).collect()
    if package != "dask":
        return LIBRARIES[package].take(X, places)
    chosen = X.columns[places]  # Dask selects by label: repeated labels and boolean masks are refused
    if not X.columns.is_unique or chosen.inferred_type == "boolean":
        raise InvalidParameterError(
            "`columns` and `exclude` need a Dask DataFrame with distinct text names: assign such names to X.columns. "
            "No budget was charged."
        )
    return X[list(chosen)]


def _collect(X: Any) -> Any:
    """Return X, or the result of a query: a polars DataFrame or an Arrow table. Errors quote nothing."""
    package, kind = find_package(X), type(X)
    if _is_lazy(X):
        return _fetch(X.collect)
    offers = package not in _KNOWN and hasattr(kind, "__arrow_c_stream__")
    if not offers and (package, kind.__name__) != ("pyarrow", "RecordBatchReader"):
        return X
    if find_spec("pyarrow") is None:
        raise InvalidParameterError(f"An Arrow stream needs pyarrow: install it with {install_command('files')}.")
    return _fetch(lambda: arrow.RecordBatchReader.from_stream(X).read_all())


def _is_lazy(X: Any) -> bool:
    return find_package(X) == "polars" and type(X).__name__ == "LazyFrame"


def _fetch(fetch: Callable[[], Any]) -> Any:
    with boundary(lambda _: InvalidDataError(_NO_QUERY)):
        return fetch()


def open_source(X: Any, lenient: bool = False) -> Source:
    """Return the numbers of a table. Call it inside a `boundary`.

    `lenient`: if one entry may have given a column or list the type of text or objects, its entries are read one by
    one, and an entry that is not a number becomes NaN. Otherwise such a table is an error.
    """
    X = _collect(X)
    # By name, so that no library is imported for the check; by ancestors, so that subclasses count.
    ancestors = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(X).__mro__}
    for package, _ in ancestors & _FRAMES:
        return InMemory(*from_frame(X, LIBRARIES[package], lenient))
    for name in ancestors & _OTHERS.keys():
        return _OTHERS[name](X)
    package = type(X).__module__.partition(".")[0]
    if package in ("pandas", "polars", "pyarrow", "dask", "anndata"):
        raise InvalidDataError(f"A {package} {type(X).__name__} is not a table. {ONE_ROW_EACH}")
    return InMemory(from_sparse(X) if sparse.issparse(X) else _from_array(X, lenient))


def _from_array(X: Any, lenient: bool = False) -> Any:
    if isinstance(X, DeviceRows):
        _check_rank(X.tensor.ndim)
        _check_dtype(np.dtype(complex if X.tensor.is_complex() else float))
        return X
    array = _array_of(X, lenient)
    _check_rank(array.ndim)
    if lenient:
        by_entry = array.dtype.kind in _UNDECLARED
    else:  # no rows, or a list with missing entries or too large numbers: the type is not declared
        by_entry = array.dtype.kind == "O" and (len(array) == 0 or not isinstance(X, np.ndarray))
        by_entry = by_entry and all(entry is None or isinstance(entry, Real) for entry in array.flat)
    if by_entry:
        array = parse_floats(array.flat).reshape(array.shape)
    _check_dtype(array.dtype)
    view = array.view()
    view.flags.writeable = False
    return view


def _array_of(X: Any, lenient: bool) -> NDArray[Any]:
    """Return an array; a masked entry is missing: NaN or None."""
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
        if not lenient:
            return np.asarray(X)
        array = np.asarray(X, dtype=object)  # a text dtype would have the length of the longest entry
        return np.full(array.shape[:2], None) if array.ndim > 2 else array  # lists as entries are missing
    array = np.asarray(X)
    return np.asarray(X, dtype=object) if lenient and array.dtype.kind not in _REAL else array  # entries as they were


def from_sparse(X: Any) -> Any:
    """Copy to CSR; duplicate entries are added up in float64, never in the caller's arrays."""
    _check_rank(X.ndim)
    _check_dtype(X.dtype)
    try:
        matrix = sparse.csr_array(X.astype(np.float64))  # astype copies, also from float64
        matrix.check_format(full_check=True)  # an index out of bounds would read foreign memory
    except (ValueError, IndexError):
        raise InvalidDataError(
            "The sparse matrix is damaged: its indices do not fit its shape. Build it again. No budget was charged."
        ) from None
    matrix.sum_duplicates()
    return matrix


def _from_anndata(X: Any) -> Source:
    """Read X alone: observations are the rows, variables the columns. Of `obs` only columns of keys are read."""
    matrix = (X.to_memory() if X.isbacked else X).X
    if matrix is None:
        raise InvalidDataError(f"The AnnData has no X. {ONE_ROW_EACH}")
    names = tuple(map(str, X.var_names))
    check_names(names)
    return InMemory(from_sparse(matrix) if sparse.issparse(matrix) else _from_array(matrix), names)


def _from_dask(X: Any) -> Source:
    """Open a Dask collection by its declared types; only unknown lengths of chunks are computed."""
    from dimfree.data.partitions import from_dask

    if not hasattr(X, "columns"):
        _check_rank(X.ndim)
        _check_dtype(X.dtype)
        return from_dask(X)
    labels, types = list(PANDAS.labels(X._meta)), list(PANDAS.types(X._meta))
    names = tuple(map(str, labels))
    refuse_types(names, types, check_labels(labels, types, PANDAS))
    return from_dask(X, names)


_FRAMES = {("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table"), ("pyarrow", "RecordBatch")}
_OTHERS: dict[tuple[str, str], Callable[[Any], Source]] = {
    ("torch", "Tensor"): lambda X: InMemory(_from_array(from_tensor(X))),
    ("anndata", "AnnData"): _from_anndata,
    ("dask", "Array"): _from_dask,
    ("dask", "DataFrame"): _from_dask,
}


def check_form(shape: Sequence[int], dtype: np.dtype[Any]) -> None:
    _check_rank(len(shape))
    _check_dtype(dtype)
    if shape[1] == 0:
        raise InvalidDataError(NO_COLUMNS)


def _check_rank(rank: int) -> None:
    if rank != 2:
        hint = {
            0: " Read a file with dimfree.read_table(path); convert a dict of columns to a frame.",
            1: f" {_ONE_DIMENSION}",
        }.get(rank, "")
        raise InvalidDataError(f"The table must have 2 dimensions, got {rank}. {ONE_ROW_EACH}{hint}")


def _check_dtype(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in _REAL:
        # The kind alone: a full text dtype would reveal the length of the longest entry.
        kind = _KINDS.get(dtype.kind, "structured")
        hint = " If the entries are numbers, pass X.astype(float)." if kind in ("object", "text") else ""
        raise InvalidDataError(f"The entries must be real numbers, got {kind}. {ONE_ROW_EACH}{hint}")
