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


def least_records(error: Error, aim: float, fewest: int) -> int:
    """The fewest records, from `fewest` on, whose error is at most the aim; up to 2 % more."""
    if error(fewest) <= aim:
        return fewest
    bad, good = fewest, fewest * _STRIDE
    while error(good) > aim:
        if good * _STRIDE > MOST_RECORDS:
            raise InvalidParameter(_out_of_reach("n", aim, error(good), f"n={good}"))
        bad, good = good, good * _STRIDE
    return int(narrowed(error, aim, bad, good, whole=True))


def least_epsilon(error: Error, aim: float, columns: int) -> float:
    """The smallest epsilon whose error is at most the aim; up to 2 % more, four digits, rounded up."""
    lowest = max(SMALLEST_EPSILON, columns / 3e7)
    good = bad = max(1.0, lowest)
    while error(good) > aim:
        if good >= LARGEST_EPSILON:
            raise InvalidParameter(_out_of_reach("epsilon", aim, error(good), f"epsilon={good:g}"))
        bad, good = good, min(good * _STRIDE, LARGEST_EPSILON)
    if bad == good:
        while error(bad) <= aim:
            if bad <= lowest:
                return lowest
            good, bad = bad, max(bad / _STRIDE, lowest)
    return _rounded_up(narrowed(error, aim, bad, good, whole=False))


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
        return value
    return min(max(round(value), min(bad, good) + 1), max(bad, good) - 1) if abs(good - bad) > 1 else good


def _rounded_up(value: float) -> float:
    digits = 3 - math.floor(math.log10(value))
    return math.ceil(round(value * 10**digits, 6)) / 10**digits


def _out_of_reach(name: str, aim: float, best: float, where: str) -> str:
    reached = f"the best that was found is {best:.4g}, at {where}" if math.isfinite(best) else "every one is refused"
    return f"Expected accuracy={aim!r} to be within reach for some {name}, but {reached}. Ask for a larger error."
