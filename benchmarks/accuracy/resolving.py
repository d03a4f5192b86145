"""Medians with exact intervals, and what they say of a bar: met, missed, or not resolved by so few draws."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta, binom

CONFIDENCE = 0.95
_NORMAL = 1.96  # standard errors to either side: 95 %
MET, MISSED, OPEN, UNTRIED = "met", "NO", "not resolved", "not measured"

Verdict = dict[str, Any]  # target, figure (words), draws, state


@dataclass(frozen=True)
class Figure:
    """A measured number, a 95 % interval for what it estimates, and how many draws both rest on."""

    value: float
    low: float
    high: float
    draws: int

    @classmethod
    def median(cls, values: Sequence[float | None], over: float = 1.0) -> "Figure":
        """Of all draws, a refusal (None) being infinitely far off, divided by a public yardstick."""
        found = [math.inf if value is None else value / over for value in values]
        return cls(middle(found), *median_interval(found), len(found))

    @classmethod
    def rms(cls, values: Sequence[float], over: float = 1.0) -> "Figure":
        """Root mean square; the interval by the normal approximation to the mean of the squares."""
        squares = np.square(np.asarray(values) / over)
        mean, wide = float(squares.mean()), math.inf
        if len(values) > 1:
            wide = _NORMAL * float(squares.std(ddof=1)) / math.sqrt(len(values))
        low = math.sqrt(max(0.0, mean - wide)) if math.isfinite(wide) else -math.inf
        return cls(math.sqrt(mean), low, math.sqrt(mean + wide), len(values))

    @classmethod
    def sure(cls, value: float, draws: int) -> "Figure":
        """Said of these very draws, as "none was refused": there is nothing to estimate."""
        return cls(value, value, value, draws)

    @classmethod
    def share(cls, successes: float, draws: int) -> "Figure":
        """Of draws that succeeded, or the mean of as many probabilities, taken for coins: that is the widest case."""
        low, high = clopper_pearson(successes, draws)
        return cls(successes / draws, low, high, draws)

    @property
    def words(self) -> str:
        """As `1.23 [1.1, 1.4]`; without the interval where the draws give none."""
        if math.isinf(self.value):
            return "refused"
        high = "refused" if self.high == math.inf else f"{self.high:.3g}"
        bounds = "" if self.low in (-math.inf, self.high) else f" [{self.low:.3g}, {high}]"
        return f"{self.value:.3g}{bounds}"

    def state(self, limit: float, *, at_most: bool = True) -> str:
        """MET or MISSED only if the whole interval lies on that side of the limit."""
        good, bad = (self.high <= limit, self.low > limit) if at_most else (self.low >= limit, self.high < limit)
        return MET if good else MISSED if bad else OPEN

    def beyond(self, *, at_most: bool) -> float:
        """The larger, the worse."""
        return self.value if at_most else -self.value


def middle(values: Sequence[float]) -> float:
    """The median, which may be infinite; half of an infinity is one."""
    ordered = sorted(values)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return low if low == high else (low + high) / 2


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The k-th smallest and k-th largest value: they enclose the median at least so often, whatever the law.

    Each misses with probability P(Bin(n, 1/2) < k) at most. Below six draws there is no such k for 95 %: unbounded.
    """
    k = int(binom.ppf((1 - confidence) / 2, len(values), 0.5)) if len(values) else 0
    if k < 1 or 2 * binom.cdf(k - 1, len(values), 0.5) > 1 - confidence:
        return -math.inf, math.inf
    ordered = sorted(values)
    return ordered[k - 1], ordered[-k]


def clopper_pearson(successes: float, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """An interval that covers the true probability at least this often."""
    tail = (1 - confidence) / 2
    low = beta.ppf(tail, successes, trials - successes + 1) if successes else 0.0
    high = beta.ppf(1 - tail, successes + 1, trials - successes) if successes < trials else 1.0
    return float(low), float(high)


def judged(target: str, limit: float, found: Mapping[str, Figure], *, at_most: bool = True) -> Verdict:
    """Whether every place keeps to the limit: missed if one surely does not, met if all surely do."""
    if not found:
        return {"target": target, "figure": "", "draws": "", "state": UNTRIED}
    states = {place: figure.state(limit, at_most=at_most) for place, figure in found.items()}
    worst = max(found, key=lambda place: found[place].beyond(at_most=at_most))
    state = next((each for each in (MISSED, OPEN) if each in states.values()), MET)
    words = f"{found[worst].words} ({worst})"
    if len(found) > 1:
        beside = sum(each != MET for each in states.values())
        words += f", the worst of {len(found)}" + (f"; {beside} not surely met" if beside else "")
    draws = sorted({figure.draws for figure in found.values()})
    spanned = str(draws[0]) if len(draws) == 1 else f"{draws[0]}–{draws[-1]}"
    return {"target": target, "figure": words, "draws": spanned, "state": state}


def verdict_rows(verdicts: Sequence[Verdict]) -> list[list[str]]:
    return [[each["target"], each["figure"], str(each["draws"]), each["state"]] for each in verdicts]


VERDICT_HEADER = ("target", "figure, 95 % interval", "draws", "state")
