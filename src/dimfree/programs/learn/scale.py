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
from dimfree.kernel import Pairs, Released, share_sensitivity
from dimfree.programs.choose.constants import (
    FACTOR_STEP,
    FACTOR_WINDOW,
    LEAST_WIDENING,
    MEDIAN_LOOK,
    MEDIAN_SHARE,
    MOST_WIDENING,
    RADIUS_STEP,
    SEARCH_LIKELY,
    SEARCH_POSSIBLE,
    UNSURE_WIDENING,
    WIDE_OVER_TYPICAL,
    WIDE_RATIOS,
    WIDE_SHARE,
    WIDENING_POWER,
)
from dimfree.programs.choose.core import Size
from dimfree.programs.choose.friend_radius import FriendRadii
from dimfree.programs.learn.crossing import answers, crossing, geometric_grid

Clearance = Callable[[float, Tested], float]


@dataclass(frozen=True)
class LearnedScale:
    """The factor by which standard deviations exceed the shape's, and what it cost to learn."""

    factor: float
    found: bool


def learn_scale(pairs: Pairs, radii: FriendRadii, count: float, mu: float) -> LearnedScale:
    """The median distance between records over the predicted one. `count` is released or public."""
    expected, grid = radii.typical(float(MEDIAN_SHARE)), geometric_grid(1 / FACTOR_WINDOW, FACTOR_WINDOW, FACTOR_STEP)
    factor = friend_radius(pairs, MEDIAN_SHARE, expected * grid, count, mu).value / expected
    return LearnedScale(factor, inside(factor, grid))


def friend_radius(pairs: Pairs, share: Fraction, grid: Floats, count: float, mu: float) -> Released[float]:
    """About the first radius of the grid at which the average record has `share` of all as friends (M5')."""
    counts = pairs.friends(share, answers(grid), mu)
    return Released(crossing(counts, grid, float(share), count), counts.event)


def factor_clearance(count: float, mu: float, relation: Neighbours) -> float:
    """`_clearance` of the search for a factor. Public."""
    return _clearance(count, geometric_grid(1 / FACTOR_WINDOW, FACTOR_WINDOW, FACTOR_STEP), mu, relation)


def _clearance(count: float, grid: Floats, mu: float, relation: Neighbours) -> float:
    """How well all counts of a search together tell far from near, beside how many cells there are to mislead.

    In squared standard deviations, over the logarithm of the number of cells.
    """
    deviations = 0.5 * max(count, 0.0) * mu / share_sensitivity(MEDIAN_SHARE, relation)
    return deviations**2 / math.log(len(grid) - 1)


def with_likely_searches(branches: Sequence[Tested], size: Size, clearance: Clearance) -> list[Tested]:
    """The branches whose searches are likely to succeed with n̂ records; else the one with the most precise searches,
    if with as many records as are possible these may succeed. `clearance`: of a number of records and a branch."""
    likely = [each for each in branches if clearance(size.count * size.rate, each) >= SEARCH_LIKELY]
    last = sorted(branches, key=lambda branch: branch.search_mu)[-1:]
    return likely or [each for each in last if clearance(size.possibly, each) >= SEARCH_POSSIBLE]


def inside(value: float, grid: Floats) -> bool:
    """Whether what was found is not at an end of the grid."""
    return bool(grid[1] * (1 + 1e-9) < value < grid[-1] * (1 - 1e-9))


@dataclass(frozen=True)
class LearnedRadius:
    """λ, a guess of tr Σ, whether they lie inside the window, and what they cost."""

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
    grid, median_mu, wide_mu = geometric_grid(*window, RADIUS_STEP), *_looks(mu)
    middle = friend_radius(pairs, MEDIAN_SHARE, grid, count, median_mu)
    wider = middle.value * np.array(WIDE_RATIOS)
    wide = friend_radius(pairs, WIDE_SHARE, wider, count, wide_mu)
    unsure = share_sensitivity(WIDE_SHARE, relation) / wide_mu / count
    radius = widened(middle.value, wide.value, unsure)
    typical = max(middle.value, wide.value / WIDE_OVER_TYPICAL)  # root of the mean square distance, 2 tr Σ
    return LearnedRadius(radius, typical**2 / 2, inside(middle.value, grid))


def widened(middle: float, wide: float, unsure: float) -> float:
    """λ from the median distance and the wide one, which is so unsure, as a share of the records."""
    widening = min(MOST_WIDENING, LEAST_WIDENING * (wide / middle) ** WIDENING_POWER)
    return wide * widening * (1 + min(UNSURE_WIDENING * unsure, 1.0))


def _looks(mu: float) -> tuple[float, float]:
    """The precisions of the searches for the median distance and for the wide one: together mu."""
    return mu * math.sqrt(MEDIAN_LOOK), mu * math.sqrt(1 - MEDIAN_LOOK)


def radius_clearance(count: float, window: tuple[float, float], mu: float, relation: Neighbours) -> float:
    """`_clearance` of the search for the median distance. Public."""
    return _clearance(count, geometric_grid(*window, RADIUS_STEP), _looks(mu)[0], relation)
