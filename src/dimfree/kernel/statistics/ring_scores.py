"""The variance of every coordinate before any centre is known: clipped scores of neighbours on the secret ring (P15).

A pair's score is that of `scores`, of half the difference of its two records about zero: a non-negative integer vector
of norm at most BALL. The sum over all pairs moves by at most √5·BALL under add/remove: two pairs go and one comes, and
everything is non-negative. Under replace-one by 2√2·BALL. Proof: proofs/statistics/secret_ring.md.
"""

import math

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.kernel.statistics.scores import Scoring

RING_SENSITIVITY = {Neighbours.ADD_REMOVE: math.sqrt(5), Neighbours.REPLACE_ONE: 2 * math.sqrt(2)}  # of the sum (P15)


def pair_scoring(scale: Floats, norm: float) -> Scoring:
    """Scores of φ((x - y)²/(2·R·scale²)); an infinite scale leaves a coordinate out. Public."""
    return Scoring(np.zeros(len(scale)), scale / math.sqrt(2), norm)
