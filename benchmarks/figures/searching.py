"""How many records an accuracy takes: bisection over a geometric grid of n, then interpolation.

The grid has four numbers to the octave. From a guess the search goes up or down by octaves until it has a number that
suffices beside one that does not, halves the steps between them, and reads the crossing off the straight line through
both errors on logarithmic scales. Where the smaller one was refused the larger is the answer. It is taken for granted
that more records do not hurt; a dip to the left of the crossing would go unseen.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.accuracy.running import DELTA
from benchmarks.figures.drawing import MEASURED, MORE, row
from benchmarks.figures.spots import Spot, Task
from dimfree.accounting.precision import largest_mu
from dimfree.planning.question import spectrum

LEAST = 32
STEPS = 4  # to the octave
Errors = Callable[[int], float | None]


@dataclass(frozen=True)
class Needed:
    """The answer: `records`, or None where `most` did not suffice; every error that was looked at on the way."""

    records: float | None
    most: int
    looked: dict[int, float | None]

    def as_dict(self) -> dict[str, Any]:
        looked = [[count, error] for count, error in sorted(self.looked.items())]
        return {"records": self.records, "most": self.most, "looked": looked}


def grid(most: int) -> list[int]:
    """The numbers of records that are tried."""
    steps = int(STEPS * math.log2(max(most, LEAST) / LEAST) + 1e-9)
    return [round(LEAST * 2 ** (step / STEPS)) for step in range(steps + 1)]


def records_needed(error_at: Errors, accuracy: float, guess: float, most: int) -> Needed:
    """The n at which the error has come down to the accuracy; at most `most`, of the grid."""
    counts = grid(most)
    looked: dict[int, float | None] = {}

    def suffices(step: int) -> bool:
        count = counts[step]
        if count not in looked:
            looked[count] = error_at(count)
        error = looked[count]
        return error is not None and error <= accuracy

    nearest = int(np.argmin(np.abs(np.log(np.array(counts) / guess))))
    low, high = _bracket(suffices, nearest, len(counts) - 1)
    if low == high:  # nothing on the grid suffices, or everything does
        return Needed(float(counts[0]) if suffices(0) else None, counts[-1], looked)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return Needed(_crossing(counts[low], counts[high], looked, accuracy), counts[-1], looked)


def _bracket(suffices: Callable[[int], bool], at: int, last: int) -> tuple[int, int]:
    """(a step that does not suffice, one that does), octaves apart; twice the same where the grid ends before."""
    if suffices(at):
        while at > 0:
            below = max(0, at - STEPS)
            if not suffices(below):
                return below, at
            at = below
        return 0, 0
    while at < last:
        above = min(last, at + STEPS)
        if suffices(above):
            return at, above
        at = above
    return last, last


def _crossing(low: int, high: int, looked: dict[int, float | None], accuracy: float) -> float:
    before, after = looked[low], looked[high]
    if before is None or after is None or not before > after:
        return float(high)
    part = math.log(before / accuracy) / math.log(before / after)
    return low * (high / low) ** part


@dataclass(frozen=True)
class Search:
    """How many records of a spectrum one estimator needs for an accuracy."""

    spectrum: str
    dimension: int
    epsilon: float
    whom: str
    accuracy: float
    most_entries: int
    most_records: int
    draws: int

    @property
    def name(self) -> str:
        place = f"{self.spectrum}, d = {self.dimension}, ε = {self.epsilon:g}"
        return f"{place}: records for {self.accuracy:.3g} by {self.whom}; {self.most}, {self.draws}"

    @property
    def most(self) -> int:
        return min(self.most_records, self.most_entries // self.dimension)

    @property
    def entries(self) -> int:
        return min(self.most_entries, self.most_records * self.dimension)

    def measure(self, seed: int) -> dict[str, Any]:
        return records_needed(lambda count: self._error(count, seed), self.accuracy, self.guess, self.most).as_dict()

    def _error(self, count: int, seed: int) -> float | None:
        spot = Spot(self.spectrum, self.dimension, count, self.epsilon, (self.whom,), self.draws)
        error: float | None = spot.measure(seed)["errors"][self.whom]
        return error

    @property
    def guess(self) -> float:
        """Sampling, one Gaussian release about a known center, and a location: a place to begin, no more."""
        return self.sampling + self.privacy + 300 / self.epsilon

    @property
    def sampling(self) -> float:
        """tr Σ / α²: what the sample mean needs."""
        return float(np.sum(spectrum(self.spectrum, self.dimension) ** 2)) / self.accuracy**2

    @property
    def privacy(self) -> float:
        """tr Σ^{1/2} / (α·mu): what the noise needs of which nobody who clips about a known center has less."""
        return self.clipping * self.epsilon / largest_mu(self.epsilon, DELTA)

    @property
    def clipping(self) -> float:
        """tr Σ^{1/2} / (αε), the paper's quantity."""
        return float(np.sum(spectrum(self.spectrum, self.dimension))) / (self.accuracy * self.epsilon)


# --- Lines through what was found, and its words

Results = Mapping[Task, dict[str, Any]]


@dataclass(frozen=True)
class Line:
    """y ≈ scale · x^slope, by least squares on the logarithms; the error is None where two points say nothing of it."""

    slope: float
    error: float | None
    scale: float

    @property
    def words(self) -> str:
        return f"{self.slope:.3f}" + ("" if self.error is None else f" ± {self.error:.3f}")

    def at(self, x: float) -> float:
        return self.scale * x**self.slope

    def verdict(self, most: float) -> str:
        """Whether the slope is at most `most`, two standard errors apart."""
        if self.error is None:
            return "too few points to say"
        if self.slope + 2 * self.error <= most:
            return "met"
        return "not met" if self.slope - 2 * self.error > most else "within two standard errors of the bound"


def fitted(along: Sequence[float], values: Sequence[float]) -> Line | None:
    """None below two different places."""
    if len(set(along)) < 2:
        return None
    x, y = np.log(along), np.log(values)
    centered = x - x.mean()
    slope = float(centered @ y / (centered @ centered))
    rest = y - y.mean() - slope * centered
    freedom = len(x) - 2
    error = math.sqrt(float(rest @ rest) / freedom / float(centered @ centered)) if freedom > 0 else None
    return Line(slope, error, math.exp(float(y.mean()) - slope * float(x.mean())))


def needed_row(series: str, x: float, result: dict[str, Any]) -> dict[str, Any]:
    """A crossing, or the end of the search."""
    records = result["records"]
    return row(series, MORE, x, result["most"]) if records is None else row(series, MEASURED, x, records)


def needed_words(result: dict[str, Any]) -> str:
    return f"> {result['most']}" if result["records"] is None else f"{result['records']:.0f}"


def slope_along_d(searches: Sequence[Search], results: Results) -> Line | None:
    """Over the places where a number was found."""
    found = [(s.dimension, results[s]["records"]) for s in searches if results[s]["records"] is not None]
    return fitted([d for d, _ in found], [n for _, n in found]) if len(found) > 1 else None


def slope_words(searches: Sequence[Search], results: Results) -> str:
    line = slope_along_d(searches, results)
    return "–" if line is None else line.words
