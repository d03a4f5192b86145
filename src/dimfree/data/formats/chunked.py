"""Arrays stored in chunks: .zarr, a folder with one array, and .h5ad, the matrix X of an AnnData file, dense or CSR.

Dense rows are read some whole chunks at a time where they are small. h5py alone reads .h5ad; its columns are the names
in var.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._validate.column_names import check_names
from dimfree.data import sparse
from dimfree.data.convert import from_sparse
from dimfree.data.formats.file_stream import (
    CHANGED,
    File,
    FilePath,
    FileStream,
    StoredFile,
    require,
    require_places,
    rows_at_once,
)
from dimfree.data.records import as_records
from dimfree.data.stream import SparseStream, pieces
from dimfree.errors import InvalidFile


class ChunkedStream(FileStream):
    """Private: the rows of a dense array in chunks."""

    def __init__(self, path: FilePath) -> None:
        super().__init__(path)
        with self._opened() as table:
            _check_table((1, *table.shape[1:]), table.dtype)
            self.shape, self.dtype = (int(table.shape[0]), int(table.shape[1])), np.dtype(table.dtype)

    @abstractmethod
    def _opened(self) -> AbstractContextManager[Any]:
        """The array."""

    def _between(self, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
        with self._opened() as table:
            if tuple(table.shape) != self.shape or table.dtype != self.dtype:
                raise InvalidFile(CHANGED)
            step = rows_at_once(self.shape[1] * self.dtype.itemsize, int((table.chunks or (1, 1))[0]))
            for start in range(first, last, step):
                yield from pieces(np.asarray(table[start : min(start + step, last)]), rows)


class ZarrStream(ChunkedStream):
    """Private: the rows of a zarr array.

    Entries of a chunk that is not stored are the fill value that the metadata declare: a writer leaves out a chunk when
    all its numbers are this value, so that one record can decide whether it is stored. A lost chunk looks the same.
    """

    def __init__(self, file: File) -> None:
        require("zarr", ".zarr", "zarr")
        super().__init__(file.path)

    def _opened(self) -> AbstractContextManager[Any]:
        import zarr

        table: Any = zarr.open(str(self.path), mode="r")
        if not hasattr(table, "nchunks"):
            raise InvalidFile("it is a group, expected one array with 2 dimensions: pass the folder of the array.")
        if table.fill_value is None:
            raise InvalidFile(
                "its metadata declare no fill value, so that chunks may be undefined: write it with fill_value=0."
            )
        return nullcontext(table)

    def starts(self) -> Sequence[int]:
        with self._opened() as table:
            return range(0, self.shape[0], int(table.chunks[0]))


def open_h5ad(file: File) -> "DenseH5ad | SparseH5ad":
    """Open the matrix X by how it is stored."""
    require("h5py", ".h5ad", "anndata")
    with _opened(file.path) as stored:
        if "X" not in stored:
            raise InvalidFile("it has no matrix X, expected one row for each person in X.")
        dense = hasattr(stored["X"], "dtype")
    return DenseH5ad(file.path) if dense else SparseH5ad(file.path)


class DenseH5ad(ChunkedStream):
    """Private: the rows of a dense X."""

    def __init__(self, path: FilePath) -> None:
        super().__init__(path)
        with _opened(path) as file:
            self.columns = self.names = _names(file, self.shape[1])

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        with _opened(self.path) as file:
            yield file["X"]

    def starts(self) -> Sequence[int]:
        return range(self.shape[0])


class SparseH5ad(StoredFile, SparseStream):
    """Private: the rows of X as CSR stores them."""

    def __init__(self, path: FilePath) -> None:
        super().__init__(path)
        with _opened(path) as file:
            group = file["X"]
            self.shape = _sparse_shape(group)
            self.indptr = np.asarray(group["indptr"][:])
            self.columns = self.names = _names(file, self.shape[1])
            _check_pointers(self.indptr, self.shape[0], group)

    def csr_blocks(self, bounds: Iterator[tuple[int, int]]) -> Iterator[Any]:
        return self.unchanged(self._csr_parts(bounds))

    def _csr_parts(self, bounds: Iterator[tuple[int, int]]) -> Iterator[Any]:
        with _opened(self.path) as file:
            group = file["X"]
            _check_pointers(self.indptr, self.shape[0], group)
            for first, last in bounds:
                yield self._rows(group, first, last)

    def _rows(self, group: Any, first: int, last: int) -> Any:
        begin, end = int(self.indptr[first]), int(self.indptr[last])
        starts = self.indptr[first : last + 1] - begin
        parts = (group["data"][begin:end], group["indices"][begin:end], starts)
        return from_sparse(sparse.csr_array(parts, shape=(last - first, self.shape[1])))


def _opened(path: FilePath) -> Any:
    import h5py

    return h5py.File(path, "r")


def _sparse_shape(group: Any) -> tuple[int, int]:
    kind = group.attrs.get("encoding-type", group.attrs.get("h5sparse_format", ""))
    if kind not in ("csr_matrix", "csr"):
        raise InvalidFile("its X is neither dense nor CSR, expected rows to be stored together: write X as CSR.")
    rows, columns = group.attrs["shape"] if "shape" in group.attrs else group.attrs["h5sparse_shape"]
    _check_table((1, int(columns)), group["data"].dtype)
    return int(rows), int(columns)


def _check_table(shape: tuple[int, ...], dtype: Any) -> None:
    """Check rank, type and width. Of one row: a table without rows may have any type."""
    as_records(np.zeros(shape, dtype))


def _check_pointers(indptr: NDArray[Any], count: int, group: Any) -> None:
    require_places([group["indptr"], group["indices"]])
    fits = indptr.ndim == 1 and len(indptr) == count + 1 and indptr[0] == 0 and (np.diff(indptr) >= 0).all()
    if not fits or {len(group["data"]), len(group["indices"])} != {int(indptr[-1])}:
        raise InvalidFile("its X is damaged: the parts of the CSR matrix do not fit each other.")


def _names(file: Any, width: int) -> tuple[str, ...] | None:
    """The index of var; None where it is kept in a way of its own."""
    var = file.get("var")
    index = var.get(var.attrs.get("_index", "_index")) if hasattr(var, "get") else None
    if index is None or not hasattr(index, "asstr") or index.dtype.kind not in "OS":
        return None
    names = tuple(index.asstr()[:])
    if len(names) != width:
        raise InvalidFile("its X is not as wide as its var is long, expected one column for every variable.")
    check_names(names)
    return names
