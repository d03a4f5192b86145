"""SciPy's sparse matrices, imported when the first one is met or made: a release of a dense table needs none."""

import importlib
import sys
from typing import Any


def issparse(table: object) -> bool:
    """Whether this is a sparse matrix or array of SciPy. There is none before `scipy.sparse` was imported."""
    known = getattr(sys.modules.get("scipy.sparse"), "issparse", None)
    return known is not None and bool(known(table))


def __getattr__(name: str) -> Any:
    """What else `scipy.sparse` has; but for the names that Python asks of every module."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(importlib.import_module("scipy.sparse"), name)
