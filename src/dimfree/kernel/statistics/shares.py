"""A count less a share of all: how far apart records lie is searched where it turns positive (M5', P15).

- S(u) - q·n, S(u) the average number of friends at the radius u, S = 1 for no records (proofs/statistics/friends.md);
- #{pairs on the secret ring with a property} - q·m, m the number of pairs (proofs/statistics/secret_ring.md).

Both move by at most max(1 + q, 2 - q) under add-remove, and by at most 2 under replace-one.
"""

import math
from fractions import Fraction

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import SEARCH_STEPS


def share_sensitivity(share: Fraction, relation: Neighbours) -> float:
    """In records or pairs; one grid step is added for rounding down to the grid."""
    moves = max(1 + share, 2 - share) if relation is Neighbours.ADD_REMOVE else Fraction(2)
    return float(moves) + 1 / SEARCH_STEPS


def excess(counted: Fraction | int, of: int, share: Fraction) -> int:
    """The count less the share of all, in grid steps, rounded down. Private."""
    return math.floor((counted - share * of) * SEARCH_STEPS)
