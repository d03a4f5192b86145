"""Read files without declared types: .jsonl, .xlsx and .csv (`delimited`). A record is a function of its own cells.

The first pass checks every line, so that no budget is charged for a file with a bad line, and keeps a small table. No
type is inferred: the parser of `entries` converts text to numbers.
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
from dimfree.data.columns import IF_MISSING, join_names, suggest_remedies
from dimfree.data.entries import parse_key, parse_number
from dimfree.data.extras import openpyxl
from dimfree.data.formats.file_stream import File, FileStream, require, reword_file_errors, text_of
from dimfree.data.schema import Schema
from dimfree.data.source import pieces
from dimfree.errors import InvalidFileError
from dimfree.progress import during, report_progress

Keys: TypeAlias = list[list[Any]]  # the entries of each column of keys
Part: TypeAlias = tuple[NDArray[np.float64], Keys]  # consecutive rows
Cells: TypeAlias = Sequence[Any]  # text, except for keys of .jsonl and .xlsx, which keep their type

PART_ENTRIES = 2**18  # cells split by Python at a time
BLANK = [""]  # the cells of a blank line
RAGGED = "its lines differ in their number of cells: write one cell per column in every line."


class Head(NamedTuple):
    """The columns of a file: public."""

    names: tuple[str, ...] | None
    apart: list[int]  # positions of the columns of keys
    rest: list[int]  # positions of the coordinates
    width: int  # of the file
    decimal: str | None  # None: a point, in a format without a choice

    @classmethod
    def of(cls, names: Sequence[str] | None, width: int, schema: Schema, decimal: str | None = None) -> "Head":
        """Check keys, columns and bounds against the names, before a row is read."""
        schema.bounds.require_columns(names)
        return cls(None if names is None else tuple(names), *schema.split(names, width), width, decimal)

    @property
    def coordinates(self) -> tuple[str, ...] | None:
        return self.names and tuple(self.names[place] for place in self.rest)

    def part(self, rows: Sequence[Cells]) -> Part:
        keys = [[parse_key(cells[place]) for cells in rows] for place in self.apart]
        numbers, wrong, decimal = array("d"), set[int](), self.decimal or "."
        for cells in rows:
            own = cells if len(self.rest) == self.width else [cells[place] for place in self.rest]
            try:
                if decimal == ".":
                    numbers.extend(list(map(float, own)))  # fast path
                    continue
            except ValueError:
                pass
            found = [parse_number(cell, decimal) for cell in own]
            wrong.update(at for at, each in zip(self.rest, found, strict=True) if each is None)
            numbers.extend(math.nan if each is None else each for each in found)
        if wrong:
            names = [place + 1 if self.names is None else self.names[place] for place in sorted(wrong)]
            raise InvalidFileError(describe_bad_columns(names, self.decimal))
        table = np.frombuffer(numbers, dtype=np.float64) if len(numbers) else np.empty(0)
        return table.reshape(len(rows), len(self.rest)), keys

    def parts(self, rows: Iterable[Cells]) -> Iterator[Part]:
        """Return numbers and keys of all records, some at a time; a bad cell raises before a later bad line."""
        limit = max(1, PART_ENTRIES // max(1, self.width))
        kept: list[Cells] = []
        try:
            for cells in rows:
                kept.append(cells)
                if len(kept) == limit:
                    yield self.part(kept)
                    kept = []
        except InvalidFileError:
            self.part(kept)
            raise
        if kept:
            yield self.part(kept)


def describe_bad_columns(columns: Sequence[str | int], decimal: str | None = None) -> str:
    """Return the error text for columns with a cell that is not a number, read with this decimal sign."""
    other = {".": ",", ",": "."}.get(decimal or "")
    which = f"columns {join_names(columns)} contain" if len(columns) > 1 else f"column {columns[0]!r} contains"
    parts = [f"{which} a cell that is not a number such as 12{decimal or '.'}5."]
    if other:
        parts.append(f"If numbers are written as 12{other}5, pass decimal={other!r} (--decimal {other}).")
    if names := [column for column in columns if isinstance(column, str)]:
        parts.append(suggest_remedies(names))
    return " ".join([*parts, IF_MISSING])


def find_header(cells: Cells, schema: Schema) -> tuple[str, ...] | None:
    """Return the names in the first line, or None if the line is a record.

    A mixture is refused: as names, numbers of a record would be published. If the line contains all columns that the
    caller lists, it is a line of names, and no other name is published.
    """
    names = tuple(cell.strip() for cell in cells)
    if schema.columns is not None and set(schema.columns) <= set(names):
        return names
    if cells[0].lstrip().startswith("{"):
        raise InvalidFileError(
            "its first line is a JSON object, not a line of names: pass format='jsonl' (--format jsonl)."
        )
    numeric = [parse_number(cell, schema.decimal) is not None for cell in cells]
    if all(numeric):
        return None
    if any(numeric):
        raise InvalidFileError(
            "its first line mixes names with numbers or empty cells: write a name for every column and no index "
            "(index=False in pandas), or list the columns to read (columns=, --columns)."
        )
    check_names(cells)
    return names


class CellStream(FileStream):
    """Private: the rows of a file of cells; every line is checked when the file is opened."""

    dtype = np.dtype(np.float64)

    def __init__(self, file: File) -> None:
        super().__init__(file.path)
        self._file, self._schema = file, file.schema
        self._head: Head  # set by the first piece of a pass
        self._kept: list[NDArray[np.float64]] | None = []
        self._keys: Keys = [[] for _ in file.schema.keys]
        count, size = 0, 0
        with reword_file_errors(self.path), during("checking the lines"):
            for values, keys in self._pieces():
                count, size = count + len(values), size + values.nbytes
                for column, more in zip(self._keys, keys, strict=True):
                    column.extend(more)
                self._kept = None if size > file.max_bytes or self._kept is None else [*self._kept, values]
        self.require_same()
        self.shape, self.columns, self.names = (count, len(self._head.rest)), self._head.coordinates, self._head.names

    @abstractmethod
    def _pieces(self) -> Iterator[Part]:
        """Return all rows in order."""

    def read_whole(self) -> Any:
        """Return the table that the first pass kept, if it is small."""
        if self._kept is None:
            return super().read_whole()
        return self.clip(np.concatenate([np.empty((0, self.shape[1])), *self._kept]))

    def keys(self, name: str) -> list[Any]:
        return self._keys[self._schema.keys.index(name)]

    def _parts(self, rows: int) -> Iterator[NDArray[Any]]:
        for values, _ in self._pieces():
            yield from pieces(values, rows)


class JsonlStream(CellStream):
    """Private: the rows of a .jsonl: one JSON object per line; a blank line is a record of missing entries.

    Each line must have the names of the first line in the same order. If the caller lists the columns, other names are
    ignored and a name that a line lacks is a missing entry. No later record decides what the columns are.
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
                    raise InvalidFileError(
                        'it is empty, or its first line is: write one object such as {"age": 41} on each line.'
                    )
                names, objects = tuple(first), chain([first], objects)
            check_names(names)
            some = schema.bounds if listed is None else schema.bounds.among(names)  # lines may have more names
            self._head = Head.of(names, len(names), replace(schema, bounds=some))
            for part in self._head.parts(self._rows(names, objects)):
                report_progress(read(), size)
                yield part

    def _rows(self, names: tuple[str, ...], lines: Iterator[dict[str, Any]]) -> Iterator[Cells]:
        def text(entry: Any) -> str:  # a list or an object is not a number
            return "" if entry is None else str(entry) if isinstance(entry, str | bool | int | float) else "[]"

        for line in lines:
            if self._schema.columns is None and tuple(line) != names:
                raise InvalidFileError(
                    "its lines do not have the same names in the same order: list the columns to read (columns=, "
                    "--columns); then a name that a line lacks is a missing entry."
                )
            cells = map(line.get, names)
            keys = self._schema.keys
            yield [cell if name in keys else text(cell) for name, cell in zip(names, cells, strict=True)]


def _object(line: str) -> dict[str, Any]:
    if not line.strip():
        return {}
    try:
        # beyond the digits that Python reads as an integer: a float
        found = json.loads(line, parse_int=lambda digits: int(digits) if len(digits) < 1000 else float(digits))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidFileError('a line is not a JSON object: write one such as {"age": 41} on each line.')
    return found


class XlsxStream(CellStream):
    """Private: all stored rows of the first sheet, empty ones too; formulas have their saved values."""

    def _pieces(self) -> Iterator[Part]:
        require("openpyxl", ".xlsx", "excel")
        with self.path.open("rb") as file:
            sheet = openpyxl.load_workbook(file, read_only=True, data_only=True).worksheets[0]
            sheet.reset_dimensions()  # a writer may have stored too small ones
            before, first, rows = 0, list[str](), iter(sheet.values)
            for cells in (list(map(_cell, row)) for row in rows):
                while cells and not cells[-1]:
                    cells.pop()  # sheets keep columns that were once used
                if first := cells:
                    break
                before += 1
            if not first:
                raise InvalidFileError("its first sheet is empty: write a row of names or rows of numbers.")
            self._head = head = Head.of(find_header(first, self._schema), len(first), self._schema)
            own = [] if head.names else [*repeat(BLANK * head.width, before), first]
            yield from head.parts(chain(own, (_fit(row, head) for row in rows)))


def _fit(row: Sequence[Any], head: Head) -> Cells:
    if any(map(_cell, row[head.width :])):
        raise InvalidFileError(RAGGED)
    cells = [entry if place in head.apart else _cell(entry) for place, entry in enumerate(row[: head.width])]
    return cells + BLANK * (head.width - len(cells))


def _cell(entry: Any) -> str:
    """Return the text of a cell; a date is not a number."""
    return "" if entry is None else repr(entry) if isinstance(entry, int | float) else str(entry)
