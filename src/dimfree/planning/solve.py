"""The value of n, d or epsilon at which a predicted error meets its target: few predictions, on the safe side."""

import math
import time
from collections.abc import Callable

from dimfree.accounting.budget import CHANGED_RECORDS, LARGEST_EPSILON, SMALLEST_EPSILON
from dimfree.errors import InvalidParameter
from dimfree.planning.outlook import smallest_count, whole_mu
from dimfree.planning.predict import predict
from dimfree.planning.question import MOST_RECORDS, Question

TOLERANCE = 1.02
MOST_SOLVED = {"nothing": 20_000, "covariance": 200_000}  # columns that are tried
_STRIDE = 4

_LIKELY = 1.4  # times the noise of a release that knows everything: about that of one that knows nothing

Error = Callable[[float], float]
Tell = Callable[[str, int, int], None]  # (what is being done, steps done, steps in all)
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
    """Return a value that meets the aim, within 2 % of one that misses it.

    Three values are tried in turn: where a power law between the ends meets the aim, one 2 % beyond it, and the middle
    if these two have not halved the range.
    """
    step = math.copysign(math.log(TOLERANCE), math.log(good / bad))

    def split(value: float) -> float:
        nonlocal bad, good
        if min(bad, good) < value < max(bad, good):
            value = _between(value, bad, good, whole)
            bad, good = (bad, value) if error(value) <= aim else (value, good)
        return abs(math.log(good / bad))

    while (width := abs(math.log(good / bad))) > abs(step) * 1.001 and not (whole and abs(good - bad) <= 1):
        middle = _crossing(error, aim, bad, good)
        split(middle)
        beyond = good * math.exp(-step) if abs(good - middle) < abs(bad - middle) else bad * math.exp(step)
        if split(beyond) > width / 2:
            split(math.sqrt(bad * good))
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


class _OutOfTimeError(Exception):
    """The search has used its time."""


class Search:
    """The predicted error at each value that is tried, until the time is up."""

    def __init__(self, missing: str, ask: Callable[..., Question], aim: float, tell: Tell, time_limit: float) -> None:
        self.missing, self.ask, self.aim = missing, ask, aim
        self._tell, self._limit, self._end = tell, time_limit, time.monotonic() + time_limit
        self._errors = dict[float, float]()

    def error(self, value: float) -> float:
        if value not in self._errors:
            if self._errors and time.monotonic() > self._end:
                raise _OutOfTimeError
            done = len(self._errors)
            self._tell(f"trying {self.missing} = {value:.6g}", done, max(10, done + 1))
            self._errors[value] = predict(self.ask(**{self.missing: value})).error
        return self._errors[value]

    def solved(self) -> tuple[Question, str]:
        """Return the question whose predicted error meets the aim, and a remark if the search was stopped."""
        try:
            return self._solved(), ""
        except _OutOfTimeError:
            good = [value for value, error in self._errors.items() if error <= self.aim]
            if not good:
                raise InvalidParameter(
                    f"Found no {self.missing} within time_limit={self._limit:g} seconds: pass a larger one, or a"
                    " larger accuracy."
                ) from None
            best, closer = (max(good), "larger") if self.missing == "d" else (min(good), "smaller")
            remark = f"the search stopped after {self._limit:g} s; a {closer} {self.missing} may do"
            return self.ask(**{self.missing: best}), remark

    def _solved(self) -> Question:
        if self.missing == "n":
            return self._records()
        return self._epsilon() if self.missing == "epsilon" else self._columns()

    def _records(self) -> Question:
        first = self.ask(n=1)
        fewest = smallest_count(first)
        if not fewest:
            raise InvalidParameter("Expected a budget at which some number of records is not refused: raise epsilon.")
        fewest = max(fewest, math.ceil((first.sampling / self.aim) ** 2))

        def records(n: float, found: float) -> float:
            """Where a/n + b/n² is the square of the aim: sampling, and noise."""
            a, b = first.sampling**2, found**2 * n**2 - first.sampling**2 * n
            return (a + math.sqrt(a**2 + 4 * self.aim**2 * max(b, 0.0))) / (2 * self.aim**2)

        guess = records(1.0, math.hypot(first.sampling, _likely_noise(first)))
        first_tried = math.ceil(min(guess, MOST_RECORDS))
        return self.ask(n=least_records(self.error, self.aim, fewest, first_tried, records))

    def _epsilon(self) -> Question:
        probe = self.ask(epsilon=1.0)
        if probe.sampling >= self.aim:
            raise InvalidParameter(
                f"Expected accuracy={self.aim!r} to be above {probe.sampling:.4g}, the sampling error of so many "
                "records, which no epsilon lowers. Ask for a larger error, or for more records."
            )
        room = math.sqrt(self.aim**2 - probe.sampling**2)

        def budgets(epsilon: float, found: float) -> float:
            """Where the noise, as 1/epsilon, is all that the sampling error leaves of the aim."""
            return epsilon * math.sqrt(max(found**2 - probe.sampling**2, 0.0)) / room

        found = least_epsilon(self.error, self.aim, probe.dimension, _likely_noise(probe) / room, budgets)
        return self.ask(epsilon=found)

    def _columns(self) -> Question:
        return self.ask(d=most_columns(self.error, self.aim, self.ask(d=1).knowledge))


def _likely_noise(question: Question) -> float:
    """Return about how much noise: ‖σ‖₁/(n·mu), and as much again for tests and for what is estimated."""
    return _LIKELY * CHANGED_RECORDS[question.relation] * float(question.stddevs.sum()) / (
        question.count * whole_mu(question.budget)
    )  # fmt: skip
