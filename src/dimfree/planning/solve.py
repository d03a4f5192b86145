"""Find the n, d or epsilon at which a predicted error meets its target, on the safe side, by few predictions."""

import math
import time
from collections.abc import Callable
from functools import partial

from dimfree.accounting.budget import CHANGED_RECORDS, MAX_EPSILON, MIN_EPSILON
from dimfree.errors import InvalidParameterError
from dimfree.planning.predict import find_smallest_count, predict, total_mu
from dimfree.planning.question import MAX_RECORDS, Question, Tell

TOLERANCE = 1.02
MAX_SOLVED = {"nothing": 20_000, "covariance": 200_000}  # columns that are tried
_STRIDE = 4.0  # largest factor between two values that are tried
_FIRST_COLUMNS = 64
_ROUGHLY = 1.1  # tolerance of the values that are tried with few simulated runs
_LIKELY = 1.4  # noise of a release without prior knowledge over that of one with known covariance

Expected = Callable[[float, float], float]  # (a value, its error) -> a value that meets the target, by a rule of thumb


def solve(
    error: Callable[[float], float],
    aim: float,
    hard: float,
    easy: float,
    first: float,
    expected: Expected | None = None,
    *,
    whole: bool = True,
    tolerance: float = TOLERANCE,
) -> float | None:
    """Find a value whose error meets the aim, within the tolerance of one whose error does not.

    Errors grow from `easy` to `hard`. `hard` itself if it meets the aim; None if `easy` does not. n and d are whole;
    epsilon has four digits.
    """
    sign = 1 if easy > hard else -1  # towards the safe side
    low, high, errors = min(hard, easy), max(hard, easy), dict[float, float]()
    value, good, bad, turn = _tidy(min(max(first, low), high), whole), math.nan, math.nan, -1
    while True:
        errors[value] = found = error(value)
        good, bad = (value, bad) if found <= aim else (good, value)
        if good == hard or bad == easy:
            return None if bad == easy else good
        if abs(math.log(good / bad)) <= 1.001 * math.log(tolerance) or (whole and abs(good - bad) <= 1):
            return good
        direction = sign if found > aim else -sign
        if math.isnan(good * bad):  # a little beyond the guess, and by the tolerance at least
            ratio, farther = min(max(found / aim, 1 / _STRIDE), _STRIDE), max if direction > 0 else min
            guess = expected(value, found) if expected and math.isfinite(found) else value * ratio**sign
            most = _STRIDE**2 if expected else _STRIDE
            factor = min(max(guess / value, 1 / most), most) * tolerance ** (direction / 2)
            following = _tidy(value * farther(factor, tolerance**direction), whole)
            value = min(max(farther(following, value + direction) if whole else following, low), high)
            continue
        turn, middle = turn + 1, math.sqrt(good * bad)
        fall, crossing = errors[bad] / errors[good], middle
        if 1 < fall < _STRIDE:  # where a power law meets the aim, half a tolerance on the safe side
            part = math.log(errors[bad] / aim) / math.log(fall)
            crossing = bad * (good / bad) ** part * tolerance ** (sign / 2)
        value = _tidy((crossing, value * tolerance**direction, middle)[turn % 3], whole)
        if whole:
            value = min(max(value, min(good, bad) + 1), max(good, bad) - 1)
        elif not min(good, bad) < value < max(good, bad):
            value = _tidy(middle, whole)


def _tidy(value: float, whole: bool) -> float:
    """Round up: to a whole number, or to four digits."""
    if whole:
        return math.ceil(value)
    digits = 3 - math.floor(math.log10(value))
    return math.ceil(round(value * 10**digits, 6)) / 10**digits


class _OutOfTimeError(Exception):
    """The search has used its time."""


class Search:
    """The predicted error at each value that is tried, until the time is up."""

    def __init__(self, missing: str, ask: Callable[..., Question], aim: float, tell: Tell, time_limit: float) -> None:
        self.missing, self.ask, self.aim = missing, ask, aim
        self._tell, self._limit, self._end = tell, time_limit, time.monotonic() + time_limit
        self._tried = dict[tuple[float, bool], float]()  # errors by value, and whether by one pair of runs alone

    def error(self, value: float, *, rough: bool = False) -> float:
        """Return the predicted error."""
        steps = len(self._tried)
        if (value, rough) not in self._tried:
            if steps and time.monotonic() > self._end:
                raise _OutOfTimeError
            self._tell(f"trying {self.missing} = {value:.6g}", steps, max(10, steps + 1))
            question = self.ask(**{self.missing: value})
            self._tried[value, rough] = (predict(question, pairs=1) if rough else predict(question)).error
        return self._tried[value, rough]

    def solve_question(self) -> tuple[Question, str]:
        """Return the question whose predicted error meets the aim, and a remark if the search was stopped."""
        try:
            found = {"n": self._records, "epsilon": self._epsilon, "d": self._columns}[self.missing]()
            return self.ask(**{self.missing: found}), ""
        except _OutOfTimeError:
            good = {value for (value, _), error in self._tried.items() if error <= self.aim}
            for value in sorted(good, reverse=self.missing == "d"):
                question = self.ask(**{self.missing: value})
                if predict(question).error <= self.aim:
                    closer = "larger" if self.missing == "d" else "smaller"
                    return question, f"the search stopped after {self._limit:g} s; a {closer} {self.missing} may do"
            raise InvalidParameterError(
                f"No {self.missing} was found within time_limit={self._limit:g} seconds: pass a larger time_limit, or a"
                " larger accuracy."
            ) from None

    def _found(self, hard: float, easy: float, first: float, expected: Expected | None = None) -> float:
        """Solve roughly, then exactly; the value is whole except for epsilon."""
        limits, whole = (self.aim, hard, easy), self.missing != "epsilon"
        roughly = partial(self.error, rough=True)
        near = solve(roughly, *limits, first, expected, whole=whole, tolerance=_ROUGHLY)
        found = solve(self.error, *limits, near or easy, expected, whole=whole)
        if found is None:
            best, where = self.error(easy), f"{self.missing}={easy:g}"
            reached = f"the best is {best:.4g}, at {where}" if math.isfinite(best) else "every one is refused"
            raise InvalidParameterError(
                f"`accuracy` must be within reach for some {self.missing}, got {self.aim!r}: {reached}. Pass a larger"
                " accuracy."
            )
        return int(found) if whole else found

    def _records(self) -> float:
        first = self.ask(n=1)
        fewest = find_smallest_count(first)
        if not fewest:
            raise InvalidParameterError("At this budget every number of records is refused: raise epsilon.")
        fewest = max(fewest, math.ceil((first.sampling / self.aim) ** 2))

        def records(n: float, found: float) -> float:
            """Solve a/n + b/n² = aim² (sampling, and noise)."""
            a, b = first.sampling**2, found**2 * n**2 - first.sampling**2 * n
            return (a + math.sqrt(a**2 + 4 * self.aim**2 * max(b, 0.0))) / (2 * self.aim**2)

        guess = records(1.0, math.hypot(first.sampling, _guess_noise(first)))
        return self._found(fewest, max(fewest, MAX_RECORDS // 4), min(guess, MAX_RECORDS), records)

    def _epsilon(self) -> float:
        probe = self.ask(epsilon=1.0)
        if probe.sampling >= self.aim:
            raise InvalidParameterError(
                f"`accuracy` must be above {probe.sampling:.4g}, the sampling error of so many records, got "
                f"{self.aim!r}: no epsilon lowers it. Pass a larger accuracy, or more records."
            )
        room = math.sqrt(self.aim**2 - probe.sampling**2)

        def budgets(epsilon: float, found: float) -> float:
            """Solve noise² + sampling² = aim², with noise like 1/epsilon."""
            return epsilon * math.sqrt(max(found**2 - probe.sampling**2, 0.0)) / room

        lowest = max(MIN_EPSILON, probe.dimension / 3e7)
        return self._found(lowest, MAX_EPSILON, _guess_noise(probe) / room, budgets)

    def _columns(self) -> float:
        return self._found(MAX_SOLVED[self.ask(d=1).knowledge], 1, _FIRST_COLUMNS)


def _guess_noise(question: Question) -> float:
    """Guess the noise: ‖σ‖₁/(n·mu), with a factor for tests and estimates."""
    mu = question.count * total_mu(question.budget)
    return _LIKELY * CHANGED_RECORDS[question.relation] * float(question.stddevs.sum()) / mu
