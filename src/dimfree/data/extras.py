"""Other libraries, imported at first use: a release imports only those that its table needs."""

import importlib
import sys
from typing import Any


class Package:
    """A module that is imported when one of its names is first used, dunder names excepted."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)


class Sparse(Package):
    """SciPy's sparse matrices."""

    def issparse(self, table: object) -> bool:
        """Return whether this is a sparse matrix; none exists before `scipy.sparse` is imported."""
        known = getattr(sys.modules.get(self._name), "issparse", None)
        return known is not None and bool(known(table))


arrow, arrow_csv, arrow_types = map(Package, ("pyarrow", "pyarrow.csv", "pyarrow.types"))
compute, parquet = map(Package, ("pyarrow.compute", "pyarrow.parquet"))
dask, fsspec, h5py, openpyxl = map(Package, ("dask", "fsspec", "h5py", "openpyxl"))
pandas_types, polars, torch, zarr = map(Package, ("pandas.api.types", "polars", "torch", "zarr"))
sparse = Sparse("scipy.sparse")
