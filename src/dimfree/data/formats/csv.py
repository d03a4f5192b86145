"""Comma-separated numbers, below a line of names or without one; an empty cell is a missing entry.

A large file is read once to see that every line is in order and how many there are, then once for every pass.
"""

import csv
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from dimfree._validate.column_names import MISSING, check_names, number_in
from dimfree.data.formats.file_stream import FileStream
from dimfree.data.progress import during, heard
from dimfree.errors import InvalidFile

_END = "\x00end\x00"  # appended as the last line: a file that is cut inside quotes absorbs it
_OFTEN = 4096  # lines between two reports of progress


def open_csv(path: Path) -> TextIO:
    return path.open(encoding="utf-8-sig", newline="")


class CsvText:
    """Private: the lines of a .csv as cells, once the first line has shown what the columns are."""

    def __init__(self, file: TextIO, keys: Sequence[str] = ()) -> None:
        self._file, self._ended = file, False
        self._reader = csv.reader(self._lines())
        first = next((cells for cells in self._reader if cells), [])
        if first == [_END]:
            raise InvalidFile("it is empty, expected a line of names or lines of numbers.")
        self._require_end_outside_quotes()
        self.names = _header(first)
        self.apart = places(self.names, keys)
        self.rest = [place for place in range(len(first)) if place not in self.apart]
        self.coordinates = self.names and tuple(self.names[place] for place in self.rest)
        self._first = first

    def rows(self) -> Iterator[list[str]]:
        """The cells of every record, as many as there are columns."""
        if not self.names:
            yield self._first
        for cells in self._reader:
            if self._ended:
                if cells == [_END]:
                    return
                cells[-1] = cells[-1].removesuffix(f"{_END}\n")
            # In one column a blank line is a record with a missing entry: dropping it would change the number of rows.
            if not cells and len(self._first) > 1:
                continue
            if len(cells or [""]) != len(self._first):
                raise InvalidFile("its lines differ in their number of cells, expected one cell per column everywhere.")
            yield cells or [""]
            self._require_end_outside_quotes()

    def numbers(self, cells: list[str]) -> list[float]:
        """The coordinates of a record."""
        return _numbers([cells[place] for place in self.rest] if self.apart else cells, self.coordinates)

    def _lines(self) -> Iterator[str]:
        yield from self._file
        self._ended = True
        yield f"{_END}\n"  # inside quotes the line break would become part of the cell

    def _require_end_outside_quotes(self) -> None:
        if self._ended:
            raise InvalidFile("it ends inside a cell in quotes: it is truncated.")


class CsvStream(FileStream):
    """Private: the rows of a .csv; every line is judged when it is opened."""

    dtype = np.dtype(np.float64)

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with open_csv(path) as file, during("checking the lines"):
            text, count = CsvText(file), 0
            for cells in text.rows():
                text.numbers(cells)
                count += 1
                if count % _OFTEN == 0:
                    heard(file.buffer.tell(), path.stat().st_size)
        self.shape, self.columns = (count, len(text.rest)), text.coordinates

    def _parts(self, rows: int) -> Iterator[NDArray[Any]]:
        with open_csv(self.path) as file:
            text, values = CsvText(file), array("d")
            for cells in text.rows():
                values.extend(text.numbers(cells))
                if len(values) >= rows * len(text.rest):
                    yield self._block(values)
                    values = array("d")
            if values:
                yield self._block(values)

    def _block(self, values: "array[float]") -> NDArray[np.float64]:
        return np.frombuffer(values, dtype=np.float64).reshape(-1, self.shape[1])


def places(names: Sequence[str] | None, keys: Sequence[str]) -> list[int]:
    """Where the columns that hold keys stand."""
    if keys and names is None:
        raise InvalidFile(f"it has no line of names, expected one with {', '.join(map(repr, keys))}.")
    for key in keys:
        if list(names or ()).count(key) != 1:
            wrong = "more than one column" if key in (names or ()) else "no column"
            raise InvalidFile(f"it has {wrong} named {key!r}, expected exactly one.")
    return [list(names or ()).index(key) for key in keys]


def key_of(cell: str) -> str | None:
    return None if is_missing_cell(cell) else cell.strip()


def is_missing_cell(cell: str) -> bool:
    """Whether a cell of a .csv that holds this text holds no key."""
    return cell.strip().lower() in MISSING | {"nan"}


def _header(cells: list[str]) -> tuple[str, ...] | None:
    """The names in the first line, or None when it is a record.

    A mixture is refused: taken as names, the numbers of a record would be published with the mean.
    """
    numeric = [number_in(cell) is not None for cell in cells]
    if all(numeric):
        return None
    if any(numeric):
        raise InvalidFile(
            "its first line mixes names with numbers or empty cells, expected a name for every column and no index."
        )
    check_names(cells)
    return tuple(cell.strip() for cell in cells)


def _numbers(cells: list[str], names: tuple[str, ...] | None) -> list[float]:
    try:
        return list(map(float, cells))  # the common case, fast
    except ValueError:
        numbers = [number_in(cell) for cell in cells]
    if None in numbers:
        column = numbers.index(None)
        title = repr(names[column]) if names else str(column + 1)
        raise InvalidFile(f"column {title} holds something that is not a number, expected numbers between commas.")
    return [number for number in numbers if number is not None]
