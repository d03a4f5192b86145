"""What a .csv says: its lines as cells, by Python's csv module."""

import csv
from collections.abc import Iterator
from typing import TextIO

from dimfree.data.formats.row_stream import RAGGED, Head, Part, header, in_parts, other_delimiter
from dimfree.data.read_options import ReadOptions
from dimfree.errors import DimfreeError, InvalidFile

_END = "\x00end\x00"  # appended as the last line: a file that is cut inside quotes absorbs it


class CsvText:
    """Private: the lines of a .csv as cells, once the first line has shown what the columns are."""

    def __init__(self, file: TextIO, delimiter: str, how: ReadOptions) -> None:
        self._file, self._ended = file, False
        self._reader = csv.reader(self._lines(), delimiter=delimiter)
        self._first = next((cells for cells in self._reader if cells), [])
        if self._first == [_END]:
            raise InvalidFile("it is empty, expected a line of names or lines of numbers.")
        self._require_end_outside_quotes()
        self._other = other_delimiter(self._first, delimiter)
        try:
            self.head = Head.of(header(self._first, how), len(self._first), how)
        except DimfreeError as error:
            raise (InvalidFile(self._other) if self._other else error) from None
        if self._other and self._is_one_number_of_two(how):
            raise InvalidFile(self._other)

    def _is_one_number_of_two(self, how: ReadOptions) -> bool:
        """Whether 1,2 would be read as 1.2 below "age,income", as nobody named a delimiter. By schema alone."""
        unsaid = how.dialect.delimiter is None and how.dialect.decimal == ","
        return unsaid and self.head.names is not None and "," in self._first[0]

    def parts(self) -> Iterator[Part]:
        """All records."""
        try:
            yield from in_parts(self.head, self._rows())
        except InvalidFile as error:
            raise InvalidFile(self._other or str(error)) from None

    def _rows(self) -> Iterator[list[str]]:
        """The cells of every record, as many as there are columns."""
        if not self.head.names:
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
                raise InvalidFile(RAGGED)
            yield cells or [""]
            self._require_end_outside_quotes()

    def _lines(self) -> Iterator[str]:
        yield from self._file
        self._ended = True
        yield f"{_END}\n"  # inside quotes the line break would become part of the cell

    def _require_end_outside_quotes(self) -> None:
        if self._ended:
            raise InvalidFile("it ends inside a cell in quotes: it is truncated.")
