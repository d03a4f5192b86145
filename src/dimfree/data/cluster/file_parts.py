"""A file that every worker of a cluster can reach, cut into parts of consecutive rows; each is read where it is asked.

Parts begin where a format lets a reader begin: anywhere in .npy and a dense .h5ad, at chunks of .zarr, at row groups of
.parquet if there are enough. Where it does not, there are only as many parts as readers, and each skips what is before.
"""

from collections.abc import Iterator
from copy import copy
from functools import singledispatch
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree.data.cluster.dask_table import DaskTable, Place
from dimfree.data.cluster.partitions import Form
from dimfree.data.formats.file_stream import CHANGED, FileStream, StoredFile, rows_at_once
from dimfree.data.formats.h5ad import DenseH5ad
from dimfree.data.formats.npy import NpyStream
from dimfree.data.formats.parquet import ParquetStream, batches, opened
from dimfree.data.formats.parts import PartsStream
from dimfree.data.formats.zarr import ZarrStream
from dimfree.data.stream import Stream, pieces
from dimfree.errors import InvalidFile

_PART_ENTRIES = 2**22  # in a part, at most: worth a task, and small enough for a bar to move
_BATCH_ENTRIES = 2**20  # of a row group, read at a time
_PARTS_EACH = 4  # at least, for every thread: the last one to finish keeps the others waiting for less


def in_parts(stream: Stream, threads: int) -> DaskTable:
    """The table of a file in parts for so many threads, all of which reach it under the same path."""
    if not isinstance(stream, FileStream | PartsStream):
        raise InvalidFile("its rows are sparse, which is read on one machine only: leave the scheduler out.")
    files = stream.parts if isinstance(stream, PartsStream) else [stream]
    places = [place for file in files for place in _places(file, threads)]
    return DaskTable(places, Form(stream.shape[1], stream.dtype), stream.columns)


def _places(stream: FileStream, threads: int) -> list[Place]:
    bounds = pairwise(_ends(stream, threads))
    return [Place(FilePart(stream, first, last), last - first) for first, last in bounds if first < last]


class FilePart:
    """Private: consecutive rows of a file, read anew whenever they are asked for."""

    def __init__(self, stream: FileStream, first: int, last: int) -> None:
        self._stream, self._first, self._last = stream, first, last

    def row_blocks(self, rows: int) -> Iterator[NDArray[Any]]:
        stream = _reached(self._stream)
        blocks = stream._checked(_between(stream, self._first, self._last, rows), self._first, self._last)
        return stream.unchanged(blocks)


def _reached(stream: FileStream) -> FileStream:
    """The same file as this machine sees it: another may give its disk and its entry other numbers."""
    if isinstance(stream.path, Path) and not stream.path.exists():
        raise InvalidFile(f"{stream.path} is not there on a worker: expected it under the same path on every worker.")
    seen = copy(stream)
    StoredFile.__init__(seen, stream.path)
    if seen._seal[2:] != stream._seal[2:]:
        raise InvalidFile(f"{stream.path} cannot be used: {CHANGED}")
    return seen


def _ends(stream: FileStream, threads: int) -> list[int]:
    """Where parts begin and end, from zero to the number of rows."""
    count = stream.shape[0]
    step = max(1, min(_PART_ENTRIES // stream.shape[1], -(-count // (_PARTS_EACH * threads))))
    natural = _beginnings(stream)
    if natural is None or len(natural) < 2 * threads:
        natural = range(0, count, -(-count // threads) or 1)
    places, parts = np.asarray(natural), [0]
    while (at := int(np.searchsorted(places, parts[-1] + step))) < len(places):
        parts.append(int(places[at]))
    return [*parts, count]


@singledispatch
def _beginnings(stream: FileStream) -> Any:
    """The rows, ascending, from which on a file can be read without what is before; None: only from the first."""
    return None


@_beginnings.register(NpyStream)
@_beginnings.register(DenseH5ad)
def _anywhere(stream: FileStream) -> Any:
    return range(stream.shape[0])


@_beginnings.register
def _at_chunks(stream: ZarrStream) -> Any:
    return range(0, stream.shape[0], int(stream._array().chunks[0]))


@_beginnings.register
def _at_groups(stream: ParquetStream) -> Any:
    return _group_ends(stream)[:-1]


@singledispatch
def _between(stream: FileStream, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
    """These rows in fresh blocks, after reading and dropping all before them."""
    start = 0
    for block in stream._parts(rows):
        kept = block[max(0, first - start) : max(0, last - start)]
        start += len(block)
        if len(kept):
            yield kept
        if start >= last:
            return


@_between.register
def _npy_between(stream: NpyStream, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
    read = stream._columns if stream._by_column else stream._rows
    with stream.path.open("rb", buffering=0) as file:
        for start in range(first, last, rows):
            yield read(file, start, min(rows, last - start))


@_between.register
def _h5ad_between(stream: DenseH5ad, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
    import h5py

    with h5py.File(stream.path, "r") as file:
        yield from _slices(file["X"], stream, first, last, rows)


@_between.register
def _zarr_between(stream: ZarrStream, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
    return _slices(stream._array(), stream, first, last, rows)


def _slices(table: Any, stream: FileStream, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
    """Whole chunks at a time where they are small."""
    if tuple(table.shape) != stream.shape:
        raise InvalidFile(CHANGED)
    step = rows_at_once(stream.shape[1] * stream.dtype.itemsize, (table.chunks or (1, 1))[0])
    for start in range(first, last, step):
        yield from pieces(np.asarray(table[start : min(start + step, last)]), rows)


@_between.register
def _parquet_between(stream: ParquetStream, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
    """Row groups that hold none of the rows are not read."""
    if not stream._narrow:
        place = np.arange(stream.shape[0])
        yield from stream.chosen((first <= place) & (place < last)).row_blocks(rows)
        return
    ends = _group_ends(stream)
    groups = [group for group, (begin, end) in enumerate(pairwise(ends)) if begin < last and end > first]
    start = ends[groups[0]]
    for block in _of_groups(stream, groups, rows):
        yield from pieces(block[max(0, first - start) : max(0, last - start)], rows)
        start += len(block)


def _of_groups(stream: ParquetStream, groups: list[int], rows: int) -> Iterator[NDArray[Any]]:
    layout = stream.layout
    with opened(stream.path) as file:
        layout.require(file.schema_arrow)
        for batch in batches(file, layout, max(rows, _BATCH_ENTRIES // layout.dimension), groups):
            yield layout.rows(batch)


def _group_ends(stream: ParquetStream) -> list[int]:
    with opened(stream.path) as file:
        counts = [int(file.metadata.row_group(group).num_rows) for group in range(file.num_row_groups)]
    return [0, *np.cumsum(counts, dtype=np.int64).tolist()]
