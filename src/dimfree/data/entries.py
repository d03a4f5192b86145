"""Parse cells and entries, each separately, so that one entry never changes how another is read."""

import math
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from numbers import Complex
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dimfree._validate.column_names import MISSING
from dimfree.data.boundary import attempt
from dimfree.data.extras import arrow, compute

TRUTH = {"true": 1.0, "false": 0.0}  # readers infer booleans for such a column, and text if another entry is neither
NO_KEY = MISSING | {"nan"}  # words for a missing key
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]{1,16}")  # a whole number to Arrow's reader of .csv files

Arrow: TypeAlias = Any  # a column; Arrow ships no types


def parse_number(cell: str, decimal: str = ".") -> float | None:
    """Return the number in a cell, NaN if it is missing, 1 or 0 for true or false, else None."""
    try:
        if decimal == ".":
            return float(cell)
        if "." not in cell:  # it would be a thousands separator
            return float(cell.replace(",", "."))
    except ValueError:
        pass
    word = cell.strip().lower()
    return math.nan if word in MISSING else TRUTH.get(word)


def parse_key(cell: Any) -> Any:
    """Return the key in a cell of text, None if it is missing; a cell of another type unchanged."""
    if not isinstance(cell, str):
        return cell
    return None if cell.strip().lower() in NO_KEY else cell.strip()


def parse_text_column(column: Arrow, decimal: str = ".") -> Arrow:
    """Return the numbers in a column of text, None if a cell is not a number; Arrow gives `parse_number`'s bits."""
    found = attempt(partial(_cast, column, decimal))
    if found is not None:
        return found
    cells = list_entries(column, lambda whole: whole.to_pylist(), lambda whole, row: whole[row].as_py(), "\ufffd")
    numbers = [math.nan if cell is None else parse_number(cell, decimal) for cell in cells]
    return None if None in numbers else arrow.array(numbers, arrow.float64())


def _cast(column: Arrow, decimal: str) -> Arrow:
    """Cast by Arrow; None if Arrow may have read what `parse_number` rejects, such as nan(7)."""
    if decimal == ",":
        if compute.any(compute.match_substring(column, ".")).as_py():
            return None
        column = compute.replace_substring(column, ",", ".")
    found = compute.ascii_trim_whitespace(column).cast(arrow.float64())
    return None if compute.any(compute.is_nan(found)).as_py() else found


def parse_floats(entries: Iterable[object]) -> NDArray[np.float64]:
    """Return each entry as a number, text included; NaN for every other entry."""
    return np.fromiter(map(_float_of, entries), dtype=np.float64)


def list_entries(
    column: Any, everything: Callable[[Any], Any], one: Callable[[Any, int], Any], other: Any = None
) -> list[Any]:
    """Return the entries of a column of another library; `other` for one that cannot be read, such as broken UTF-8."""
    found = attempt(lambda: list(everything(column)))
    if found is None:
        return [attempt(partial(one, column, row), other) for row in range(len(column))]
    return found


def _float_of(entry: object) -> float:
    try:
        if isinstance(entry, Complex | np.bool_):  # Complex includes real numbers, but not NumPy's booleans
            return float(entry.real) if entry.imag == 0 else math.nan
        if isinstance(entry, Decimal):
            return float(entry)
        if isinstance(entry, str | bytes):
            text = entry if isinstance(entry, str) else entry.decode()
            if (found := parse_number(text)) is not None or not _HEXADECIMAL.fullmatch(text.strip()):
                return math.nan if found is None else found
            whole = int(text, 16)
            return float(whole - 2**64 if whole >= 2**63 else whole)  # as a signed 64-bit integer
        # In a list of numbers alone NumPy reads an array without dimensions as its number, so it is one in every list.
        array = attempt(lambda: np.asanyarray(entry))  # keeps a mask
        held = array[()] if array is not None and array.ndim == 0 and array.dtype.kind in "biuf" else None
        return float(held) if isinstance(held, np.generic) else math.nan
    except (ArithmeticError, TypeError, ValueError):  # beyond the range of floats, or not a number
        return math.nan
