"""Arrow IPC files (.arrow, and .feather of version 2), batch by batch; a large batch some columns at a time."""

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from dimfree.data.formats.arrow_rows import SLAB_BYTES, Arrow, Layout
from dimfree.data.formats.file_stream import File, FilePath, FileStream, Held, require

_READ_BYTES = 2**26  # of the columns read at a time, as far as one column allows


class IpcStream(FileStream):
    """Private: the rows of an Arrow file; columns that are no coordinates are not read."""

    def __init__(self, file: File) -> None:
        path = file.path
        require("pyarrow", path.suffix.lower(), "files")
        super().__init__(path)
        with _opened(path) as ipc:
            self.layout = layout = Layout.of(ipc.schema, file.schema)
        with _opened(path, layout.places[:1]) as ipc:
            count = sum(ipc.get_batch(place).num_rows for place in range(ipc.num_record_batches))
        self.shape, self.columns, self.dtype = (count, layout.dimension), layout.names, layout.dtype
        self.names, self.texts = layout.all_names, layout.texts

    def keys(self, name: str) -> Arrow:
        """A column of keys."""
        place = self.layout.schema.get_field_index(name)
        with _opened(self.path, [place]) as file:
            return file.read_all().column(0)

    def _parts(self, rows: int) -> Iterator[NDArray[Any]]:
        layout = self.layout
        with _opened(self.path) as file:
            layout.require(file.schema)
        with _opened(self.path, layout.places) as some, _opened(self.path, layout.places[:1]) as first_column:
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
            with _opened(self.path, columns) as file:
                return file.get_batch(place)

        width = max(1, _READ_BYTES // (count * self.dtype.itemsize))
        return self.layout.slabs(0, count, width, read, rows)


def _opened(path: FilePath, columns: list[int] | None = None) -> Any:
    """Opened by reading, not memory-mapped: a mapped file that shrinks would end the process without an error."""
    from pyarrow import BufferReader, OSFile, ipc

    source = BufferReader(path.content) if isinstance(path, Held) else OSFile(str(path))
    return ipc.open_file(source, options=ipc.IpcReadOptions(included_fields=columns))
