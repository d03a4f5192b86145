"""How far neighbours on the secret ring lie apart: the length that a share of the pairs does not exceed (P15).

The statistic is #{pairs with length <= r} - q·m, m the number of pairs. Between neighbouring tables it moves by at most
max(1 + q, 2 - q) under add/remove and by at most 2 under replace-one. Proof: proofs/mechanisms/ring.md.
"""

from fractions import Fraction

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.core.ring import Ring
from dimfree.mechanisms import Measured
from dimfree.mechanisms.search import STEPS, noisy_crossing
from dimfree.noise import Noise


def pair_count_sensitivity(share: Fraction, relation: Neighbours) -> float:
    """Of #{pairs with a property} - q·m, in pairs; one grid step is added for rounding q·m to the grid (P15)."""
    moves = max(1 + share, 2 - share) if relation is Neighbours.ADD_REMOVE else Fraction(2)
    return float(moves) + 1 / STEPS


def pair_excess(pairs: int, of: int, share: Fraction) -> int:
    """#{pairs with a property} - q·m in grid steps, rounded down. Private."""
    return pairs * STEPS - int(-(-share * of * STEPS // 1))


def noisy_ring_length(
    ring: Ring,
    scale: Floats,
    share: Fraction,
    grid: Floats,
    count: float,
    mu: float,
    relation: Neighbours,
    *,
    noise: Noise,
) -> Measured[float]:
    """The length of the public grid that about `share` of the pairs do not exceed, coordinates divided by `scale`.

    `count` is the released or public number of records that may be on the ring.
    """
    lengths = np.sort(ring.lengths(scale))

    def excess(radius: float) -> int:
        return pair_excess(int(np.searchsorted(lengths, radius, side="right")), len(lengths), share)

    moves = pair_count_sensitivity(share, relation)  # P15
    return noisy_crossing(excess, grid, float(share), count, moves, mu, "lengths on the ring", noise=noise)
