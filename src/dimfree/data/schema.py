"""`Schema`: which columns of a table are coordinates and which are keys, their bounds, and how text is written.

All of it is public: stated by the caller before a record is read, never computed from records.
"""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dimfree._validate import check_choice, quoted
from dimfree.data.bounds import Bounds
from dimfree.data.columns import is_identifier, require_names
from dimfree.errors import InvalidFile, InvalidParameter

_NEED = "Pass a column name, or a list of them, such as ['age', 'income']."
_NO_DELIMITERS = frozenset("\"'\r\n\0+-._0123456789")


@dataclass(frozen=True)
class Schema:
    """What a caller states about a table. Public."""

    columns: tuple[str, ...] | None = None  # the coordinates; None: all columns
    exclude: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()  # columns that name a row's person or group, and may hold text
    bounds: Bounds = field(default_factory=Bounds)  # on entries of coordinates
    delimiter: str | None = None  # None: by the ending of the file
    decimal: str = "."
    encoding: str = "utf-8"

    @classmethod
    def checked(
        cls,
        columns: object = None,
        exclude: object = None,
        *,
        bounds: object = None,
        delimiter: object = None,
        decimal: object = ".",
        encoding: object = "utf-8",
    ) -> "Schema":
        """Check the parameters of a caller; an error states what to pass instead."""
        if isinstance(delimiter, str) and delimiter in ("\\t", "tab"):  # as a shell passes it
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
        return cls(
            columns=None if columns is None else _names("columns", columns),
            exclude=() if exclude is None else _names("exclude", exclude),
            bounds=Bounds.checked(bounds),
            delimiter=delimiter,  # type: ignore[arg-type]  # text, as checked
            decimal=decimal,  # type: ignore[arg-type]
            encoding=_encoding(encoding),
        )

    @property
    def is_all(self) -> bool:
        """Whether every column that holds no keys is a coordinate."""
        return self.columns is None and not self.exclude

    def places(self, names: Sequence[str] | None, apart: Sequence[int] = ()) -> list[int]:
        """Return the places of the coordinates, in the order of the table; columns that are `apart` hold keys."""
        if names is None:
            raise InvalidParameter(
                "The table has no column names, so that none can be chosen by name: leave columns and exclude "
                "(--columns, --exclude) out, or write it with names."
            )
        require_names(names, (*(self.columns or ()), *self.exclude))
        wanted = set(names if self.columns is None else self.columns) - set(self.exclude)
        found = [at for at, name in enumerate(names) if name in wanted and at not in apart]
        if not found:
            raise InvalidParameter("columns and exclude (--columns, --exclude) leave no column: keep at least one.")
        return found

    def split(self, names: Sequence[str] | None, width: int) -> tuple[list[int], list[int]]:
        """Return the places of the columns of keys and of the coordinates in a file."""
        if self.keys and names is None:
            raise InvalidFile(f"it has no line of names, expected one with {', '.join(map(repr, self.keys))}.")
        require_names(names or (), self.keys)
        apart = [list(names or ()).index(key) for key in self.keys]
        if self.is_all:
            return apart, [place for place in range(width) if place not in apart]
        return apart, self.places(names, apart)

    def then(self, later: "Schema", keys: Sequence[str] = ()) -> "Schema":
        """Return both choices, one after the other; `later` names columns that this one has kept."""
        kept, left = self.columns if later.columns is None else later.columns, (*self.exclude, *later.exclude)
        if kept is not None and not later.is_all:
            kept, left = tuple(name for name in kept if name not in left), ()
        return replace(
            self,
            columns=kept,
            exclude=tuple(dict.fromkeys(left)),
            keys=tuple(dict.fromkeys((*self.keys, *later.keys, *keys))),
            bounds=self.bounds.within(later.bounds),
        )

    def once_more(self, key: object) -> dict[str, list[str] | None]:
        """Return the same choice for a table that was chosen already and has lost this column of keys."""
        left = {*self.exclude, key}
        kept = None if self.columns is None else [name for name in self.columns if name not in left]
        return {"columns": kept, "exclude": None}

    def identifiers(self, names: Sequence[str] | None, texts: Sequence[str] = ()) -> list[str]:
        """Return the coordinates that look like identifiers and were not asked for by name. Public.

        By schema alone: those with such a name, and those that a file with declared types stores as text. Whether
        numbers are whole does not count: one missing entry may have made fractions of them.
        """
        listed, text = set(self.columns or ()), set(texts)
        return [name for name in names or () if name not in listed and (name in text or is_identifier(name))]

    @property
    def reader_encoding(self) -> str:
        """The encoding for Python's reader; a byte order mark before UTF-8 is not a part of the text."""
        return "utf-8-sig" if self.encoding == "utf-8" else self.encoding

    def between_cells(self, ending: str) -> str:
        """Return the delimiter of a file with this ending; with a decimal comma it is ';' where none is given."""
        if self.delimiter is not None:
            return self.delimiter
        return "\t" if ending.startswith(".tsv") else "," if self.decimal == "." else ";"


def _names(parameter: str, given: object) -> tuple[str, ...]:
    """Check one name, a list of names, or a pandas Index of them; a column of records by mistake is not read."""
    given = [given] if isinstance(given, str) else given
    is_index = (type(given).__module__.partition(".")[0], type(given).__name__) == ("pandas", "Index")
    if not isinstance(given, list | tuple) and not is_index:
        raise InvalidParameter(f"Expected {parameter} to be a list of names, got {type(given).__name__}. {_NEED}")
    names: tuple[object, ...] = tuple(given)  # type: ignore[arg-type]
    is_list = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    if not is_list or not (names or parameter == "exclude"):
        raise InvalidParameter(f"Expected {parameter} to be one or more names, each once. {_NEED}")
    return tuple(map(str, names))


def _is_delimiter(value: object) -> bool:
    one = isinstance(value, str) and len(value) == 1 and value.isascii()
    return one and value not in _NO_DELIMITERS and not str(value).isalpha()


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
