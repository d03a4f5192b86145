"""Checks of single numbers: ranges, whole numbers, probabilities, pairs."""

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Real

import numpy as np

from dimfree._validate.quoting import quoted
from dimfree.errors import InvalidParameter, raise_alone

LARGEST_COUNT = 2**53  # of anything that is counted: floats tell whole numbers apart up to here
_SMALLEST_FAILURE = 1e-100


def read_number(name: str, value: object) -> float:
    """One number: an array, even with a single entry, may be a record."""
    one = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    try:
        if isinstance(one, bool) or not isinstance(one, Real | Decimal):
            raise TypeError
        return float(one)
    except Exception:  # noqa: BLE001 - what an object says of itself may quote it
        raise_alone(InvalidParameter(f"Expected {name}={quoted(value)} to be a number."))


def check_finite(name: str, value: object) -> float:
    """A finite number."""
    number = read_number(name, value)
    if not math.isfinite(number):
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be a finite number.")
    return number


def check_positive(name: str, value: object) -> float:
    """A finite number above zero."""
    number = read_number(name, value)
    if not (number > 0 and math.isfinite(number)):
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be a finite number above 0.")
    return number


def check_probability(name: str, value: object) -> float:
    """A number strictly between zero and one."""
    number = read_number(name, value)
    if not 0 < number < 1:
        raise InvalidParameter(f"Expected {name}={quoted(value)} in (0, 1).")
    return number


def check_failure(value: object) -> float:
    """A failure probability whose Gaussian quantiles are finite."""
    number = read_number("failure_probability", value)
    if not _SMALLEST_FAILURE <= number < 1:
        raise InvalidParameter(f"Expected failure_probability={quoted(value)} in [{_SMALLEST_FAILURE:g}, 1).")
    return number


def check_share(name: str, value: object, *, below: float) -> float:
    """A number in [0, below)."""
    number = read_number(name, value)
    if not 0 <= number < below:
        raise InvalidParameter(f"Expected {name}={quoted(value)} in [0, {below}).")
    return number


def check_between(name: str, value: object, least: float, most: float) -> float:
    """A number from `least` to `most`, both public limits."""
    number = read_number(name, value)
    if not least <= number <= most:
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be a number from {least:g} to {most:g}.")
    return number


def check_at_least(name: str, value: float, least: float) -> float:
    """A number not below `least`."""
    if value < least:
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be at least {least!r}; the accounting needs it.")
    return value


def check_whole(name: str, value: object, *, least: int, most: float = LARGEST_COUNT) -> int:
    """A whole number from `least` to `most`; what takes one also takes "auto", which the caller has dealt with."""
    try:
        number = read_number(name, value)
    except InvalidParameter:
        number = math.nan
    if not math.isfinite(number) or number != int(number) or not least <= number <= most:
        limit = "" if most == LARGEST_COUNT else f" and at most {most}"
        raise InvalidParameter(
            f"Expected {name}={quoted(value)} to be a whole number, at least {least}{limit}, or 'auto'."
        )
    return int(number)


def check_count(name: str, value: object, *, least: int = 1, most: float = LARGEST_COUNT) -> int:
    """A whole number from `least` to `most`, a public limit."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)
    if not whole or not least <= int(value) <= most:  # type: ignore[call-overload]
        limit = "" if most == LARGEST_COUNT else f" and at most {most}"
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be a whole number, at least {least}{limit}.")
    return int(value)  # type: ignore[call-overload]


def check_fraction(name: str, value: object, *, largest_denominator: int) -> Fraction:
    """An exact fraction strictly between zero and one, its denominator small enough for 64-bit counts."""
    if not isinstance(value, Fraction) or not 0 < value < 1 or value.denominator > largest_denominator:
        raise InvalidParameter(
            f"Expected {name}={quoted(value)} to be a Fraction in (0, 1) with a denominator of at most"
            f" {largest_denominator}: pass Fraction(9, 10), or Fraction({name}).limit_denominator(1000)."
        )
    return value


def check_window(name: str, value: object) -> tuple[float, float]:
    """(low, high), apart from each other, whose squares stay in the range of floats."""
    try:
        low, high = (read_number(name, bound) for bound in value)  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - what an object says of itself may quote it
        raise_alone(InvalidParameter(f"Expected {name}={quoted(value)} to be two numbers, (low, high)."))
    if not (low >= 1e-60 and high <= 1e60 and 2 * low <= high):
        raise InvalidParameter(
            f"Expected {name}={quoted(value)} with 1e-60 <= low, high <= 1e60 and high at least 2 * low."
        )
    return low, high
