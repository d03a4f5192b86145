"""Frames as arrays of numbers: pandas and polars, and the names of their columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._validate.column_names import check_names, check_untyped_names
from dimfree.data.convert_columns import check_columns, stacked
from dimfree.data.entries import floats_of, listed

_LEFT_OUT = 2  # columns of integer labels that may be missing among 0, 1, 2...: keys of units and of groups


def from_pandas(X: Any, lenient: bool) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    names = pandas_names(X, lenient, declared=len(X) > 0)  # without rows, nothing has declared a type
    if all(map(_is_pandas_number, X.dtypes)):
        return X.to_numpy(dtype=np.float64, na_value=np.nan, copy=True), names
    return stacked(X.shape, (_pandas_floats(X.iloc[:, place]) for place in range(len(names)))), names


def pandas_names(X: Any, lenient: bool, *, declared: bool) -> tuple[str, ...]:
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
    supported = [number or (loose and _is_undeclared(dtype)) for dtype, number in zip(X.dtypes, numeric, strict=True)]
    check_columns(names, list(X.dtypes), supported, strict=not lenient)
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
    return floats_of(listed(column, lambda whole: whole.tolist(), lambda whole, row: whole.array[row]))


def from_polars(X: Any, lenient: bool) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    import polars

    names, loose = tuple(X.columns), lenient or X.height == 0
    numeric = [dtype.is_numeric() or dtype in (polars.Boolean, polars.Null) for dtype in X.dtypes]
    if lenient:
        check_untyped_names(names)
    else:
        check_names(names, [name for name, number in zip(names, numeric, strict=True) if number])
    supported = [
        number or (loose and dtype in (polars.String, polars.Binary, polars.Object))
        for dtype, number in zip(X.dtypes, numeric, strict=True)
    ]
    check_columns(names, X.dtypes, supported, strict=not lenient)
    return stacked(X.shape, map(_polars_floats, X.get_columns(), numeric)), names


def _polars_floats(column: Any, number: bool) -> NDArray[np.float64]:
    import polars

    if column.dtype.is_decimal():  # by its text, to the nearest float whatever the scale of the column
        column = column.cast(polars.String)
    return np.asarray(column.cast(polars.Float64).to_numpy()) if number else floats_of(column.to_list())
