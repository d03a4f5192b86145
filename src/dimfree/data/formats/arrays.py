""".npy and .npz files, read at once."""

from typing import Any, TypeAlias

import numpy as np

from dimfree.data.formats.file_stream import FilePath, require_places
from dimfree.errors import InvalidFile

Array: TypeAlias = Any  # NumPy's, or a sparse matrix of SciPy

_PLACES = ("indices", "indptr", "row", "col", "offsets")  # arrays of positions in a sparse matrix, in any format
_SPARSE = "format"  # the entry that marks a file of scipy.sparse.save_npz


def read_npy(path: FilePath) -> Array:
    with path.open("rb") as file:
        values = np.load(file, allow_pickle=False)
    if not isinstance(values, np.ndarray):
        raise InvalidFile("it is an .npz file, rename it.")
    return values


def read_npz(path: FilePath, name: str, ranks: tuple[int, ...]) -> Array:
    """A sparse matrix, the array of this name, or the only one with so many dimensions."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        if _SPARSE in archive.files and "shape" in archive.files:
            return _read_sparse(path, archive)
        if name in archive.files:
            return archive[name]
        fitting = [values for values in map(archive.__getitem__, archive.files) if values.ndim in ranks]
        if len(fitting) != 1:
            rank = " or ".join(map(str, ranks))
            raise InvalidFile(f"expected an array named {name!r}, or exactly one array with {rank} dimensions.")
        return fitting[0]


def _read_sparse(path: FilePath, archive: Any) -> Array:
    from scipy.sparse import load_npz

    require_places([archive[name] for name in _PLACES if name in archive.files])
    with path.open("rb") as file:
        return load_npz(file)
