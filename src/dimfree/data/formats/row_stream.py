"""What files without declared types have in common (.csv, .tsv, .jsonl, .xlsx): cells that are read one by one.

The first pass judges every line, so that nothing is spent on a file with a bad one. A small table is kept by it; a
large one is read again on every later pass.
"""

import math
from abc import abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dimfree._validate.column_names import MISSING, check_names
from dimfree.data.convert_columns import IF_MISSING, joined, remedies
from dimfree.data.dialect import Dialect
from dimfree.data.formats.file_stream import FilePath, FileStream, reading
from dimfree.data.read_options import ReadOptions
from dimfree.data.stream import pieces
from dimfree.errors import InvalidFile
from dimfree.progress import during

Keys: TypeAlias = list[list[str | None]]  # for each column of keys its entries
Part: TypeAlias = tuple[NDArray[np.float64], Keys]  # consecutive rows

RAGGED = "its lines differ in their number of cells, expected one cell per column everywhere."
_PART_ENTRIES = 2**18  # numbers put together from cells at a time
_OTHERS = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}  # delimiters that are common, as they are typed


class Head(NamedTuple):
    """The columns of a file: public."""

    names: tuple[str, ...] | None
    apart: list[int]  # places of the columns of keys
    rest: list[int]  # places of the coordinates
    width: int  # of the file
    dialect: Dialect

    @classmethod
    def of(cls, names: Sequence[str] | None, width: int, how: ReadOptions) -> "Head":
        return cls(None if names is None else tuple(names), *how.split(names, width), width, how.dialect)

    @property
    def coordinates(self) -> tuple[str, ...] | None:
        return self.names and tuple(self.names[place] for place in self.rest)

    def numbers(self, cells: Sequence[str], wrong: set[int]) -> list[float]:
        """The coordinates of a record: a function of its own cells. Places of what is not a number go to `wrong`."""
        own = cells if len(self.rest) == self.width else [cells[place] for place in self.rest]
        try:
            if self.dialect.decimal == ".":
                return list(map(float, own))  # the common case, fast
        except ValueError:
            pass
        found = [self.dialect.number(cell) for cell in own]
        wrong.update(at for at, number in enumerate(found) if number is None)
        return [math.nan if number is None else number for number in found]

    def require_numbers(self, wrong: set[int]) -> None:
        """An error that names all coordinates at these places."""
        if wrong:
            names = self.coordinates
            found = [at + 1 if names is None else names[at] for at in sorted(wrong)]
            raise InvalidFile(not_a_number(found, self.dialect.decimal))

    def keys(self, cells: Sequence[str]) -> list[str | None]:
        return [key_of(cells[place]) for place in self.apart]


def not_a_number(columns: Sequence[str | int], decimal: str | None = None) -> str:
    """The words for columns with a cell that is not a number: the same for every such cell, and for any number of them.

    `decimal` is the sign that was tried; None where a file has no say in it.
    """
    other = {".": ",", ",": "."}.get(decimal or "")
    which = f"columns {joined(columns)} hold" if len(columns) > 1 else f"column {columns[0]!r} holds"
    parts = [f"{which} something that is not a number, expected numbers such as 12{decimal or '.'}5."]
    if other:
        parts.append(f"If numbers are written as 12{other}5, pass decimal={other!r} (--decimal {other}).")
    if names := [column for column in columns if isinstance(column, str)]:
        parts.append(remedies(names))
    return " ".join([*parts, IF_MISSING])


def header(cells: list[str], how: ReadOptions) -> tuple[str, ...] | None:
    """The names in the first line, or None when it is a record.

    A mixture is refused: taken as names, the numbers of a record would be published with the mean. Where the caller
    lists the columns and all of them stand there, the line is one of names, and no other name is published.
    """
    names, listed = tuple(cell.strip() for cell in cells), how.selection.columns
    if listed is not None and set(listed) <= set(names):
        return names
    if cells[0].lstrip().startswith("{"):
        raise InvalidFile("its first line is no line of names but a JSON object: pass format='jsonl' (--format jsonl).")
    numeric = [how.dialect.number(cell) is not None for cell in cells]
    if all(numeric):
        return None
    if any(numeric):
        raise InvalidFile(
            "its first line mixes names with numbers or empty cells, expected a name for every column and no index: "
            "write it without an index (index=False in pandas), or list the columns you want (columns=, --columns)."
        )
    check_names(cells)
    return names


def other_delimiter(cells: Sequence[str], delimiter: str) -> str | None:
    """What to try where a first line of one cell has signs in it that stand between cells elsewhere."""
    if len(cells) != 1:
        return None
    for sign, typed in _OTHERS.items():
        if sign in cells[0] and sign != delimiter:
            return (
                f"its first line is a single cell for the delimiter {delimiter!r}: if cells stand between other signs, "
                f"pass delimiter= (--delimiter {typed})."
            )
    return None


def key_of(cell: str) -> str | None:
    return None if is_missing_cell(cell) else cell.strip()


def is_missing_cell(cell: str) -> bool:
    """Whether a cell of text holds no key."""
    return cell.strip().lower() in MISSING | {"nan"}


class RowStream(FileStream):
    """Private: the rows of a file of cells; every line is judged when it is opened."""

    dtype = np.dtype(np.float64)

    def __init__(self, path: FilePath, how: ReadOptions = ReadOptions()) -> None:
        super().__init__(path)
        self._how = how
        self._head: Head  # set by the first piece of a pass
        with reading(self.path), during("checking the lines"):
            self._first_pass()
        self.require_same()
        self.shape, self.columns = (self._count, len(self._head.rest)), self._head.coordinates

    @abstractmethod
    def _pieces(self) -> Iterator[Part]:
        """All rows in order."""

    def _first_pass(self) -> None:
        self._kept: list[NDArray[np.float64]] | None = []
        self._keys: Keys = [[] for _ in self._how.keys]
        self._count, size = 0, 0
        for values, keys in self._pieces():
            self._count, size = self._count + len(values), size + values.nbytes
            for column, more in zip(self._keys, keys, strict=True):
                column.extend(more)
            if size > self._how.most_bytes:
                self._kept = None
            if self._kept is not None:
                self._kept.append(values)

    def whole(self) -> Any:
        """What the first pass has kept, where it is small."""
        return super().whole() if self._kept is None else np.concatenate([np.empty((0, self.shape[1])), *self._kept])

    def keys(self, name: str) -> list[str | None]:
        """A column that was left out."""
        return self._keys[self._how.keys.index(name)]

    def _parts(self, rows: int) -> Iterator[NDArray[Any]]:
        for values, _ in self._pieces():
            yield from pieces(values, rows)


def in_parts(head: Head, rows: Iterable[Sequence[str]]) -> Iterator[Part]:
    """Numbers and keys of consecutive records."""
    most = max(1, _PART_ENTRIES // max(1, len(head.rest)))
    values, keys, count = array("d"), [], 0
    wrong: set[int] = set()  # places of coordinates, in the part that is read
    try:
        for cells in rows:
            values.extend(head.numbers(cells, wrong))
            keys.append(head.keys(cells))
            count += 1
            if count == most:
                head.require_numbers(wrong)
                yield _part(head, values, keys)
                values, keys, count = array("d"), [], 0
    except InvalidFile:
        head.require_numbers(wrong)  # an earlier line comes first
        raise
    head.require_numbers(wrong)
    if count:
        yield _part(head, values, keys)


def _part(head: Head, values: "array[float]", keys: list[list[str | None]]) -> Part:
    table = np.frombuffer(values, dtype=np.float64) if len(values) else np.empty(0)
    columns = [[row[at] for row in keys] for at in range(len(head.apart))]
    return table.reshape(len(keys), len(head.rest)), columns
