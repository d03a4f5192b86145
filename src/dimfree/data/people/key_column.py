"""A column of keys: taken out of a frame, since keys are no coordinates, and its entries.

One entry must not decide what becomes of the others: an error depends on the schema and on the arguments alone.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import quoted
from dimfree.data.boundary import boundary
from dimfree.data.entries import listed
from dimfree.data.frames import LIBRARIES
from dimfree.data.schema import Schema
from dimfree.data.select import package_of
from dimfree.errors import InvalidParameter, InvalidRecords

ONE_KEY_EACH = "Pass the name of a column of X, or a list or array with one key (a whole number or text) for each row."
_NEED = "Pass one key for each row: whole numbers or text."


def take_column(X: Any, name: str, parameter: str) -> tuple[Any, Any]:
    """X without the column of this name, and the column; `parameter` named it, for the error."""
    package = package_of(X)
    if package == "dask":
        raise InvalidParameter(
            f"Expected {parameter}={quoted(name)} with a table in memory: of a Dask DataFrame pass the keys, "
            f"{parameter}=frame[{quoted(name)}].compute(), and the frame without that column."
        )
    if package == "dimfree" and hasattr(X, "select"):  # read again if the column was not set apart before
        table = X.select(Schema(), (name,))
        return table, table.key(name)
    frame = getattr(X, "obs", None) if package == "anndata" else X
    library = LIBRARIES.get(package_of(frame))
    if library is None or not hasattr(frame, library.mark):
        raise InvalidParameter(
            f"Expected {parameter}={quoted(name)} with a DataFrame, Arrow table or AnnData. {ONE_KEY_EACH}"
        )
    with boundary(lambda _: InvalidRecords("X cannot be read as a table whose column names are text.")):
        names = list(map(str, library.labels(frame)))
        if names.count(name) != 1:
            wrong = "no column" if name not in names else "more than one column"
            raise InvalidParameter(
                f"Expected {parameter}={quoted(name)} to name one column of X; {wrong} has this name."
            )
        at = names.index(name)
        others = [place for place in range(len(names)) if place != at]
        return X if frame is not X else library.take(X, others), library.column(frame, at)


def check_same_index(X: Any, values: object, parameter: str) -> None:
    """Require of a pandas Series with a table that has row labels the same ones; position alone matches nothing.

    Whether two objects of the caller have the same index is about how they were made, like their lengths. A table
    without row labels has positions only, whatever the index of the Series.
    """
    labels: Any = getattr(X, {"pandas": "index", "anndata": "obs_names"}.get(package_of(X), ""), None)
    if labels is None or package_of(values) != "pandas" or not hasattr(values, "index"):
        return
    try:
        alike = len(labels) != len(values.index) or bool(labels.equals(values.index))  # lengths are compared later
    except Exception:  # noqa: BLE001 - a comparison that quotes a label
        alike = False
    if not alike:
        raise InvalidParameter(
            f"Expected {parameter} with the index of X, got a Series with another one. If both are in the same order, "
            f"pass {parameter}=series.to_numpy(); if they go together by label, {parameter}=series.reindex(X.index)."
        )


def plain_values(values: Any, what: str) -> NDArray[Any] | list[Any]:
    """An array of whole numbers or floats, or the list of the entries. An error depends on the schema alone."""
    package = package_of(values)
    if package in LIBRARIES:
        mark = "type" if package == "pyarrow" else "dtype"
        if not (hasattr(type(values), mark) and hasattr(values, "__len__")):
            raise InvalidParameter(
                f"Expected {what} to be one column, got a {package} {type(values).__name__}. {_NEED}"
            )
        kind = getattr(values, mark)
        _check_type(kind, what)
        return np.asarray(values) if _is_numeric(kind) else listed(values, *LIBRARIES[package].entries)
    if isinstance(values, str | bytes | dict | set | frozenset) or not hasattr(values, "__len__"):
        raise InvalidParameter(f"Expected {what} to be a column name or keys, got {type(values).__name__}. {_NEED}")
    if not hasattr(values, "__array__"):
        return listed(values, lambda column: column, lambda column, at: column[at])
    array = values if isinstance(values, np.ndarray) else np.asarray(values)  # of another package
    if array.ndim != 1 or array.dtype.kind == "V":  # V is declared, no entry makes an array one
        raise InvalidParameter(f"Expected {what} to be a vector of keys. {_NEED}")
    _check_type(array.dtype, what)
    if isinstance(array, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(array)
        return [None if gone else key for key, gone in zip(array.data, hidden, strict=True)]
    if array.dtype.kind in "iuf":
        return array
    return array.tolist() if array.dtype.kind in "bUS" else list(array)


def _check_type(kind: Any, what: str) -> None:
    """Refuse durations and nested values by their type: libraries make such of the whole numbers among them, too."""
    if _is_refused(kind):
        raise InvalidParameter(
            f"Keys in {what} have a type of durations, lists or structs; only whole numbers, text and dates are "
            "supported. Declare the type of the column when you make the table. No budget was charged."
        )


def _is_refused(kind: Any) -> bool:
    package = package_of(kind)
    if package == "polars":
        return bool(kind.is_nested() or str(kind).startswith("Duration"))
    if package == "pyarrow":
        from pyarrow import types

        if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
            return _is_refused(kind.value_type)
        return bool(types.is_nested(kind) or types.is_duration(kind) or types.is_interval(kind))
    if hasattr(kind, "pyarrow_dtype"):
        return _is_refused(kind.pyarrow_dtype)
    return bool((kind.categories.dtype if hasattr(kind, "categories") else kind).kind == "m")


def _is_numeric(kind: Any) -> bool:
    """Whether NumPy has this type of column; a gap in one of floats is NaN."""
    if package_of(kind) == "pyarrow":
        from pyarrow.types import is_floating

        return bool(is_floating(kind))
    return bool(kind.is_float()) if package_of(kind) == "polars" else isinstance(kind, np.dtype) and kind.kind in "iuf"
