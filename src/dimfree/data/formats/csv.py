"""Numbers between delimiters (.csv, .tsv, also .gz), below a line of names or without one.

An empty cell is a missing entry, and every line after the names is a record, a blank one too. `csv_text` defines what
a file says. A plain file is read by Arrow (`csv_arrow`), to the same bits: how one record is written may change the
time that reading takes, and no value of another record.
"""

from collections.abc import Iterator
from io import TextIOWrapper

from dimfree.data.formats.csv_arrow import NotPlain, plain_parts
from dimfree.data.formats.csv_text import CsvText
from dimfree.data.formats.file_stream import content, decoding
from dimfree.data.formats.row_stream import Part, RowStream
from dimfree.progress import heard


class CsvStream(RowStream):
    """Private: the rows of a .csv or .tsv."""

    _plain = True  # until a part of the file shows that it is not

    def _first_pass(self) -> None:
        try:
            super()._first_pass()
        except NotPlain:
            self._plain = False
            super()._first_pass()

    def _pieces(self) -> Iterator[Part]:
        dialect = self._how.dialect
        delimiter = dialect.between_cells(self._how.ending)
        with content(self.path, self._how.ending) as (file, read, size), decoding(dialect.encoding):
            if self._plain:
                self._head, parts = plain_parts(file, delimiter, self._how)
            else:
                lines = TextIOWrapper(file, dialect.reader_encoding, newline="\n")  # closes the file when it is deleted
                text = CsvText(lines, delimiter, self._how)
                self._head, parts = text.head, text.parts()
            for part in parts:
                heard(read(), size)
                yield part
