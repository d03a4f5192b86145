"""Noisy searches for the point of a public grid where a count crosses its target (M5').

`noisy_crossing` asks each count where the answers so far place the crossing. `noisy_search` halves the grid, as the
papers do whose estimators use it. Proof: proofs/mechanisms/search.md.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.accounting.events import charged_gaussian
from dimfree.mechanisms import Measured
from dimfree.noise import Noise

STEPS = 2**20  # grid steps to one unit of the count
_PER_HALVING = 3  # noisy counts for each halving that a search without noise would need
_WIDTHS = np.array([1.0, 3.0, 10.0, 30.0, 100.0])  # in cells: within how many the count may grow from 0 to its whole
_MODEL_ERROR = 0.2  # of an answer: no count grows along a straight line


def queries(cells: int) -> int:
    """How many noisy counts a bisection of the given number of cells asks."""
    return max(1, math.ceil(math.log2(max(cells, 2))))


def count_stddev(cells: int, sensitivity: float, mu: float) -> float:
    """The standard deviation of one noisy count of a bisection."""
    return sensitivity * math.sqrt(queries(cells)) / mu


def noisy_crossing(
    excess: Callable[[float], int],
    grid: Floats,
    share: float,
    count: float,
    sensitivity: float,
    mu: float,
    purpose: str,
    *,
    noise: Noise,
    at: float = 0.5,
) -> Measured[float]:
    """The upper end of the cell where `excess` turns positive: the `at` quantile of what the noisy counts say.

    `excess`, in 1/STEPS units, grows with its argument, from about -share·count to (1 - share)·count; `count` is
    released, or public. Each count is asked at the median of the posterior, which is a function of the answers alone:
    all of them together cost mu, one event of as many dimensions as there are counts (P17). `sensitivity` in units.
    """
    asked = _PER_HALVING * queries(len(grid) - 1)
    event = charged_gaussian(sensitivity * STEPS * math.sqrt(asked), mu, asked, 1 / STEPS, purpose)
    crossing, counted = Crossing(len(grid) - 1, share, count, event.stddev / STEPS), cache(excess)
    for _ in range(asked):
        point = crossing.middle
        answer = counted(float(grid[point])) + int(noise.gaussian(event.stddev, 1)[0])
        crossing.learn(point, answer / STEPS)
    return Measured(float(grid[crossing.quantile(at)]), event)


class Crossing:
    """Where an excess crosses zero, given noisy answers: a posterior over cells and widths. Sees no record.

    The model: a straight line from -share·count to (1 - share)·count over an unknown number of cells. Its error is
    proportional to the answer, so that however precise the answers are, their signs keep deciding.
    """

    def __init__(self, cells: int, share: float, count: float, stddev: float) -> None:
        self.share, self.count, self.stddev = share, count, stddev
        self.place = np.arange(cells)[:, None] + 0.5
        self.log = np.zeros((cells, len(_WIDTHS)))

    @property
    def middle(self) -> int:
        """The inner point of the grid nearest to the posterior median."""
        inner = max(len(self.log) - 1, 1)
        return 1 + int(np.argmin(np.abs(self._below()[:inner] - 0.5)))

    def quantile(self, at: float) -> int:
        """The upper end of the cell where the posterior reaches `at`."""
        return min(int(np.searchsorted(self._below(), at)) + 1, len(self.log))

    def learn(self, point: int, answer: float) -> None:
        """One noisy excess at a point of the grid."""
        low, high = -self.share * self.count, (1 - self.share) * self.count
        mean = np.clip(self.count * (point - self.place) / _WIDTHS, low, high)
        variance = self.stddev**2 + (_MODEL_ERROR * min(max(answer, low), high)) ** 2
        self.log -= (answer - mean) ** 2 / (2 * variance)

    def _below(self) -> Floats:
        """The posterior probability that the crossing lies in a cell or before it."""
        mass = np.exp(self.log - self.log.max()).sum(axis=1)
        return np.asarray(np.cumsum(mass) / mass.sum())


def noisy_search(
    excess: Callable[[float], int],
    grid: NDArray[np.float64],
    sensitivity: float,
    mu: float,
    purpose: str,
    *,
    noise: Noise,
) -> Measured[float]:
    """The upper end of the cell where `excess` (in 1/STEPS units, growing with its argument) turns positive.

    All queries together cost mu: one event of as many dimensions as there are queries. `sensitivity` in units.
    """
    asked = queries(len(grid) - 1)
    event = charged_gaussian(sensitivity * STEPS * math.sqrt(asked), mu, asked, 1 / STEPS, purpose)
    low, high = 0, len(grid) - 1
    while high - low > 1:  # at most `asked` times
        middle = (low + high) // 2
        positive = excess(float(grid[middle])) + int(noise.gaussian(event.stddev, 1)[0]) >= 0
        low, high = (low, middle) if positive else (middle, high)
    return Measured(float(grid[high]), event)


def geometric_grid(low: float, high: float, ratio: float) -> NDArray[np.float64]:
    """A public grid from `low` to at least `high`."""
    cells = max(1, math.ceil(math.log(high / low) / math.log(ratio)))
    return np.asarray(low * ratio ** np.arange(cells + 1), dtype=np.float64)
