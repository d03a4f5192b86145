"""Frames that are chosen from: queries are fetched, and columns taken by their public names, before anything else.

A query is a polars LazyFrame, a DuckDB relation, or anything else that offers Arrow's C stream interface.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from dimfree._validate import install_command
from dimfree.data.boundary import boundary
from dimfree.data.schema import Schema
from dimfree.errors import InvalidParameter, InvalidRecords

_KNOWN = ("pandas", "polars", "pyarrow", "dask", "anndata", "torch", "numpy", "scipy")  # recognised by their own types
_NO_QUERY = (
    "X cannot be read as a table. If X is a query, run it separately to see why, and pass its result. The names of its "
    "columns must be text. No budget was charged."
)


def selected(X: Any, schema: Schema, keys: Sequence[object] = ()) -> Any:
    """X in memory with the chosen columns, and with those that `keys` names, in the order of the table.

    A path is read. What comes from a file has its columns of keys apart (`Table.key`).
    """
    apart = [key for key in keys if isinstance(key, str)]
    if isinstance(X, str | Path):
        from dimfree.data.read import open_path

        return open_path(X, schema, apart)
    if is_file_table(X):
        return X.select(schema, apart)
    if schema.is_all:
        return collected(X)
    if _is_lazy(X):  # what is not asked for is not fetched
        return _fetched(lambda: _of_polars(X, schema, apart).collect())
    X = collected(X)
    mark, select = _SELECTORS.get(package_of(X), ("", None))
    if select is None or not hasattr(X, mark):
        raise InvalidParameter(
            "Expected columns and exclude with a table whose columns have names: of an array pass X[:, [0, 3]] and so "
            "on, of a file read_table(path, columns=[...])."
        )
    return _fetched(lambda: select(X, schema, apart))


def is_file_table(X: object) -> bool:
    """Whether X is what `read_table` returns: columns of its file can be chosen by name."""
    return package_of(X) == "dimfree" and hasattr(X, "select")


def collected(X: Any) -> Any:
    """X itself, or what a query comes to: a polars DataFrame or an Arrow table. An error quotes nothing of it."""
    if _is_lazy(X):
        return _fetched(X.collect)
    if _is_arrow_stream(X):
        return _fetched(lambda: _read_stream(X))
    return X


def _is_lazy(X: Any) -> bool:
    return package_of(X) == "polars" and type(X).__name__ == "LazyFrame"


def _is_arrow_stream(X: Any) -> bool:
    if package_of(X) == "pyarrow":
        return type(X).__name__ == "RecordBatchReader"
    return package_of(X) not in _KNOWN and hasattr(type(X), "__arrow_c_stream__")


def _read_stream(X: Any) -> Any:
    if find_spec("pyarrow") is None:
        raise InvalidParameter(f"An Arrow stream needs pyarrow: install it with {install_command('files')}.")
    from pyarrow import RecordBatchReader

    return RecordBatchReader.from_stream(X).read_all()


def _fetched(fetch: Callable[[], Any]) -> Any:
    with boundary(lambda _: InvalidRecords(_NO_QUERY)):
        return fetch()


def _places(names: Sequence[str], schema: Schema, keys: Sequence[str]) -> list[int]:
    """Where the coordinates and the columns of keys stand; a key that is not there is for its own parameter to miss."""
    apart = [place for place, name in enumerate(names) if name in keys]
    return sorted([*schema.places(names, apart), *apart])


def _of_pandas(X: Any, schema: Schema, keys: Sequence[str]) -> Any:
    return X.iloc[:, _places([str(name) for name in X.columns], schema, keys)]


def _of_polars(X: Any, schema: Schema, keys: Sequence[str]) -> Any:
    """Select by position: polars reads the names `*` and `^...$` as patterns."""
    import polars

    return X.select(polars.nth(_places(X.collect_schema().names(), schema, keys)))


def _of_arrow(X: Any, schema: Schema, keys: Sequence[str]) -> Any:
    return X.select(_places(X.schema.names, schema, keys))


def _of_dask(X: Any, schema: Schema, keys: Sequence[str]) -> Any:
    """Select by label, since Dask has no positions: repeated labels and masks of truth values are refused."""
    chosen = X.columns[_places([str(name) for name in X.columns], schema, keys)]
    if not X.columns.is_unique or chosen.inferred_type == "boolean":
        raise InvalidParameter(
            "columns and exclude need a Dask DataFrame whose columns have distinct names that are text: assign such "
            "names to X.columns. No budget was charged."
        )
    return X[list(chosen)]


def _of_anndata(X: Any, schema: Schema, keys: Sequence[str]) -> Any:
    """Keys are columns of `obs`, which stays as it is."""
    return X[:, schema.places([str(name) for name in X.var_names])]


def package_of(value: object) -> str:
    """The library of the type or of the nearest known base class; no library is imported."""
    packages = [cls.__module__.partition(".")[0] for cls in type(value).__mro__]
    return next((package for package in packages if package in _KNOWN), packages[0])


_Selector: TypeAlias = Callable[[Any, Schema, Sequence[str]], Any]

_SELECTORS: dict[str, tuple[str, _Selector]] = {  # what tells a table, and how to choose from it
    "anndata": ("var_names", _of_anndata),
    "dask": ("columns", _of_dask),
    "pandas": ("columns", _of_pandas),
    "polars": ("get_columns", _of_polars),
    "pyarrow": ("schema", _of_arrow),
}
