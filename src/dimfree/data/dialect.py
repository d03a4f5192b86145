"""How a file of text is written: delimiter, decimal sign and encoding. Said by the caller, never guessed."""

import codecs
from dataclasses import dataclass

from dimfree._validate import check_choice, quoted
from dimfree._validate.column_names import MISSING
from dimfree.data.entries import TRUTH
from dimfree.errors import InvalidParameter

_TAB = ("\\t", "tab")  # as a shell passes it
_NO_DELIMITERS = frozenset("\"'\r\n\0+-._0123456789")


@dataclass(frozen=True)
class Dialect:
    """Of a .csv, .tsv or .jsonl file; public."""

    delimiter: str | None = None  # None: by the ending of the file
    decimal: str = "."
    encoding: str = "utf-8"

    @classmethod
    def checked(cls, delimiter: object = None, decimal: object = ".", encoding: object = "utf-8") -> "Dialect":
        """Of the parameters of `read_table`; an error says what to pass instead."""
        if isinstance(delimiter, str) and delimiter in _TAB:
            delimiter = "\t"
        if delimiter is not None and not _is_delimiter(delimiter):
            raise InvalidParameter(
                f"Expected delimiter={quoted(delimiter)} to be one sign, such as ',' or ';' or '|', or 'tab'."
            )
        if check_choice("decimal", decimal, (".", ",")) == delimiter:
            raise InvalidParameter(
                "Expected decimal=',' with another delimiter than ',': files with a decimal comma mostly have ';' "
                "between cells (--delimiter ';'). Leave decimal out where numbers have a point."
            )
        return cls(delimiter, decimal, _encoding(encoding))  # type: ignore[arg-type]  # both are text, as checked

    @property
    def reader_encoding(self) -> str:
        """The same for Python's reader; a byte order mark before UTF-8 is no part of the text."""
        return "utf-8-sig" if self.encoding == "utf-8" else self.encoding

    def between_cells(self, ending: str) -> str:
        """The delimiter of a file with this ending; beside a decimal comma it is ';' where none is given."""
        if self.delimiter is not None:
            return self.delimiter
        return "\t" if ending.startswith(".tsv") else "," if self.decimal == "." else ";"

    def number(self, cell: str) -> float | None:
        """The number in a cell, NaN where it is missing, 1 or 0 for true or false; None where it is something else."""
        text = cell.strip()
        word = text.lower()
        if word in MISSING:
            return float("nan")
        if word in TRUTH:
            return TRUTH[word]
        try:
            return float(text if self.decimal == "." else _with_point(text))
        except ValueError:
            return None


def _with_point(text: str) -> str:
    """A number with a decimal comma; a point in it would be a thousands separator, which is refused."""
    if "." in text:
        raise ValueError
    return text.replace(",", ".")


def _is_delimiter(value: object) -> bool:
    return (
        isinstance(value, str)
        and len(value) == 1
        and value.isascii()
        and value not in _NO_DELIMITERS
        and not (value.isalpha())
    )


def _encoding(value: object) -> str:
    try:
        found = codecs.lookup(value) if isinstance(value, str) else None
    except (LookupError, ValueError):
        found = None
    if found is None or not getattr(found, "_is_text_encoding", True):
        raise InvalidParameter(
            f"Expected encoding={quoted(value)} to be the name of a text encoding, such as 'utf-8' or 'latin-1'."
        )
    return "utf-8" if found.name == "utf-8-sig" else found.name
