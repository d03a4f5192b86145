"""A table in partitions, wherever they lie: work is sent to each of them, and only sums and one number a record return.

Noise and random choices are drawn by the caller, once. Partial results merge in any order: a release has the same bits
wherever it ran. A scheduler may log the arguments of a task that raises, and those are records: so no task raises, and
an error is returned as a `Failure`, which states its kind and never the content of the partition.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree.data import sparse
from dimfree.data.boundary import boundary
from dimfree.data.cluster.worker_memory import freed_memory_kept
from dimfree.data.stream import Stream, pieces
from dimfree.errors import DimfreeError, InvalidFile, InvalidRecords, LostWorkers, OutOfMemory

_ENTRIES = 2**16  # worked on at a time: these and what is made of them stay in a core's own cache
_QUIET_ENTRIES = 15_000  # where larger arrays would go back to the system at once; see worker_memory.py
_FEW_ROWS = 32  # a shape that mixes coordinates wants some rows at a time
_FETCHED_ENTRIES = 2**24  # brought to the caller at a time, if partitions are smaller

Mask: TypeAlias = NDArray[np.bool_]
Partition: TypeAlias = Any  # rows of numbers: an array, a sparse matrix, a pandas DataFrame or a part of a file
Result = TypeVar("Result")
Work: TypeAlias = Callable[[NDArray[Any], Mask | None], Result]
Merge: TypeAlias = Callable[[Iterable[Result]], Result]

_CHANGED = (
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
        try:
            with boundary(_failed):
                return action()
        except DimfreeError as error:
            return cls(type(error).__name__, str(error))

    def error(self) -> DimfreeError:
        return _KINDS.get(self.kind, LostWorkers)(self.text)


def _failed(error: BaseException) -> LostWorkers:
    return LostWorkers(
        f"The work on a partition failed with {type(error).__name__}; details are hidden because they may quote "
        "records. Nothing was released."
    )


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
            raise InvalidRecords(_CHANGED)
        return int(partition.shape[0])


@dataclass(frozen=True, repr=False)
class Job:
    """What to do with every partition: public, but for the masks that `done` is given with it."""

    form: Form
    rows: int  # in a block, at most
    work: Work[Any]
    merge: Merge[Any]

    def done(self, partition: Partition, count: int, kept: bytes | None, among: bytes | None) -> Any:
        """work(block, its part of `among`) on the kept rows block by block, merged into one; or a Failure."""
        return Failure.of(lambda: self._done(partition, count, kept, among))

    def _done(self, partition: Partition, count: int, kept: bytes | None, among: bytes | None) -> Any:
        with freed_memory_kept() as quiet:
            blocks = (
                rows if which is None or which.all() else rows[which]
                for rows, which in _with_parts(self._blocks(partition, count, quiet), kept)
            )
            return self.merge(self.work(*block) for block in _with_parts(blocks, among))

    def _blocks(self, partition: Partition, count: int, quiet: bool) -> Iterator[NDArray[Any]]:
        few = min(self.rows, max(_FEW_ROWS, (_ENTRIES if quiet else _QUIET_ENTRIES) // self.form.width))
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


class PartitionedTable(Stream):
    """Private: the rows of all partitions, one after the other. An adapter to a cluster defines `computed`."""

    def __init__(self, places: Sequence[Place], form: Form, columns: tuple[str, ...] | None = None) -> None:
        self._form, self.columns = form, columns
        self._set(places)

    def _set(self, places: Sequence[Place]) -> None:
        self._places, self._sizes = list(places), [place.size for place in places]
        self.shape = sum(self._sizes), self._form.width

    @abstractmethod
    def computed(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], sizes: Sequence[int]
    ) -> list[Any]:
        """function(partition, ...) for each call, in order, computed where the partition lies.

        A call is about `sizes` rows, for a report of progress. The function raises nothing.
        """

    def mapped(self, work: Work[Result], rows: int, among: Mask | None, merge: Merge[Result]) -> Iterator[Result]:
        """The work on all blocks of each partition, where the partition lies; one merged result for each in order.

        Partitions with no row in `among` are left alone.
        """
        asked = [(place, part) for place, part in self._with_parts(among) if part is None or part.any()]
        return iter(self._done(Job(self._form, rows, work, merge), asked))

    def row_blocks(self, rows: int) -> Iterator[Any]:
        """Brings the rows here: one partition, then some at a time."""
        job = Job(self._form, rows, rows_among, stacked)
        for window in self._windows():
            for block in self._done(job, window):
                yield from pieces(block, rows)
                del block  # before the next are fetched

    def chosen(self, rows: Mask) -> "PartitionedTable":
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
        calls = [(place.partition, place.count, packed(place.kept), packed(part)) for place, part in asked]
        return values_of(self.computed(job.done, calls, [place.size for place, _ in asked]))

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


def values_of(results: list[Any]) -> list[Any]:
    """The results, or the error of the first failure."""
    for result in results:
        if isinstance(result, Failure):
            raise result.error()
    return results


def rows_among(rows: NDArray[Any], among: Mask | None) -> NDArray[Any]:
    """A work that brings the rows themselves."""
    return rows if among is None else rows[among]


def stacked(blocks: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """The merge that goes with it; there is one block at least."""
    first, *others = blocks
    return np.concatenate([first, *others]) if others else np.ascontiguousarray(first)


def packed(mask: Mask | None) -> bytes | None:
    """A mask for the way to a worker: eight rows a byte; None if all rows are meant."""
    return None if mask is None or mask.all() else np.packbits(mask).tobytes()


def _with_parts(blocks: Iterable[NDArray[Any]], bits: bytes | None) -> Iterator[tuple[NDArray[Any], Mask | None]]:
    """Each block with its part of a packed mask of all rows."""
    mask = None if bits is None else np.unpackbits(np.frombuffer(bits, dtype=np.uint8)).astype(np.bool_)
    start = 0
    for rows in blocks:
        yield rows, None if mask is None else mask[start : start + len(rows)]
        start += len(rows)


def _block(partition: Partition, place: slice) -> NDArray[Any]:
    """Some rows as a dense array; a missing or masked entry is NaN."""
    if hasattr(partition, "iloc"):
        return np.asarray(partition.iloc[place].to_numpy(dtype=np.float64, na_value=np.nan))
    if sparse.issparse(partition):
        return np.asarray(partition[place].astype(np.float64).toarray())  # entries stored twice are added up in float64
    rows = partition[place]
    return np.ma.filled(rows.astype(np.float64), np.nan) if isinstance(rows, np.ma.MaskedArray) else np.asarray(rows)
