"""Files without declared types: .jsonl, .xlsx and .csv (`delimited`). A record is a function of its own cells.

The first pass judges every line, so that no budget is charged for a file with a bad one, and keeps a small table. No
type is inferred: text becomes numbers by the parser of `entries`.
"""

import json
import math
from abc import abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dimfree._validate.column_names import check_names
from dimfree.data.columns import IF_MISSING, joined, remedies
from dimfree.data.entries import key_of, number
from dimfree.data.extras import openpyxl
from dimfree.data.formats.file_stream import File, FileStream, reading, require, text_of
from dimfree.data.schema import Schema
from dimfree.data.source import pieces
from dimfree.errors import InvalidFile
from dimfree.progress import during, heard

Keys: TypeAlias = list[list[Any]]  # for each column of keys its entries
Part: TypeAlias = tuple[NDArray[np.float64], Keys]  # consecutive rows
Cells: TypeAlias = Sequence[Any]  # text, but for keys of .jsonl and .xlsx, which keep their type

PART_ENTRIES = 2**18  # cells split by Python at a time
BLANK = [""]  # the cells of a blank line
RAGGED = "its lines differ in their number of cells, expected one cell per column everywhere."


class Head(NamedTuple):
    """The columns of a file: public."""

    names: tuple[str, ...] | None
    apart: list[int]  # places of the columns of keys
    rest: list[int]  # places of the coordinates
    width: int  # of the file
    decimal: str | None  # None: a point, in a file that cannot choose it

    @classmethod
    def of(cls, names: Sequence[str] | None, width: int, schema: Schema, decimal: str | None = None) -> "Head":
        """Keys, columns and bounds that the names do not fit are errors here, before a row is read."""
        schema.bounds.require_columns(names)
        return cls(None if names is None else tuple(names), *schema.split(names, width), width, decimal)

    @property
    def coordinates(self) -> tuple[str, ...] | None:
        return self.names and tuple(self.names[place] for place in self.rest)

    def part(self, rows: Sequence[Cells]) -> Part:
        keys = [[key_of(cells[place]) for cells in rows] for place in self.apart]
        numbers, wrong, decimal = array("d"), set[int](), self.decimal or "."
        for cells in rows:
            own = cells if len(self.rest) == self.width else [cells[place] for place in self.rest]
            try:
                if decimal == ".":
                    numbers.extend(list(map(float, own)))  # the common case, fast
                    continue
            except ValueError:
                pass
            found = [number(cell, decimal) for cell in own]
            wrong.update(at for at, each in zip(self.rest, found, strict=True) if each is None)
            numbers.extend(math.nan if each is None else each for each in found)
        if wrong:
            names = [place + 1 if self.names is None else self.names[place] for place in sorted(wrong)]
            raise InvalidFile(not_a_number(names, self.decimal))
        table = np.frombuffer(numbers, dtype=np.float64) if len(numbers) else np.empty(0)
        return table.reshape(len(rows), len(self.rest)), keys

    def parts(self, rows: Iterable[Cells]) -> Iterator[Part]:
        """Return numbers and keys of all records, some at a time; a bad cell counts before a bad line behind it."""
        most = max(1, PART_ENTRIES // max(1, self.width))
        kept: list[Cells] = []
        try:
            for cells in rows:
                kept.append(cells)
                if len(kept) == most:
                    yield self.part(kept)
                    kept = []
        except InvalidFile:
            self.part(kept)
            raise
        if kept:
            yield self.part(kept)


def not_a_number(columns: Sequence[str | int], decimal: str | None = None) -> str:
    """The words for columns with a cell that is not a number; `decimal` is the sign that was tried."""
    other = {".": ",", ",": "."}.get(decimal or "")
    which = f"columns {joined(columns)} hold" if len(columns) > 1 else f"column {columns[0]!r} holds"
    parts = [f"{which} something that is not a number, expected numbers such as 12{decimal or '.'}5."]
    if other:
        parts.append(f"If numbers are written as 12{other}5, pass decimal={other!r} (--decimal {other}).")
    if names := [column for column in columns if isinstance(column, str)]:
        parts.append(remedies(names))
    return " ".join([*parts, IF_MISSING])


def header(cells: Cells, schema: Schema) -> tuple[str, ...] | None:
    """Return the names in the first line, or None if it is a record.

    A mixture is refused: taken as names, numbers of a record would be published. If the caller lists columns that all
    stand there, the line is one of names, and no other name is published.
    """
    names = tuple(cell.strip() for cell in cells)
    if schema.columns is not None and set(schema.columns) <= set(names):
        return names
    if cells[0].lstrip().startswith("{"):
        raise InvalidFile("its first line is no line of names but a JSON object: pass format='jsonl' (--format jsonl).")
    numeric = [number(cell, schema.decimal) is not None for cell in cells]
    if all(numeric):
        return None
    if any(numeric):
        raise InvalidFile(
            "its first line mixes names with numbers or empty cells, expected a name for every column and no index: "
            "write it without an index (index=False in pandas), or list the columns you want (columns=, --columns)."
        )
    check_names(cells)
    return names


class CellStream(FileStream):
    """Private: the rows of a file of cells; every line is judged when it is opened."""

    dtype = np.dtype(np.float64)

    def __init__(self, file: File) -> None:
        super().__init__(file.path)
        self._file, self._schema = file, file.schema
        self._head: Head  # set by the first piece of a pass
        self._kept: list[NDArray[np.float64]] | None = []
        self._keys: Keys = [[] for _ in file.schema.keys]
        count, size = 0, 0
        with reading(self.path), during("checking the lines"):
            for values, keys in self._pieces():
                count, size = count + len(values), size + values.nbytes
                for column, more in zip(self._keys, keys, strict=True):
                    column.extend(more)
                self._kept = None if size > file.most_bytes or self._kept is None else [*self._kept, values]
        self.require_same()
        self.shape, self.columns, self.names = (count, len(self._head.rest)), self._head.coordinates, self._head.names

    @abstractmethod
    def _pieces(self) -> Iterator[Part]:
        """All rows in order."""

    def whole(self) -> Any:
        """What the first pass has kept, where it is small."""
        if self._kept is None:
            return super().whole()
        return self.clip(np.concatenate([np.empty((0, self.shape[1])), *self._kept]))

    def keys(self, name: str) -> list[Any]:
        return self._keys[self._schema.keys.index(name)]

    def _parts(self, rows: int) -> Iterator[NDArray[Any]]:
        for values, _ in self._pieces():
            yield from pieces(values, rows)


class JsonlStream(CellStream):
    """Private: the rows of a .jsonl: one JSON object per line; a blank line is a record without names.

    Each line must have the names of the first one in the same order. If the caller lists the columns, other names are
    ignored and one that a line lacks is a missing entry. Either way no record decides what the columns are.
    """

    def __init__(self, file: File) -> None:
        super().__init__(file)
        self.names = None if file.schema.columns is not None else self.names  # lines may have other names

    def _pieces(self) -> Iterator[Part]:
        schema, ending = self._schema, self._file.ending
        with text_of(self.path, ending, schema.encoding) as (lines, read, size):
            objects: Iterator[dict[str, Any]] = map(_object, lines)
            listed = schema.columns
            names = None if listed is None else tuple(dict.fromkeys((*schema.keys, *listed)))
            if names is None:
                first = next(objects, None)
                if not first:
                    raise InvalidFile(
                        'it is empty, or its first line is; expected one object such as {"age": 41} on each line.'
                    )
                names, objects = tuple(first), chain([first], objects)
            check_names(names)
            some = schema.bounds if listed is None else schema.bounds.among(names)  # lines may have more names
            self._head = Head.of(names, len(names), replace(schema, bounds=some))
            for part in self._head.parts(self._rows(names, objects)):
                heard(read(), size)
                yield part

    def _rows(self, names: tuple[str, ...], lines: Iterator[dict[str, Any]]) -> Iterator[Cells]:
        def text(entry: Any) -> str:  # a list or an object is not a number
            return "" if entry is None else str(entry) if isinstance(entry, str | bool | int | float) else "[]"

        for line in lines:
            if self._schema.columns is None and tuple(line) != names:
                raise InvalidFile(
                    "its lines differ in their names, expected the same in each, in the same order: list the columns "
                    "you want (columns=, --columns), and a name that a line lacks is a missing entry."
                )
            cells = map(line.get, names)
            keys = self._schema.keys
            yield [cell if name in keys else text(cell) for name, cell in zip(names, cells, strict=True)]


def _object(line: str) -> dict[str, Any]:
    if not line.strip():
        return {}
    try:
        # beyond what Python reads as a whole number, the float
        found = json.loads(line, parse_int=lambda digits: int(digits) if len(digits) < 1000 else float(digits))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidFile('a line of it is no JSON object, expected one such as {"age": 41} on each line.')
    return found


class XlsxStream(CellStream):
    """Private: all stored rows of the first sheet, empty ones too; formulas count with the values saved with them."""

    def _pieces(self) -> Iterator[Part]:
        require("openpyxl", ".xlsx", "excel")
        with self.path.open("rb") as file:
            sheet = openpyxl.load_workbook(file, read_only=True, data_only=True).worksheets[0]
            sheet.reset_dimensions()  # which a writer may have stated too small
            before, first, rows = 0, list[str](), iter(sheet.values)
            for cells in (list(map(_cell, row)) for row in rows):
                while cells and not cells[-1]:
                    cells.pop()  # sheets remember columns that were used once
                if first := cells:
                    break
                before += 1
            if not first:
                raise InvalidFile("its first sheet is empty, expected a row of names or rows of numbers.")
            self._head = head = Head.of(header(first, self._schema), len(first), self._schema)
            own = [] if head.names else [*repeat(BLANK * head.width, before), first]
            yield from head.parts(chain(own, (_fit(row, head) for row in rows)))


def _fit(row: Sequence[Any], head: Head) -> Cells:
    if any(map(_cell, row[head.width :])):
        raise InvalidFile(RAGGED)
    cells = [entry if place in head.apart else _cell(entry) for place, entry in enumerate(row[: head.width])]
    return cells + BLANK * (head.width - len(cells))


def _cell(entry: Any) -> str:
    """The text of a cell; a date is not a number."""
    return "" if entry is None else repr(entry) if isinstance(entry, int | float) else str(entry)
