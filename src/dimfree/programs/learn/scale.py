"""An unknown scale, by private searches over distances between records (M5'): a factor, or the friend radius.

The searches are Gaussian releases; the rest is post-processing.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbors
from dimfree.accounting.events import Tested
from dimfree.kernel import NoisyCounts, Pairs, Released, share_sensitivity
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.core import Size
from dimfree.programs.choose.friend_radius import FriendRadii


def make_geometric_grid(low: float, high: float, ratio: float) -> Floats:
    """Make a public grid from `low` to at least `high`."""
    cells = max(1, math.ceil(math.log(high / low) / math.log(ratio)))
    return np.asarray(low * ratio ** np.arange(cells + 1), dtype=np.float64)


FACTORS = make_geometric_grid(1 / c.FACTOR_WINDOW, c.FACTOR_WINDOW, c.FACTOR_STEP)


def learn_scale(pairs: Pairs, radii: FriendRadii, count: float, mu: float) -> tuple[float, bool]:
    """Release (median distance over the predicted one, whether it is inside the window)."""
    expected, grid = radii.typical(float(c.MEDIAN_SHARE)), FACTORS
    factor = search_friend_radius(pairs, c.MEDIAN_SHARE, expected * grid, count, mu).value / expected
    return factor, is_inside(factor, grid)


def search_friend_radius(pairs: Pairs, share: Fraction, grid: Floats, count: float, mu: float) -> Released[float]:
    """Release about the first radius of the grid at which the average record has `share` of all as friends (M5')."""
    counts = pairs.friends(share, count_answers(grid), mu)
    return Released(find_crossing(counts, grid, float(share), count), counts.event)


def compute_clearance(count: float, cells: int, mu: float, relation: Neighbors) -> float:
    """Compute the clearance of a search: its squared SNR over the log of the number of cells."""
    deviations = 0.5 * max(count, 0.0) * mu / share_sensitivity(c.MEDIAN_SHARE, relation)
    return deviations**2 / math.log(cells)


def keep_likely_searches(
    branches: Sequence[Tested], size: Size, cells: int, mu: Callable[[Tested], float]
) -> list[Tested]:
    """Keep the branches whose searches for a median, at this mu over so many cells, likely succeed with n̂ records.

    Else the one with the most precise searches, if these may succeed with the largest possible number of records.
    """
    count, relation = size.count * size.rate, size.relation
    likely = [each for each in branches if compute_clearance(count, cells, mu(each), relation) >= c.LIKELY_CLEARANCE]
    last = sorted(branches, key=lambda branch: branch.search_mu)[-1:]
    return likely or [
        each for each in last if compute_clearance(size.possibly, cells, mu(each), relation) >= c.POSSIBLE_CLEARANCE
    ]


def is_inside(value: float, grid: Floats) -> bool:
    """Return whether a value is not at an end of the grid."""
    return bool(grid[1] * (1 + 1e-9) < value < grid[-1] * (1 - 1e-9))


@dataclass(frozen=True)
class LearnedRadius:
    """λ, an estimate of tr Σ, and whether they lie inside the window."""

    radius: float
    trace: float
    found: bool


def learn_radius(
    pairs: Pairs, window: tuple[float, float], count: float, mu: float, relation: Neighbors
) -> LearnedRadius:
    """Release λ by the distances within which the average record has half, and four fifths, of the others.

    If distances are similar, λ is a little more than the wide distance; if they vary, up to 3.6 times as much. Few
    records widen λ further, because the searches are less certain. `count` is released. The factors decide how often
    data pass the test; privacy does not depend on them.
    """
    grid, wide_mu = make_geometric_grid(*window, c.RADIUS_STEP), mu * math.sqrt(1 - c.MEDIAN_SEARCH_SHARE)
    middle = search_friend_radius(pairs, c.MEDIAN_SHARE, grid, count, mu * math.sqrt(c.MEDIAN_SEARCH_SHARE))
    wider = middle.value * np.array(c.WIDE_RATIOS)
    wide = search_friend_radius(pairs, c.WIDE_SHARE, wider, count, wide_mu)
    unsure = share_sensitivity(c.WIDE_SHARE, relation) / wide_mu / count
    radius = widen_radius(middle.value, wide.value, unsure)
    typical = max(middle.value, wide.value / c.MAX_WIDE_TO_TYPICAL)  # root of the mean square distance, 2 tr Σ
    return LearnedRadius(radius, typical**2 / 2, is_inside(middle.value, grid))


def widen_radius(middle: float, wide: float, unsure: float) -> float:
    """Compute λ from the median distance and the wide one; `unsure`: its noise as a share of the records."""
    widening = min(c.MAX_WIDENING, c.MIN_WIDENING * (wide / middle) ** c.WIDENING_POWER)
    return wide * widening * (1 + min(c.NOISE_WIDENING * unsure, 1.0))


_PER_HALVING = 3  # noisy counts for each halving that a search without noise would need
_WIDTHS = np.array([1.0, 3.0, 10.0, 30.0, 100.0])  # in cells: the range in which the count grows from 0 to its maximum
_MODEL_ERROR = 0.2  # of an answer: no count grows along a straight line


def count_answers(grid: Floats) -> int:
    """Return the number of noisy counts of a search over this grid."""
    return _PER_HALVING * max(1, math.ceil(math.log2(max(len(grid) - 1, 2))))


def find_crossing(counts: NoisyCounts, grid: Floats, share: float, count: float, offset: float = 0.0) -> float:
    """Find the upper end of the cell where count + offset turns positive: the posterior median.

    The count grows from about -share·count to (1 - share)·count; `count` is released, or public. Each noisy count is
    released at the posterior median, a function of the earlier answers alone.
    """
    found = Crossing(len(grid) - 1, share, count, counts.stddev)
    for _ in range(count_answers(grid)):
        point = found.middle
        found.learn(point, counts.at(float(grid[point])) + offset)
    return float(grid[found.quantile(0.5)])


class Crossing:
    """The posterior, over cells and widths, of the zero of an excess, given noisy answers. Reads no record.

    The model: a straight line from -share·count to (1 - share)·count over an unknown number of cells. Its error is
    proportional to the answer, so that the signs of precise answers decide.
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
        """Return the upper end of the cell where the posterior reaches `at`."""
        return min(int(np.searchsorted(self._below(), at)) + 1, len(self.log))

    def learn(self, point: int, answer: float) -> None:
        """Update by one noisy excess at a point of the grid."""
        low, high = -self.share * self.count, (1 - self.share) * self.count
        mean = np.clip(self.count * (point - self.place) / _WIDTHS, low, high)
        variance = self.stddev**2 + (_MODEL_ERROR * min(max(answer, low), high)) ** 2
        self.log -= (answer - mean) ** 2 / (2 * variance)

    def _below(self) -> Floats:
        """Return the posterior probability that the zero lies in a cell or before it."""
        mass = np.exp(self.log - self.log.max()).sum(axis=1)
        return np.asarray(np.cumsum(mass) / mass.sum())
