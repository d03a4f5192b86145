"""Plain .csv files by Arrow's reader, every column declared: nothing is inferred from what cells hold.

The rule: what Arrow accepts here, `csv_text` reads to the same bits; everything else is `NotPlain`, and `csv_text`
reads the whole file. A part is plain if it has no quotes, no carriage returns (but before a line feed), no NUL and no
'(', and does not begin with a byte order mark, which Arrow would skip. Then both readers cut lines and cells at the
same places, and every text that Arrow takes for a float64 is one that Python's float takes for the same number, since
both round correctly. 'nan(…)', which Arrow alone accepts, needs the '('; underscores, hexadecimal numbers, truth values
and digits beyond ASCII are no float64 to Arrow. tests/data/test_csv_readers.py compares the readers.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from io import StringIO
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dimfree._validate.column_names import MISSING
from dimfree.data.formats.csv_text import CsvText
from dimfree.data.formats.row_stream import Head, Part, key_of
from dimfree.data.read_options import ReadOptions
from dimfree.errors import DimfreeError

WORTH = 2**20  # bytes of a file from which on loading Arrow pays
_PART_BYTES = 2**25  # read at a time
_FILLED_BYTES = 2**26  # written into the blank lines of a part, at most
_BLOCK_BYTES = 2**20  # of a part, for one thread; a line must fit into it
_COLUMN_BYTES = (
    2**10
)  # of a block, at least, for each column of a wide file: some fifty lines, since a block has its cost
_NOT_PLAIN = (b'"', b"\r", b"\0", b"(")
_MISSING = sorted({form for word in MISSING | {"nan"} for form in (word, word.upper(), word.title())})
_ENCODINGS = ("utf-8", "ascii", "iso8859-1", "iso8859-15", "cp1252")  # a byte below 128 is that sign and nothing else
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class NotPlain(Exception):
    """Something in a file that `csv_text` has to read, or to refuse; says nothing of what."""


def plain_parts(file: BinaryIO, delimiter: str, how: ReadOptions) -> tuple[Head, Iterator[Part]]:
    """The columns of a plain file, and all its rows in order; NotPlain may come at any part."""
    if find_spec("pyarrow") is None or how.dialect.encoding not in _ENCODINGS:
        raise NotPlain
    lines = _whole_lines(file, how.dialect.encoding)
    first = next(lines, b"")
    if len(first) < WORTH:
        raise NotPlain
    line, _, rest = first.lstrip(b"\n").partition(b"\n")
    if b"\r" in line:
        raise NotPlain
    try:
        head = CsvText(StringIO(line.decode()), delimiter, how).head
    except DimfreeError:
        raise NotPlain from None
    return head, _parts(rest if head.names else first, lines, head, delimiter)


def _parts(body: bytes, lines: Iterator[bytes], head: Head, delimiter: str) -> Iterator[Part]:
    while body or (body := next(lines, b"")):
        yield _part(body, head, delimiter)
        body = b""


def _whole_lines(file: BinaryIO, encoding: str) -> Iterator[bytes]:
    """Consecutive parts of a file as UTF-8, cut after a line feed, which is the only end of a line in them."""
    rest, first = b"", True
    while block := file.read(_PART_BYTES):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield _as_utf8(rest + block[:cut], encoding, first)
            rest, first = block[cut:], False
        else:
            rest += block
    if rest:
        yield _as_utf8(rest, encoding, first)


def _as_utf8(part: bytes, encoding: str, first: bool) -> bytes:
    if first and encoding == "utf-8":
        part = part.removeprefix(_BYTE_ORDER_MARK)
    if not part.isascii():
        try:
            part = part.decode(encoding).encode()
        except UnicodeDecodeError:
            raise NotPlain from None
    return part.replace(b"\r\n", b"\n") if b"\r" in part else part


def _part(body: bytes, head: Head, delimiter: str) -> Part:
    import pyarrow
    from pyarrow import csv

    if body.startswith(_BYTE_ORDER_MARK) or any(sign in body for sign in _NOT_PLAIN):
        raise NotPlain
    names = [str(place) for place in range(head.width)]
    types = {names[place]: pyarrow.float64() for place in head.rest}
    types |= {names[place]: pyarrow.string() for place in head.apart}
    filled = None
    try:
        table = csv.read_csv(
            pyarrow.BufferReader(body),
            csv.ReadOptions(column_names=names, block_size=max(_BLOCK_BYTES, _COLUMN_BYTES * head.width)),
            csv.ParseOptions(
                delimiter=delimiter,
                quote_char=False,
                double_quote=False,
                escape_char=False,
                newlines_in_values=False,
                ignore_empty_lines=False,
            ),
            csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=_MISSING,
                strings_can_be_null=False,
                decimal_point=head.dialect.decimal,
            ),
        )
    except MemoryError:
        raise
    except pyarrow.ArrowException:  # it quotes a line
        filled = _fill_blank_lines(body, delimiter.encode() * (head.width - 1))
        if filled is None:
            raise NotPlain from None
    if filled is not None:
        return _part(filled, head, delimiter)
    keys = [[key_of(cell) for cell in table.column(len(head.rest) + at).to_pylist()] for at in range(len(head.apart))]
    return _rows(table, len(head.rest)), keys


def _fill_blank_lines(body: bytes, empty: bytes) -> bytes | None:
    """Write the cells of a record without entries into every blank line; None if there is none, or too many.

    Arrow refuses a blank line where there are several columns.
    """
    if body.count(b"\n") * len(empty) > _FILLED_BYTES:  # other lines have as many bytes each as `empty`, or more
        return None
    filled = empty + body if body.startswith(b"\n") else body
    for _ in range(2):  # of consecutive blank lines the first pass fills every other one
        filled = filled.replace(b"\n\n", b"\n" + empty + b"\n")
    return None if len(filled) == len(body) else filled


def _rows(table: Any, width: int) -> NDArray[np.float64]:
    """The first columns, row by row; a missing entry is NaN."""
    values = np.empty((table.num_rows, width))
    start = 0
    for batch in table.select(range(width)).to_batches() if width else ():
        values[start : start + batch.num_rows] = batch.to_tensor(null_to_nan=True, row_major=True).to_numpy()
        start += batch.num_rows
    return values
