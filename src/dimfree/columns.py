"""A named column taken out of a frame: keys are no coordinates."""

from typing import Any, NoReturn

from dimfree.errors import InvalidParameter

ONE_KEY_EACH = "Pass the name of a column of X, or a list or array with one key (a whole number or text) for each row."


def take_column(X: Any, name: str, parameter: str) -> tuple[Any, Any]:
    """X without the column of this name, and the column; `parameter` is who asked, for the error."""
    package = type(X).__module__.partition(".")[0]
    if package not in _TAKERS:
        raise InvalidParameter(f"Expected {parameter}={name!r} with a table that has column names. {ONE_KEY_EACH}")
    return _TAKERS[package](X, name, parameter)


def _place(names: list[str], name: str, parameter: str) -> int:
    if names.count(name) != 1:
        wrong = "no column" if name not in names else "more than one column"
        raise InvalidParameter(f"Expected {parameter}={name!r} to name one column of X; {wrong} has this name.")
    return names.index(name)


def _from_pandas(X: Any, name: str, parameter: str) -> tuple[Any, Any]:
    if not hasattr(X, "columns"):
        _no_frame(name, parameter)
    at = _place([str(column) for column in X.columns], name, parameter)
    return X.iloc[:, [column for column in range(X.shape[1]) if column != at]], X.iloc[:, at]


def _from_polars(X: Any, name: str, parameter: str) -> tuple[Any, Any]:
    if not hasattr(X, "get_column"):
        _no_frame(name, parameter)
    _place(list(X.columns), name, parameter)
    return X.drop(name), X.get_column(name)


def _from_arrow(X: Any, name: str, parameter: str) -> tuple[Any, Any]:
    if not hasattr(X, "schema"):
        _no_frame(name, parameter)
    at = _place(list(X.schema.names), name, parameter)
    return X.select([column for column in range(X.num_columns) if column != at]), X.column(at)


def _no_frame(name: str, parameter: str) -> NoReturn:
    raise InvalidParameter(f"Expected {parameter}={name!r} with a DataFrame or an Arrow table. {ONE_KEY_EACH}")


_TAKERS = {"pandas": _from_pandas, "polars": _from_polars, "pyarrow": _from_arrow}
