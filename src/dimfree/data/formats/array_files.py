"""Read files of one array: .npy, .npz, .zarr (a folder), and .h5ad, the matrix X of an AnnData, dense or CSR.

A large .npy is read by position, not memory-mapped: a mapped file that shrinks ends the process without an error.
Small chunks are read whole. h5py alone reads .h5ad; its columns are the names in var.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from functools import partial
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dimfree._validate.column_names import check_names
from dimfree.data.blocks import Mask
from dimfree.data.extras import h5py, sparse, zarr
from dimfree.data.formats.file_stream import (
    CHANGED,
    File,
    FilePath,
    FileStream,
    StoredFile,
    require,
    reword_file_errors,
)
from dimfree.data.source import Merge, Result, Source, Work, pieces, to_float_rows
from dimfree.data.tables import check_form, from_sparse
from dimfree.errors import InvalidFileError
from dimfree.progress import report_progress
from dimfree.threads import in_order

_NEAR = 2**14  # average bytes between chosen rows, up to which reading all rows is as fast as skipping
_WINDOW_ROWS = 2**20  # whose positions are listed at a time
_READ_BYTES = 2**25  # of chunks, read at a time
_MAX_READ_BYTES = 2**28  # the same for larger chunks
_PLACES = ("indices", "indptr", "row", "col", "offsets")  # arrays of positions in a sparse matrix, in any format
_SPARSE = "format"  # marks a file of scipy.sparse.save_npz


class NpyStream(FileStream):
    """Private: all or some rows of an array in a .npy file."""

    def __init__(self, file: File) -> None:
        super().__init__(file.path)
        header = np.lib.format.open_memmap(str(self.path), mode="r")  # refuses a file shorter than its header states
        check_form(header.shape, header.dtype)
        self.shape, self.dtype = (int(header.shape[0]), int(header.shape[1])), header.dtype
        self._offset, self._by_column = int(header.offset), not header.flags.c_contiguous
        self._height = self.shape[0]  # of the file
        self._among: Mask | None = None  # None: all rows

    def select_rows(self, rows: Mask) -> "NpyStream":
        """Return some rows; if they are few, the others are not read. The caller keeps `rows` private."""
        some = copy(self)
        some._among, some.shape = np.zeros(self._height, dtype=np.bool_), (int(rows.sum()), self.shape[1])
        some._among[slice(None) if self._among is None else self._among] = rows
        return some

    def map_blocks(
        self, work: Work[Result], rows: int, among: Mask | None, threads: int, merge: Merge[Result]
    ) -> Iterator[Result]:
        """Run the work on each block in the thread that has read it, whose cache holds the block."""

        def done(block: tuple[partial[NDArray[Any]], Mask | None]) -> Result:
            """Open the unchanged file for one block."""
            with reword_file_errors(self.path), self.path.open("rb", buffering=0) as file:
                self.require_seal_of(file)
                numbers = block[0](file)
            return work(to_float_rows(self.clip(numbers)), block[1])

        def unread() -> Iterator[tuple[partial[NDArray[Any]], Mask | None]]:
            start = 0
            for count, read in self._plan_reads(rows):
                yield read, None if among is None else among[start : start + count]
                start += count
                report_progress(start, self.shape[0])

        self.require_same()
        yield from in_order(done, unread(), threads)
        self.require_same()

    def _parts(self, rows: int) -> Iterator[NDArray[Any]]:
        with self.path.open("rb", buffering=0) as file:
            for _, read in self._plan_reads(rows):
                yield read(file)

    def _between(self, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
        with self.path.open("rb", buffering=0) as file:
            for start in range(first, last, rows):
                yield self._read_consecutive(file, start, min(rows, last - start))

    def list_starts(self) -> Sequence[int]:
        return range(self._height)

    def _plan_reads(self, rows: int) -> Iterator[tuple[int, partial[NDArray[Any]]]]:
        """Return for each block its number of rows, and a function that reads it from the open file."""
        step = self.dtype.itemsize * (1 if self._by_column else self.shape[1])
        if self._among is not None and self._height * step > _NEAR * self.shape[0]:  # by the number of rows only: seek
            for start in range(0, self._height, _WINDOW_ROWS):
                places = start + np.flatnonzero(self._among[start : start + _WINDOW_ROWS])
                for some in pieces(places, rows):
                    yield len(some), partial(self._read_places, places=some)
            return
        for start in range(0, self._height, rows):
            count = min(rows, self._height - start)
            if self._among is None:
                yield count, partial(self._read_consecutive, start=start, count=count)
            elif (kept := self._among[start : start + count]).any():
                yield int(kept.sum()), partial(self._read_kept, start=start, kept=kept)

    def _read_kept(self, file: BinaryIO, start: int, kept: Mask) -> NDArray[Any]:
        return self._read_consecutive(file, start, len(kept))[kept]

    def _read_places(self, file: BinaryIO, places: NDArray[np.intp]) -> NDArray[Any]:
        block = np.empty((len(places), self.shape[1]), dtype=self.dtype)
        for first, last in pairwise([0, *(np.flatnonzero(np.diff(places) > 1) + 1).tolist(), len(places)]):
            block[first:last] = self._read_consecutive(file, int(places[first]), last - first)
        return block

    def _read_consecutive(self, file: BinaryIO, start: int, count: int) -> NDArray[Any]:
        if not self._by_column:
            block = np.empty((count, self.shape[1]), dtype=self.dtype)
            self._fill(file, start * self.shape[1], block)
            return block
        block = np.empty((self.shape[1], count), dtype=self.dtype)
        for place, column in enumerate(block):
            self._fill(file, place * self._height + start, column)
        return block.T

    def _fill(self, file: BinaryIO, place: int, block: NDArray[Any]) -> None:
        file.seek(self._offset + place * self.dtype.itemsize)
        waiting = block.data.cast("B")
        while len(waiting):
            read = file.readinto(waiting)  # type: ignore[attr-defined]  # of a file without a buffer
            if not read:
                raise InvalidFileError("it is truncated: it ends before its last row. Write it again.")
            waiting = waiting[read:]


def read_npy(path: FilePath) -> Any:
    with path.open("rb") as file:
        values = np.load(file, allow_pickle=False)
    if not isinstance(values, np.ndarray):
        raise InvalidFileError("it is an .npz file: rename it.")
    return values


def read_npz(path: FilePath, name: str, ranks: tuple[int, ...]) -> Any:
    """Read a sparse matrix, the array of this name, or the only array with one of these ranks."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        if _SPARSE in archive.files and "shape" in archive.files:
            _require_places([archive[name] for name in _PLACES if name in archive.files])
            with path.open("rb") as again:
                return sparse.load_npz(again)
        if name in archive.files:
            return archive[name]
        fitting = [values for values in map(archive.__getitem__, archive.files) if values.ndim in ranks]
        if len(fitting) != 1:
            rank = " or ".join(map(str, ranks))
            raise InvalidFileError(
                f"it must contain an array named {name!r}, or exactly one array with {rank} dimensions."
            )
        return fitting[0]


class ChunkedStream(FileStream):
    """Private: the rows of a dense array in chunks."""

    def __init__(self, path: FilePath) -> None:
        super().__init__(path)
        with self._open_array() as table:
            check_form(table.shape, np.dtype(table.dtype))
            self.shape, self.dtype = (int(table.shape[0]), int(table.shape[1])), np.dtype(table.dtype)

    @abstractmethod
    def _open_array(self) -> AbstractContextManager[Any]:
        """Return the array."""

    def _between(self, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
        with self._open_array() as table:
            if tuple(table.shape) != self.shape or table.dtype != self.dtype:
                raise InvalidFileError(CHANGED)
            step = rows_at_once(self.shape[1] * self.dtype.itemsize, int((table.chunks or (1, 1))[0]))
            for start in range(first, last, step):
                yield from pieces(np.asarray(table[start : min(start + step, last)]), rows)


def rows_at_once(row_bytes: int, tall: int) -> int:
    """Return the rows to read at once: whole chunks of `tall` rows if they are small, so that none is read twice."""
    fit = max(1, _READ_BYTES // row_bytes)
    return max(1, fit // tall) * tall if tall * row_bytes <= _MAX_READ_BYTES else fit


class ZarrStream(ChunkedStream):
    """Private: the rows of a zarr array.

    A chunk that is not stored consists of the declared fill value: writers omit chunks without other values.
    """

    def __init__(self, file: File) -> None:
        require("zarr", ".zarr", "zarr")
        super().__init__(file.path)

    def _open_array(self) -> AbstractContextManager[Any]:
        table: Any = zarr.open(str(self.path), mode="r")
        if not hasattr(table, "nchunks"):
            raise InvalidFileError("it is a group: pass the folder of one array with 2 dimensions.")
        if table.fill_value is None:
            raise InvalidFileError(
                "its metadata declare no fill value, so chunks may be undefined: write it with fill_value=0."
            )
        return nullcontext(table)

    def list_starts(self) -> Sequence[int]:
        with self._open_array() as table:
            return range(0, self.shape[0], int(table.chunks[0]))


def open_h5ad(file: File) -> "DenseH5ad | SparseH5ad":
    require("h5py", ".h5ad", "anndata")
    with _open_h5(file.path) as stored:
        if "X" not in stored:
            raise InvalidFileError("it has no matrix X: store one row per person in X.")
        dense = hasattr(stored["X"], "dtype")
    return DenseH5ad(file.path) if dense else SparseH5ad(file.path)


class DenseH5ad(ChunkedStream):
    """Private: the rows of a dense X."""

    def __init__(self, path: FilePath) -> None:
        super().__init__(path)
        with _open_h5(path) as file:
            self.columns = self.names = _names(file, self.shape[1])

    @contextmanager
    def _open_array(self) -> Iterator[Any]:
        with _open_h5(self.path) as file:
            yield file["X"]

    def list_starts(self) -> Sequence[int]:
        return range(self.shape[0])


class SparseH5ad(StoredFile, Source):
    """Private: the rows of X in CSR; the row pointers are in memory."""

    def __init__(self, path: FilePath) -> None:
        super().__init__(path)
        with _open_h5(path) as file:
            group = file["X"]
            kind = group.attrs.get("encoding-type", group.attrs.get("h5sparse_format", ""))
            if kind not in ("csr_matrix", "csr"):
                raise InvalidFileError("its X is neither dense nor CSR: write X as CSR.")
            rows, columns = group.attrs["shape"] if "shape" in group.attrs else group.attrs["h5sparse_shape"]
            self.shape, self.indptr = (int(rows), int(columns)), np.asarray(group["indptr"][:])
            check_form(self.shape, group["data"].dtype)
            self.columns = self.names = _names(file, self.shape[1])
            self._check_pointers(group)

    def row_blocks(self, rows: int) -> Iterator[NDArray[Any]]:
        starts = range(0, self.shape[0], rows)
        ends = ((start, min(start + rows, self.shape[0])) for start in starts)
        return (block.toarray() for block in self.csr_blocks(ends))

    def csr_blocks(self, ends: Iterable[tuple[int, int]]) -> Iterator[Any]:
        def parts() -> Iterator[Any]:
            with _open_h5(self.path) as file:
                group = file["X"]
                self._check_pointers(group)
                for first, last in ends:
                    begin, end = int(self.indptr[first]), int(self.indptr[last])
                    own = group["data"][begin:end], group["indices"][begin:end], self.indptr[first : last + 1] - begin
                    yield from_sparse(sparse.csr_array(own, shape=(last - first, self.shape[1])))

        return self.read_unchanged(parts())

    def _check_pointers(self, group: Any) -> None:
        _require_places([group["indptr"], group["indices"]])
        starts, count = self.indptr, self.shape[0]
        fits = starts.ndim == 1 and len(starts) == count + 1 and starts[0] == 0 and (np.diff(starts) >= 0).all()
        if not fits or {len(group["data"]), len(group["indices"])} != {int(starts[-1])}:
            raise InvalidFileError("its X is damaged: the parts of the CSR matrix do not match. Write it again.")


def _open_h5(path: FilePath) -> Any:
    return h5py.File(path, "r")


def _require_places(parts: Iterable[Any]) -> None:
    """Raise an error if indices of a sparse matrix are not integers: rounded, they would change."""
    if not all(part.dtype.kind in "iu" for part in parts):
        raise InvalidFileError("its sparse matrix is damaged: its indices are not whole numbers. Write it again.")


def _names(file: Any, width: int) -> tuple[str, ...] | None:
    """Return the index of var; None if it is not stored as text."""
    var = file.get("var")
    index = var.get(var.attrs.get("_index", "_index")) if hasattr(var, "get") else None
    if index is None or not hasattr(index, "asstr") or index.dtype.kind not in "OS":
        return None
    names = tuple(index.asstr()[:])
    if len(names) != width:
        raise InvalidFileError("the width of its X differs from the length of its var: write one column per variable.")
    check_names(names)
    return names
