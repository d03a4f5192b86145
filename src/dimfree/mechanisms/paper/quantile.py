"""A quantile on a public grid, by the exponential mechanism (M5).

The balance of a point g is A(g) = (1 - share)·#{v <= g} - share·#{v > g}; a cell (g_{j-1}, g_j] holds the quantile if
A changes sign in it, and its score is minus the number of items by which it fails to.
Proof: proofs/mechanisms/paper/quantile.md.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_between, check_fraction, check_increasing, check_reals
from dimfree.accounting.losses import Ranged
from dimfree.mechanisms import Charged
from dimfree.mechanisms.paper.top_k import SCALES, loss_range
from dimfree.noise import Noise, check_noise

_LARGEST_DENOMINATOR = 10**6  # scores are counted in 1/denominator of an item and stay far below 2^63


def quantile_scores(values: NDArray[np.float64], share: Fraction, grid: NDArray[np.float64]) -> NDArray[np.int64]:
    """-max(0, -A(g_j), A(g_{j-1})) for every cell, in units of 1/denominator of the share; NaN is no item.

    The first cell has no lower end and the last no upper end, so that some cell always holds the quantile.
    """
    present = np.sort(values[~np.isnan(values)])
    below = np.searchsorted(present, grid[:-1], side="right").astype(np.int64)
    balance = below * share.denominator - len(present) * share.numerator  # A = #{v <= g} - share·(number of items)
    lacking, beyond = np.append(-balance, 0), np.append(0, balance)
    return -np.maximum(np.maximum(lacking, beyond), 0)


def private_quantile(
    values: NDArray[np.float64], share: Fraction, grid: NDArray[np.float64], scale: float, purpose: str, *, noise: Noise
) -> Charged[float, Ranged]:
    """A point of the public grid such that about `share` of the values are at most this.

    Guarantee: one choice of range 2/scale, so (2/scale)-private, when one value is exchanged, added or removed.
    Accuracy: within a = scale·ln(len(grid)/β) ranks with probability 1 - β; the end of the grid stands for all beyond.
    Proof: proofs/mechanisms/paper/quantile.md (M5).
    """
    part = check_fraction("share", share, largest_denominator=_LARGEST_DENOMINATOR)
    points = check_increasing("grid", grid)
    width = check_between("scale", scale, *SCALES) * part.denominator
    scores = quantile_scores(check_reals("values", values), part, points)
    event = Ranged(purpose, loss_range(part.denominator, width))
    return Charged(float(points[check_noise(noise, "noisy_top").noisy_top(scores, 1, width)[0]]), event)
