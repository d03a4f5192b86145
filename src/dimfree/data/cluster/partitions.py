"""Work on one partition of a table, wherever it lies: checked, cut into blocks, processed, merged.

A scheduler logs the arguments of a task that raises, and those are records. So nothing here raises: an error is
returned as a `Failure`, which states the kind of the error and never the content of the partition.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree.data import sparse
from dimfree.data.boundary import boundary
from dimfree.data.cluster.worker_memory import freed_memory_kept
from dimfree.data.stream import pieces
from dimfree.errors import DimfreeError, InvalidFile, InvalidRecords, LostWorkers, OutOfMemory

_ENTRIES = 2**16  # worked on at a time: these and what is made of them stay in a core's own cache
_QUIET_ENTRIES = 15_000  # where larger arrays would go back to the system at once; see worker_memory.py
_FEW_ROWS = 32  # a shape that mixes coordinates wants some rows at a time

Mask: TypeAlias = NDArray[np.bool_]
Partition: TypeAlias = Any  # rows of numbers: an array, a sparse matrix, a pandas DataFrame or a FilePart
Result = TypeVar("Result")
Work: TypeAlias = Callable[[NDArray[Any], Mask | None], Result]
Merge: TypeAlias = Callable[[Iterable[Result]], Result]

_CHANGED = (
    "A partition of the table has other rows, columns or types than the table was declared to have, or it has changed "
    "since it was opened; nothing was released. Every time it is computed it must be the same."
)
_OURS: dict[str, type[DimfreeError]] = {
    cls.__name__: cls for cls in (InvalidFile, InvalidRecords, LostWorkers, OutOfMemory)
}


@dataclass(frozen=True)
class Failure:
    """Public: the kind and the text of an error of dimfree."""

    kind: str
    words: str

    @classmethod
    def of(cls, error: DimfreeError) -> "Failure":
        return cls(type(error).__name__, str(error))

    def error(self) -> DimfreeError:
        return _OURS.get(self.kind, LostWorkers)(self.words)


@dataclass(frozen=True)
class Form:
    """Public: the columns of every partition. `types` is the dtype of an array, or name and dtype of each column."""

    width: int
    types: Any

    def require(self, partition: Partition, count: int | None) -> None:
        if isinstance(self.types, list):
            same = hasattr(partition, "dtypes") and list(partition.dtypes.items()) == self.types
        else:
            same = getattr(partition, "ndim", 0) == 2 and partition.dtype == self.types
        if not same or partition.shape[1] != self.width or (count is not None and partition.shape[0] != count):
            raise InvalidRecords(_CHANGED)


@dataclass(frozen=True, repr=False)
class Job:
    """What to do with every partition: public, but for the masks that `done` is given beside it."""

    form: Form
    rows: int  # in a block, at most
    work: Work[Any]
    merge: Merge[Any]

    def done(self, partition: Partition, count: int, kept: bytes | None, among: bytes | None) -> Any:
        """work(block, its part of `among`) on the kept rows block by block, merged into one; or a Failure."""
        try:
            with boundary(_failed), freed_memory_kept() as quiet:
                blocks = _kept(self._blocks(partition, count, quiet), _unpacked(kept, count))
                size = count if among is None else 8 * len(among)
                return self.merge(self.work(*block) for block in _with_parts(blocks, _unpacked(among, size)))
        except DimfreeError as error:
            return Failure.of(error)

    def _blocks(self, partition: Partition, count: int, quiet: bool) -> Iterator[NDArray[Any]]:
        few = min(self.rows, max(_FEW_ROWS, (_ENTRIES if quiet else _QUIET_ENTRIES) // self.form.width))
        if hasattr(partition, "row_blocks"):
            yield from partition.row_blocks(few)
            return
        self.form.require(partition, count)
        for start in range(0, count, self.rows):
            yield from pieces(_block(partition, slice(start, start + self.rows)), few)


def counted(form: Form, partition: Partition) -> int | Failure:
    """How many rows a partition has. PRIVATE."""
    try:
        with boundary(_failed):
            form.require(partition, None)
            return int(partition.shape[0])
    except DimfreeError as error:
        return Failure.of(error)


def _failed(error: BaseException) -> LostWorkers:
    return LostWorkers(
        f"The work on a partition failed with {type(error).__name__}; details are hidden because they may quote "
        "records. Nothing was released."
    )


def as_they_are(rows: NDArray[Any], among: Mask | None) -> NDArray[Any]:
    """A work that brings the rows themselves."""
    return rows if among is None else rows[among]


def stacked(blocks: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """The merge that goes with it; there is one block at least."""
    first, *others = blocks
    return np.concatenate([first, *others]) if others else np.ascontiguousarray(first)


def packed(mask: Mask | None) -> bytes | None:
    """A mask for the way to a worker: eight rows a byte; None where all rows are meant."""
    return None if mask is None or mask.all() else np.packbits(mask).tobytes()


def _unpacked(bits: bytes | None, count: int) -> Mask | None:
    return None if bits is None else np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=count).astype(np.bool_)


def _block(partition: Partition, place: slice) -> NDArray[Any]:
    """Some rows as a dense array; a missing or masked entry is NaN."""
    if hasattr(partition, "iloc"):
        return np.asarray(partition.iloc[place].to_numpy(dtype=np.float64, na_value=np.nan))
    if sparse.issparse(partition):
        return np.asarray(partition[place].astype(np.float64).toarray())  # entries stored twice are added up in float64
    rows = partition[place]
    return np.ma.filled(rows.astype(np.float64), np.nan) if isinstance(rows, np.ma.MaskedArray) else np.asarray(rows)


def _kept(blocks: Iterator[NDArray[Any]], kept: Mask | None) -> Iterator[NDArray[Any]]:
    for rows, which in _with_parts(blocks, kept):
        yield rows if which is None or which.all() else rows[which]


def _with_parts(blocks: Iterator[NDArray[Any]], mask: Mask | None) -> Iterator[tuple[NDArray[Any], Mask | None]]:
    start = 0
    for rows in blocks:
        yield rows, None if mask is None else mask[start : start + len(rows)]
        start += len(rows)
