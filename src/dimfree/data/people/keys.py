"""Keys: which rows belong together. Private: the keys and the number of different ones.

A column of keys is removed from a frame, since keys are not data (`take_column`). The form of a key is a function of
its own entry (`normalize_key`): neither other entries of the column nor errors about them change it.
"""

import re
from collections.abc import Hashable
from datetime import UTC, date, datetime, time
from numbers import Number
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Integers
from dimfree._validate import quote
from dimfree.data.boundary import attempt, boundary
from dimfree.data.entries import NO_KEY, list_entries
from dimfree.data.extras import arrow_types
from dimfree.data.frames import LIBRARIES
from dimfree.data.schema import Schema
from dimfree.data.tables import find_package
from dimfree.errors import InvalidDataError, InvalidParameterError

ONE_KEY_EACH = "Pass the name of a column of X, or a list or array with one key (a whole number or text) for each row."
_REMEDY = "Pass one key for each row: whole numbers or text."

_DOUBLES = 2**53  # below, every integer has a float of its own; from here on two people may share one
_NARROW: dict[type, int] = {np.float32: 2**24, np.float16: 2**11}
_FLOATS = ("Float16", "Float32", "Float64", "halffloat", "float", "double")  # of polars and Arrow
_MANY_DIGITS = 10**80  # before int(), which may not end for a Decimal
_MISSING = NO_KEY | {"nat", "<na>", "#n/a"}
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,15}")
_KINDS = ((str, bytes), (bool, np.bool_), (date, time, np.datetime64), Number)
_PLAIN = frozenset({str, bytes, int, float, bool, type(None)})  # equal datetimes may have different forms


def normalize_key(entry: Any) -> Hashable | None:
    """Return the normal form that identifies a key, a function of this entry alone; None for a missing key.

    Text is stripped; bytes are their text. An integer is itself in every type, and equals its plain text (7, 7.0 and
    "7", not "007" or "7.0"). A boolean is 1 or 0. A date or time is its ISO 8601 text to the microsecond; midnight is
    the date. Other objects keep their type. Missing are: None, NaN and the like; "", "NA", "nan", "null" and the like;
    numbers that are not integers; floats from 2**53 on, which do not distinguish integers; values that cannot be
    hashed; tuples with a missing part; and objects that raise when they are read.
    """
    if type(entry) is int and -_DOUBLES < entry < _DOUBLES:
        return entry  # the common case, fast
    return attempt(lambda: {_form(entry)}.pop())  # the set hashes it; an error of a key may quote it


def _form(entry: Any) -> Hashable | None:
    if isinstance(entry, str):
        return _normalize_text(str.__str__(entry))
    if isinstance(entry, bytes):
        try:
            return _normalize_text(bytes.decode(entry))
        except UnicodeDecodeError:
            return bytes, bytes(memoryview(entry))
    if entry is None or entry is np.ma.masked:
        return None
    if isinstance(entry, bool | np.bool_):
        return int(entry)
    if isinstance(entry, np.datetime64):
        entry = datetime.fromisoformat(str(entry.astype("M8[us]")))  # raises for NaT and years beyond 9999
    if isinstance(entry, date | time):
        return None if entry != entry else _normalize_moment(entry)  # NaT differs from itself
    if isinstance(entry, Number) and not isinstance(entry, np.timedelta64):
        return _normalize_number(entry)
    if isinstance(entry, tuple):
        parts = tuple(map(normalize_key, entry))
        return None if None in parts else (tuple, parts)
    hash(entry)  # before a comparison: arrays have none
    return None if entry != entry else (type(entry), entry)


def _normalize_number(number: Any) -> Hashable | None:
    if isinstance(number, complex | np.complexfloating):
        return _normalize_number(number.real) if number.imag == 0 else None
    limit = _NARROW.get(type(number), _DOUBLES) if isinstance(number, float | np.floating) else _MANY_DIGITS
    if not -limit < number < limit:
        return None
    whole = int(number)
    return _normalize_whole(whole) if whole == number else None


def _normalize_whole(whole: int) -> int | str:
    """Return the number, or its digits if readers of files would round it."""
    return whole if -_DOUBLES < whole < _DOUBLES else str(whole)


def _normalize_text(text: str) -> int | str | None:
    plain = text.strip()
    if _WHOLE.fullmatch(plain):
        return _normalize_whole(int(plain))
    return None if plain.lower() in _MISSING else plain


def _normalize_moment(moment: date | time) -> str:
    if isinstance(moment, time):
        return moment.isoformat()
    if not isinstance(moment, datetime):
        return moment.isoformat()[:10]
    at = moment if moment.tzinfo is None else moment.astimezone(UTC)
    # Rebuilt, because only a pandas Timestamp has nanoseconds.
    text = datetime(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond).isoformat()
    return text.removesuffix("T00:00:00") if moment.tzinfo is None else f"{text}+00:00"


def parse_written(name: str) -> int | str | None:
    """Return the form of the boolean, date or time that the name of a group writes; None for other text."""
    if name.lower() in ("true", "false"):
        return int(name.lower() == "true")
    try:
        return _normalize_moment(datetime.fromisoformat(name))
    except ValueError:
        return None


class Keys:
    """Private: for each row the number of its person in order of first appearance, -1 if the key is missing."""

    __slots__ = ("column", "persons")

    def __init__(self, persons: Integers, column: str | None) -> None:
        persons.flags.writeable = False
        self.persons, self.column = persons, column  # the name of the column is schema, hence public

    @property
    def count(self) -> int:
        """Count the persons. PRIVATE: never store, print or raise it."""
        return int(self.persons.max(initial=-1)) + 1

    def select_rows(self, rows: NDArray[np.bool_]) -> "Keys":
        persons = self.persons[rows]
        return Keys(_number_by_sorting(persons, persons >= 0)[0], self.column)

    def __repr__(self) -> str:
        return "<Keys>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Keys are private and cannot be copied or pickled. Read them again where you need them.")


class EncodedKeys(NamedTuple):
    """Private: a column of keys in normal form."""

    numbers: Integers  # of each row's form, in order of first appearance; -1 if it is missing
    forms: list[Hashable]  # the distinct forms, in that order


def open_keys(values: Any, column: str | None = None, missing: str = "complete-case") -> Keys:
    """Read keys of a list, array or column. Under "raise" mixed kinds are an error; else no error depends on data."""
    what = "column of keys" if column is None else f"column {column!r}"
    return Keys(encode_keys(values, what, missing).numbers, column)


def encode_keys(values: Any, what: str, missing: str) -> EncodedKeys:
    """Normalize every entry.

    One missing value turns integers into floats: from 2**53 on they are missing keys, unless that is an error anyway.
    """
    with boundary(lambda _: InvalidParameterError(f"The {what} must be a list or an array. {ONE_KEY_EACH}")):
        plain = to_plain_values(values, what)
        if isinstance(plain, list):
            return _encode_entries(plain, what, missing)
        is_exact = missing == "raise" and plain.dtype.kind in "iu"
        limit = np.inf if is_exact else _NARROW.get(plain.dtype.type, _DOUBLES)
        has_key = (plain > -limit) & (plain < limit)
        has_key &= np.trunc(plain) == plain
        whole = plain if plain.dtype.kind in "iu" else np.where(has_key, plain, 0).astype(np.int64)
        numbers, first = _number_by_sorting(whole, has_key)
        return EncodedKeys(numbers, list(map(_normalize_whole, whole[first].tolist())))


def _number_by_sorting(keys: NDArray[Any], has_key: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Assign numbers to keys in order of first appearance, -1 without a key; return where each appears first, too."""
    rows = np.flatnonzero(has_key)
    _, first, group = np.unique(keys[rows], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    numbers = np.full(len(keys), -1, dtype=np.int64)
    numbers[rows] = rank[group]
    return numbers, rows[first[order]]


def _encode_entries(entries: list[Any], what: str, missing: str) -> EncodedKeys:
    forms: dict[Hashable, int] = {}
    kinds: set[object] = set()

    def number(entry: Any) -> int:
        form = normalize_key(entry)
        found = -1 if form is None else attempt(lambda: forms.setdefault(form, len(forms)), -1)
        if found >= 0 and missing == "raise":
            kinds.add(next((kind for kind in _KINDS if isinstance(entry, kind)), type(entry)))
        return found

    if set(map(type, entries)) <= _PLAIN:  # equal entries of one plain type have one form, normalized once
        typed = list(zip(map(type, entries), entries, strict=True))
        of = {pair: number(pair[1]) for pair in dict.fromkeys(typed)}
        numbers = [of[pair] for pair in typed]
    else:
        numbers = list(map(number, entries))
    if len(kinds) > 1:
        raise InvalidDataError(
            f"The {what} mixes kinds of keys (numbers, text, dates, booleans), which missing='raise' forbids. Give the "
            "column one type, best text (in pandas read_csv(..., dtype={name: str})), or pass missing='complete-case' "
            "(--missing complete-case), which reads each key separately: 7 and '7' are one key, '007' is another. No "
            "budget was charged."
        )
    return EncodedKeys(np.array(numbers, dtype=np.int64), list(forms))


def take_column(X: Any, name: object, parameter: str) -> tuple[Any, Any, str | None]:
    """Return X without the named column, the column and its name; or X, the keys that were passed, and None."""
    if not isinstance(name, str):
        _check_same_index(X, name, parameter)
        return X, name, None
    package = find_package(X)
    if package == "dask":
        raise InvalidParameterError(
            f"`{parameter}` must be keys if X is a Dask DataFrame, got the name {quote(name)}. Pass "
            f"{parameter}=frame[{quote(name)}].compute() and the frame without that column. No budget was charged."
        )
    if package == "dimfree" and hasattr(X, "select"):  # read again if the column was not set apart before
        table = X.select(Schema(), (name,))
        return table, table.key(name), name
    frame = getattr(X, "obs", None) if package == "anndata" else X
    library = LIBRARIES.get(find_package(frame))
    if library is None or not hasattr(frame, library.mark):
        raise InvalidParameterError(
            f"`{parameter}`={quote(name)} needs a DataFrame, Arrow table or AnnData as X. {ONE_KEY_EACH}"
        )
    with boundary(lambda _: InvalidDataError("X cannot be read as a table whose column names are text.")):
        names = list(map(str, library.labels(frame)))
        if names.count(name) != 1:
            wrong = "no column" if name not in names else "more than one column"
            raise InvalidParameterError(
                f"`{parameter}` must name one column of X, got {quote(name)}; {wrong} has this name."
            )
        at = names.index(name)
        others = [place for place in range(len(names)) if place != at]
        return X if frame is not X else library.take(X, others), library.column(frame, at), name


def _check_same_index(X: Any, values: object, parameter: str) -> None:
    """Require the same index of a pandas Series and of a table with row labels."""
    labels: Any = getattr(X, {"pandas": "index", "anndata": "obs_names"}.get(find_package(X), ""), None)
    if labels is None or find_package(values) != "pandas" or not hasattr(values, "index"):
        return
    try:
        alike = len(labels) != len(values.index) or bool(labels.equals(values.index))  # lengths are compared later
    except Exception:  # noqa: BLE001 - a comparison that quotes a label
        alike = False
    if not alike:
        raise InvalidParameterError(
            f"`{parameter}` must have the index of X, got a Series with another index. If both are in the same order, "
            f"pass {parameter}=series.to_numpy(); if they match by label, {parameter}=series.reindex(X.index)."
        )


def to_plain_values(values: Any, what: str) -> NDArray[Any] | list[Any]:
    """Return an array of integers or floats, or the list of the entries. Errors depend on the schema alone."""
    package = find_package(values)
    if package in LIBRARIES:
        mark = "type" if package == "pyarrow" else "dtype"
        if not (hasattr(type(values), mark) and hasattr(values, "__len__")):
            raise InvalidParameterError(
                f"The {what} must be one column, got a {package} {type(values).__name__}. {_REMEDY}"
            )
        kind = getattr(values, mark)
        _check_type(kind, what)
        # types of columns that NumPy has; a missing float of other libraries becomes NaN
        is_numeric = kind.kind in "iuf" if isinstance(kind, np.dtype) else str(kind) in _FLOATS
        return np.asarray(values) if is_numeric else list_entries(values, *LIBRARIES[package].entries)
    if isinstance(values, str | bytes | dict | set | frozenset) or not hasattr(values, "__len__"):
        raise InvalidParameterError(f"The {what} must be a column name or keys, got {type(values).__name__}. {_REMEDY}")
    if not hasattr(values, "__array__"):
        return list_entries(values, lambda column: column, lambda column, at: column[at])
    array = values if isinstance(values, np.ndarray) else np.asarray(values)  # of another package
    if array.ndim != 1 or array.dtype.kind == "V":  # V is always declared, never caused by an entry
        raise InvalidParameterError(f"The {what} must be a vector of keys. {_REMEDY}")
    _check_type(array.dtype, what)
    if isinstance(array, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(array)
        return [None if gone else key for key, gone in zip(array.data, hidden, strict=True)]
    if array.dtype.kind in "iuf":
        return array
    return array.tolist() if array.dtype.kind in "bUS" else list(array)


def _check_type(kind: Any, what: str) -> None:
    """Refuse durations and nested values by type: libraries convert integers among them, too."""
    kind = getattr(kind, "pyarrow_dtype", kind)
    package = find_package(kind)
    if package == "pyarrow":
        while arrow_types.is_dictionary(kind) or arrow_types.is_run_end_encoded(kind):
            kind = kind.value_type
        refused = arrow_types.is_nested(kind) or arrow_types.is_duration(kind) or arrow_types.is_interval(kind)
    elif package == "polars":
        refused = kind.is_nested() or str(kind).startswith("Duration")
    else:
        refused = (kind.categories.dtype if hasattr(kind, "categories") else kind).kind == "m"
    if refused:
        raise InvalidParameterError(
            f"The {what} has a type of durations, lists or structs; keys must be whole numbers, text or dates. "
            "Declare the type of the column when you make the table. No budget was charged."
        )
