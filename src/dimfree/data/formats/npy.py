"""Arrays of NumPy: small .npy and .npz files are read at once, a large .npy by position.

Not memory-mapped: a mapped file that shrinks ends the process without an error.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from itertools import pairwise
from typing import Any, BinaryIO, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree.data.blocks import Mask
from dimfree.data.formats.file_stream import File, FilePath, FileStream, reading, require_places
from dimfree.data.records import as_records
from dimfree.data.stream import pieces
from dimfree.errors import InvalidFile
from dimfree.progress import heard
from dimfree.threads import in_order

_NEAR = 2**14  # bytes from one row to the next on average, up to which reading all takes no longer than skipping
_WINDOW_ROWS = 2**20  # whose places are listed at a time

Result = TypeVar("Result")
Read: TypeAlias = Callable[[BinaryIO], NDArray[Any]]  # from the open file
Work: TypeAlias = Callable[[NDArray[Any], Mask | None], Result]


class NpyStream(FileStream):
    """Private: the rows of an array in a .npy file, all or some."""

    def __init__(self, file: File) -> None:
        super().__init__(file.path)
        header = np.lib.format.open_memmap(str(self.path), mode="r")  # refuses a file shorter than its header says
        as_records(header)  # rank, type and width; no value is looked at
        self.shape, self.dtype = (int(header.shape[0]), int(header.shape[1])), header.dtype
        self._offset, self._by_column = int(header.offset), not header.flags.c_contiguous
        self._height = self.shape[0]  # of the file
        self._among: NDArray[np.bool_] | None = None  # None: all rows

    def chosen(self, rows: NDArray[np.bool_]) -> "NpyStream":
        """The chosen rows; where they are few, the others are not read.

        Which parts of the file are read follows from `rows`, which the caller keeps private, and never from the values.
        """
        some = copy(self)
        some._among, some.shape = np.zeros(self._height, dtype=np.bool_), (int(rows.sum()), self.shape[1])
        some._among[slice(None) if self._among is None else self._among] = rows
        return some

    def worked(self, work: Work[Result], rows: int, among: Mask | None, threads: int) -> Iterator[Result]:
        """The work on every block, by the thread that has read it: the block is still near its core."""
        self.require_same()
        yield from in_order(partial(self._read_and_worked, work), self._with_parts(rows, among), threads)
        self.require_same()

    def _with_parts(self, rows: int, among: Mask | None) -> Iterator[tuple[Read, Mask | None]]:
        """What reads each block, with the block's part of a mask of all rows."""
        start = 0
        for count, read in self._unread(rows):
            yield read, None if among is None else among[start : start + count]
            start += count
            heard(start, self.shape[0])

    def _read_and_worked(self, work: Work[Result], block: tuple[Read, Mask | None]) -> Result:
        """The file is opened for the block, and is the one that it was."""
        read, among = block
        with reading(self.path), self.path.open("rb", buffering=0) as file:
            self.require_seal_of(file)
            rows = read(file)
        return work(rows, among)

    def _parts(self, rows: int) -> Iterator[NDArray[Any]]:
        with self.path.open("rb", buffering=0) as file:
            for _, read in self._unread(rows):
                yield read(file)

    def _between(self, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
        with self.path.open("rb", buffering=0) as file:
            for start in range(first, last, rows):
                yield self._consecutive(file, start, min(rows, last - start))

    def starts(self) -> Sequence[int]:
        return range(self._height)

    def _unread(self, rows: int) -> Iterator[tuple[int, Read]]:
        """For each block its number of rows, and what reads it."""
        if self._among is not None and self._far_apart():
            for places in _listed(self._among, rows):
                yield len(places), partial(self._some, places=places)
            return
        for start in range(0, self._height, rows):
            count = min(rows, self._height - start)
            if self._among is None:
                yield count, partial(self._consecutive, start=start, count=count)
            elif (kept := self._among[start : start + count]).any():
                yield int(kept.sum()), partial(self._kept, start=start, kept=kept)

    def _kept(self, file: BinaryIO, start: int, kept: Mask) -> NDArray[Any]:
        return self._consecutive(file, start, len(kept))[kept]

    def _far_apart(self) -> bool:
        """Seek instead of scan; decided from the row count only."""
        step = self.dtype.itemsize * (1 if self._by_column else self.shape[1])
        return self._height * step > _NEAR * self.shape[0]

    def _some(self, file: BinaryIO, places: NDArray[np.intp]) -> NDArray[Any]:
        block = np.empty((len(places), self.shape[1]), dtype=self.dtype)
        for first, last in pairwise([0, *(np.flatnonzero(np.diff(places) > 1) + 1).tolist(), len(places)]):
            block[first:last] = self._consecutive(file, int(places[first]), last - first)
        return block

    def _consecutive(self, file: BinaryIO, start: int, count: int) -> NDArray[Any]:
        return self._columns(file, start, count) if self._by_column else self._rows(file, start, count)

    def _rows(self, file: BinaryIO, start: int, count: int) -> NDArray[Any]:
        block = np.empty((count, self.shape[1]), dtype=self.dtype)
        self._fill(file, start * self.shape[1], block)
        return block

    def _columns(self, file: BinaryIO, start: int, count: int) -> NDArray[Any]:
        block = np.empty((self.shape[1], count), dtype=self.dtype)
        for place, column in enumerate(block):
            self._fill(file, place * self._height + start, column)
        return block.T

    def _fill(self, file: BinaryIO, place: int, block: NDArray[Any]) -> None:
        """The entries from `place` on."""
        file.seek(self._offset + place * self.dtype.itemsize)
        waiting = block.data.cast("B")
        while len(waiting):
            read = file.readinto(waiting)  # type: ignore[attr-defined]  # of a file without a buffer
            if not read:
                raise InvalidFile("it ends before its last row: it is truncated.")
            waiting = waiting[read:]


def _listed(among: NDArray[np.bool_], rows: int) -> Iterator[NDArray[np.intp]]:
    """The places of the chosen rows in order, at most `rows` at a time."""
    for start in range(0, len(among), _WINDOW_ROWS):
        yield from pieces(start + np.flatnonzero(among[start : start + _WINDOW_ROWS]), rows)


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
