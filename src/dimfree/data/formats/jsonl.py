""".jsonl (also .gz): one JSON object per line; its names are the columns.

Nothing declares the names: they are those of the first line, and each line must have the same ones, in any order.
Where the caller lists the columns, other names are ignored and one that a line lacks is a missing entry, in one line as
in all of them: no record decides what the columns are. Every line is a record; a blank one has no names.
"""

import json
from collections.abc import Iterator
from io import TextIOWrapper
from itertools import chain
from typing import Any

from dimfree._validate.column_names import check_names
from dimfree.data.formats.file_stream import content, decoding
from dimfree.data.formats.row_stream import Head, Part, RowStream, in_parts
from dimfree.errors import InvalidFile
from dimfree.progress import heard


class JsonlStream(RowStream):
    """Private: the rows of a .jsonl."""

    def _pieces(self) -> Iterator[Part]:
        encoding = self._how.dialect.reader_encoding
        with content(self.path, self._how.ending) as (file, read, size), decoding(self._how.dialect.encoding):
            lines = TextIOWrapper(file, encoding, newline="\n")  # closes the file when it is deleted
            objects: Iterator[dict[str, Any]] = map(_object, lines)
            names = self._listed()
            if names is None:
                first = next(objects, None)
                if not first:
                    raise InvalidFile(
                        'it is empty, or its first line is; expected one object such as {"age": 41} on each line.'
                    )
                names, objects = tuple(first), chain([first], objects)
            check_names(names)
            self._head = Head.of(names, len(names), self._how)
            for part in in_parts(self._head, self._rows(names, objects)):
                heard(read(), size)
                yield part

    def _listed(self) -> tuple[str, ...] | None:
        """The columns that the caller lists, behind those of keys."""
        listed = self._how.selection.columns
        return None if listed is None else tuple(dict.fromkeys((*self._how.keys, *listed)))

    def _rows(self, names: tuple[str, ...], lines: Iterator[dict[str, Any]]) -> Iterator[list[str]]:
        for line in lines:
            if self._how.selection.columns is None and line.keys() != set(names):
                raise InvalidFile(
                    "its lines differ in their names, expected the same in each: list the columns you want (columns=, "
                    "--columns), and a name that a line lacks is a missing entry."
                )
            yield [_cell(line.get(name)) for name in names]


def _object(line: str) -> dict[str, Any]:
    if not line.strip():
        return {}
    try:
        found = json.loads(line, parse_int=str, parse_float=str)  # text, so that all cells are read alike
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidFile('a line of it is no JSON object, expected one such as {"age": 41} on each line.')
    return found


def _cell(entry: Any) -> str:
    """The text of an entry; one that is a list or an object is no number."""
    if entry is None:
        return ""
    return str(entry) if isinstance(entry, str | bool | float) else "[]"
