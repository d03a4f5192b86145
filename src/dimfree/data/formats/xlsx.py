""".xlsx: the first sheet of a workbook, below a row of names or without one; an empty cell is a missing entry.

Every row down to the last one that the sheet stores is a record, an empty one too.
"""

from collections.abc import Iterator
from itertools import repeat
from typing import Any

from dimfree.data.formats.file_stream import FilePath, require
from dimfree.data.formats.row_stream import RAGGED, Head, Part, RowStream, header, in_parts
from dimfree.data.read_options import ReadOptions
from dimfree.errors import InvalidFile


class XlsxStream(RowStream):
    """Private: the rows of a sheet; formulas count with the values that were saved with them."""

    def __init__(self, path: FilePath, how: ReadOptions = ReadOptions()) -> None:
        require("openpyxl", ".xlsx", "excel")
        super().__init__(path, how)

    def _pieces(self) -> Iterator[Part]:
        from openpyxl import load_workbook

        with self.path.open("rb") as file:
            book = load_workbook(file, read_only=True, data_only=True)
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # which a writer may have stated too small
            rows = ([_cell(entry) for entry in row] for row in sheet.values)
            before, first = -1, list[str]()
            for cells in rows:
                before, first = before + 1, _trimmed(cells)
                if first:
                    break
            if not first:
                raise InvalidFile("its first sheet is empty, expected a row of names or rows of numbers.")
            names = header(first, self._how)
            self._head = Head.of(names, len(first), self._how)
            yield from in_parts(self._head, self._rows(before, first, rows))

    def _rows(self, before: int, first: list[str], rest: Iterator[list[str]]) -> Iterator[list[str]]:
        width = len(first)
        if self._head.names is None:
            yield from repeat([""] * width, before)
            yield first
        for cells in rest:
            if any(cells[width:]):
                raise InvalidFile(RAGGED)
            yield (cells + [""] * width)[:width]


def _trimmed(cells: list[str]) -> list[str]:
    """Without the empty cells at its end: sheets remember columns that were used once."""
    while cells and not cells[-1]:
        cells = cells[:-1]
    return cells


def _cell(entry: Any) -> str:
    """The text of a cell; a date is no number."""
    return "" if entry is None else repr(entry) if isinstance(entry, int | float) else str(entry)
