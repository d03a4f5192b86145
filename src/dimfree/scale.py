"""An unknown factor: how large the records are compared with the shape, from private looks at their distances (M5').

Everything after the two searches is post-processing of what they released.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dimfree.accounting.events import Gaussian
from dimfree.budget import Neighbours
from dimfree.core.distances import PairDistances
from dimfree.mechanisms.friend_radius import friend_average_sensitivity, noisy_friend_radius
from dimfree.mechanisms.search import count_stddev, geometric_grid
from dimfree.noise import Noise
from dimfree.radius import FriendRadii
from dimfree.space import Mask, Space

WINDOW = 1e6  # the factor is looked for between 1/WINDOW and WINDOW
_COARSE, _FINE, _MARGIN = 1.15, 1.03, 1.35
_SHARE = Fraction(1, 2)


@dataclass(frozen=True)
class LearnedScale:
    """The factor by which standard deviations exceed the shape's, and what it cost to learn."""

    factor: float
    found: bool
    events: tuple[Gaussian, ...]


def learn_scale(
    space: Space, sampled: Mask | None, radii: FriendRadii, mu: float, relation: Neighbours, *, noise: Noise
) -> LearnedScale:
    """The median distance between records, coarse then fine, over the one that the shape predicts."""
    pairs = pair_distances(space, sampled)
    expected = radii.typical(float(_SHARE))
    each = mu * math.sqrt(0.5)
    window = expected * geometric_grid(1 / WINDOW, WINDOW, _COARSE)
    coarse = noisy_friend_radius(pairs, _SHARE, window, each, relation, noise=noise)
    near = coarse.value * geometric_grid(1 / _MARGIN, _MARGIN, _FINE)
    fine = noisy_friend_radius(pairs, _SHARE, near, each, relation, noise=noise)
    found = window[1] < coarse.value < window[-1]
    return LearnedScale(fine.value / expected, bool(found), (coarse.event, fine.event))


def learnable(count: float, mu: float, relation: Neighbours) -> bool:
    """Whether the coarse search over so many records is likely to go right: its counts stand three deviations apart
    from their target at both ends of the window. A function of public or released numbers."""
    cells = len(geometric_grid(1 / WINDOW, WINDOW, _COARSE)) - 1
    noise = count_stddev(cells, friend_average_sensitivity(_SHARE, relation), mu * math.sqrt(0.5))
    return float(_SHARE) * count >= 3 * noise


def pair_distances(space: Space, sampled: Mask | None) -> PairDistances:
    """Distances among the (sampled) valid records; the invalid ones are counted."""
    parts, start, size = [], 0, space.count if sampled is None else int(sampled.sum())
    for rows, valid in space.blocks():
        chosen = valid if sampled is None else valid & sampled[start : start + len(rows)]
        parts.append(rows[chosen])
        start += len(rows)
    rows = np.concatenate(parts) if parts else np.zeros((0, space.dimension))
    return PairDistances.of(rows, size - len(rows))
