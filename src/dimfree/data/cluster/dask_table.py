"""A table in partitions, in this process or on the workers of a Dask cluster. Work is sent to the partitions.

Only sums, and one number per record, come back; rows themselves only where a sample is fetched. Noise and random
choices are drawn by the caller, once. Partial results merge in any order: a release has the same bits wherever it ran.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from dimfree.data.cluster.partitions import (
    Form,
    Job,
    Mask,
    Merge,
    Partition,
    Result,
    Work,
    as_they_are,
    counted,
    packed,
    stacked,
)
from dimfree.data.cluster.scheduler import client_in_force, computed
from dimfree.data.cluster.workers import check_workers
from dimfree.data.stream import Stream, pieces
from dimfree.errors import InvalidRecords
from dimfree.progress import during

_FETCHED_ENTRIES = 2**24  # brought here at a time, where partitions are smaller

Collection: TypeAlias = Any  # a dask array or DataFrame; dask ships no types


@dataclass(frozen=True, repr=False)
class Place:
    """Private: a partition (dask's Delayed of it, or the part of a file), how many rows it has and which are kept."""

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


class DaskTable(Stream):
    """Private: the rows of all partitions, one after the other.

    `owner` is the collection they are from: a cluster forgets what it keeps of a collection that nobody holds.
    """

    def __init__(
        self, places: Sequence[Place], form: Form, columns: tuple[str, ...] | None = None, owner: Collection = None
    ) -> None:
        self._places, self._form, self.columns, self._owner = list(places), form, columns, owner
        self._sizes = [place.size for place in places]
        self.shape = sum(self._sizes), form.width

    def mapped(self, work: Work[Result], rows: int, among: Mask | None, merge: Merge[Result]) -> Iterator[Result]:
        """The work on all blocks of each partition, where the partition lies; one merged result for each in order.

        Partitions with no row in `among` are left alone.
        """
        asked = [(place, part) for place, part in self._with_parts(among) if part is None or part.any()]
        return iter(self._done(Job(self._form, rows, work, merge), asked))

    def row_blocks(self, rows: int) -> Iterator[Any]:
        """Brings the rows here: one partition, then some at a time."""
        job = Job(self._form, rows, as_they_are, stacked)
        for window in self._windows():
            for block in self._done(job, window):
                yield from pieces(block, rows)
                del block  # before the next are fetched

    def chosen(self, rows: Mask) -> "DaskTable":
        """Some of the rows, left where they are."""
        parts = self._with_parts(rows)
        kept = [place.chosen(part) for place, part in parts if part is not None and part.any()]
        return DaskTable(kept, self._form, self.columns, self._owner)

    def _with_parts(self, mask: Mask | None) -> Iterator[tuple[Place, Mask | None]]:
        """Each place with its part of a mask of all rows; places without rows are left out."""
        start = 0
        for place, size in zip(self._places, self._sizes, strict=True):
            if size:
                yield place, None if mask is None else mask[start : start + size]
            start += size

    def _done(self, job: Job, asked: Sequence[tuple[Place, Mask | None]]) -> list[Any]:
        tasks = [
            _task(job.done, place.partition, place.count, packed(place.kept), packed(part)) for place, part in asked
        ]
        return computed(tasks, [place.size for place, _ in asked])

    def _windows(self) -> Iterator[list[tuple[Place, Mask | None]]]:
        """Consecutive places. Of a whole table the first comes alone: somebody may want to see the first rows only."""
        window: list[tuple[Place, Mask | None]] = []
        entries, limit = 0, _FETCHED_ENTRIES if any(place.kept is not None for place in self._places) else 1
        for place, _ in self._with_parts(None):
            window.append((place, None))
            entries += place.size * self.shape[1]
            if entries >= limit:
                yield window
                window, entries, limit = [], 0, _FETCHED_ENTRIES
        if window:
            yield window


def of_array(X: Collection) -> DaskTable:
    """A dask array of two dimensions and real numbers, whatever its chunks."""
    if np.isnan(X.shape[1]):
        raise InvalidRecords(
            "Expected a dask array with a known number of columns: call X.compute_chunk_sizes() first."
        )
    whole = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
    form = Form(int(whole.shape[1]), whole.dtype)
    return _of_parts(X, list(whole.to_delayed().ravel()), form, whole.chunks[0])


def of_frame(X: Collection, names: tuple[str, ...]) -> DaskTable:
    """A dask DataFrame of pandas partitions with numeric columns."""
    form = Form(len(names), list(X._meta.dtypes.items()))
    parts = X.to_delayed()
    return _of_parts(X, parts, form, [np.nan] * len(parts), names)


@during("counting the rows")
def _of_parts(
    X: Collection,
    parts: Sequence[Partition],
    form: Form,
    lengths: Sequence[float],
    names: tuple[str, ...] | None = None,
) -> DaskTable:
    """Lengths that are not known are counted where the partitions lie, once; before, unfit workers are refused."""
    check_workers(client_in_force())
    unknown = [part for part, length in zip(parts, lengths, strict=True) if np.isnan(length)]
    found = iter(computed([_task(partial(counted, form), part) for part in unknown], [1] * len(unknown)))
    counts = [int(next(found) if np.isnan(length) else length) for length in lengths]
    return DaskTable([Place(part, count) for part, count in zip(parts, counts, strict=True)], form, names, X)


def _task(function: Callable[..., Any], *arguments: Any) -> Any:
    """A task under a random name: names must not tell of the arguments."""
    from dask import delayed

    return delayed(function, name="dimfree", pure=False, traverse=False)(*arguments)
