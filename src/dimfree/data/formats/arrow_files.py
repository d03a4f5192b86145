"""Read Arrow files: .parquet, one or many, by row groups; .arrow, and .feather of version 2, by batches.

A large part of a wide table is read some columns at a time (`Layout.read_slabs`). Parts are one table, in the order of
their names: it is an error if a part is changed, added or removed during a release.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dimfree.data.columns import join_names
from dimfree.data.endings import list_parts
from dimfree.data.entries import parse_text_column
from dimfree.data.extras import arrow, arrow_types, parquet
from dimfree.data.formats.cells import describe_bad_columns
from dimfree.data.formats.file_stream import (
    CHANGED,
    File,
    FilePath,
    FileStream,
    InMemoryFile,
    require,
    reword_file_errors,
)
from dimfree.data.frames import ARROW, arrow_floats, check_arrow_types, check_labels, is_arrow_text
from dimfree.data.schema import Schema
from dimfree.data.source import Source, pieces
from dimfree.errors import InvalidFileError

SLAB_BYTES = 2**28  # of rows assembled from columns; a larger part of a file is read several times
NARROW = 128  # columns of a .parquet that may each keep a page of the usual 1 MiB
_BUFFERS = 2**26  # bytes of all columns together
_BATCH_ENTRIES = 2**22  # read at a time, if columns are few
_PART_ENTRIES = 2**20  # the same for one of many threads
_WIDTH = 64  # columns read at a time; the fastest of 64, 512 and 2048
_READ_BYTES = 2**26  # of the columns of a large batch, at least one column

Arrow: TypeAlias = Any  # a Table, RecordBatch or Schema; Arrow ships no types


@dataclass(frozen=True, repr=False)
class Layout:
    """The coordinates of an Arrow table: numeric columns, or one column of fixed-size lists, without names."""

    schema: Arrow  # of all columns
    places: list[int]  # of the coordinates
    names: tuple[str, ...] | None
    dimension: int
    dtype: np.dtype[Any]  # float32 if nothing else is stored, else float64
    texts: tuple[str, ...]  # coordinates stored as text, whose entries are parsed one by one
    leaf_ends: NDArray[np.int64]  # number of Parquet columns before each column: a nested column is several
    lists: bool

    @classmethod
    def of(cls, schema: Arrow, how: Schema) -> "Layout":
        (apart, places), types = how.split(schema.names, len(schema)), schema.types
        chosen = arrow.schema([schema.field(place) for place in places])
        lists = any(arrow_types.is_fixed_size_list(types[place]) for place in places)
        if not lists:  # the name of a list column is not used
            check_labels(schema.names, types, ARROW, apart=apart)
        texts = tuple(field.name for field in chosen if is_arrow_text(field.type))
        check_arrow_types(chosen, texts)
        dimension = int(arrow_floats(_convert_text_columns(chosen.empty_table())).shape[1])
        if not dimension:
            raise InvalidFileError("it has no columns of numbers: write one column per coordinate.")
        stored = {_find_float_type(types[place]) for place in places}
        dtype = np.dtype(np.float32 if stored == {np.float32} else np.float64)
        ends = np.cumsum([0, *map(_leaf_count, types)])
        return cls(schema, places, None if lists else tuple(chosen.names), dimension, dtype, texts, ends, lists)

    def list_leaves(self, places: list[int]) -> list[int]:
        """Return the Parquet columns of these columns."""
        ends = self.leaf_ends
        return [leaf for place in places for leaf in range(int(ends[place]), int(ends[place + 1]))]

    def require(self, schema: Arrow) -> None:
        if not schema.equals(self.schema):
            raise InvalidFileError(
                "a part of it has other columns or types than the rest: write all parts with one schema."
            )

    def rows(self, part: Arrow) -> NDArray[Any]:
        """Return the rows of a batch of coordinates; a missing entry is NaN."""
        part = _convert_text_columns(part, self.texts)
        if self.dtype == np.float64 and any(_find_float_type(type_) != np.float64 for type_ in part.schema.types):
            return arrow_floats(part)  # several types, or no floats
        if not self.lists:
            return np.asarray(part.to_tensor(null_to_nan=True, row_major=True).to_numpy())
        column = part.column(0)
        values = column.flatten()
        if column.null_count or values.null_count:
            return arrow_floats(part).astype(self.dtype)
        return values.to_numpy(zero_copy_only=False).reshape(len(column), self.dimension)

    def read_slabs(
        self, first: int, last: int, width: int, read: Callable[[list[int]], Arrow], rows: int
    ) -> Iterator[NDArray[Any]]:
        """Read blocks of consecutive rows, some columns at a time: a wide part is never in memory as Arrow columns."""
        at_once = max(1, SLAB_BYTES // (self.dimension * self.dtype.itemsize))
        for start in range(first, last, at_once):
            slab = np.empty((min(at_once, last - start), self.dimension), dtype=self.dtype)
            for place in range(0, self.dimension, width):
                part = read(self.places[place : place + width]).slice(start, len(slab))
                slab[:, place : place + width] = self.rows(part)
                del part
            yield from [slab] if len(slab) <= rows else map(np.copy, pieces(slab, rows))
            del slab  # before the next slab: a waiting block keeps only its own rows


def _find_float_type(type_: Arrow) -> type:
    """Return the float type of this type, or of a list of it; object for other types."""
    inner = type_.value_type if arrow_types.is_fixed_size_list(type_) else type_
    return np.float32 if arrow_types.is_float32(inner) else np.float64 if arrow_types.is_float64(inner) else object


def _convert_text_columns(part: Arrow, texts: Sequence[str] = ()) -> Arrow:
    """Convert columns of text to numbers; an error names those with other text, and those of `texts` not read yet."""
    wrong: list[str] = []
    right: list[str] = []
    for at, column in enumerate(part.schema):
        if is_arrow_text(column.type):
            numbers = parse_text_column(part.column(at))
            (wrong if numbers is None else right).append(column.name)
            part = part if numbers is None else part.set_column(at, column.name, numbers)
    if wrong:
        unread = [name for name in texts if name not in {*wrong, *right}]
        raise InvalidFileError(
            describe_bad_columns(wrong) + (f" Also stored as text: {join_names(unread)}." if unread else "")
        )
    return part


def _leaf_count(type_: Arrow) -> int:
    if isinstance(type_, arrow.BaseExtensionType):
        return _leaf_count(type_.storage_type)
    if arrow_types.is_struct(type_):
        return sum(_leaf_count(field.type) for field in type_)
    if arrow_types.is_map(type_):
        return _leaf_count(type_.key_type) + _leaf_count(type_.item_type)
    return _leaf_count(type_.value_type) if arrow_types.is_nested(type_) else 1


class ArrowStream(FileStream):
    """Private: the rows of an Arrow file."""

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
                    yield from self._read_large_batch(place, count, rows)
                else:
                    batch = some.get_batch(place)
                    for start in range(0, batch.num_rows, rows):
                        yield layout.rows(batch.slice(start, rows))

    def _read_large_batch(self, place: int, count: int, rows: int) -> Iterator[NDArray[Any]]:
        def read(columns: list[int]) -> Arrow:
            arrow.default_memory_pool().release_unused()  # Arrow allocates a whole batch and keeps used memory
            with _open_ipc(self.path, columns) as file:
                return file.get_batch(place)

        width = max(1, _READ_BYTES // (count * self.dtype.itemsize))
        return self.layout.read_slabs(0, count, width, read, rows)


class ParquetStream(ArrowStream):
    """Private: the rows of a .parquet file."""

    def __init__(self, file: File) -> None:
        require("pyarrow", ".parquet", "files")
        super().__init__(file.path)
        with open_parquet(self.path) as stored:
            self._set(Layout.of(stored.schema_arrow, file.schema))
            if self.layout.leaf_ends[-1] != len(stored.schema):  # else the positions of columns are not known
                raise InvalidFileError("it has a nested column of an unknown type: write the table without it.")
            self.shape = int(stored.metadata.num_rows), self.layout.dimension

    def share_layout(self, layout: Layout) -> "ParquetStream":
        """Return this file as a part of a table whose parts share one layout."""
        layout.require(self.layout.schema)
        self._set(layout)
        return self

    def keys(self, name: str) -> Arrow:
        at = self.layout.schema.get_field_index(name)
        with open_parquet(self.path) as file:
            return file.reader.read_all(column_indices=self.layout.list_leaves([at])).column(0)

    def _parts(self, rows: int) -> Iterator[NDArray[Any]]:
        return self._read_groups(0, None, rows, _BATCH_ENTRIES)

    def _between(self, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
        """Read only row groups that contain some of the rows."""
        return self._read_groups(first, last, rows, _PART_ENTRIES)

    def list_starts(self) -> Sequence[int]:
        with open_parquet(self.path) as file:
            return _list_ends(file)[:-1]

    def _read_groups(self, first: int, last: int | None, rows: int, entries: int) -> Iterator[NDArray[Any]]:
        layout = self.layout
        with open_parquet(self.path, _BUFFERS // len(layout.schema)) as file:
            layout.require(file.schema_arrow)
            ends = _list_ends(file)
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
                    part = _to_one_batch(file.reader.read_row_group(group, column_indices=layout.list_leaves(columns)))
                    if part.num_rows != count:
                        raise InvalidFileError(CHANGED)
                    return part

                yield from layout.read_slabs(max(first, begin) - begin, min(last, end) - begin, _WIDTH, read, rows)


class PartsStream(Source):
    """Private: the rows of several .parquet files with one schema, in the order of their names."""

    def __init__(self, file: File) -> None:
        assert isinstance(file.path, Path)  # a folder or a pattern
        self._path, self._files = file.path, list_parts(file.path)
        self.parts: list[ParquetStream] = []
        for path in self._files:
            with reword_file_errors(path):
                part = ParquetStream(replace(file, path=path))
                self.parts.append(part if not self.parts else part.share_layout(self.parts[0].layout))
        first = self.parts[0]
        self.shape = sum(part.shape[0] for part in self.parts), first.shape[1]
        self.columns, self.dtype, self.names, self.texts = first.columns, first.dtype, first.names, first.texts

    def keys(self, name: str) -> Arrow:
        columns = [part.keys(name) for part in self.parts]
        return arrow.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)

    def row_blocks(self, rows: int) -> Iterator[NDArray[Any]]:
        self._require_unchanged()
        for part in self.parts:
            yield from part.row_blocks(rows)
        self._require_unchanged()

    def _require_unchanged(self) -> None:
        with reword_file_errors(self._path):
            if list_parts(self._path) != self._files:
                raise InvalidFileError(CHANGED)
        for part in self.parts:
            part.require_same()


def _list_ends(file: Any) -> list[int]:
    counts = [int(file.metadata.row_group(group).num_rows) for group in range(file.num_row_groups)]
    return [0, *accumulate(counts)]


def batches(file: Any, layout: Layout, rows: int, groups: list[int]) -> Iterator[Arrow]:
    """Read the coordinates in these row groups, `rows` rows at a time, without other columns."""
    yield from file.reader.iter_batches(rows, row_groups=groups, column_indices=layout.list_leaves(layout.places))


def _to_one_batch(table: Arrow) -> Arrow:
    batches = table.combine_chunks().to_batches()
    if len(batches) == 1:
        return batches[0]
    return arrow.RecordBatch.from_pydict({name: [] for name in table.schema.names}, schema=table.schema)


def open_parquet(path: FilePath, buffer: int = 0) -> Any:
    """Open a .parquet file; pages that were written with a checksum are verified."""
    source = path.open() if isinstance(path, InMemoryFile) else path
    return parquet.ParquetFile(source, pre_buffer=False, buffer_size=buffer, page_checksum_verification=True)


def _open_ipc(path: FilePath, columns: list[int] | None = None) -> Any:
    """Open without memory-mapping: a mapped file that shrinks would end the process without an error."""
    source = arrow.BufferReader(path.content) if isinstance(path, InMemoryFile) else arrow.OSFile(str(path))
    return arrow.ipc.open_file(source, options=arrow.ipc.IpcReadOptions(included_fields=columns))
