"""A column of keys: taken out of a frame, since keys are no coordinates, and read entry by entry.

What one entry is must not decide what becomes of the others: no error here depends on an entry, nor on the type of a
column where one entry may have changed it.
"""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import quoted
from dimfree.data.boundary import boundary
from dimfree.data.columns import Selection
from dimfree.data.entries import listed
from dimfree.data.select import package_of
from dimfree.errors import InvalidParameter, InvalidRecords

ONE_KEY_EACH = "Pass the name of a column of X, or a list or array with one key (a whole number or text) for each row."

_SORTED_KINDS = "iubfUSM"  # of arrays that NumPy sorts: one entry in doubt does not hide another
_NEED = "Pass one key for each row: whole numbers or text."


def take_column(X: Any, name: str, parameter: str) -> tuple[Any, Any]:
    """X without the column of this name, and the column; `parameter` is who asked, for the error."""
    package = package_of(X)
    if package not in _TAKERS:
        raise InvalidParameter(
            f"Expected {parameter}={quoted(name)} with a table that has column names. {ONE_KEY_EACH}"
        )
    with boundary(lambda _: InvalidRecords("X cannot be read as a table whose column names are text.")):
        return _TAKERS[package](X, name, parameter)


def _place(names: list[str], name: str, parameter: str) -> int:
    if names.count(name) != 1:
        wrong = "no column" if name not in names else "more than one column"
        raise InvalidParameter(f"Expected {parameter}={quoted(name)} to name one column of X; {wrong} has this name.")
    return names.index(name)


def _from_pandas(X: Any, name: str, parameter: str) -> tuple[Any, Any]:
    if not hasattr(X, "columns"):
        _no_frame(name, parameter)
    at = _place([str(column) for column in X.columns], name, parameter)
    return X.iloc[:, [column for column in range(X.shape[1]) if column != at]], X.iloc[:, at]


def _from_polars(X: Any, name: str, parameter: str) -> tuple[Any, Any]:
    if not hasattr(X, "get_column"):
        _no_frame(name, parameter)
    import polars

    at = _place(list(X.columns), name, parameter)  # by position: polars reads the names `*` and `^...$` as patterns
    return X.select(polars.nth([column for column in range(X.width) if column != at])), X.to_series(at)


def _from_arrow(X: Any, name: str, parameter: str) -> tuple[Any, Any]:
    if not hasattr(X, "schema"):
        _no_frame(name, parameter)
    at = _place(list(X.schema.names), name, parameter)
    return X.select([column for column in range(X.num_columns) if column != at]), X.column(at)


def _from_anndata(X: Any, name: str, parameter: str) -> tuple[Any, Any]:
    """A column of `obs`, which holds no coordinates: X stays as it is."""
    if not hasattr(X, "obs"):
        _no_frame(name, parameter)
    at = _place([str(column) for column in X.obs.columns], name, parameter)
    return X, X.obs.iloc[:, at]


def _from_dask(X: Any, name: str, parameter: str) -> NoReturn:
    """Keys are compared with each other, so they must be here."""
    raise InvalidParameter(
        f"Expected {parameter}={quoted(name)} with a table in memory: of a Dask DataFrame pass the keys themselves, "
        f"{parameter}=frame[{quoted(name)}].compute(), and the frame without that column."
    )


def _from_file(X: Any, name: str, parameter: str) -> tuple[Any, Any]:
    """A column of the file, which is read again if it was not set apart before."""
    if not hasattr(X, "select"):
        _no_frame(name, parameter)
    table = X.select(Selection(), (name,))
    return table, table.key(name)


def _no_frame(name: str, parameter: str) -> NoReturn:
    raise InvalidParameter(
        f"Expected {parameter}={quoted(name)} with a DataFrame, Arrow table or AnnData. {ONE_KEY_EACH}"
    )


_TAKERS = {
    "anndata": _from_anndata,
    "dask": _from_dask,
    "dimfree": _from_file,
    "pandas": _from_pandas,
    "polars": _from_polars,
    "pyarrow": _from_arrow,
}


def check_same_index(X: Any, values: object, parameter: str) -> None:
    """A pandas Series beside a table with row labels must have the same ones; it is never matched by position alone.

    Whether two objects of the caller have the same index is about how they were made, like their lengths. A table
    without row labels has positions only, whatever the index of the Series.
    """
    labels = _row_labels(X)
    if labels is None or package_of(values) != "pandas" or not hasattr(values, "index"):
        return
    try:
        alike = len(labels) != len(values.index) or bool(labels.equals(values.index))  # another length is said later
    except Exception:  # noqa: BLE001 - a comparison that quotes a label
        alike = False
    if not alike:
        raise InvalidParameter(
            f"Expected {parameter} with the index of X, got a Series with another one. If both are in the same order, "
            f"pass {parameter}=series.to_numpy(); if they go together by label, {parameter}=series.reindex(X.index)."
        )


def _row_labels(X: Any) -> Any:
    """The pandas Index of the rows, None where they have none."""
    if package_of(X) == "pandas":
        return getattr(X, "index", None)
    return getattr(X, "obs_names", None) if package_of(X) == "anndata" else None


def plain_values(values: Any, what: str) -> NDArray[Any] | list[Any]:
    """An array of whole numbers, floats, truth or text, or the list of the entries; an error tells of the schema."""
    package = package_of(values)
    if package in _READERS:
        return _of_column(values, package, what)
    if isinstance(values, str | bytes | dict | set | frozenset) or _length(values) is None:
        raise InvalidParameter(f"Expected {what} to be a column name or keys, got {type(values).__name__}. {_NEED}")
    if not hasattr(values, "__array__"):
        return listed(values, lambda column: column, lambda column, row: column[row])
    # np.asarray: of another package, whose entries may be no plain numbers
    return _of_array(values if isinstance(values, np.ndarray) else np.asarray(values), what)


def _of_array(values: NDArray[Any], what: str) -> NDArray[Any] | list[Any]:
    if values.ndim != 1 or values.dtype.kind == "V":  # V is declared, no entry makes an array one
        raise InvalidParameter(f"Expected {what} to be a vector of keys. {_NEED}")
    _check_type(values.dtype, "numpy", what)
    if isinstance(values, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(values)
        return [None if gone else key for key, gone in zip(values.data, hidden, strict=True)]
    return values if values.dtype.kind in _SORTED_KINDS else list(values)


def _of_column(values: Any, package: str, what: str) -> NDArray[Any] | list[Any]:
    """A column of a frame; whole numbers without gaps and floats stay an array."""
    mark, everything, one = _READERS[package]
    if not (hasattr(type(values), mark) and hasattr(values, "__len__")):
        raise InvalidParameter(f"Expected {what} to be one column, got a {package} {type(values).__name__}. {_NEED}")
    _check_type(getattr(values, mark), package, what)
    if _is_numeric(getattr(values, mark), package):
        return np.asarray(values)
    return listed(values, everything, one)


def _check_type(kind: Any, package: str, what: str) -> None:
    """Refuse durations and nested values by their type: whole numbers or text beside them may have become such, too."""
    is_refused = {"polars": _is_refused_by_polars, "pyarrow": _is_refused_by_arrow}.get(package, _is_refused_by_numpy)
    if is_refused(kind):
        raise InvalidParameter(
            f"Keys in {what} have a type of durations, lists or structs; only whole numbers, text and dates are "
            "supported. Declare the type of the column when you make the table. No budget was charged."
        )


def _is_refused_by_numpy(kind: Any) -> bool:
    """Also of pandas."""
    if hasattr(kind, "pyarrow_dtype"):
        return _is_refused_by_arrow(kind.pyarrow_dtype)
    stored = kind.categories.dtype if hasattr(kind, "categories") else kind
    return bool(stored.kind == "m")


def _is_refused_by_polars(kind: Any) -> bool:
    from polars import Duration

    return bool(kind.is_nested() or kind == Duration)


def _is_refused_by_arrow(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _is_refused_by_arrow(kind.value_type)
    return bool(types.is_nested(kind) or types.is_duration(kind) or types.is_interval(kind))


def _is_numeric(kind: Any, package: str) -> bool:
    """Whether NumPy has this type of column; a gap in one of floats is NaN."""
    if package == "pyarrow":
        from pyarrow.types import is_floating

        return bool(is_floating(kind))
    return bool(kind.is_float()) if package == "polars" else isinstance(kind, np.dtype) and kind.kind in "iuf"


def _length(values: Any) -> int | None:
    try:
        return len(values)
    except Exception:  # noqa: BLE001 - no sequence
        return None


_READERS: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any, int], Any]]] = {  # type, all entries, one entry
    "pandas": (
        "dtype",
        lambda column: column.astype(object),
        lambda column, row: getattr(column, "array", column)[row],
    ),
    "polars": ("dtype", lambda column: column.to_list(), lambda column, row: column[row]),
    "pyarrow": ("type", lambda column: column.to_pylist(), lambda column, row: column[row].as_py()),
}
