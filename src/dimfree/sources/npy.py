""".npy, read by position rather than memory-mapped: a mapped file that shrinks would end the process without a word."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dimfree.errors import InvalidFile
from dimfree.records import as_records
from dimfree.sources.file_stream import FileStream


class NpyStream(FileStream):
    """Private: the rows of an array in a .npy file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        header = np.lib.format.open_memmap(path, mode="r")  # refuses a file that is shorter than its header says
        as_records(header)  # rank, type and width; no value is looked at
        self.shape, self.dtype = (int(header.shape[0]), int(header.shape[1])), header.dtype
        self._offset, self._by_column = int(header.offset), not header.flags.c_contiguous

    def _parts(self, rows: int) -> Iterator[NDArray[Any]]:
        with self.path.open("rb", buffering=0) as file:
            for start in range(0, self.shape[0], rows):
                count = min(rows, self.shape[0] - start)
                yield self._columns(file, start, count) if self._by_column else self._rows(file, start, count)

    def _rows(self, file: BinaryIO, start: int, count: int) -> NDArray[Any]:
        block = np.empty((count, self.shape[1]), dtype=self.dtype)
        self._fill(file, start * self.shape[1], block)
        return block

    def _columns(self, file: BinaryIO, start: int, count: int) -> NDArray[Any]:
        block = np.empty((self.shape[1], count), dtype=self.dtype)
        for place, column in enumerate(block):
            self._fill(file, place * self.shape[0] + start, column)
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
