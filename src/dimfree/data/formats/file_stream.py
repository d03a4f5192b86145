"""What every file that is read block by block has in common: it must not change, and damage is one sentence."""

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
from dimfree.errors import DimfreeError, InvalidFile, InvalidParameter, InvalidRecords

Block = TypeVar("Block")


class Held:
    """Private: the content of a file in memory (standard input, an address), with the methods of a path in use."""

    def __init__(self, name: str, ending: str, content: bytes) -> None:
        self._name, self.suffix, self.content = name, ending, content

    def open(self, mode: str = "rb", buffering: int = -1) -> BinaryIO:
        return BytesIO(self.content)

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<Held: {self._name}>"


FilePath: TypeAlias = Path | Held  # or a folder


@dataclass(frozen=True, repr=False, eq=False)
class File:
    """Where a table is and how it is read: public, but for the content of a file in memory."""

    path: FilePath
    schema: Schema = Schema()
    ending: str = ""  # the format, such as ".csv.gz"
    most_bytes: float = 0  # of numbers kept after a first pass; a larger table is read again on every pass
    workers: int = 0  # threads of a cluster that read it in parts; 0: none


@contextmanager
def reading(path: FilePath, ending: str = "") -> Iterator[None]:
    """A boundary in which every error becomes one sentence; `ending` is a format that is not that of the path."""
    with boundary(partial(_damaged, path, ending)):
        try:
            yield
        except (InvalidFile, InvalidParameter, InvalidRecords) as error:
            named = str(error).startswith(str(path))  # by a pass in here
            raise InvalidFile(str(error) if named else f"{path} cannot be used: {error}") from None


def _damaged(path: FilePath, ending: str, error: BaseException) -> DimfreeError:
    if isinstance(error, FileNotFoundError):
        return InvalidFile(f"{path} cannot be read: it, or a part of it, is no longer there.")
    if isinstance(error, PermissionError):
        return InvalidFile(f"{path} cannot be read: permission denied.")
    return InvalidFile(
        f"{path} cannot be read as {ending or path.suffix.lower()}: it is truncated, damaged or of another kind, "
        "or holds Python objects; write it again, as numbers."
    )


@contextmanager
def text_of(path: FilePath, ending: str, encoding: str) -> Iterator[tuple[TextIOWrapper, Callable[[], int], int]]:
    """The text of a file, unpacked if it is a .gz; how many of the stored bytes are read so far, and of how many."""
    is_packed = ending.endswith(".gz")
    with path.open("rb") as stored, gzip.open(stored) if is_packed else nullcontext(stored) as unpacked:
        size = len(path.content) if isinstance(path, Held) else path.stat().st_size
        own = "utf-8-sig" if encoding == "utf-8" else encoding  # a byte order mark is not a part of the text
        try:
            yield TextIOWrapper(unpacked, own, newline="\n"), stored.tell, size
        except UnicodeError:
            raise InvalidFile(
                f"it is not text in {encoding}: name the encoding it is in, for example encoding='latin-1' "
                "(--encoding latin-1)."
            ) from None


def require(package: str, ending: str, extra: str) -> None:
    """An error that names the extra if an optional package is missing."""
    try:
        is_there = find_spec(package) is not None
    except ValueError:  # a module without a spec
        is_there = False
    if not is_there:
        raise InvalidFile(f"{ending} needs {package}: install it with {install_command(extra)}.")


class StoredFile:
    """A file that must stay as it was when it was opened."""

    def __init__(self, path: FilePath) -> None:
        self.path = path
        self._seal = _seal(path)

    def unchanged(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """A pass: the file is the same before and after it, and each block is read inside the boundary."""
        self.require_same()
        while True:
            with reading(self.path):  # none is open while the caller works on a block
                block = next(blocks, None)
            if block is None:
                break
            yield block
            del block  # before the next is read
        self.require_same()

    def require_same(self) -> None:
        with reading(self.path):
            if _seal(self.path) != self._seal:
                raise InvalidFile(CHANGED)

    def require_seal_of(self, file: BinaryIO) -> None:
        """An error if an open file is another one than that which was opened first, or has changed."""
        if _seal_of(os.fstat(file.fileno())) != self._seal:
            raise InvalidFile(CHANGED)


class FileStream(StoredFile, Source):
    """Private: a table in a file. `dtype` is that of every block; a pass over a file that has changed is an error."""

    dtype: np.dtype[Any]
    is_sealed = True

    def _parts(self, rows: int) -> Iterator[NDArray[Any]]:
        """All rows in order, in fresh blocks of at most `rows`; a format has this or `_between`. Any error may come."""
        return self._between(0, self.shape[0], rows)

    def _between(self, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
        """The rows from `first` to `last`; here after reading and dropping all before them."""
        start = 0
        for block in self._parts(rows):
            kept = block[max(0, first - start) : max(0, last - start)]
            start += len(block)
            if len(kept):
                yield kept
            if start >= last:
                return

    def starts(self) -> Sequence[int] | None:
        """The rows, ascending, from which on the file can be read without those before; None: only from the first."""
        return None

    def row_blocks(self, rows: int) -> Iterator[NDArray[Any]]:
        return self.unchanged(self._checked(self._parts(rows), 0, self.shape[0]))

    def rows_between(self, first: int, last: int, rows: int) -> Iterator[NDArray[Any]]:
        return self.unchanged(self._checked(self._between(first, last, rows), first, last))

    def _checked(self, blocks: Iterator[NDArray[Any]], first: int, last: int) -> Iterator[NDArray[Any]]:
        """Blocks that are the rows from `first` to `last`, or an error."""
        read = first
        for block in blocks:
            if (read := read + len(block)) > last:
                raise InvalidFile(CHANGED)
            if block.ndim != 2 or block.shape[1] != self.shape[1]:
                raise InvalidFile("a part of it has other columns than the rest, expected the same columns everywhere.")
            if block.dtype != self.dtype:
                raise InvalidFile("a part of it holds numbers of another type than the rest, expected one everywhere.")
            yield block
            del block  # it may be a view of a larger block
        if read != last:
            raise InvalidFile(CHANGED)


CHANGED = "it has changed since it was opened; nothing was released. Leave it alone until the release is written."


def _seal(path: FilePath) -> tuple[int, int, int, int]:
    """What tells a file, or a folder with all its files, from one that was written to or put in its place."""
    if isinstance(path, Held):
        return 0, 0, len(path.content), 0
    stat = path.stat()
    if not path.is_dir():
        return _seal_of(stat)
    files = [os.path.join(place, name) for place, _, names in os.walk(path) for name in names]
    within = [(os.path.relpath(file, path), (found := os.stat(file)).st_size, found.st_mtime_ns) for file in files]
    digest = sha256(repr((stat.st_mtime_ns, sorted(within))).encode()).digest()
    return stat.st_dev, stat.st_ino, len(within), int.from_bytes(digest[:8])


def _seal_of(stat: os.stat_result) -> tuple[int, int, int, int]:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
