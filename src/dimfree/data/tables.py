"""What may be a table in memory: arrays, lists, frames, sparse matrices, tensors, Dask collections, queries.

Types are recognised by the names of their classes, so that no library is imported only for the check. Errors state
columns and types, never a value or the number of rows.
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
from dimfree.data.entries import floats_of
from dimfree.data.extras import arrow, polars, sparse
from dimfree.data.frames import LIBRARIES, PANDAS, check_labels, from_frame
from dimfree.data.gpu.device import from_tensor
from dimfree.data.gpu.rows import DeviceRows
from dimfree.data.schema import Schema
from dimfree.data.source import InMemory, Source
from dimfree.errors import InvalidParameter, InvalidRecords

ONE_ROW_EACH = "Pass a table with one row per person and one numeric column per coordinate."
NO_COLUMNS = f"The table has no columns. {ONE_ROW_EACH}"
_ONE_DIMENSION = (
    "For a single coordinate, pass X.reshape(-1, 1); of a list of dicts make a frame; an empty list does not tell its "
    "columns, numpy.empty((0, d)) does."
)
_REAL = "biuf"  # kinds of NumPy's types
_UNDECLARED = "OUSTc"  # what one entry may make of all: objects, text, complex numbers
_KINDS = {"O": "object", "c": "complex", "S": "bytes", "U": "text", "T": "text", "M": "datetime", "m": "timedelta"}
_KNOWN = ("pandas", "polars", "pyarrow", "dask", "anndata", "torch", "numpy", "scipy")  # recognised by their own types
_NO_QUERY = (
    "X cannot be read as a table. If X is a query, run it separately to see why, and pass its result. The names of its "
    "columns must be text. No budget was charged."
)


def package_of(value: object) -> str:
    """Return the library of the type or of the nearest known base class; no library is imported."""
    packages = [cls.__module__.partition(".")[0] for cls in type(value).__mro__]
    return next((package for package in packages if package in _KNOWN), packages[0])


def selected(X: Any, schema: Schema, keys: Sequence[object] = ()) -> Any:
    """Return X in memory with the chosen columns, and with those that `keys` names, in the order of the table.

    A path is read. What comes from a file has its columns of keys apart (`Table.key`). Bounds must be for columns of
    the table; entries are clipped to them when the table is opened.
    """
    apart = [key for key in keys if isinstance(key, str)]
    if isinstance(X, str | Path):
        from dimfree.data.read import open_path

        return open_path(X, schema, apart)
    if package_of(X) == "dimfree" and hasattr(X, "select"):  # what `read_table` returns
        return X.select(schema, apart)
    if schema.is_all and not schema.bounds.ends:
        return _collected(X)
    X = X if _is_lazy(X) else _collected(X)  # of a query, what is not asked for is not fetched
    return _fetched(lambda: _choose(X, schema, apart))


def _choose(X: Any, schema: Schema, keys: Sequence[str]) -> Any:
    package = package_of(X)
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
        return _collected(X)
    if names is None or package == "dimfree":
        raise InvalidParameter(
            "Expected columns and exclude with a table whose columns have names: of an array pass X[:, [0, 3]] and so "
            "on, of a file read_table(path, columns=[...])."
        )
    if package == "anndata":  # keys are columns of `obs`, which stays as it is
        return X[:, schema.places(names)]
    # a key that is not there is for its own parameter to miss
    apart = [place for place, name in enumerate(names) if name in keys]
    places = sorted([*schema.places(names, apart), *apart])
    if _is_lazy(X):
        return X.select(polars.nth(places)).collect()
    if package != "dask":
        return LIBRARIES[package].take(X, places)
    chosen = X.columns[places]  # Dask has no positions: repeated labels and masks of truth values are refused
    if not X.columns.is_unique or chosen.inferred_type == "boolean":
        raise InvalidParameter(
            "columns and exclude need a Dask DataFrame whose columns have distinct names that are text: assign such "
            "names to X.columns. No budget was charged."
        )
    return X[list(chosen)]


def _collected(X: Any) -> Any:
    """Return X itself, or what a query comes to: a polars DataFrame or an Arrow table. An error quotes nothing."""
    package, kind = package_of(X), type(X)
    if _is_lazy(X):
        return _fetched(X.collect)
    offers = package not in _KNOWN and hasattr(kind, "__arrow_c_stream__")
    if not offers and (package, kind.__name__) != ("pyarrow", "RecordBatchReader"):
        return X
    if find_spec("pyarrow") is None:
        raise InvalidParameter(f"An Arrow stream needs pyarrow: install it with {install_command('files')}.")
    return _fetched(lambda: arrow.RecordBatchReader.from_stream(X).read_all())


def _is_lazy(X: Any) -> bool:
    return package_of(X) == "polars" and type(X).__name__ == "LazyFrame"


def _fetched(fetch: Callable[[], Any]) -> Any:
    with boundary(lambda _: InvalidRecords(_NO_QUERY)):
        return fetch()


def source_of(X: Any, lenient: bool = False) -> Source:
    """Return the numbers of a table. To be called inside a `boundary`.

    `lenient`: where one entry may have made text or objects of a column, or of a whole list, its entries are read one
    by one, and what is not a number becomes NaN. Otherwise such a table is an error.
    """
    X = _collected(X)
    # By name, so that no library is imported for its own sake; the ancestors, so that subclasses count.
    ancestors = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(X).__mro__}
    for package, _ in ancestors & _FRAMES:
        return InMemory(*from_frame(X, LIBRARIES[package], lenient))
    for name in ancestors & _OTHERS.keys():
        return _OTHERS[name](X)
    package = type(X).__module__.partition(".")[0]
    if package in ("pandas", "polars", "pyarrow", "dask", "anndata"):
        raise InvalidRecords(f"A {package} {type(X).__name__} is not a table. {ONE_ROW_EACH}")
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
    else:  # without rows, or of a list with missing entries or too large numbers, nobody has declared the type
        by_entry = array.dtype.kind == "O" and (len(array) == 0 or not isinstance(X, np.ndarray))
        by_entry = by_entry and all(entry is None or isinstance(entry, Real) for entry in array.flat)
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
        if not lenient:
            return np.asarray(X)
        array = np.asarray(X, dtype=object)  # a type for all entries would have room for the longest text
        return np.full(array.shape[:2], None) if array.ndim > 2 else array  # an entry that is a list is no dimension
    array = np.asarray(X)
    return np.asarray(X, dtype=object) if lenient and array.dtype.kind not in _REAL else array  # entries as they were


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


def _from_anndata(X: Any) -> Source:
    """X alone: observations are the rows, variables the columns. `obs` enters by the names of its columns only."""
    matrix = (X.to_memory() if X.isbacked else X).X
    if matrix is None:
        raise InvalidRecords(f"The AnnData has no X. {ONE_ROW_EACH}")
    names = tuple(map(str, X.var_names))
    check_names(names)
    return InMemory(from_sparse(matrix) if sparse.issparse(matrix) else _from_array(matrix), names)


def _from_dask(X: Any) -> Source:
    """By its declared types; nothing is computed but the lengths of chunks that are not known."""
    from dimfree.data.partitions import of_dask

    if not hasattr(X, "columns"):
        _check_rank(X.ndim)
        _check_dtype(X.dtype)
        return of_dask(X)
    labels, types = list(PANDAS.labels(X._meta)), list(PANDAS.types(X._meta))
    names = tuple(map(str, labels))
    refuse_types(names, types, check_labels(labels, types, PANDAS))
    return of_dask(X, names)


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
        raise InvalidRecords(NO_COLUMNS)


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
