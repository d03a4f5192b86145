"""One normal form for keys, whatever type their column has (U1, G1).

The type of a column depends on all its entries: one text among numbers turns the others into text, one gap turns whole
numbers into floats. So what tells one key from another is read off the entry in such a way that these changes leave it
as it was.
"""

import re
from collections.abc import Hashable
from datetime import UTC, date, datetime, time
from numbers import Number
from typing import Any

import numpy as np

from dimfree.data.entries import read_hexadecimal

_DOUBLES = 2**53  # below it every whole number has a float of its own; from it on two people may share one
_NARROW: dict[type, int] = {np.float32: 2**24, np.float16: 2**11}

_SIGNED = ("nan", "inf", "infinity", "1.#ind", "1.#qnan")
_MISSING = frozenset(
    ["", "na", "n/a", "<na>", "#n/a", "#n/a n/a", "#na", "null", "none", "nat"]
    + [sign + word for word in _SIGNED for sign in ("", "-", "+")]
)
_TRUTH = {"true": 1, "false": 0}
_NUMBER_STARTS = frozenset("+-.0123456789")
_NAN = re.compile(r"[+-]?nan\(\w*\)", re.ASCII)  # missing to Arrow's reader of .csv files
_REAL_COMPLEX = re.compile(  # what NumPy makes of 7 + 0j beside text
    r"-?0j|\((?P<real>-?(nan|inf|[\d.]+(e[+-]\d+)?))[+-](0|nan)j\)", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].+)?")
_TIME = re.compile(r"\d{2}:\d{2}(:\d{2}(\.\d+)?)?")


def canonical(key: Any) -> Hashable | None:
    """What tells one key from another, a function of this entry alone; None where the key is missing.

    Spaces around text do not count, and bytes are their text. Text that reads as a number is that number: 7, 7.0, "7",
    "007", "+7", "7e0" and Decimal(7) are one key, and so are 1, True and "true". Dates and times are their text in ISO
    8601 to the microsecond, a date being its midnight. Complex numbers that are not real are their text. Other text
    is itself, other objects keep their type. Missing are: None, NaN and similar values, and text that says so ("",
    "NA", "nan", "null"); numbers that are not whole numbers below 2**53, in every type, since floats would not tell
    them apart; values that cannot be hashed; tuples with a missing part; and objects that raise when they are read.
    """
    if type(key) is int:
        return key if -_DOUBLES < key < _DOUBLES else None  # the common case, fast
    try:
        found = _of_text(key) if type(key) is str else _told(key)
        hash(found)
    except Exception:  # noqa: BLE001 - what a key says about itself may quote it
        return None
    return found


def distinct_below(kind: type) -> int:
    """The size from which on numbers of this type do not tell people apart."""
    return _NARROW.get(kind, _DOUBLES)


def _told(key: Any) -> Hashable | None:
    if isinstance(key, str):
        return _of_text(str.__str__(key))
    if isinstance(key, bytes):
        return _of_bytes(bytes(memoryview(key)))
    if key is None or key is np.ma.masked:
        return None
    if isinstance(key, bool | np.bool_):
        return int(key)
    if isinstance(key, np.datetime64):
        return _told(datetime.fromisoformat(str(key.astype("M8[us]"))))  # raises for NaT and years beyond 9999
    if isinstance(key, date | time):
        return None if key != key else _of_moment(key)  # NaT differs from itself
    if isinstance(key, Number) and not isinstance(key, np.timedelta64):
        return _of_number(key)
    if isinstance(key, tuple | frozenset):
        return _of_parts(key)
    hash(key)  # before a comparison: arrays have none
    return None if key != key else (type(key), key)


def _of_number(number: Any) -> Hashable | None:
    """The whole number, if its size leaves no doubt which one it is; a complex number that is not real is its text."""
    if isinstance(number, complex | np.complexfloating):
        return _of_number(number.real) if number.imag == 0 else _of_text(str(number))
    limit = distinct_below(type(number))
    if not -limit < number < limit:  # before int(), which may not end for a Decimal
        return None
    whole = int(number)
    return whole if whole == number else None


def _of_text(text: str) -> Hashable | None:
    if len(text) < 16 and text.isascii() and text.isdigit():
        return int(text)  # below 10**15: the common case, fast
    plain = text.strip()
    while plain.endswith("\0"):  # NumPy drops zeros at the end, in arrays of text alone
        plain = plain.rstrip("\0").rstrip()
    word = plain.lower()
    if word in _MISSING or _NAN.fullmatch(word):
        return None
    if word in _TRUTH:
        return _TRUTH[word]
    number = _read_number(plain)
    if number is None and (found := _REAL_COMPLEX.fullmatch(plain)):
        return _of_text(found["real"] or "0")
    return _read_moment(plain) if number is None else _of_number(number)


def _of_bytes(key: bytes) -> Hashable | None:
    try:
        return _of_text(key.decode())
    except UnicodeDecodeError:
        return bytes, key.rstrip(b"\0")


def _of_parts(key: tuple[Any, ...] | frozenset[Any]) -> Hashable | None:
    parts = [_told(part) for part in key]
    if any(part is None for part in parts):
        return None
    return (frozenset, frozenset(parts)) if isinstance(key, frozenset) else (tuple, tuple(parts))


def _read_number(text: str) -> float | None:
    """The number that a reader of tables would see in this text; Python's own "1_000" is no number to them."""
    if text[0] not in _NUMBER_STARTS or "_" in text or not text.isascii():
        return None
    try:
        return float(text)
    except ValueError:
        return read_hexadecimal(text)


def _read_moment(text: str) -> str:
    """A date or time in ISO 8601 as `_of_moment` writes it, any other text as it is."""
    if not text[0].isdigit():
        return text
    try:
        if _DATE.fullmatch(text):
            return _of_moment(datetime.fromisoformat(text))
        return _of_moment(time.fromisoformat(text)) if _TIME.fullmatch(text) else text
    except ValueError:
        return text


def _of_moment(moment: date | time) -> str:
    if isinstance(moment, time):
        return moment.isoformat()
    if not isinstance(moment, datetime):
        return datetime(moment.year, moment.month, moment.day).isoformat()
    zone = "" if moment.tzinfo is None else "+00:00"
    at = moment if moment.tzinfo is None else moment.astimezone(UTC)
    # Built anew: a Timestamp of pandas has nanoseconds, which other types have not.
    return datetime(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond).isoformat() + zone
