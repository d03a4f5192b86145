"""How far apart the records are: the radius at which the average number of friends reaches a share of all (M5').

The statistic is S(u) - q·n, S(u) = (1/n) Σ_j c_j(u) the average number of friends, S = 1 for no records. Between
neighbours it moves by less than max(1 + q, 2 - q) under add/remove and by less than 2 under replace-one.
Proof: proofs/mechanisms/friend_radius.md.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dimfree.accounting.budget import Neighbours
from dimfree.core.distances import PairDistances
from dimfree.mechanisms import Measured
from dimfree.mechanisms.search import STEPS, noisy_crossing
from dimfree.noise import Noise


def friend_average_sensitivity(share: Fraction, relation: Neighbours) -> float:
    """In records; one grid step is added for rounding the average down to the grid."""
    moves = max(1 + share, 2 - share) if relation is Neighbours.ADD_REMOVE else Fraction(2)
    return float(moves) + 1 / STEPS


def noisy_friend_radius(
    pairs: PairDistances,
    share: Fraction,
    grid: NDArray[np.float64],
    count: float,
    mu: float,
    relation: Neighbours,
    *,
    noise: Noise,
) -> Measured[float]:
    """About the first radius of the public grid at which the average record has `share` of all as friends.

    `count` is the released or public number of records.
    """

    def excess(radius: float) -> int:
        n = pairs.count
        average = Fraction(pairs.friend_pairs(radius), n) if n else Fraction(1)
        return int((average - share * n) * STEPS // 1)

    sensitivity = friend_average_sensitivity(share, relation)
    return noisy_crossing(excess, grid, float(share), count, sensitivity, mu, "friend radius", noise=noise)
