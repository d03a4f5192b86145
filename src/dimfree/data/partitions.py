"""A table in partitions: those of a Dask collection, or parts of a file that every worker of a cluster can reach.

Only sums and one number per record return, and they merge in any order: a release has the same bits wherever it runs.
A scheduler may log the arguments of a task that raises, which are records; so no task raises, it returns a `Failure`.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dimfree.data.blocks import Mask
from dimfree.data.boundary import boundary
from dimfree.data.extras import dask, sparse
from dimfree.data.formats.arrow_files import PartsStream
from dimfree.data.formats.file_stream import CHANGED, FileStream, StoredFile
from dimfree.data.scheduler import check_workers, compute_tasks, find_client
from dimfree.data.schema import Limits
from dimfree.data.source import Merge, Result, Source, Work, pair_with_mask, pieces, to_float_rows
from dimfree.errors import ClusterError, DimfreeError, InvalidDataError, InvalidFileError, OutOfMemoryError
from dimfree.progress import during

_ENTRIES = 2**16  # processed at a time: they and their intermediates fit into the cache of a core
_FEW_ENTRIES = 15_000  # the same under Dask's nanny, which returns larger freed arrays to the system at once
_FEW_ROWS = 32  # at least: a covariance that mixes coordinates needs several rows at a time
_FETCHED_ENTRIES = 2**24  # fetched by the caller at a time, if partitions are smaller
_PART_ENTRIES = 2**22  # at most, in a part of a file: worth a task, and small enough for a progress bar
_PARTS_EACH = 4  # at least, for each thread: the others wait less for the last one

Partition: TypeAlias = Any  # rows of numbers: an array, a sparse matrix, a pandas DataFrame or a part of a file
Collection: TypeAlias = Any  # a dask array or DataFrame; dask ships no types

_OTHER = (
    "A partition of the table differs from its declared rows, columns or types, or has changed since it was opened. "
    "Make every computation of it give the same rows. Nothing was released."
)
_KINDS = {kind.__name__: kind for kind in (InvalidFileError, InvalidDataError, ClusterError, OutOfMemoryError)}


@dataclass(frozen=True)
class Failure:
    """Public: the class and the text of an error of dimfree."""

    kind: str
    text: str

    @classmethod
    def of(cls, action: Callable[[], Result]) -> "Result | Failure":
        """Return `action()`, or a `Failure` if it raises."""
        hidden = "details are hidden because they may quote records. Nothing was released."
        try:
            with boundary(lambda e: ClusterError(f"The work on a partition failed with {type(e).__name__}; {hidden}")):
                return action()
        except DimfreeError as error:
            return cls(type(error).__name__, str(error))

    def error(self) -> DimfreeError:
        return _KINDS.get(self.kind, ClusterError)(self.text)


@dataclass(frozen=True)
class Form:
    """Public: the columns of every partition. `types` is the dtype of an array, or name and dtype of each column."""

    width: int
    types: Any

    def count(self, partition: Partition) -> int | Failure:
        """Count the rows of a partition. PRIVATE."""
        return Failure.of(lambda: self.require(partition, None))

    def require(self, partition: Partition, count: int | None) -> int:
        """Return the number of rows; raise an error if the partition is not as declared."""
        if isinstance(self.types, list):
            same = hasattr(partition, "dtypes") and list(partition.dtypes.items()) == self.types
        else:
            same = getattr(partition, "ndim", 0) == 2 and partition.dtype == self.types
        if not same or partition.shape[1] != self.width or (count is not None and partition.shape[0] != count):
            raise InvalidDataError(_OTHER)
        return int(partition.shape[0])


@dataclass(frozen=True, repr=False)
class Job:
    """The work on every partition: public, except for the masks that `done` takes."""

    form: Form
    rows: int  # in a block, at most
    work: Callable[[NDArray[Any], Mask | None], Any]
    merge: Callable[[Iterable[Any]], Any]

    def done(self, partition: Partition, count: int, kept: bytes | None, among: bytes | None) -> Any:
        """Merge work(block, its part of `among`) over the blocks of the kept rows; or return a Failure."""
        return Failure.of(lambda: self._run(partition, count, _unpack_mask(kept), _unpack_mask(among)))

    def _run(self, partition: Partition, count: int, kept: Mask | None, among: Mask | None) -> Any:
        all_rows = pair_with_mask(self._blocks(partition, count), kept)
        blocks = (rows if which is None or which.all() else rows[which] for rows, which in all_rows)
        return self.merge(self.work(*block) for block in pair_with_mask(blocks, among))

    def _blocks(self, partition: Partition, count: int) -> Iterator[NDArray[Any]]:
        entries = _FEW_ENTRIES if "MALLOC_TRIM_THRESHOLD_" in os.environ else _ENTRIES
        few = min(self.rows, max(_FEW_ROWS, entries // self.form.width))
        if hasattr(partition, "row_blocks"):
            yield from partition.row_blocks(few)
            return
        self.form.require(partition, count)
        for start in range(0, count, self.rows):
            yield from pieces(_block(partition, slice(start, start + self.rows)), few)


@dataclass(frozen=True, repr=False)
class Part:
    """Private: a partition or a handle of it, its number of rows and which of them are kept."""

    partition: Partition
    count: int
    kept: Mask | None = None  # None: all

    @property
    def size(self) -> int:
        return self.count if self.kept is None else int(self.kept.sum())

    def select_rows(self, rows: Mask) -> "Part":
        kept = np.ones(self.count, dtype=np.bool_) if self.kept is None else self.kept.copy()
        kept[kept] = rows
        return replace(self, kept=kept)


MaskedPart: TypeAlias = tuple[Part, Mask | None]  # a partition and its part of a mask of kept rows


class DaskTable(Source):
    """Private: the rows of all partitions in order; a cluster keeps a collection while `owner` lives."""

    is_remote = True

    def __init__(
        self, places: Sequence[Part], form: Form, columns: tuple[str, ...] | None = None, owner: Collection = None
    ) -> None:
        self._form, self.columns, self._owner = form, columns, owner
        self._set(places)

    def _set(self, places: Sequence[Part]) -> None:
        self._places, self._sizes = list(places), [place.size for place in places]
        self.shape = sum(self._sizes), self._form.width

    def map_blocks(
        self, work: Work[Result], rows: int, among: Mask | None, threads: int, merge: Merge[Result]
    ) -> Iterator[Result]:
        """Return one merged result for each partition with a row in `among`, computed on its worker."""
        asked = [(place, part) for place, part in self._with_parts(among) if part is None or part.any()]
        return iter(self._run(Job(self._form, rows, partial(_work_on_floats, work, self.limits), merge), asked))

    def row_blocks(self, rows: int) -> Iterator[Any]:
        """Fetch the rows: one partition, then several at a time."""
        job = Job(self._form, rows, _select_among, _stack)
        for window in self._windows():
            for block in self._run(job, window):
                yield from pieces(block, rows)
                del block  # before the next fetch

    def select_rows(self, rows: Mask) -> "DaskTable":
        """Return some of the rows without moving them."""
        parts = self._with_parts(rows)
        some = copy(self)
        some._set([place.select_rows(part) for place, part in parts if part is not None and part.any()])
        return some

    def _with_parts(self, mask: Mask | None) -> Iterator[MaskedPart]:
        """Return each partition with its part of a mask of all rows; empty partitions are left out."""
        start = 0
        for place, size in zip(self._places, self._sizes, strict=True):
            if size:
                yield place, None if mask is None else mask[start : start + size]
            start += size

    def _run(self, job: Job, asked: Sequence[MaskedPart]) -> list[Any]:
        whole = ((place.partition, place.count, pack_mask(place.kept), pack_mask(part)) for place, part in asked)
        calls = [make_task(job.done, *call) for call in whole]
        return _raise_failures(compute_tasks(calls, [place.size for place, _ in asked]))

    def _windows(self) -> Iterator[list[MaskedPart]]:
        """Group consecutive partitions; the first of a whole table comes alone, since its rows may suffice."""
        window: list[MaskedPart] = []
        entries, limit = 0, _FETCHED_ENTRIES if any(place.kept is not None for place in self._places) else 1
        for place, _ in self._with_parts(None):
            window.append((place, None))
            entries += place.size * self.shape[1]
            if entries >= limit:
                yield window
                window, entries, limit = [], 0, _FETCHED_ENTRIES
        if window:
            yield window


@during("counting the rows")
def from_dask(X: Collection, names: tuple[str, ...] | None = None) -> DaskTable:
    """Open a dask array of real numbers, or a DataFrame with these numeric columns.

    Unfit workers are refused; then the workers count unknown lengths once.
    """
    check_workers(find_client())
    if names is None:
        if np.isnan(X.shape[1]):
            need = "The dask array has an unknown number of columns: call X.compute_chunk_sizes() first."
            raise InvalidDataError(need)
        whole = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        parts, lengths = list(whole.to_delayed().ravel()), whole.chunks[0]
        form = Form(int(whole.shape[1]), whole.dtype)
    else:
        parts, form = X.to_delayed(), Form(len(names), list(X._meta.dtypes.items()))
        lengths = [np.nan] * len(parts)
    unknown = [part for part, length in zip(parts, lengths, strict=True) if np.isnan(length)]
    found = iter(_raise_failures(compute_tasks([make_task(form.count, part) for part in unknown], [1] * len(unknown))))
    counts = [int(next(found) if np.isnan(length) else length) for length in lengths]
    return DaskTable([Part(part, count) for part, count in zip(parts, counts, strict=True)], form, names, X)


def split_file(stream: Source, threads: int) -> DaskTable:
    """Split the table of a file into parts for the workers' threads, which reach it under the same path.

    Parts begin where a reader of the format can begin: anywhere in .npy and a dense .h5ad, at chunks of .zarr, at row
    groups of .parquet if there are enough. Other formats have one part per reader, which skips the rows before it.
    """
    if not isinstance(stream, FileStream | PartsStream):
        raise InvalidFileError("its rows are sparse and are read on one machine only: leave the scheduler out.")
    places = [
        Part(FilePart(file, first, last), last - first)
        for file in (stream.parts if isinstance(stream, PartsStream) else [stream])
        for first, last in pairwise(_list_ends(file, threads))
        if first < last
    ]
    return DaskTable(places, Form(stream.shape[1], stream.dtype), stream.columns)


@dataclass(frozen=True, repr=False)
class FilePart:
    """Private: consecutive rows of a file, read again on every pass by the reader of the driver."""

    stream: FileStream
    first: int
    last: int

    def row_blocks(self, rows: int) -> Iterator[NDArray[Any]]:
        """Read the rows on this machine, where device and inode numbers of the same file may differ."""
        path, seen = self.stream.path, copy(self.stream)
        if isinstance(path, Path) and not path.exists():
            raise InvalidFileError(f"{path} does not exist on a worker: make it available there under the same path.")
        StoredFile.__init__(seen, path)
        if seen._seal[2:] != self.stream._seal[2:]:
            raise InvalidFileError(f"{path} cannot be used: {CHANGED}")
        return seen.rows_between(self.first, self.last, rows)


def _list_ends(stream: FileStream, threads: int) -> list[int]:
    count = stream.shape[0]
    step = max(1, min(_PART_ENTRIES // stream.shape[1], -(-count // (_PARTS_EACH * threads))))
    starts = stream.list_starts()
    if starts is None or len(starts) < 2 * threads:
        starts = range(0, count, -(-count // threads) or 1)
    places, parts = np.asarray(starts), [0]
    while (at := int(np.searchsorted(places, parts[-1] + step))) < len(places):
        parts.append(int(places[at]))
    return [*parts, count]


def make_task(function: Callable[..., Any], *arguments: Any) -> Any:
    """Make a task with a random name: names must not reveal arguments."""
    return dask.delayed(function, name="dimfree", pure=False, traverse=False)(*arguments)


def _raise_failures(results: list[Any]) -> list[Any]:
    for result in results:
        if isinstance(result, Failure):
            raise result.error()
    return results


def _work_on_floats(work: Work[Result], limits: Limits | None, rows: NDArray[Any], among: Mask | None) -> Result:
    """Run the work on stored rows after clipping them to the bounds."""
    return work(to_float_rows(rows if limits is None else limits.clip(rows)), among)


def _select_among(rows: NDArray[Any], among: Mask | None) -> NDArray[Any]:
    return rows if among is None else rows[among]


def _stack(blocks: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Merge at least one block of `_select_among`."""
    first, *others = blocks
    return np.concatenate([first, *others]) if others else np.ascontiguousarray(first)


def pack_mask(mask: Mask | None) -> bytes | None:
    """Pack a mask for a worker, eight rows per byte; None for all rows."""
    return None if mask is None or mask.all() else np.packbits(mask).tobytes()


def _unpack_mask(bits: bytes | None) -> Mask | None:
    return None if bits is None else np.unpackbits(np.frombuffer(bits, dtype=np.uint8)).astype(np.bool_)


def _block(partition: Partition, place: slice) -> NDArray[Any]:
    """Return some rows as a dense array; a missing or masked entry is NaN."""
    if hasattr(partition, "iloc"):
        return np.asarray(partition.iloc[place].to_numpy(dtype=np.float64, na_value=np.nan))
    if sparse.issparse(partition):
        return np.asarray(partition[place].astype(np.float64).toarray())  # entries stored twice are added up in float64
    rows = partition[place]
    return np.ma.filled(rows.astype(np.float64), np.nan) if isinstance(rows, np.ma.MaskedArray) else np.asarray(rows)
