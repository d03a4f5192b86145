"""Keys: which rows belong together. Private: the keys, and how many different ones there are.

A column of keys is taken out of a frame, since keys are no coordinates (`take_column`). The form of a key is a function
of its own entry (`normalize_key`): neither the other entries of the column nor an error about one of them changes it.
"""

import re
from collections.abc import Hashable
from datetime import UTC, date, datetime, time
from numbers import Number
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Integers
from dimfree._validate import quoted
from dimfree.data.boundary import attempt, boundary
from dimfree.data.entries import NO_KEY, listed
from dimfree.data.extras import arrow_types
from dimfree.data.frames import LIBRARIES
from dimfree.data.schema import Schema
from dimfree.data.tables import package_of
from dimfree.errors import InvalidParameter, InvalidRecords

ONE_KEY_EACH = "Pass the name of a column of X, or a list or array with one key (a whole number or text) for each row."
_NEED = "Pass one key for each row: whole numbers or text."

_DOUBLES = 2**53  # below it every whole number has a float of its own; from it on two people may share one
_NARROW: dict[type, int] = {np.float32: 2**24, np.float16: 2**11}
_FLOATS = ("Float16", "Float32", "Float64", "halffloat", "float", "double")  # of polars and Arrow
_MANY_DIGITS = 10**80  # before int(), which may not end for a Decimal
_MISSING = NO_KEY | {"nat", "<na>", "#n/a"}
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,15}")
_KINDS = ((str, bytes), (bool, np.bool_), (date, time, np.datetime64), Number)
_PLAIN = frozenset({str, bytes, int, float, bool, type(None)})  # moments may be equal and have other forms


def normalize_key(entry: Any) -> Hashable | None:
    """Return the form that tells one key from another, a function of this entry alone; None for a missing key.

    Text is itself, without the spaces around it; bytes are their text. A whole number is itself, whatever its type, and
    one key with the text that writes it plainly (7, 7.0 and "7", not "007" or "7.0"). A truth value is 1 or 0. A date
    or time is its text in ISO 8601 to the microsecond, midnight that of the date. Other objects keep their type.
    Missing are: None, NaN and the like; "", "NA", "nan", "null" and the like; numbers that are not whole; floats from
    2**53 on, which no longer tell whole numbers apart; values that cannot be hashed; tuples with a missing part; and
    objects that raise when they are read.
    """
    if type(entry) is int and -_DOUBLES < entry < _DOUBLES:
        return entry  # the common case, fast
    return attempt(lambda: {_form(entry)}.pop())  # which is hashed; an error of a key may quote it


def _form(entry: Any) -> Hashable | None:
    if isinstance(entry, str):
        return _of_text(str.__str__(entry))
    if isinstance(entry, bytes):
        try:
            return _of_text(bytes.decode(entry))
        except UnicodeDecodeError:
            return bytes, bytes(memoryview(entry))
    if entry is None or entry is np.ma.masked:
        return None
    if isinstance(entry, bool | np.bool_):
        return int(entry)
    if isinstance(entry, np.datetime64):
        entry = datetime.fromisoformat(str(entry.astype("M8[us]")))  # raises for NaT and years beyond 9999
    if isinstance(entry, date | time):
        return None if entry != entry else _of_moment(entry)  # NaT differs from itself
    if isinstance(entry, Number) and not isinstance(entry, np.timedelta64):
        return _of_number(entry)
    if isinstance(entry, tuple):
        parts = tuple(map(normalize_key, entry))
        return None if None in parts else (tuple, parts)
    hash(entry)  # before a comparison: arrays have none
    return None if entry != entry else (type(entry), entry)


def _of_number(number: Any) -> Hashable | None:
    if isinstance(number, complex | np.complexfloating):
        return _of_number(number.real) if number.imag == 0 else None
    limit = _NARROW.get(type(number), _DOUBLES) if isinstance(number, float | np.floating) else _MANY_DIGITS
    if not -limit < number < limit:
        return None
    whole = int(number)
    return _of_whole(whole) if whole == number else None


def _of_whole(whole: int) -> int | str:
    """The number itself, or its digits where readers of files would round it."""
    return whole if -_DOUBLES < whole < _DOUBLES else str(whole)


def _of_text(text: str) -> int | str | None:
    plain = text.strip()
    if _WHOLE.fullmatch(plain):
        return _of_whole(int(plain))
    return None if plain.lower() in _MISSING else plain


def _of_moment(moment: date | time) -> str:
    if isinstance(moment, time):
        return moment.isoformat()
    if not isinstance(moment, datetime):
        return moment.isoformat()[:10]
    at = moment if moment.tzinfo is None else moment.astimezone(UTC)
    # Built anew: a Timestamp of pandas has nanoseconds, which other types do not have.
    text = datetime(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond).isoformat()
    return text.removesuffix("T00:00:00") if moment.tzinfo is None else f"{text}+00:00"


def written_value(name: str) -> int | str | None:
    """The form of the truth value, date or moment that a text writes, for names of groups; None for other text."""
    if name.lower() in ("true", "false"):
        return int(name.lower() == "true")
    try:
        return _of_moment(datetime.fromisoformat(name))
    except ValueError:
        return None


class Keys:
    """Private: for each row the number of its owner in order of first appearance, -1 where the key is missing."""

    __slots__ = ("column", "persons")

    def __init__(self, persons: Integers, column: str | None) -> None:
        persons.flags.writeable = False
        self.persons, self.column = persons, column  # the name of the column is schema, hence public

    @property
    def count(self) -> int:
        """How many owners. PRIVATE: never store, print or raise it."""
        return int(self.persons.max(initial=-1)) + 1

    def chosen(self, rows: NDArray[np.bool_]) -> "Keys":
        persons = self.persons[rows]
        return Keys(_by_sorting(persons, persons >= 0)[0], self.column)

    def __repr__(self) -> str:
        return "<Keys>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Keys are not copied or pickled: they are private. Read them again where they are needed.")


class Coded(NamedTuple):
    """Private: a column of keys in normal form."""

    numbers: Integers  # of each row's form, in order of first appearance; -1 where it is missing
    forms: list[Hashable]  # the different forms, in that order


def open_keys(values: Any, column: str | None = None, on_missing: str = "drop") -> Keys:
    """Keys of a list, array or column. Under "raise" mixed kinds are an error; else no error depends on an entry."""
    what = "column of keys" if column is None else f"column {column!r}"
    return Keys(coded(values, what, on_missing).numbers, column)


def coded(values: Any, what: str, on_missing: str) -> Coded:
    """The form of every entry.

    One gap makes floats of whole numbers: from 2**53 on they are missing keys, unless such a gap is an error anyway.
    """
    with boundary(lambda _: InvalidParameter(f"Expected {what} to be a list or an array. {ONE_KEY_EACH}")):
        plain = plain_values(values, what)
        if isinstance(plain, list):
            return _of_entries(plain, what, on_missing)
        is_exact = on_missing == "raise" and plain.dtype.kind in "iu"
        limit = np.inf if is_exact else _NARROW.get(plain.dtype.type, _DOUBLES)
        has_key = (plain > -limit) & (plain < limit)
        has_key &= np.trunc(plain) == plain
        whole = plain if plain.dtype.kind in "iu" else np.where(has_key, plain, 0).astype(np.int64)
        numbers, first = _by_sorting(whole, has_key)
        return Coded(numbers, list(map(_of_whole, whole[first].tolist())))


def _by_sorting(keys: NDArray[Any], has_key: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Numbers in order of first appearance, -1 without a key; and where each appears first."""
    rows = np.flatnonzero(has_key)
    _, first, group = np.unique(keys[rows], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    numbers = np.full(len(keys), -1, dtype=np.int64)
    numbers[rows] = rank[group]
    return numbers, rows[first[order]]


def _of_entries(entries: list[Any], what: str, on_missing: str) -> Coded:
    forms: dict[Hashable, int] = {}
    kinds: set[object] = set()

    def number(entry: Any) -> int:
        form = normalize_key(entry)
        found = -1 if form is None else attempt(lambda: forms.setdefault(form, len(forms)), -1)
        if found >= 0 and on_missing == "raise":
            kinds.add(next((kind for kind in _KINDS if isinstance(entry, kind)), type(entry)))
        return found

    if set(map(type, entries)) <= _PLAIN:  # equal entries of one plain type have one form, normalized once
        typed = list(zip(map(type, entries), entries, strict=True))
        of = {pair: number(pair[1]) for pair in dict.fromkeys(typed)}
        numbers = [of[pair] for pair in typed]
    else:
        numbers = list(map(number, entries))
    if len(kinds) > 1:
        raise InvalidRecords(
            f"The {what} mixes kinds of keys (numbers, text, dates, truth values), and on_missing='raise' forbids it: "
            "give the column one type, such as text (in pandas read_csv(..., dtype={name: str})), or pass "
            "on_missing='drop' (--on-missing drop), which reads each key separately: 7 and '7' are one key, '007' is "
            "another. No budget was charged."
        )
    return Coded(np.array(numbers, dtype=np.int64), list(forms))


def take_column(X: Any, name: object, parameter: str) -> tuple[Any, Any, str | None]:
    """X without the column of this name, the column and its name; or X, the keys that were passed, and None.

    `parameter` is for the error.
    """
    if not isinstance(name, str):
        _check_same_index(X, name, parameter)
        return X, name, None
    package = package_of(X)
    if package == "dask":
        raise InvalidParameter(
            f"Expected {parameter}={quoted(name)} with a table in memory: of a Dask DataFrame pass the keys, "
            f"{parameter}=frame[{quoted(name)}].compute(), and the frame without that column."
        )
    if package == "dimfree" and hasattr(X, "select"):  # read again if the column was not set apart before
        table = X.select(Schema(), (name,))
        return table, table.key(name), name
    frame = getattr(X, "obs", None) if package == "anndata" else X
    library = LIBRARIES.get(package_of(frame))
    if library is None or not hasattr(frame, library.mark):
        raise InvalidParameter(
            f"Expected {parameter}={quoted(name)} with a DataFrame, Arrow table or AnnData. {ONE_KEY_EACH}"
        )
    with boundary(lambda _: InvalidRecords("X cannot be read as a table whose column names are text.")):
        names = list(map(str, library.labels(frame)))
        if names.count(name) != 1:
            wrong = "no column" if name not in names else "more than one column"
            raise InvalidParameter(
                f"Expected {parameter}={quoted(name)} to name one column of X; {wrong} has this name."
            )
        at = names.index(name)
        others = [place for place in range(len(names)) if place != at]
        return X if frame is not X else library.take(X, others), library.column(frame, at), name


def _check_same_index(X: Any, values: object, parameter: str) -> None:
    """Require of a Series with a table that has row labels the same ones: a matter of how both were made."""
    labels: Any = getattr(X, {"pandas": "index", "anndata": "obs_names"}.get(package_of(X), ""), None)
    if labels is None or package_of(values) != "pandas" or not hasattr(values, "index"):
        return
    try:
        alike = len(labels) != len(values.index) or bool(labels.equals(values.index))  # lengths are compared later
    except Exception:  # noqa: BLE001 - a comparison that quotes a label
        alike = False
    if not alike:
        raise InvalidParameter(
            f"Expected {parameter} with the index of X, got a Series with another one. If both are in the same order, "
            f"pass {parameter}=series.to_numpy(); if they go together by label, {parameter}=series.reindex(X.index)."
        )


def plain_values(values: Any, what: str) -> NDArray[Any] | list[Any]:
    """An array of whole numbers or floats, or the list of the entries. An error depends on the schema alone."""
    package = package_of(values)
    if package in LIBRARIES:
        mark = "type" if package == "pyarrow" else "dtype"
        if not (hasattr(type(values), mark) and hasattr(values, "__len__")):
            raise InvalidParameter(
                f"Expected {what} to be one column, got a {package} {type(values).__name__}. {_NEED}"
            )
        kind = getattr(values, mark)
        _check_type(kind, what)
        # whether NumPy has this type of column; in other libraries a gap in a column of floats is NaN
        is_numeric = kind.kind in "iuf" if isinstance(kind, np.dtype) else str(kind) in _FLOATS
        return np.asarray(values) if is_numeric else listed(values, *LIBRARIES[package].entries)
    if isinstance(values, str | bytes | dict | set | frozenset) or not hasattr(values, "__len__"):
        raise InvalidParameter(f"Expected {what} to be a column name or keys, got {type(values).__name__}. {_NEED}")
    if not hasattr(values, "__array__"):
        return listed(values, lambda column: column, lambda column, at: column[at])
    array = values if isinstance(values, np.ndarray) else np.asarray(values)  # of another package
    if array.ndim != 1 or array.dtype.kind == "V":  # V is declared, no entry makes an array one
        raise InvalidParameter(f"Expected {what} to be a vector of keys. {_NEED}")
    _check_type(array.dtype, what)
    if isinstance(array, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(array)
        return [None if gone else key for key, gone in zip(array.data, hidden, strict=True)]
    if array.dtype.kind in "iuf":
        return array
    return array.tolist() if array.dtype.kind in "bUS" else list(array)


def _check_type(kind: Any, what: str) -> None:
    """Refuse durations and nested values by their type: libraries make such of the whole numbers among them, too."""
    kind = getattr(kind, "pyarrow_dtype", kind)
    package = package_of(kind)
    if package == "pyarrow":
        while arrow_types.is_dictionary(kind) or arrow_types.is_run_end_encoded(kind):
            kind = kind.value_type
        refused = arrow_types.is_nested(kind) or arrow_types.is_duration(kind) or arrow_types.is_interval(kind)
    elif package == "polars":
        refused = kind.is_nested() or str(kind).startswith("Duration")
    else:
        refused = (kind.categories.dtype if hasattr(kind, "categories") else kind).kind == "m"
    if refused:
        raise InvalidParameter(
            f"Keys in {what} have a type of durations, lists or structs; only whole numbers, text and dates are "
            "supported. Declare the type of the column when you make the table. No budget was charged."
        )
