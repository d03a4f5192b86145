"""Entries of a table that is no array of numbers, each read by itself: what one of them is changes no other."""

import math
from collections.abc import Iterable
from decimal import Decimal
from numbers import Complex, Real

import numpy as np
from numpy.typing import NDArray


def floats_of(entries: Iterable[object]) -> NDArray[np.float64]:
    """The numbers that entries are, or that their text reads as; NaN for every other entry."""
    return np.fromiter(map(_float_of, entries), dtype=np.float64)


def are_numbers(entries: Iterable[object]) -> bool:
    """Whether every entry is a real number or missing."""
    return all(entry is None or isinstance(entry, Real) for entry in entries)


def _float_of(entry: object) -> float:
    try:
        if isinstance(entry, Complex):  # every real number, too
            return float(entry.real) if entry.imag == 0 else math.nan
        return float(entry) if isinstance(entry, str | bytes | Decimal) else math.nan
    except (ArithmeticError, TypeError, ValueError):  # beyond the range of floats, or no number
        return math.nan
