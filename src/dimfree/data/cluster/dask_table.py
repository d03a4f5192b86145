"""A table in Dask partitions, in this process or on the workers of a cluster."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from dimfree.data.cluster.partitions import Form, Partition, PartitionedTable, Place, values_of
from dimfree.data.cluster.scheduler import check_workers, client_in_force, computed
from dimfree.errors import InvalidRecords
from dimfree.progress import during

Collection: TypeAlias = Any  # a dask array or DataFrame; dask ships no types


class DaskTable(PartitionedTable):
    """Private: partitions as dask's Delayed of them, or as parts of a file.

    `owner` is the collection they are from: a cluster forgets what it keeps of a collection that nobody holds.
    """

    def __init__(
        self, places: Sequence[Place], form: Form, columns: tuple[str, ...] | None = None, owner: Collection = None
    ) -> None:
        super().__init__(places, form, columns)
        self._owner = owner

    def computed(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], sizes: Sequence[int]
    ) -> list[Any]:
        return computed([task(function, *call) for call in calls], sizes)


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
    found = iter(values_of(computed([task(form.count, part) for part in unknown], [1] * len(unknown))))
    counts = [int(next(found) if np.isnan(length) else length) for length in lengths]
    return DaskTable([Place(part, count) for part, count in zip(parts, counts, strict=True)], form, names, X)


def task(function: Callable[..., Any], *arguments: Any) -> Any:
    """A task under a random name: names must not tell of the arguments."""
    from dask import delayed

    return delayed(function, name="dimfree", pure=False, traverse=False)(*arguments)
