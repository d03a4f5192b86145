"""How far neighbours on the secret ring lie apart: the length that a share of the pairs does not exceed (P15).

The statistic is #{pairs with length <= r} - q·m, m the number of pairs. Between neighbouring tables it moves by at most
max(1 + q, 2 - q) under add/remove and by at most 2 under replace-one. Proof: proofs/statistics/secret_ring.md.
"""

from fractions import Fraction

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import SEARCH_STEPS


def pair_count_sensitivity(share: Fraction, relation: Neighbours) -> float:
    """Of #{pairs with a property} - q·m, in pairs; one grid step is added for rounding q·m to the grid (P15)."""
    moves = max(1 + share, 2 - share) if relation is Neighbours.ADD_REMOVE else Fraction(2)
    return float(moves) + 1 / SEARCH_STEPS


def pair_excess(pairs: int, of: int, share: Fraction) -> int:
    """#{pairs with a property} - q·m in grid steps, rounded down. Private."""
    return pairs * SEARCH_STEPS - int(-(-share * of * SEARCH_STEPS // 1))
