"""An unknown scale, from private searches over the distances between records (M5'): a factor, or the friend radius.

The searches are Gaussian releases; the rest is post-processing of what they released.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Tested
from dimfree.kernel import NoisyCounts, Pairs, Released, share_sensitivity
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.core import Size
from dimfree.programs.choose.friend_radius import FriendRadii


def geometric_grid(low: float, high: float, ratio: float) -> Floats:
    """A public grid from `low` to at least `high`."""
    cells = max(1, math.ceil(math.log(high / low) / math.log(ratio)))
    return np.asarray(low * ratio ** np.arange(cells + 1), dtype=np.float64)


FACTORS = geometric_grid(1 / c.FACTOR_WINDOW, c.FACTOR_WINDOW, c.FACTOR_STEP)


def learn_scale(pairs: Pairs, radii: FriendRadii, count: float, mu: float) -> tuple[float, bool]:
    """(the median distance over the predicted one, whether it is inside the window); `count` is released or public."""
    expected, grid = radii.typical(float(c.MEDIAN_SHARE)), FACTORS
    factor = friend_radius(pairs, c.MEDIAN_SHARE, expected * grid, count, mu).value / expected
    return factor, inside(factor, grid)


def friend_radius(pairs: Pairs, share: Fraction, grid: Floats, count: float, mu: float) -> Released[float]:
    """About the first radius of the grid at which the average record has `share` of all as friends (M5')."""
    counts = pairs.friends(share, answers(grid), mu)
    return Released(crossing(counts, grid, float(share), count), counts.event)


def clearance(count: float, cells: int, mu: float, relation: Neighbours) -> float:
    """How well all counts of a search distinguish: squared standard deviations, over the log of the number of cells."""
    deviations = 0.5 * max(count, 0.0) * mu / share_sensitivity(c.MEDIAN_SHARE, relation)
    return deviations**2 / math.log(cells)


def with_likely_searches(
    branches: Sequence[Tested], size: Size, cells: int, mu: Callable[[Tested], float]
) -> list[Tested]:
    """The branches whose searches for a median, at this mu over so many cells, are likely to succeed with n̂ records.

    Else the one with the most precise searches, if these may succeed with as many records as are possible.
    """
    count, relation = size.count * size.rate, size.relation
    likely = [each for each in branches if clearance(count, cells, mu(each), relation) >= c.SEARCH_LIKELY]
    last = sorted(branches, key=lambda branch: branch.search_mu)[-1:]
    return likely or [each for each in last if clearance(size.possibly, cells, mu(each), relation) >= c.SEARCH_POSSIBLE]


def inside(value: float, grid: Floats) -> bool:
    """Whether what was found is not at an end of the grid."""
    return bool(grid[1] * (1 + 1e-9) < value < grid[-1] * (1 - 1e-9))


@dataclass(frozen=True)
class LearnedRadius:
    """λ, a guess of tr Σ, and whether they lie inside the window."""

    radius: float
    trace: float
    found: bool


def learn_radius(
    pairs: Pairs, window: tuple[float, float], count: float, mu: float, relation: Neighbours
) -> LearnedRadius:
    """λ from the distances within which the average record has half, and four fifths, of the others.

    Where distances are alike, λ is a little more than the wide distance; where they spread, up to 3.6 times as much.
    Few records widen λ further, because the searches are then less certain. `count` is released. The factors decide
    how often honest data pass the test; privacy does not depend on them.
    """
    grid, wide_mu = geometric_grid(*window, c.RADIUS_STEP), mu * math.sqrt(1 - c.MEDIAN_LOOK)
    middle = friend_radius(pairs, c.MEDIAN_SHARE, grid, count, mu * math.sqrt(c.MEDIAN_LOOK))
    wider = middle.value * np.array(c.WIDE_RATIOS)
    wide = friend_radius(pairs, c.WIDE_SHARE, wider, count, wide_mu)
    unsure = share_sensitivity(c.WIDE_SHARE, relation) / wide_mu / count
    radius = widened(middle.value, wide.value, unsure)
    typical = max(middle.value, wide.value / c.WIDE_OVER_TYPICAL)  # root of the mean square distance, 2 tr Σ
    return LearnedRadius(radius, typical**2 / 2, inside(middle.value, grid))


def widened(middle: float, wide: float, unsure: float) -> float:
    """λ from the median distance and the wide one, which is so unsure, as a share of the records."""
    widening = min(c.MOST_WIDENING, c.LEAST_WIDENING * (wide / middle) ** c.WIDENING_POWER)
    return wide * widening * (1 + min(c.UNSURE_WIDENING * unsure, 1.0))


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
