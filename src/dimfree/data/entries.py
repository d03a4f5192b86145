"""Entries of a table that is no array of numbers, each read by itself: what one of them is changes no other."""

import math
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from numbers import Complex, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

TRUTH = {"true": 1.0, "false": 0.0}  # readers make truth of such a column, and text if another entry is neither
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]{1,16}")  # a whole number to Arrow's reader of .csv files


def floats_of(entries: Iterable[object]) -> NDArray[np.float64]:
    """The numbers that entries are, or that their text reads as; NaN for every other entry."""
    return np.fromiter(map(_float_of, entries), dtype=np.float64)


def listed(
    column: Any, everything: Callable[[Any], Any], one: Callable[[Any, int], Any], other: Any = None
) -> list[Any]:
    """The entries of a column of another library.

    Where one of them cannot be read, such as text that is not UTF-8, `other` stands for it and the rest is read one by
    one.
    """
    try:
        return list(everything(column))
    except Exception:  # noqa: BLE001 - it may quote the entry
        return [_read_one(column, row, one, other) for row in range(len(column))]


def _read_one(column: Any, row: int, one: Callable[[Any, int], Any], other: Any) -> Any:
    try:
        return one(column, row)
    except Exception:  # noqa: BLE001 - it may quote the entry
        return other


def are_numbers(entries: Iterable[object]) -> bool:
    """Whether every entry is a real number or missing."""
    return all(entry is None or isinstance(entry, Real) for entry in entries)


def _float_of(entry: object) -> float:
    try:
        if isinstance(entry, Complex | np.bool_):  # every real number, too; NumPy's truth is none of Python's numbers
            return float(entry.real) if entry.imag == 0 else math.nan
        if isinstance(entry, str | bytes):
            return _read(entry if isinstance(entry, str) else entry.decode())
        return float(entry) if isinstance(entry, Decimal) else _held_by(entry)
    except (ArithmeticError, LookupError, TypeError, ValueError):  # beyond the range of floats, or no number
        return math.nan


def _held_by(entry: object) -> float:
    """The number in an array without dimensions, or in what NumPy reads as one; NaN for anything else.

    In a list of nothing but numbers NumPy takes such an entry for its number, so that it must be one in every list.
    """
    try:
        array = np.asanyarray(entry)  # keeps a mask
    except Exception:  # noqa: BLE001 - it may quote an entry
        return math.nan
    held = array[()] if array.ndim == 0 and array.dtype.kind in "biuf" else None
    return float(held) if isinstance(held, np.generic) else math.nan


def _read(text: str) -> float:
    """The number that a reader of tables would see in this text, had it seen the text alone."""
    try:
        return float(text)
    except ValueError:
        plain = text.strip()
        number = read_hexadecimal(plain)
        return TRUTH[plain.lower()] if number is None else float(number)


def read_hexadecimal(text: str) -> int | None:
    """The whole number in text such as 0x1F, as 64 bits with a sign hold it, which is how Arrow reads it."""
    if not _HEXADECIMAL.fullmatch(text):
        return None
    number = int(text, 16)
    return number - 2**64 if number >= 2**63 else number
