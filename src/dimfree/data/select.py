"""Tables that are chosen from: queries are fetched, and columns taken by their public names, before anything else.

A query is a polars LazyFrame, a DuckDB relation, or anything else that offers Arrow's C stream interface.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dimfree._validate import install_command
from dimfree.data.boundary import boundary
from dimfree.data.frames import LIBRARIES
from dimfree.data.schema import Schema
from dimfree.errors import InvalidParameter, InvalidRecords

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
        return collected(X)
    X = X if _is_lazy(X) else collected(X)  # of a query, what is not asked for is not fetched
    return _fetched(lambda: _choose(X, schema, apart))


def _choose(X: Any, schema: Schema, keys: Sequence[str]) -> Any:
    package = package_of(X)
    labels = _labels(X, package)
    names = None if labels is None else [str(label) for label in labels]
    schema.bounds.require_columns(names)
    if schema.is_all:
        return collected(X)
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
        import polars

        return X.select(polars.nth(places)).collect()
    return _of_dask(X, places) if package == "dask" else LIBRARIES[package].take(X, places)


def _labels(X: Any, package: str) -> Any:
    """The labels of the columns of a table; None where it has none."""
    if _is_lazy(X):
        return X.collect_schema().names()
    if package in ("anndata", "dask", "dimfree"):
        return getattr(X, "var_names" if package == "anndata" else "columns", None)
    library = LIBRARIES.get(package)
    return library.labels(X) if library is not None and hasattr(X, library.mark) else None


def _of_dask(X: Any, places: Sequence[int]) -> Any:
    """Select by label, since Dask has no positions: repeated labels and masks of truth values are refused."""
    chosen = X.columns[places]
    if not X.columns.is_unique or chosen.inferred_type == "boolean":
        raise InvalidParameter(
            "columns and exclude need a Dask DataFrame whose columns have distinct names that are text: assign such "
            "names to X.columns. No budget was charged."
        )
    return X[list(chosen)]


def collected(X: Any) -> Any:
    """Return X itself, or what a query comes to: a polars DataFrame or an Arrow table. An error quotes nothing."""
    package, kind = package_of(X), type(X)
    if _is_lazy(X):
        return _fetched(X.collect)
    offers = package not in _KNOWN and hasattr(kind, "__arrow_c_stream__")
    if not offers and (package, kind.__name__) != ("pyarrow", "RecordBatchReader"):
        return X
    if find_spec("pyarrow") is None:
        raise InvalidParameter(f"An Arrow stream needs pyarrow: install it with {install_command('files')}.")
    from pyarrow import RecordBatchReader

    return _fetched(lambda: RecordBatchReader.from_stream(X).read_all())


def _is_lazy(X: Any) -> bool:
    return package_of(X) == "polars" and type(X).__name__ == "LazyFrame"


def _fetched(fetch: Callable[[], Any]) -> Any:
    with boundary(lambda _: InvalidRecords(_NO_QUERY)):
        return fetch()
