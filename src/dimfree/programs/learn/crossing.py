"""Where a noisy count crosses its target: a posterior over the cells of a public grid (M5'). Sees no record."""

import math

import numpy as np

from dimfree._types import Floats
from dimfree.kernel import NoisyCounts

_PER_HALVING = 3  # noisy counts for each halving that a search without noise would need
_WIDTHS = np.array([1.0, 3.0, 10.0, 30.0, 100.0])  # in cells: within how many the count may grow from 0 to its whole
_MODEL_ERROR = 0.2  # of an answer: no count grows along a straight line


def answers(grid: Floats) -> int:
    """How many noisy counts a search over this grid asks for."""
    return _PER_HALVING * max(1, math.ceil(math.log2(max(len(grid) - 1, 2))))


def crossing(counts: NoisyCounts, grid: Floats, share: float, count: float, offset: float = 0.0) -> float:
    """The upper end of the cell where count + offset turns positive: the median of what the answers say.

    The count grows from about -share·count to (1 - share)·count; `count` is released, or public. Each answer is asked
    for at the median of the posterior, which is a function of the answers alone.
    """
    found = Crossing(len(grid) - 1, share, count, counts.stddev)
    for _ in range(answers(grid)):
        point = found.middle
        found.learn(point, counts.at(float(grid[point])) + offset)
    return float(grid[found.quantile(0.5)])


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


def geometric_grid(low: float, high: float, ratio: float) -> Floats:
    """A public grid from `low` to at least `high`."""
    cells = max(1, math.ceil(math.log(high / low) / math.log(ratio)))
    return np.asarray(low * ratio ** np.arange(cells + 1), dtype=np.float64)
