"""An unknown scale, from private searches over the distances between records (M5'): a factor, or the friend radius.

The searches are Gaussian releases; the rest is post-processing of what they released.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Gaussian
from dimfree.core.distances import PairDistances
from dimfree.data.blocks import Mask, gathered
from dimfree.data.progress import during
from dimfree.estimators.choose.constants import (
    COARSE_STEP,
    FACTOR_WINDOW,
    FINE_REACH,
    FINE_STEP,
    LEAST_WIDENING,
    MEDIAN_SHARE,
    MOST_WIDENING,
    RADIUS_FINE_STEP,
    RADIUS_LOOKS,
    RADIUS_ROUGH_STEP,
    SEARCH_CLEARANCE,
    WIDE_SHARE,
    WIDENING_POWER,
)
from dimfree.estimators.choose.friend_radius import FriendRadii
from dimfree.geometry.space import Space
from dimfree.mechanisms.friend_radius import friend_average_sensitivity, noisy_friend_radius
from dimfree.mechanisms.search import count_stddev, geometric_grid
from dimfree.noise import Noise


@dataclass(frozen=True)
class LearnedScale:
    """The factor by which standard deviations exceed the shape's, and what it cost to learn."""

    factor: float
    found: bool
    events: tuple[Gaussian, ...]


def learn_scale(
    pairs: PairDistances, radii: FriendRadii, mu: float, relation: Neighbours, *, noise: Noise
) -> LearnedScale:
    """The median distance between records over the predicted one, by a coarse and a fine search."""
    expected = radii.typical(float(MEDIAN_SHARE))
    each = mu * math.sqrt(0.5)
    window = expected * geometric_grid(1 / FACTOR_WINDOW, FACTOR_WINDOW, COARSE_STEP)
    coarse = noisy_friend_radius(pairs, MEDIAN_SHARE, window, each, relation, noise=noise)
    near = coarse.value * geometric_grid(1 / FINE_REACH, FINE_REACH, FINE_STEP)
    fine = noisy_friend_radius(pairs, MEDIAN_SHARE, near, each, relation, noise=noise)
    found = window[1] < coarse.value < window[-1]
    return LearnedScale(fine.value / expected, bool(found), (coarse.event, fine.event))


def learnable(count: float, mu: float, relation: Neighbours) -> bool:
    """Whether the coarse search for a factor is likely to succeed with so many records. Public."""
    cells = len(geometric_grid(1 / FACTOR_WINDOW, FACTOR_WINDOW, COARSE_STEP)) - 1
    return _stands_out(MEDIAN_SHARE, count, cells, mu * math.sqrt(0.5), relation)


def _stands_out(share: Fraction, count: float, cells: int, mu: float, relation: Neighbours) -> bool:
    """Whether the counts lie some deviations of their noise from the target at both ends of the window."""
    noise = count_stddev(cells, friend_average_sensitivity(share, relation), mu)
    return float(min(share, 1 - share)) * count >= SEARCH_CLEARANCE * noise


@dataclass(frozen=True)
class LearnedRadius:
    """λ, a guess of tr Σ, whether they lie inside the window, and what they cost."""

    radius: float
    trace: float
    found: bool
    events: tuple[Gaussian, ...]


def learn_radius(
    pairs: PairDistances, window: tuple[float, float], count: float, mu: float, relation: Neighbours, *, noise: Noise
) -> LearnedRadius:
    """λ from the distances within which the average record has half, and four fifths, of the others.

    Where distances are alike, λ is a little more than the wide distance; where they spread, up to 3.6 times as much.
    Few records widen λ further, because the searches are then less certain. `count` is released. The factors decide
    how often honest data pass the test; privacy does not depend on them.
    """
    shares = [math.sqrt(share) * mu for share in RADIUS_LOOKS]
    grid = geometric_grid(*window, RADIUS_ROUGH_STEP)
    rough = noisy_friend_radius(pairs, MEDIAN_SHARE, grid, shares[0], relation, noise=noise)
    near = rough.value / RADIUS_ROUGH_STEP * geometric_grid(1.0, RADIUS_ROUGH_STEP, RADIUS_FINE_STEP)
    middle = noisy_friend_radius(pairs, MEDIAN_SHARE, near, shares[1], relation, noise=noise)
    wider = middle.value * geometric_grid(1.0, 3.0, RADIUS_FINE_STEP)
    wide = noisy_friend_radius(pairs, WIDE_SHARE, wider, shares[2], relation, noise=noise)
    ratio = wide.value / middle.value
    unsure = count_stddev(len(wider) - 1, friend_average_sensitivity(WIDE_SHARE, relation), shares[2]) / count
    radius = wide.value * min(MOST_WIDENING, LEAST_WIDENING * ratio**WIDENING_POWER) * (1 + min(1.5 * unsure, 1.0))
    found = bool(grid[1] < rough.value < grid[-1])
    return LearnedRadius(radius, middle.value**2 / 2, found, (rough.event, middle.event, wide.event))


def radius_learnable(count: float, window: tuple[float, float], mu: float, relation: Neighbours) -> bool:
    """Whether the first search for λ is likely to succeed with so many records. Public."""
    cells = len(geometric_grid(*window, RADIUS_ROUGH_STEP)) - 1
    return _stands_out(MEDIAN_SHARE, count, cells, mu * math.sqrt(RADIUS_LOOKS[0]), relation)


@during("distances in the core's sample")
def pair_distances(space: Space, sampled: Mask | None, capacity: int = 0) -> PairDistances:
    """Distances among the (sampled) valid records; the invalid ones are counted. `capacity` as in `on_grid`."""
    size = space.count if sampled is None else int(sampled.sum())
    rows = gathered(space.chosen_blocks(sampled), (max(size, capacity), space.dimension), np.float64)
    return PairDistances.of(rows, size - len(rows), capacity)
