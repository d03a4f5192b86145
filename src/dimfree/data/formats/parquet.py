""".parquet, row group by row group. A wide table is read some columns at a time: each column keeps pages in memory."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

from numpy.typing import NDArray

from dimfree.data.formats.arrow_rows import Arrow, Layout, one_batch
from dimfree.data.formats.file_stream import CHANGED, File, FilePath, FileStream, Held, require
from dimfree.data.stream import pieces
from dimfree.errors import InvalidFile

_NARROW = 128  # columns that may each keep a page of the usual 1 MiB
_BUFFERS = 2**26  # bytes of all columns together
_BATCH_ENTRIES = 2**22  # read at a time, where columns are few
_PART_ENTRIES = 2**20  # the same for one of many threads
_WIDTH = 64  # columns read at a time; of 64, 512 and 2048 the fastest


class ParquetStream(FileStream):
    """Private: the rows of a .parquet file; columns that are no coordinates are not read."""

    def __init__(self, file: File) -> None:
        require("pyarrow", ".parquet", "files")
        super().__init__(file.path)
        with opened(self.path) as parquet:
            self.layout = Layout.of(parquet.schema_arrow, file.schema)
            if self.layout.leaf_ends[-1] != len(parquet.schema):  # else the places of columns are not known
                raise InvalidFile("it has a nested column of an unknown type: write the table without it.")
            self.shape = int(parquet.metadata.num_rows), self.layout.dimension
        self._set(self.layout)

    def sharing(self, layout: Layout) -> "ParquetStream":
        """This file as a part of a table whose schema is kept once, however many parts there are."""
        layout.require(self.layout.schema)
        self._set(layout)
        return self

    def _set(self, layout: Layout) -> None:
        self.layout, self.columns, self.dtype = layout, layout.names, layout.dtype
        self.names, self.texts = layout.all_names, layout.texts

    @property
    def _narrow(self) -> bool:
        return self.layout.lists or len(self.layout.places) <= _NARROW

    def keys(self, name: str) -> Arrow:
        """A column of keys."""
        at = self.layout.schema.get_field_index(name)
        with opened(self.path) as file:
            return file.reader.read_all(column_indices=self.layout.leaves([at])).column(0)

    def _parts(self, rows: int) -> Iterator[NDArray[Any]]:
        return self._of_groups(0, None, rows, _BATCH_ENTRIES)

    def _between(self, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
        """Row groups that hold none of the rows are not read."""
        return self._of_groups(first, last, rows, _PART_ENTRIES)

    def starts(self) -> Sequence[int]:
        with opened(self.path) as file:
            return _ends(file)[:-1]

    def _of_groups(self, first: int, last: int | None, rows: int, entries: int) -> Iterator[NDArray[Any]]:
        layout = self.layout
        with opened(self.path, _BUFFERS // len(layout.schema)) as file:
            layout.require(file.schema_arrow)
            ends = _ends(file)
            last = ends[-1] if last is None else last
            groups = [at for at, (begin, end) in enumerate(pairwise(ends)) if begin < last and end > first]
            start = ends[groups[0]] if groups else 0
            if self._narrow:
                for batch in batches(file, layout, max(rows, entries // layout.dimension), groups):
                    block = layout.rows(batch)
                    yield from pieces(block[max(0, first - start) : max(0, last - start)], rows)
                    start += len(block)
                return
            for group in groups:
                begin, end = ends[group], ends[group + 1]

                def read(columns: list[int], group: int = group, count: int = end - begin) -> Arrow:
                    part = one_batch(file.reader.read_row_group(group, column_indices=layout.leaves(columns)))
                    if part.num_rows != count:
                        raise InvalidFile(CHANGED)
                    return part

                yield from layout.slabs(max(first, begin) - begin, min(last, end) - begin, _WIDTH, read, rows)


def _ends(file: Any) -> list[int]:
    """Where row groups begin and end."""
    counts = [int(file.metadata.row_group(group).num_rows) for group in range(file.num_row_groups)]
    return [0, *accumulate(counts)]


def batches(file: Any, layout: Layout, rows: int, groups: list[int]) -> Iterator[Arrow]:
    """The coordinates in these row groups, so many rows at a time; other columns are not read."""
    yield from file.reader.iter_batches(rows, row_groups=groups, column_indices=layout.leaves(layout.places))


def opened(path: FilePath, buffer: int = 0) -> Any:
    """For every read of a .parquet: pages that were written with a checksum are compared with it."""
    from pyarrow.parquet import ParquetFile

    source = path.open() if isinstance(path, Held) else path
    return ParquetFile(source, pre_buffer=False, buffer_size=buffer, page_checksum_verification=True)
