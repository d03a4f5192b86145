"""Arrow's files: .parquet, one or many, by row groups; .arrow, and .feather of version 2, by batches.

A large part of a wide table is read some columns at a time (`Layout.slabs`). Parts are one table in the order of their
names: a part that is changed, added or taken away during a release is an error.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from dimfree.data.endings import list_parts
from dimfree.data.formats.arrow_rows import SLAB_BYTES, Arrow, Layout
from dimfree.data.formats.file_stream import CHANGED, File, FilePath, FileStream, Held, reading, require
from dimfree.data.source import Source, pieces
from dimfree.errors import InvalidFile

NARROW = 128  # columns of a .parquet that may each keep a page of the usual 1 MiB
_BUFFERS = 2**26  # bytes of all columns together
_BATCH_ENTRIES = 2**22  # read at a time, where columns are few
_PART_ENTRIES = 2**20  # the same for one of many threads
_WIDTH = 64  # columns read at a time; of 64, 512 and 2048 the fastest
_READ_BYTES = 2**26  # of the columns of a large batch, as far as one column allows


class ArrowStream(FileStream):
    """Private: the rows of a file of Arrow."""

    layout: Layout

    def _set(self, layout: Layout) -> None:
        self.layout, self.columns, self.dtype = layout, layout.names, layout.dtype
        self.names, self.texts = tuple(layout.schema.names), layout.texts


class IpcStream(ArrowStream):
    """Private: the rows of a .arrow or .feather file."""

    def __init__(self, file: File) -> None:
        require("pyarrow", file.path.suffix.lower(), "files")
        super().__init__(file.path)
        with _open_ipc(self.path) as ipc:
            self._set(Layout.of(ipc.schema, file.schema))
        with _open_ipc(self.path, self.layout.places[:1]) as ipc:
            count = sum(ipc.get_batch(place).num_rows for place in range(ipc.num_record_batches))
        self.shape = count, self.layout.dimension

    def keys(self, name: str) -> Arrow:
        place = self.layout.schema.get_field_index(name)
        with _open_ipc(self.path, [place]) as file:
            return file.read_all().column(0)

    def _parts(self, rows: int) -> Iterator[NDArray[Any]]:
        layout = self.layout
        with _open_ipc(self.path) as file:
            layout.require(file.schema)
        with _open_ipc(self.path, layout.places) as some, _open_ipc(self.path, layout.places[:1]) as first_column:
            for place in range(some.num_record_batches):
                count = 0 if layout.lists else first_column.get_batch(place).num_rows
                if count * layout.dimension * layout.dtype.itemsize > SLAB_BYTES:
                    yield from self._large(place, count, rows)
                else:
                    batch = some.get_batch(place)
                    for start in range(0, batch.num_rows, rows):
                        yield layout.rows(batch.slice(start, rows))

    def _large(self, place: int, count: int, rows: int) -> Iterator[NDArray[Any]]:
        from pyarrow import default_memory_pool

        def read(columns: list[int]) -> Arrow:
            default_memory_pool().release_unused()  # Arrow allocates a whole batch and keeps what it has used
            with _open_ipc(self.path, columns) as file:
                return file.get_batch(place)

        width = max(1, _READ_BYTES // (count * self.dtype.itemsize))
        return self.layout.slabs(0, count, width, read, rows)


class ParquetStream(ArrowStream):
    """Private: the rows of a .parquet file."""

    def __init__(self, file: File) -> None:
        require("pyarrow", ".parquet", "files")
        super().__init__(file.path)
        with open_parquet(self.path) as parquet:
            self._set(Layout.of(parquet.schema_arrow, file.schema))
            if self.layout.leaf_ends[-1] != len(parquet.schema):  # else the places of columns are not known
                raise InvalidFile("it has a nested column of an unknown type: write the table without it.")
            self.shape = int(parquet.metadata.num_rows), self.layout.dimension

    def sharing(self, layout: Layout) -> "ParquetStream":
        """This file as a part of a table whose schema is kept once, however many parts there are."""
        layout.require(self.layout.schema)
        self._set(layout)
        return self

    def keys(self, name: str) -> Arrow:
        at = self.layout.schema.get_field_index(name)
        with open_parquet(self.path) as file:
            return file.reader.read_all(column_indices=self.layout.leaves([at])).column(0)

    def _parts(self, rows: int) -> Iterator[NDArray[Any]]:
        return self._of_groups(0, None, rows, _BATCH_ENTRIES)

    def _between(self, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
        """Row groups that hold none of the rows are not read."""
        return self._of_groups(first, last, rows, _PART_ENTRIES)

    def starts(self) -> Sequence[int]:
        with open_parquet(self.path) as file:
            return _ends(file)[:-1]

    def _of_groups(self, first: int, last: int | None, rows: int, entries: int) -> Iterator[NDArray[Any]]:
        layout = self.layout
        with open_parquet(self.path, _BUFFERS // len(layout.schema)) as file:
            layout.require(file.schema_arrow)
            ends = _ends(file)
            last = ends[-1] if last is None else last
            groups = [at for at, (begin, end) in enumerate(pairwise(ends)) if begin < last and end > first]
            start = ends[groups[0]] if groups else 0
            if layout.lists or len(layout.places) <= NARROW:
                for batch in batches(file, layout, max(rows, entries // layout.dimension), groups):
                    block = layout.rows(batch)
                    yield from pieces(block[max(0, first - start) : max(0, last - start)], rows)
                    start += len(block)
                return
            for group in groups:
                begin, end = ends[group], ends[group + 1]

                def read(columns: list[int], group: int = group, count: int = end - begin) -> Arrow:
                    part = _one_batch(file.reader.read_row_group(group, column_indices=layout.leaves(columns)))
                    if part.num_rows != count:
                        raise InvalidFile(CHANGED)
                    return part

                yield from layout.slabs(max(first, begin) - begin, min(last, end) - begin, _WIDTH, read, rows)


class PartsStream(Source):
    """Private: the rows of several .parquet files, all with the same columns and types, one after another."""

    def __init__(self, file: File) -> None:
        assert isinstance(file.path, Path)  # a folder or a pattern
        self._path, self._files = file.path, list_parts(file.path)
        self.parts: list[ParquetStream] = []
        for path in self._files:
            with reading(path):
                part = ParquetStream(replace(file, path=path))
                self.parts.append(part if not self.parts else part.sharing(self.parts[0].layout))
        first = self.parts[0]
        self.shape = sum(part.shape[0] for part in self.parts), first.shape[1]
        self.columns, self.dtype, self.names, self.texts = first.columns, first.dtype, first.names, first.texts

    def keys(self, name: str) -> Arrow:
        from pyarrow import chunked_array

        columns = [part.keys(name) for part in self.parts]
        return chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)

    def row_blocks(self, rows: int) -> Iterator[NDArray[Any]]:
        self._require_unchanged()
        for part in self.parts:
            yield from part.row_blocks(rows)
        self._require_unchanged()

    def _require_unchanged(self) -> None:
        with reading(self._path):
            if list_parts(self._path) != self._files:
                raise InvalidFile(CHANGED)
        for part in self.parts:
            part.require_same()


def _ends(file: Any) -> list[int]:
    """Where row groups begin and end."""
    counts = [int(file.metadata.row_group(group).num_rows) for group in range(file.num_row_groups)]
    return [0, *accumulate(counts)]


def batches(file: Any, layout: Layout, rows: int, groups: list[int]) -> Iterator[Arrow]:
    """The coordinates in these row groups, so many rows at a time; other columns are not read."""
    yield from file.reader.iter_batches(rows, row_groups=groups, column_indices=layout.leaves(layout.places))


def _one_batch(table: Arrow) -> Arrow:
    """The rows of a table in one batch."""
    import pyarrow

    batches = table.combine_chunks().to_batches()
    if len(batches) == 1:
        return batches[0]
    return pyarrow.RecordBatch.from_pydict({name: [] for name in table.schema.names}, schema=table.schema)


def open_parquet(path: FilePath, buffer: int = 0) -> Any:
    """For every read of a .parquet: pages that were written with a checksum are compared with it."""
    from pyarrow.parquet import ParquetFile

    source = path.open() if isinstance(path, Held) else path
    return ParquetFile(source, pre_buffer=False, buffer_size=buffer, page_checksum_verification=True)


def _open_ipc(path: FilePath, columns: list[int] | None = None) -> Any:
    """Opened by reading, not memory-mapped: a mapped file that shrinks would end the process without an error."""
    from pyarrow import BufferReader, OSFile, ipc

    source = BufferReader(path.content) if isinstance(path, Held) else OSFile(str(path))
    return ipc.open_file(source, options=ipc.IpcReadOptions(included_fields=columns))
