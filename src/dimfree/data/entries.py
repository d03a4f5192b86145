"""The one parser of cells and entries: each is read separately, so that what one of them is changes no other."""

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

TRUTH = {"true": 1.0, "false": 0.0}  # readers make truth of such a column, and text if another entry is neither
NO_KEY = MISSING | {"nan"}  # words of a cell that holds nothing
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]{1,16}")  # a whole number to Arrow's reader of .csv files

Arrow: TypeAlias = Any  # a column; Arrow ships no types


def number(cell: str, decimal: str = ".") -> float | None:
    """Return the number in a cell, NaN where it is missing, 1 or 0 for true or false; None for anything else."""
    try:
        if decimal == ".":
            return float(cell)
        if "." not in cell:  # which would be a thousands separator
            return float(cell.replace(",", "."))
    except ValueError:
        pass
    word = cell.strip().lower()
    return math.nan if word in MISSING else TRUTH.get(word)


def key_of(cell: Any) -> Any:
    """Return the key in a cell of text, None where it holds none; a cell of another type as it is."""
    if not isinstance(cell, str):
        return cell
    return None if cell.strip().lower() in NO_KEY else cell.strip()


def text_floats(column: Arrow, decimal: str = ".") -> Arrow:
    """The numbers in a column of text, None if a cell holds something else; Arrow and `number` give the same bits."""
    found = attempt(partial(_cast, column, decimal))
    if found is not None:
        return found
    cells = listed(column, lambda whole: whole.to_pylist(), lambda whole, row: whole[row].as_py(), "\ufffd")
    numbers = [math.nan if cell is None else number(cell, decimal) for cell in cells]
    return None if None in numbers else arrow.array(numbers, arrow.float64())


def _cast(column: Arrow, decimal: str) -> Arrow:
    """None where Arrow may have read what is not a number to `number`, such as nan(7)."""
    if decimal == ",":
        if compute.any(compute.match_substring(column, ".")).as_py():
            return None
        column = compute.replace_substring(column, ",", ".")
    found = compute.ascii_trim_whitespace(column).cast(arrow.float64())
    return None if compute.any(compute.is_nan(found)).as_py() else found


def floats_of(entries: Iterable[object]) -> NDArray[np.float64]:
    """Return the numbers that entries are, or that their text reads as; NaN for every other entry."""
    return np.fromiter(map(_float_of, entries), dtype=np.float64)


def listed(
    column: Any, everything: Callable[[Any], Any], one: Callable[[Any, int], Any], other: Any = None
) -> list[Any]:
    """Return the entries of a column of another library; `other` for one that cannot be read, as text not in UTF-8."""
    found = attempt(lambda: list(everything(column)))
    if found is None:
        return [attempt(partial(one, column, row), other) for row in range(len(column))]
    return found


def _float_of(entry: object) -> float:
    try:
        if isinstance(entry, Complex | np.bool_):  # every real number, too; NumPy's truth is none of Python's numbers
            return float(entry.real) if entry.imag == 0 else math.nan
        if isinstance(entry, Decimal):
            return float(entry)
        if isinstance(entry, str | bytes):
            text = entry if isinstance(entry, str) else entry.decode()
            if (found := number(text)) is not None or not _HEXADECIMAL.fullmatch(text.strip()):
                return math.nan if found is None else found
            whole = int(text, 16)
            return float(whole - 2**64 if whole >= 2**63 else whole)  # as 64 bits with a sign hold it
        # In a list of nothing but numbers NumPy takes an array without dimensions, or what it reads as one, for its
        # number, so that it must be one in every list.
        array = attempt(lambda: np.asanyarray(entry))  # keeps a mask
        held = array[()] if array is not None and array.ndim == 0 and array.dtype.kind in "biuf" else None
        return float(held) if isinstance(held, np.generic) else math.nan
    except (ArithmeticError, TypeError, ValueError):  # beyond the range of floats, or not a number
        return math.nan
