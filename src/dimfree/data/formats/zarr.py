""".zarr: a folder that holds one array with 2 dimensions, read some whole chunks at a time where they are small."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree.data.formats.file_stream import File, FileStream, require
from dimfree.data.records import as_records
from dimfree.errors import InvalidFile


class ZarrStream(FileStream):
    """Private: the rows of a zarr array.

    Entries of a chunk that is not stored are the fill value that the metadata declare: a writer leaves out a chunk when
    all its numbers are this value, so that one record can decide whether it is stored. A lost chunk looks the same.
    """

    def __init__(self, file: File) -> None:
        require("zarr", ".zarr", "zarr")
        super().__init__(file.path)
        table = self._array()
        as_records(np.empty((0, *table.shape[1:]), dtype=table.dtype))  # rank, type and width
        self.shape, self.dtype = (int(table.shape[0]), int(table.shape[1])), np.dtype(table.dtype)

    def _array(self) -> Any:
        import zarr

        table: Any = zarr.open(str(self.path), mode="r")
        if not hasattr(table, "nchunks"):
            raise InvalidFile("it is a group, expected one array with 2 dimensions: pass the folder of the array.")
        if table.fill_value is None:
            raise InvalidFile(
                "its metadata declare no fill value, so that chunks may be undefined: write it with fill_value=0."
            )
        return table

    def _parts(self, rows: int) -> Iterator[NDArray[Any]]:
        return self._between(0, self.shape[0], rows)

    def _between(self, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
        return self._slices(self._array(), first, last, rows)

    def starts(self) -> Sequence[int]:
        return range(0, self.shape[0], int(self._array().chunks[0]))
