"""A table in several .parquet files: the parts of a folder, or those that a pattern such as 2024-*.parquet fits.

They are read in the order of their names, all with the same columns and types, and sealed together: a part that is
changed, added or taken away during a release is an error.
"""

from collections.abc import Iterator
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from dimfree.data.endings import SOURCES, ending_of
from dimfree.data.formats.arrow_rows import Arrow
from dimfree.data.formats.file_stream import CHANGED, File, reading
from dimfree.data.formats.parquet import ParquetStream
from dimfree.data.stream import Stream
from dimfree.errors import InvalidFile

_PATTERN = "*?["  # signs that make a path a pattern
_ENDING = ".parquet"


def is_parts(path: Path) -> bool:
    """Whether this is a folder of parts, or a pattern for them."""
    if path.is_dir():
        return path.suffix.lower() == _ENDING or ending_of(path.name) not in SOURCES
    return any(sign in str(path) for sign in _PATTERN) and not path.exists()


def list_parts(path: Path) -> list[Path]:
    """The files in the order of their names; hidden ones and those that begin with '_' are no parts."""
    found = path.iterdir() if path.is_dir() else map(Path, glob(str(path)))
    parts = sorted((part for part in found if part.name[0] not in "._"), key=str)
    if any(part.is_dir() or part.suffix.lower() != _ENDING for part in parts):
        raise InvalidFile(f"it has more than {_ENDING} files in it, expected those alone: pass a pattern (*.parquet).")
    if not parts:
        raise InvalidFile(f"no {_ENDING} file is there, expected at least one.")
    return parts


class PartsStream(Stream):
    """Private: the rows of all parts, one after another."""

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
        """A column of keys."""
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
