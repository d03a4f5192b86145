"""How far apart the records are, from private looks at their distances (M5'): an unknown factor, an unknown radius.

Everything after the two searches is post-processing of what they released.
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
from dimfree.estimators.choose.friend_radius import FriendRadii
from dimfree.geometry.space import Space
from dimfree.mechanisms.friend_radius import friend_average_sensitivity, noisy_friend_radius
from dimfree.mechanisms.search import count_stddev, geometric_grid
from dimfree.noise import Noise

WINDOW = 1e6  # the factor is looked for between 1/WINDOW and WINDOW
_COARSE, _FINE, _MARGIN = 1.15, 1.03, 1.35
_SHARE = Fraction(1, 2)
_WIDE_SHARE = Fraction(4, 5)
_STRIDE, _STEP = 1.54, 1.07  # of the rough and the fine grids of an unknown radius
_LOOKS = (0.45, 0.15, 0.40)  # of the precision: roughly where, the median distance, the wide one
_CLEAR = 2.5  # deviations
_LEAST_WIDENING, _MOST_WIDENING, _POWER = 1.2, 3.6, 2.5  # of λ over the wide distance, by its ratio to the median


@dataclass(frozen=True)
class LearnedScale:
    """The factor by which standard deviations exceed the shape's, and what it cost to learn."""

    factor: float
    found: bool
    events: tuple[Gaussian, ...]


def learn_scale(
    pairs: PairDistances, radii: FriendRadii, mu: float, relation: Neighbours, *, noise: Noise
) -> LearnedScale:
    """The median distance between records, coarse then fine, over the one that the shape predicts."""
    expected = radii.typical(float(_SHARE))
    each = mu * math.sqrt(0.5)
    window = expected * geometric_grid(1 / WINDOW, WINDOW, _COARSE)
    coarse = noisy_friend_radius(pairs, _SHARE, window, each, relation, noise=noise)
    near = coarse.value * geometric_grid(1 / _MARGIN, _MARGIN, _FINE)
    fine = noisy_friend_radius(pairs, _SHARE, near, each, relation, noise=noise)
    found = window[1] < coarse.value < window[-1]
    return LearnedScale(fine.value / expected, bool(found), (coarse.event, fine.event))


def learnable(count: float, mu: float, relation: Neighbours) -> bool:
    """Whether the coarse search for a factor over so many records is likely to go right. Public."""
    cells = len(geometric_grid(1 / WINDOW, WINDOW, _COARSE)) - 1
    return _stands_out(_SHARE, count, cells, mu * math.sqrt(0.5), relation)


def _stands_out(share: Fraction, count: float, cells: int, mu: float, relation: Neighbours) -> bool:
    """Whether a search's counts stand some deviations apart from their target at both ends of the window."""
    noise = count_stddev(cells, friend_average_sensitivity(share, relation), mu)
    return float(min(share, 1 - share)) * count >= _CLEAR * noise


@dataclass(frozen=True)
class LearnedRadius:
    """λ, a guess of tr Σ, whether both lie inside the window, and what they cost."""

    radius: float
    trace: float
    found: bool
    events: tuple[Gaussian, ...]


def learn_radius(
    pairs: PairDistances, window: tuple[float, float], count: float, mu: float, relation: Neighbours, *, noise: Noise
) -> LearnedRadius:
    """The distances within which the average record has half, then four fifths of the others, and λ from both.

    Where distances concentrate the two are alike and λ is a little more; where they spread, λ is up to thrice the
    wide one, and for few records a little more again, as the searches are less sure of a rank among the (released)
    `count`. The factors are for the share of honest data that passes; privacy does not rest on them.
    """
    shares = [math.sqrt(share) * mu for share in _LOOKS]
    grid = geometric_grid(*window, _STRIDE)
    rough = noisy_friend_radius(pairs, _SHARE, grid, shares[0], relation, noise=noise)
    near = rough.value / _STRIDE * geometric_grid(1.0, _STRIDE, _STEP)
    middle = noisy_friend_radius(pairs, _SHARE, near, shares[1], relation, noise=noise)
    wider = middle.value * geometric_grid(1.0, 3.0, _STEP)
    wide = noisy_friend_radius(pairs, _WIDE_SHARE, wider, shares[2], relation, noise=noise)
    ratio = wide.value / middle.value
    unsure = count_stddev(len(wider) - 1, friend_average_sensitivity(_WIDE_SHARE, relation), shares[2]) / count
    radius = wide.value * min(_MOST_WIDENING, _LEAST_WIDENING * ratio**_POWER) * (1 + min(1.5 * unsure, 1.0))
    found = bool(grid[1] < rough.value < grid[-1])
    return LearnedRadius(radius, middle.value**2 / 2, found, (rough.event, middle.event, wide.event))


def radius_learnable(count: float, window: tuple[float, float], mu: float, relation: Neighbours) -> bool:
    """Whether the first search for a radius over so many records is likely to go right. Public."""
    cells = len(geometric_grid(*window, _STRIDE)) - 1
    return _stands_out(_SHARE, count, cells, mu * math.sqrt(_LOOKS[0]), relation)


@during("distances in the core's sample")
def pair_distances(space: Space, sampled: Mask | None, capacity: int = 0) -> PairDistances:
    """Distances among the (sampled) valid records; the invalid ones are counted. `capacity` as in `on_grid`."""
    size = space.count if sampled is None else int(sampled.sum())
    rows = gathered(space.chosen_blocks(sampled), (max(size, capacity), space.dimension), np.float64)
    return PairDistances.of(rows, size - len(rows), capacity)
