"""Read delimited numbers (.csv, .tsv, also .gz), with or without a line of names."""

import csv
import re
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import chain, repeat

import numpy as np

from dimfree.data.boundary import attempt
from dimfree.data.entries import NO_KEY, parse_key, parse_text_column
from dimfree.data.extras import arrow, arrow_csv
from dimfree.data.formats.cells import BLANK, RAGGED, Cells, CellStream, Head, Part, find_header
from dimfree.data.formats.file_stream import text_of
from dimfree.errors import DimfreeError, InvalidFileError
from dimfree.progress import report_progress

MIN_ARROW_SIZE = 2**20  # characters of a file from which loading Arrow is worth it
PART_SIZE = 2**23  # characters read at a time
_BLOCK_BYTES = 2**20  # of a part, for one thread of Arrow; a line must fit into it
_COLUMN_BYTES = 2**10  # of a block, at least, for each column: about fifty lines, since a block has a cost
_MISSING = sorted({form for word in NO_KEY for form in (word, word.upper(), word.title())})
_BLANK_LINES = re.compile(r"(?:\r*\n)*(?:\r+\Z)?")
_OTHERS = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}  # common delimiters, as typed in a shell
_BROKEN = (
    "its cells contain line breaks, or quotes that are not closed in the same line. Write one line per record, with a "
    "line feed or CRLF at its end, and line breaks as spaces: in pandas X.replace(r'[\\r\\n]+', ' ', regex=True)."
)


class CsvStream(CellStream):
    """Private: the rows of a .csv or .tsv, with or without a line of names.

    Each line is split separately: an open quote is an error, so that no cell extends into the next record. Blank lines
    above a line of names are skipped; every other blank line is a record of missing entries. Arrow splits a part of the
    file without quotes into the same cells.
    """

    def _pieces(self) -> Iterator[Part]:
        schema, ending = self._schema, self._file.ending
        delimiter = schema.delimiter or ("\t" if ending.startswith(".tsv") else "," if schema.decimal == "." else ";")
        with text_of(self.path, ending, schema.encoding) as (text, read, size):
            bodies = iter(lambda: (text.read(PART_SIZE) + text.readline()).replace("\r\n", "\n"), "")
            before, body = 0, ""
            for body in bodies:
                blank = _BLANK_LINES.match(body)[0]  # type: ignore[index]  # it fits an empty text
                before, body = before + blank.count("\n") + blank.endswith("\r"), body[len(blank) :]
                if body:
                    break
            if not body and not before:
                raise InvalidFileError("it is empty: write a line of names or lines of numbers.")
            line, _, rest = body.partition("\n")
            first = _split(line, delimiter)
            other = _other_delimiter(first, delimiter)
            try:
                self._head = head = Head.of(find_header(first, schema), len(first), schema, schema.decimal)
            except DimfreeError as error:
                raise (InvalidFileError(other) if other else error) from None
            if other and schema.delimiter is None and schema.decimal == "," and head.names and "," in line:
                raise InvalidFileError(other)  # 1,2 would be read as 1.2 below "age,income"
            by_arrow = len(body) >= MIN_ARROW_SIZE and find_spec("pyarrow") is not None
            try:
                if head.names is None:
                    yield from head.parts(repeat(BLANK * head.width, before))
                for each in chain([rest if head.names else body], bodies):
                    part = attempt(lambda: _by_arrow(each, head, delimiter)) if by_arrow else None  # noqa: B023 - now
                    for found in [part] if part else head.parts(_rows(each, delimiter, head.width)):
                        report_progress(read(), size)
                        yield found
            except InvalidFileError as error:
                raise InvalidFileError(other or str(error)) from None


def _other_delimiter(cells: Cells, delimiter: str) -> str | None:
    """Return the remedy if a first line of one cell contains another common delimiter."""
    sign = next((sign for sign in _OTHERS if len(cells) == 1 and sign in cells[0] and sign != delimiter), None)
    return sign and (
        f"its first line is a single cell for the delimiter {delimiter!r}: if it has another delimiter, pass "
        f"delimiter= (--delimiter {_OTHERS[sign]})."
    )


def _rows(body: str, delimiter: str, width: int) -> Iterator[Cells]:
    """Return the cells of every record, one per column."""
    for line in body.removesuffix("\n").split("\n") if body else ():
        cells = _split(line, delimiter)
        if len(cells) != width:
            if cells != BLANK:
                raise InvalidFileError(RAGGED)
            cells = BLANK * width
        yield cells


def _split(line: str, delimiter: str) -> list[str]:
    """Split one line into cells: a function of this line alone."""
    line = line.rstrip("\r")
    if '"' not in line and "\r" not in line:
        return line.split(delimiter)
    if "\r" in line:
        raise InvalidFileError(_BROKEN)
    if len(line) > csv.field_size_limit():
        csv.field_size_limit(len(line))  # a long cell is not an error
    reader = csv.reader((line, ""), delimiter=delimiter)
    cells = next(reader)
    if reader.line_num > 1:  # the reader continued to find a closing quote
        raise InvalidFileError(_BROKEN)
    return cells


def _by_arrow(body: str, head: Head, delimiter: str) -> Part | None:
    """Split by Arrow's reader with every column declared as text; None if it may split lines or cells elsewhere."""
    if body.startswith("\ufeff") or any(sign in body for sign in '"\r\0'):  # Arrow skips a byte order mark
        return None
    names = [str(place) for place in range(head.width)]
    table = arrow_csv.read_csv(
        arrow.BufferReader(body.encode()),
        arrow_csv.ReadOptions(column_names=names, block_size=max(_BLOCK_BYTES, _COLUMN_BYTES * head.width)),
        arrow_csv.ParseOptions(
            delimiter=delimiter,
            quote_char=False,
            double_quote=False,
            escape_char=False,
            newlines_in_values=False,
            ignore_empty_lines=False,
        ),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, arrow.string()),
            include_columns=[names[place] for place in (*head.rest, *head.apart)],
            null_values=_MISSING,
            strings_can_be_null=True,
        ),
    )
    width = len(head.rest)
    found = [parse_text_column(column, head.decimal or ".") for column in table.columns[:width]]
    if any(column is None for column in found):
        return None  # the caller raises the error
    keys = [[parse_key(cell) for cell in column.to_pylist()] for column in table.columns[width:]]
    values, start = np.empty((table.num_rows, width)), 0
    for batch in arrow.table(found, names[:width]).to_batches():
        values[start : start + batch.num_rows] = batch.to_tensor(null_to_nan=True, row_major=True).to_numpy()
        start += batch.num_rows
    return values, keys
