"""`Schema`: columns, keys and bounds of a table, and the format of text. Public, never computed from records."""

import codecs
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_choice, check_finite, quote
from dimfree.data.columns import is_identifier, require_names
from dimfree.data.extras import sparse
from dimfree.data.gpu.rows import DeviceRows, copy_to_device_of, namespace
from dimfree.errors import InvalidFileError, InvalidParameterError

_REMEDY = "Pass a column name, or a list of them, such as ['age', 'income']."
_EXAMPLE = "such as {'age': [0, 120]}: public knowledge, never computed from the records."
_NAMELESS = (
    "`bounds` names columns, but the columns have no names. Write names into the table, pass bounds by position for an "
    "array ({0: [0, 120]}), or leave bounds out."
)
_DENSE = (
    "The rows are sparse, and the bounds of a column exclude 0, the value of an entry that is not stored. Pass a dense "
    "table, or leave such bounds out."
)
_NO_DELIMITERS = frozenset("\"'\r\n\0+-._0123456789")


@dataclass(frozen=True)
class Bounds:
    """Public: the lowest and highest value of columns, to which each entry is clipped separately.

    By column name, where a number and its text are one name; by position from 0 for a table without names.
    """

    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def from_arguments(cls, given: object) -> "Bounds":
        if given is None or isinstance(given, Bounds):
            return given or cls()
        if not isinstance(given, Mapping) or not all(type(name) in (str, int) for name in given):
            raise InvalidParameterError(f"`bounds` must map column names to [low, high], {_EXAMPLE}")
        checked = {str(name): _check_ends(name, ends) for name, ends in given.items()}
        if len(checked) < len(given):
            raise InvalidParameterError(
                "`bounds` must name each column once, got a number and its text for the same column."
            )
        return cls(checked)

    def among(self, columns: Sequence[str] | None) -> "Bounds":
        return Bounds({name: self.ends[name] for name in columns or () if name in self.ends})

    def within(self, other: "Bounds") -> "Bounds":
        """Return the intersection of both bounds."""
        ends = {**self.ends, **other.ends}
        for name in self.ends.keys() & other.ends.keys():
            (low, high), (lower, higher) = self.ends[name], other.ends[name]
            ends[name] = _check_ends(name, [max(low, lower), min(high, higher)])
        return Bounds(ends)

    def require_columns(self, names: Sequence[str] | None) -> None:
        """Raise an error unless the table has all these columns, as coordinates or otherwise."""
        if names is not None:
            require_names(names, list(self.ends))
        elif not all(re.fullmatch("-?[0-9]+", name) for name in self.ends):
            raise InvalidParameterError(_NAMELESS)

    def limits(self, columns: Sequence[str] | None, width: int) -> "Limits | None":
        """Return the limits of a table with these coordinates; None if none of them has bounds."""
        keys = list(map(str, range(width))) if columns is None else columns
        if columns is None:
            self.require_columns(None)
            if not self.ends.keys() <= set(keys):
                raise InvalidParameterError(f"`bounds` must use positions from 0 to {width - 1}, the columns of X.")
        kept = self.among(keys).ends
        places = [at for at, key in enumerate(keys) if key in kept]
        low, high = (np.array([ends[side] for ends in kept.values()]) for side in (0, 1))
        return Limits(places, low, high) if kept else None

    def to_parameters(self) -> dict[str, str]:
        """Return the bounds as public parameters of a release; empty without bounds."""
        return {"bounds": self.to_json()} if self.ends else {}

    def to_json(self) -> str:
        return json.dumps({name: list(ends) for name, ends in self.ends.items()})


@dataclass(frozen=True, eq=False)
class Limits:
    """Public: the columns of a table that have bounds, by position, and the bounds."""

    places: list[int]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def clip(self, rows: Any) -> Any:
        """Copy rows of any kind as float64 with each finite entry clipped to its bounds, by that entry alone."""
        if sparse.issparse(rows):
            low, high = np.full(rows.shape[1], -np.inf), np.full(rows.shape[1], np.inf)
            low[self.places], high[self.places] = self.low, self.high
            values, column = np.array(rows.data, dtype=np.float64), rows.indices
            values = np.where(np.isfinite(values), np.clip(values, low[column], high[column]), values)
            return sparse.csr_array((values, column, rows.indptr), shape=rows.shape)
        if isinstance(rows, DeviceRows):
            return DeviceRows(self._clip(rows.floats().tensor.clone()))
        with np.errstate(all="ignore"):  # a warning or error could reveal records
            return self._clip(np.array(rows, dtype=np.float64, order="C"))

    def _clip(self, numbers: Any) -> Any:
        where, entries = namespace(numbers).where, numbers[:, self.places]
        finite, low, high = (
            namespace(numbers).isfinite(entries),
            copy_to_device_of(entries, self.low),
            copy_to_device_of(entries, self.high),
        )
        entries = where(finite & (entries < low), low, entries)
        numbers[:, self.places] = where(finite & (entries > high), high, entries)
        return numbers

    def require_zero(self) -> None:
        """Raise an error unless 0, the value of an entry that is not stored, is within the bounds."""
        if (self.low > 0).any() or (self.high < 0).any():
            raise InvalidParameterError(_DENSE)


def _check_ends(name: str | int, ends: object) -> tuple[float, float]:
    try:
        numbers = [check_finite("bounds", end) for end in ends] if isinstance(ends, list | tuple) else []
    except InvalidParameterError:
        numbers = []
    if len(numbers) == 2 and numbers[0] < numbers[1]:
        return numbers[0], numbers[1]
    which = quote(name) if any(map(str.isalpha, str(name))) else "a column"  # else the name could be an entry
    raise InvalidParameterError(f"`bounds` of {which} must be [low, high]: two finite numbers, low below high.")


@dataclass(frozen=True)
class Schema:
    """Declare the columns, bounds and text format of a table. Everything in it is public.

    Attributes
    ----------
    columns : tuple of str or None
        Names of the columns to release; None for all.
    exclude : tuple of str
        Names of columns to leave out.
    keys : tuple of str
        Columns with privacy IDs or groups; they may hold text.
    bounds : Bounds
        Public bounds of columns.
    delimiter : str or None
        The sign between cells of a text file; None: by the ending of the file.
    decimal : str
        The decimal sign of a text file.
    encoding : str
        The encoding of a text file.
    """

    columns: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    bounds: Bounds = field(default_factory=Bounds)
    delimiter: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"

    @classmethod
    def from_arguments(
        cls,
        columns: object = None,
        exclude: object = None,
        *,
        bounds: object = None,
        delimiter: object = None,
        decimal: object = ".",
        encoding: object = "utf-8",
    ) -> "Schema":
        """Check the arguments of a caller."""
        if isinstance(delimiter, str) and delimiter in ("\\t", "tab"):  # as a shell passes it
            delimiter = "\t"
        is_sign = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii() and not delimiter.isalpha()
        if delimiter is not None and (not is_sign or delimiter in _NO_DELIMITERS):
            raise InvalidParameterError(
                f"`delimiter` must be one sign, such as ',' or ';' or '|', or 'tab', got {quote(delimiter)}."
            )
        if check_choice("decimal", decimal, (".", ",")) == delimiter:
            raise InvalidParameterError(
                "`decimal` and `delimiter` must differ, got ',' for both. Files with a decimal comma mostly have ';' "
                "between cells (--delimiter ';'). Leave decimal out if numbers have a decimal point."
            )
        return cls(
            columns=None if columns is None else _names("columns", columns),
            exclude=() if exclude is None else _names("exclude", exclude),
            bounds=Bounds.from_arguments(bounds),
            delimiter=delimiter,  # type: ignore[arg-type]  # text, as checked
            decimal=decimal,  # type: ignore[arg-type]
            encoding=_encoding(encoding),
        )

    @property
    def is_all(self) -> bool:
        return self.columns is None and not self.exclude

    def places(self, names: Sequence[str] | None, apart: Sequence[int] = ()) -> list[int]:
        """Return the positions of the coordinates in the order of the table; the columns `apart` are keys."""
        if names is None:
            raise InvalidParameterError(
                "The table has no column names to select by: leave columns and exclude (--columns, --exclude) out, or "
                "write the table with names."
            )
        require_names(names, (*(self.columns or ()), *self.exclude))
        wanted = set(names if self.columns is None else self.columns) - set(self.exclude)
        found = [at for at, name in enumerate(names) if name in wanted and at not in apart]
        if not found:
            raise InvalidParameterError(
                "`columns` and `exclude` (--columns, --exclude) leave no column: keep at least one."
            )
        return found

    def split(self, names: Sequence[str] | None, width: int) -> tuple[list[int], list[int]]:
        """Return the positions of the columns of keys and of the coordinates in a file."""
        if self.keys and names is None:
            raise InvalidFileError(
                f"it has no line of names: write one that contains {', '.join(map(repr, self.keys))}."
            )
        require_names(names or (), self.keys)
        apart = [list(names or ()).index(key) for key in self.keys]
        rest = [place for place in range(width) if place not in apart] if self.is_all else self.places(names, apart)
        return apart, rest

    def then(self, later: "Schema", keys: Sequence[str] = ()) -> "Schema":
        """Return this schema followed by `later`, which names columns that this one has kept."""
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

    def repeat_choice(self, key: object) -> dict[str, list[str] | None]:
        """Return the same selection for a table that was selected already and has lost this column of keys."""
        left = {*self.exclude, key}
        kept = None if self.columns is None else [name for name in self.columns if name not in left]
        return {"columns": kept, "exclude": None}

    def find_identifiers(self, names: Sequence[str] | None, texts: Sequence[str] = ()) -> list[str]:
        """Find coordinates that `columns` does not list and that look like identifiers, by name or as stored text."""
        listed, text = set(self.columns or ()), set(texts)
        return [name for name in names or () if name not in listed and (name in text or is_identifier(name))]


def _names(parameter: str, given: object) -> tuple[str, ...]:
    """Check one name, a list of names, or a pandas Index; a column of records, passed by mistake, is not read."""
    given = [given] if isinstance(given, str) else given
    is_index = (type(given).__module__.partition(".")[0], type(given).__name__) == ("pandas", "Index")
    if not isinstance(given, list | tuple) and not is_index:
        raise InvalidParameterError(f"`{parameter}` must be a list of names, got {type(given).__name__}. {_REMEDY}")
    names: tuple[object, ...] = tuple(given)  # type: ignore[arg-type]
    is_list = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    if not is_list or not (names or parameter == "exclude"):
        raise InvalidParameterError(f"`{parameter}` must be one or more names, each once. {_REMEDY}")
    return tuple(map(str, names))


def _encoding(value: object) -> str:
    try:
        found = codecs.lookup(value) if isinstance(value, str) else None
    except (LookupError, ValueError):
        found = None
    if found is None or not getattr(found, "_is_text_encoding", True):
        raise InvalidParameterError(
            f"`encoding` must be the name of a text encoding, such as 'utf-8' or 'latin-1', got {quote(value)}."
        )
    return "utf-8" if found.name == "utf-8-sig" else found.name
