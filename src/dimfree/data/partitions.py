"""A table in partitions: those of a Dask collection, or parts of a file that every worker of a cluster can reach.

Only sums and one number a record return, and merge in any order: a release has the same bits wherever it ran. A
scheduler may log the arguments of a task that raises, and those are records: so no task raises, it returns a `Failure`.
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
from dimfree.data.scheduler import check_workers, client_in_force, computed
from dimfree.data.schema import Limits
from dimfree.data.source import Merge, Result, Source, Work, pieces, to_floats, with_parts
from dimfree.errors import DimfreeError, InvalidFile, InvalidRecords, LostWorkers, OutOfMemory
from dimfree.progress import during

_ENTRIES = 2**16  # worked on at a time: these and what is made of them stay in a core's own cache
_FEW_ENTRIES = 15_000  # the same where Dask's nanny has freed arrays of more returned to the system at once
_FEW_ROWS = 32  # a shape that mixes coordinates wants some rows at a time
_FETCHED_ENTRIES = 2**24  # brought to the caller at a time, if partitions are smaller
_PART_ENTRIES = 2**22  # in a part of a file, at most: worth a task, and small enough for a bar to move
_PARTS_EACH = 4  # at least, for every thread: the last one to finish keeps the others waiting for less

Partition: TypeAlias = Any  # rows of numbers: an array, a sparse matrix, a pandas DataFrame or a part of a file
Collection: TypeAlias = Any  # a dask array or DataFrame; dask ships no types

_OTHER = (
    "A partition of the table has other rows, columns or types than the table was declared to have, or it has changed "
    "since it was opened; nothing was released. Every time it is computed it must be the same."
)
_KINDS = {kind.__name__: kind for kind in (InvalidFile, InvalidRecords, LostWorkers, OutOfMemory)}


@dataclass(frozen=True)
class Failure:
    """Public: the kind and the text of an error of dimfree."""

    kind: str
    text: str

    @classmethod
    def of(cls, action: Callable[[], Result]) -> "Result | Failure":
        """What the action returns, or why it failed."""
        hidden = "details are hidden because they may quote records. Nothing was released."
        try:
            with boundary(lambda e: LostWorkers(f"The work on a partition failed with {type(e).__name__}; {hidden}")):
                return action()
        except DimfreeError as error:
            return cls(type(error).__name__, str(error))

    def error(self) -> DimfreeError:
        return _KINDS.get(self.kind, LostWorkers)(self.text)


@dataclass(frozen=True)
class Form:
    """Public: the columns of every partition. `types` is the dtype of an array, or name and dtype of each column."""

    width: int
    types: Any

    def count(self, partition: Partition) -> int | Failure:
        """How many rows a partition has. PRIVATE."""
        return Failure.of(lambda: self.require(partition, None))

    def require(self, partition: Partition, count: int | None) -> int:
        """The number of rows, or an error if the partition is not as declared."""
        if isinstance(self.types, list):
            same = hasattr(partition, "dtypes") and list(partition.dtypes.items()) == self.types
        else:
            same = getattr(partition, "ndim", 0) == 2 and partition.dtype == self.types
        if not same or partition.shape[1] != self.width or (count is not None and partition.shape[0] != count):
            raise InvalidRecords(_OTHER)
        return int(partition.shape[0])


@dataclass(frozen=True, repr=False)
class Job:
    """What to do with every partition: public, but for the masks that `done` is given with it."""

    form: Form
    rows: int  # in a block, at most
    work: Callable[[NDArray[Any], Mask | None], Any]
    merge: Callable[[Iterable[Any]], Any]

    def done(self, partition: Partition, count: int, kept: bytes | None, among: bytes | None) -> Any:
        """work(block, its part of `among`) on the kept rows block by block, merged into one; or a Failure."""
        return Failure.of(lambda: self._done(partition, count, _unpacked(kept), _unpacked(among)))

    def _done(self, partition: Partition, count: int, kept: Mask | None, among: Mask | None) -> Any:
        all_rows = with_parts(self._blocks(partition, count), kept)
        blocks = (rows if which is None or which.all() else rows[which] for rows, which in all_rows)
        return self.merge(self.work(*block) for block in with_parts(blocks, among))

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
class Place:
    """Private: a partition, or what stands for it here; how many rows it has and which are kept."""

    partition: Partition
    count: int
    kept: Mask | None = None  # None: all

    @property
    def size(self) -> int:
        return self.count if self.kept is None else int(self.kept.sum())

    def chosen(self, rows: Mask) -> "Place":
        kept = np.ones(self.count, dtype=np.bool_) if self.kept is None else self.kept.copy()
        kept[kept] = rows
        return replace(self, kept=kept)


Asked: TypeAlias = tuple[Place, Mask | None]  # a partition, and the part of a mask of its kept rows


class DaskTable(Source):
    """Private: the rows of all partitions, one after the other; a cluster keeps a collection while `owner` lives."""

    is_remote = True

    def __init__(
        self, places: Sequence[Place], form: Form, columns: tuple[str, ...] | None = None, owner: Collection = None
    ) -> None:
        self._form, self.columns, self._owner = form, columns, owner
        self._set(places)

    def _set(self, places: Sequence[Place]) -> None:
        self._places, self._sizes = list(places), [place.size for place in places]
        self.shape = sum(self._sizes), self._form.width

    def mapped(
        self, work: Work[Result], rows: int, among: Mask | None, threads: int, merge: Merge[Result]
    ) -> Iterator[Result]:
        """One merged result for each partition with a row in `among`, computed where the partition lies."""
        asked = [(place, part) for place, part in self._with_parts(among) if part is None or part.any()]
        return iter(self._done(Job(self._form, rows, partial(_on_floats, work, self.limits), merge), asked))

    def row_blocks(self, rows: int) -> Iterator[Any]:
        """Brings the rows here: one partition, then some at a time."""
        job = Job(self._form, rows, _rows_among, _stacked)
        for window in self._windows():
            for block in self._done(job, window):
                yield from pieces(block, rows)
                del block  # before the next are fetched

    def chosen(self, rows: Mask) -> "DaskTable":
        """Some of the rows, left where they are."""
        parts = self._with_parts(rows)
        some = copy(self)
        some._set([place.chosen(part) for place, part in parts if part is not None and part.any()])
        return some

    def _with_parts(self, mask: Mask | None) -> Iterator[Asked]:
        """Each place with its part of a mask of all rows; places without rows are left out."""
        start = 0
        for place, size in zip(self._places, self._sizes, strict=True):
            if size:
                yield place, None if mask is None else mask[start : start + size]
            start += size

    def _done(self, job: Job, asked: Sequence[Asked]) -> list[Any]:
        whole = ((place.partition, place.count, packed(place.kept), packed(part)) for place, part in asked)
        calls = [task(job.done, *call) for call in whole]
        return _values_of(computed(calls, [place.size for place, _ in asked]))

    def _windows(self) -> Iterator[list[Asked]]:
        """Consecutive places. Of a whole table the first comes alone: its first rows may be all that is needed."""
        window: list[Asked] = []
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
def of_dask(X: Collection, names: tuple[str, ...] | None = None) -> DaskTable:
    """A dask array of real numbers, or a DataFrame with these numeric columns.

    Lengths that are not known are counted where the partitions lie, once; before, unfit workers are refused.
    """
    check_workers(client_in_force())
    if names is None:
        if np.isnan(X.shape[1]):
            need = "Expected a dask array with a known number of columns: call X.compute_chunk_sizes() first."
            raise InvalidRecords(need)
        whole = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        parts, lengths = list(whole.to_delayed().ravel()), whole.chunks[0]
        form = Form(int(whole.shape[1]), whole.dtype)
    else:
        parts, form = X.to_delayed(), Form(len(names), list(X._meta.dtypes.items()))
        lengths = [np.nan] * len(parts)
    unknown = [part for part, length in zip(parts, lengths, strict=True) if np.isnan(length)]
    found = iter(_values_of(computed([task(form.count, part) for part in unknown], [1] * len(unknown))))
    counts = [int(next(found) if np.isnan(length) else length) for length in lengths]
    return DaskTable([Place(part, count) for part, count in zip(parts, counts, strict=True)], form, names, X)


def in_parts(stream: Source, threads: int) -> DaskTable:
    """The table of a file in parts for so many threads, all of which reach it under the same path.

    Parts begin where a format lets a reader begin: anywhere in .npy and a dense .h5ad, at chunks of .zarr, at row
    groups of .parquet if there are enough. Elsewhere there is one part for each reader, which skips what is before.
    """
    if not isinstance(stream, FileStream | PartsStream):
        raise InvalidFile("its rows are sparse, which is read on one machine only: leave the scheduler out.")
    places = [
        Place(FilePart(file, first, last), last - first)
        for file in (stream.parts if isinstance(stream, PartsStream) else [stream])
        for first, last in pairwise(_ends(file, threads))
        if first < last
    ]
    return DaskTable(places, Form(stream.shape[1], stream.dtype), stream.columns)


@dataclass(frozen=True, repr=False)
class FilePart:
    """Private: consecutive rows of a file, read anew whenever they are asked for, by the driver's own reader."""

    stream: FileStream
    first: int
    last: int

    def row_blocks(self, rows: int) -> Iterator[NDArray[Any]]:
        """The rows, of the same file as this machine sees it: its disk and its entry may have other numbers here."""
        path, seen = self.stream.path, copy(self.stream)
        if isinstance(path, Path) and not path.exists():
            raise InvalidFile(f"{path} is not there on a worker: expected it under the same path on every worker.")
        StoredFile.__init__(seen, path)
        if seen._seal[2:] != self.stream._seal[2:]:
            raise InvalidFile(f"{path} cannot be used: {CHANGED}")
        return seen.rows_between(self.first, self.last, rows)


def _ends(stream: FileStream, threads: int) -> list[int]:
    count = stream.shape[0]
    step = max(1, min(_PART_ENTRIES // stream.shape[1], -(-count // (_PARTS_EACH * threads))))
    starts = stream.starts()
    if starts is None or len(starts) < 2 * threads:
        starts = range(0, count, -(-count // threads) or 1)
    places, parts = np.asarray(starts), [0]
    while (at := int(np.searchsorted(places, parts[-1] + step))) < len(places):
        parts.append(int(places[at]))
    return [*parts, count]


def task(function: Callable[..., Any], *arguments: Any) -> Any:
    """A task under a random name: names must not tell of the arguments."""
    return dask.delayed(function, name="dimfree", pure=False, traverse=False)(*arguments)


def _values_of(results: list[Any]) -> list[Any]:
    for result in results:
        if isinstance(result, Failure):
            raise result.error()
    return results


def _on_floats(work: Work[Result], limits: Limits | None, rows: NDArray[Any], among: Mask | None) -> Result:
    """The work on rows as they are stored, after they are clipped."""
    return work(to_floats(rows if limits is None else limits.clip(rows)), among)


def _rows_among(rows: NDArray[Any], among: Mask | None) -> NDArray[Any]:
    return rows if among is None else rows[among]


def _stacked(blocks: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """The merge that goes with it; there is one block at least."""
    first, *others = blocks
    return np.concatenate([first, *others]) if others else np.ascontiguousarray(first)


def packed(mask: Mask | None) -> bytes | None:
    """A mask for the way to a worker: eight rows a byte; None if all rows are meant."""
    return None if mask is None or mask.all() else np.packbits(mask).tobytes()


def _unpacked(bits: bytes | None) -> Mask | None:
    return None if bits is None else np.unpackbits(np.frombuffer(bits, dtype=np.uint8)).astype(np.bool_)


def _block(partition: Partition, place: slice) -> NDArray[Any]:
    """Some rows as a dense array; a missing or masked entry is NaN."""
    if hasattr(partition, "iloc"):
        return np.asarray(partition.iloc[place].to_numpy(dtype=np.float64, na_value=np.nan))
    if sparse.issparse(partition):
        return np.asarray(partition[place].astype(np.float64).toarray())  # entries stored twice are added up in float64
    rows = partition[place]
    return np.ma.filled(rows.astype(np.float64), np.nan) if isinstance(rows, np.ma.MaskedArray) else np.asarray(rows)
