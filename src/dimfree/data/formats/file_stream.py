"""The base of files that are read block by block: they must not change, and every damage is one error."""

import gzip
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import install_command
from dimfree.data.boundary import boundary
from dimfree.data.schema import Schema
from dimfree.data.source import Source
from dimfree.errors import DimfreeError, InvalidDataError, InvalidFileError, InvalidParameterError

Block = TypeVar("Block")


class InMemoryFile:
    """Private: the content of a file in memory (standard input, an address), with the methods of a path."""

    def __init__(self, name: str, ending: str, content: bytes) -> None:
        self._name, self.suffix, self.content = name, ending, content

    def open(self, mode: str = "rb", buffering: int = -1) -> BinaryIO:
        return BytesIO(self.content)

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<InMemoryFile: {self._name}>"


FilePath: TypeAlias = Path | InMemoryFile  # or a folder


@dataclass(frozen=True, repr=False, eq=False)
class File:
    """The place and format of a table: public, except for the content of a file in memory."""

    path: FilePath
    schema: Schema = Schema()
    ending: str = ""  # the format, such as ".csv.gz"
    max_bytes: float = 0  # of numbers kept after the first pass; a larger table is read again on every pass
    workers: int = 0  # threads of a cluster that read it in parts; 0: none


@contextmanager
def reword_file_errors(path: FilePath, ending: str = "") -> Iterator[None]:
    """Reword every error in this block; `ending` is a format other than that of the path."""
    with boundary(partial(_reword_damage, path, ending)):
        try:
            yield
        except (InvalidFileError, InvalidParameterError, InvalidDataError) as error:
            named = str(error).startswith(str(path))  # by an inner pass
            raise InvalidFileError(str(error) if named else f"{path} cannot be used: {error}") from None


def _reword_damage(path: FilePath, ending: str, error: BaseException) -> DimfreeError:
    if isinstance(error, FileNotFoundError):
        return InvalidFileError(f"{path} cannot be read: it, or a part of it, no longer exists. Restore it.")
    if isinstance(error, PermissionError):
        return InvalidFileError(f"{path} cannot be read: permission denied.")
    return InvalidFileError(
        f"{path} cannot be read as {ending or path.suffix.lower()}: it is truncated, damaged, of another format, or "
        "contains Python objects. Write it again, as numbers."
    )


@contextmanager
def text_of(path: FilePath, ending: str, encoding: str) -> Iterator[tuple[TextIOWrapper, Callable[[], int], int]]:
    """Open the text of a file, decompressed if it is .gz; yield it, a counter of stored bytes read, and their total."""
    is_packed = ending.endswith(".gz")
    with path.open("rb") as stored, gzip.open(stored) if is_packed else nullcontext(stored) as unpacked:
        size = len(path.content) if isinstance(path, InMemoryFile) else path.stat().st_size
        own = "utf-8-sig" if encoding == "utf-8" else encoding  # a byte order mark is not a part of the text
        try:
            yield TextIOWrapper(unpacked, own, newline="\n"), stored.tell, size
        except UnicodeError:
            raise InvalidFileError(
                f"it is not text in {encoding}: pass its encoding, such as encoding='latin-1' (--encoding latin-1)."
            ) from None


def require(package: str, ending: str, extra: str) -> None:
    """Raise an error that names the extra if an optional package is missing."""
    try:
        is_there = find_spec(package) is not None
    except ValueError:  # a module without a spec
        is_there = False
    if not is_there:
        raise InvalidFileError(f"{ending} needs {package}: install it with {install_command(extra)}.")


class StoredFile:
    """A file that must not change after it is opened."""

    def __init__(self, path: FilePath) -> None:
        self.path = path
        self._seal = _seal(path)

    def read_unchanged(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """Read all blocks inside the boundary; the file must be the same before and after."""
        self.require_same()
        while True:
            with reword_file_errors(self.path):  # not open while the caller works on a block
                block = next(blocks, None)
            if block is None:
                break
            yield block
            del block  # before the next is read
        self.require_same()

    def require_same(self) -> None:
        with reword_file_errors(self.path):
            if _seal(self.path) != self._seal:
                raise InvalidFileError(CHANGED)

    def require_seal_of(self, file: BinaryIO) -> None:
        """Raise an error if an open file is not the file that was opened first, or has changed."""
        if _identify_stat(os.fstat(file.fileno())) != self._seal:
            raise InvalidFileError(CHANGED)


class FileStream(StoredFile, Source):
    """Private: a table in a file. Every block has `dtype`; a pass over a file that has changed is an error."""

    dtype: np.dtype[Any]
    is_sealed = True

    def _parts(self, rows: int) -> Iterator[NDArray[Any]]:
        """Return all rows in order, in new blocks of at most `rows`; a format defines this or `_between`."""
        return self._between(0, self.shape[0], rows)

    def _between(self, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
        """Return the rows from `first` to `last`; this default reads and drops all rows before them."""
        start = 0
        for block in self._parts(rows):
            kept = block[max(0, first - start) : max(0, last - start)]
            start += len(block)
            if len(kept):
                yield kept
            if start >= last:
                return

    def list_starts(self) -> Sequence[int] | None:
        """Return the rows, ascending, from which the file can be read; None: only from the first."""
        return None

    def row_blocks(self, rows: int) -> Iterator[NDArray[Any]]:
        return self.read_unchanged(self._check_blocks(self._parts(rows), 0, self.shape[0]))

    def rows_between(self, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
        return self.read_unchanged(self._check_blocks(self._between(first, last, rows), first, last))

    def _check_blocks(self, blocks: Iterator[NDArray[Any]], first: int, last: int) -> Iterator[NDArray[Any]]:
        """Return the blocks; raise an error unless they are the rows from `first` to `last`."""
        read = first
        for block in blocks:
            if (read := read + len(block)) > last:
                raise InvalidFileError(CHANGED)
            if block.ndim != 2 or block.shape[1] != self.shape[1]:
                raise InvalidFileError(
                    "a part of it has other columns than the rest: write the same columns everywhere."
                )
            if block.dtype != self.dtype:
                raise InvalidFileError(
                    "a part of it has numbers of another type than the rest: write one type everywhere."
                )
            yield block
            del block  # it may be a view of a larger block
        if read != last:
            raise InvalidFileError(CHANGED)


CHANGED = "it has changed since it was opened. Do not change it until the release is written. Nothing was released."


def _seal(path: FilePath) -> tuple[int, int, int, int]:
    """Return an identity of a file, or of a folder with all its files, that changes when it is written or replaced."""
    if isinstance(path, InMemoryFile):
        return 0, 0, len(path.content), 0
    stat = path.stat()
    if not path.is_dir():
        return _identify_stat(stat)
    files = [os.path.join(place, name) for place, _, names in os.walk(path) for name in names]
    within = [(os.path.relpath(file, path), (found := os.stat(file)).st_size, found.st_mtime_ns) for file in files]
    digest = sha256(repr((stat.st_mtime_ns, sorted(within))).encode()).digest()
    return stat.st_dev, stat.st_ino, len(within), int.from_bytes(digest[:8])


def _identify_stat(stat: os.stat_result) -> tuple[int, int, int, int]:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
