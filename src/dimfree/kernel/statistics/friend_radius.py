"""How far apart the records are: the radius at which the average number of friends reaches a share of all (M5').

The statistic is S(u) - q·n, S(u) = (1/n) Σ_j c_j(u) the average number of friends, S = 1 for no records. Between
neighbours it moves by less than max(1 + q, 2 - q) under add/remove and by less than 2 under replace-one.
Proof: proofs/statistics/friends.md.
"""

from fractions import Fraction

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import SEARCH_STEPS


def friend_average_sensitivity(share: Fraction, relation: Neighbours) -> float:
    """In records; one grid step is added for rounding the average down to the grid."""
    moves = max(1 + share, 2 - share) if relation is Neighbours.ADD_REMOVE else Fraction(2)
    return float(moves) + 1 / SEARCH_STEPS
