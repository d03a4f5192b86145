"""A file that every worker of a cluster can reach, cut into parts of consecutive rows; each is read where it is asked.

Parts begin where a format lets a reader begin: anywhere in .npy and a dense .h5ad, at chunks of .zarr, at row groups of
.parquet if there are enough. Where it does not, there are only as many parts as readers, and each skips what is before.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree.data.cluster.dask_table import DaskTable
from dimfree.data.cluster.partitions import Form, Place
from dimfree.data.formats.file_stream import CHANGED, FileStream, StoredFile
from dimfree.data.formats.parts import PartsStream
from dimfree.data.stream import Stream
from dimfree.errors import InvalidFile

_PART_ENTRIES = 2**22  # in a part, at most: worth a task, and small enough for a bar to move
_PARTS_EACH = 4  # at least, for every thread: the last one to finish keeps the others waiting for less


def in_parts(stream: Stream, threads: int) -> DaskTable:
    """The table of a file in parts for so many threads, all of which reach it under the same path."""
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
    """Where parts begin and end, from zero to the number of rows."""
    count = stream.shape[0]
    step = max(1, min(_PART_ENTRIES // stream.shape[1], -(-count // (_PARTS_EACH * threads))))
    starts = stream.starts()
    if starts is None or len(starts) < 2 * threads:
        starts = range(0, count, -(-count // threads) or 1)
    places, parts = np.asarray(starts), [0]
    while (at := int(np.searchsorted(places, parts[-1] + step))) < len(places):
        parts.append(int(places[at]))
    return [*parts, count]
