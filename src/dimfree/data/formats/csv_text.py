"""What a .csv says: its lines as cells.

Each line is split separately. Quotes that a line leaves open are an error, so that no cell reaches into the next line,
which is another record.
"""

import csv
from collections.abc import Iterator
from itertools import repeat
from typing import TextIO

from dimfree.data.formats.row_stream import RAGGED, Head, Part, header, in_parts, other_delimiter
from dimfree.data.read_options import ReadOptions
from dimfree.errors import DimfreeError, InvalidFile

_BLANK = [""]  # the cells of a blank line
_BROKEN = (
    "its cells contain line breaks, or quotes that are not closed in the same line; expected one line per record, with "
    "a line feed or CRLF at its end. Write line breaks as spaces; in pandas X.replace(r'[\\r\\n]+', ' ', regex=True)."
)


class CsvText:
    """Private: the lines of a .csv as cells, once the first line has shown what the columns are.

    `file` keeps the ends of its lines (newline="\\n"). Blank lines before a line of names are skipped; every other
    blank line is a record without entries.
    """

    def __init__(self, file: TextIO, delimiter: str, how: ReadOptions) -> None:
        self._lines = (_cells(line, delimiter) for line in file)
        self._before, self._first = -1, list[str]()
        for cells in self._lines:
            self._before, self._first = self._before + 1, cells
            if cells != _BLANK:
                break
        if not self._first:
            raise InvalidFile("it is empty, expected a line of names or lines of numbers.")
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
        width = len(self._first)
        blank = _BLANK * width
        if not self.head.names:
            yield from repeat(blank, self._before)
            yield self._first
        for cells in self._lines:
            if len(cells) == width:
                yield cells
            elif cells == _BLANK:
                yield blank
            else:
                raise InvalidFile(RAGGED)


def _cells(line: str, delimiter: str) -> list[str]:
    """The cells of one line: a function of this line alone."""
    line = line.rstrip("\r\n")
    if '"' not in line and "\r" not in line:
        return line.split(delimiter)
    if "\r" in line:
        raise InvalidFile(_BROKEN)
    reader = csv.reader((line, ""), delimiter=delimiter)
    cells = next(reader)
    if reader.line_num > 1:  # it went on to look for a closing quote
        raise InvalidFile(_BROKEN)
    return cells
