"""The value of n, d or epsilon at which a predicted error meets its target: few predictions, on the safe side."""

import math
from collections.abc import Callable

from dimfree.accounting.budget import LARGEST_EPSILON, SMALLEST_EPSILON
from dimfree.errors import InvalidParameter
from dimfree.planning.question import MOST_RECORDS

TOLERANCE = 1.02
MOST_SOLVED = {"nothing": 20_000, "covariance": 200_000}  # columns that are tried
_STRIDE = 4

Error = Callable[[float], float]
Expected = Callable[[float, float], float]  # (a value, its error): where the error meets the aim, by a rule of thumb


def least_records(error: Error, aim: float, fewest: int, first: int = 0, expected: Expected | None = None) -> int:
    """The fewest records, from `fewest` on, whose error is at most the aim; up to 2 % more."""
    most = max(fewest, MOST_RECORDS // _STRIDE)
    near = _near(error, aim, max(first, fewest), (fewest, most), expected, whole=True)
    if near is None:
        raise InvalidParameter(_out_of_reach("n", aim, error(most), f"n={most}"))
    return int(narrowed(error, aim, *near, whole=True))


def least_epsilon(
    error: Error, aim: float, columns: int, first: float = 1.0, expected: Expected | None = None
) -> float:
    """The smallest epsilon whose error is at most the aim; up to 2 % more, four digits."""
    lowest = max(SMALLEST_EPSILON, columns / 3e7)
    near = _near(error, aim, first, (lowest, LARGEST_EPSILON), expected, whole=False)
    if near is None:
        raise InvalidParameter(_out_of_reach("epsilon", aim, error(LARGEST_EPSILON), f"epsilon={LARGEST_EPSILON:g}"))
    return narrowed(error, aim, *near, whole=False)


def _near(
    error: Error, aim: float, first: float, limits: tuple[float, float], expected: Expected | None, *, whole: bool
) -> tuple[float, float] | None:
    """(a value that misses the aim, a larger one that meets it), close together; twice the least if that meets it.

    From `first` on in steps to a little beyond where the error is expected to meet the aim. None: nothing meets it.
    """
    low, high = limits
    value, before = _tidy(min(max(first, low), high), whole), None
    meets = error(value) <= aim
    while before is None or (error(value) <= aim) == meets:
        if value == (low if meets else high):
            return (value, value) if meets else None
        found = error(value)
        guess = expected(value, found) if expected and math.isfinite(found) else value * min(found / aim, _STRIDE)
        beyond = math.sqrt(TOLERANCE) if meets else 1 / math.sqrt(TOLERANCE)
        factor = min(max(guess / value, 1 / _STRIDE), _STRIDE) / beyond
        factor = min(factor, 1 / TOLERANCE) if meets else max(factor, TOLERANCE)
        step = _tidy(value * factor, whole)
        before, value = value, min(max(min(step, value - 1) if meets and whole else step, low), high)
    return (value, before) if meets else (before, value)


def _tidy(value: float, whole: bool) -> float:
    return math.ceil(value) if whole else _rounded_up(value)


def most_columns(error: Error, aim: float, knowledge: str) -> int:
    """The most columns whose error is at most the aim, down to 2 % fewer; at most MOST_SOLVED."""
    most = MOST_SOLVED[knowledge]
    if error(1) > aim:
        raise InvalidParameter(_out_of_reach("d", aim, error(1), "d=1"))
    good, bad = 1, _STRIDE
    while error(bad) <= aim:
        if bad >= most:
            return most
        good, bad = bad, min(bad * _STRIDE, most)
    return int(narrowed(error, aim, bad, good, whole=True))


def narrowed(error: Error, aim: float, bad: float, good: float, *, whole: bool) -> float:
    """A value within 2 % of one that misses the aim, and that reaches it. Between the ends the error is a power law."""
    step = math.copysign(math.log(TOLERANCE), math.log(good / bad))
    while abs(math.log(good / bad)) > abs(step) * 1.001 and not (whole and abs(good - bad) <= 1):
        middle = _between(_crossing(error, aim, bad, good), bad, good, whole)
        bad, good = (bad, middle) if error(middle) <= aim else (middle, good)
        beside = middle * math.exp(-step if middle == good else step)  # the other side of the crossing, most likely
        if min(bad, good) < beside < max(bad, good):
            beside = _between(beside, bad, good, whole)
            bad, good = (bad, beside) if error(beside) <= aim else (beside, good)
    return good


def _crossing(error: Error, aim: float, bad: float, good: float) -> float:
    high, low = error(bad), error(good)
    part = math.log(high / aim) / math.log(high / low) if math.isfinite(high) and low < high else 0.5
    return bad * (good / bad) ** min(max(part, 0.05), 0.95)


def _between(value: float, bad: float, good: float, whole: bool) -> float:
    if not whole:
        return _rounded_up(value)
    return min(max(round(value), min(bad, good) + 1), max(bad, good) - 1) if abs(good - bad) > 1 else good


def _rounded_up(value: float) -> float:
    digits = 3 - math.floor(math.log10(value))
    return math.ceil(round(value * 10**digits, 6)) / 10**digits


def _out_of_reach(name: str, aim: float, best: float, where: str) -> str:
    reached = f"the best that was found is {best:.4g}, at {where}" if math.isfinite(best) else "every one is refused"
    return f"Expected accuracy={aim!r} to be within reach for some {name}, but {reached}. Ask for a larger error."
