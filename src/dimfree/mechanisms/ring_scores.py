"""The variance of every coordinate before any centre is known: clipped scores of neighbours on the secret ring (P15).

A pair's score is that of `scores`, of half the difference of its two records about zero: a non-negative integer vector
of norm at most BALL. The sum over all pairs moves by at most √5·BALL under add/remove: two pairs go and one comes, and
everything is non-negative. Under replace-one by 2√2·BALL. Proof: proofs/mechanisms/ring.md.
"""

import math
from fractions import Fraction

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import charged_gaussian, refining_bits
from dimfree.core.ring import Ring
from dimfree.geometry.clip import BALL
from dimfree.mechanisms import Measured
from dimfree.mechanisms.ring_lengths import pair_count_sensitivity, pair_excess
from dimfree.mechanisms.scores import Scoring, lengths_of, total_scores
from dimfree.mechanisms.search import noisy_crossing
from dimfree.noise import Noise

RING_MOVES = {Neighbours.ADD_REMOVE: math.sqrt(5), Neighbours.REPLACE_ONE: 2 * math.sqrt(2)}  # of the sum (P15)


def pair_scoring(scale: Floats, norm: float) -> Scoring:
    """Scores of φ((x - y)²/(2·R·scale²)); an infinite scale leaves a coordinate out. Public."""
    return Scoring(np.zeros(len(scale)), scale / math.sqrt(2), norm)


def noisy_ring_unit(
    ring: Ring,
    scoring: Scoring,
    share: Fraction,
    grid: Floats,
    count: float,
    mu: float,
    relation: Neighbours,
    *,
    noise: Noise,
) -> Measured[float]:
    """The unit R of the public grid at which about `share` of the pairs keep their whole score."""
    lengths = lengths_of(ring.space, scoring, grid)
    lengths.look(lengths.likely_unit(grid, 1 - float(share)))  # decides what is computed, not what is counted

    def excess(unit: float) -> int:
        return pair_excess(ring.count - lengths.clipped(unit), ring.count, share)

    moves = pair_count_sensitivity(share, relation)  # P15
    return noisy_crossing(excess, grid, float(share), count, moves, mu, "unit of the ring's scores", noise=noise)


def noisy_ring_scores(
    ring: Ring, scoring: Scoring, unit: float, mu: float, relation: Neighbours, *, noise: Noise
) -> Measured[Floats]:
    """The noisy sum over all pairs of their clipped scores, in units of the score."""
    total = total_scores(ring.space, scoring, unit)
    moves = BALL * RING_MOVES[relation] * (1 + 1e-15)  # P15
    bits = refining_bits(moves, mu)
    step = scoring.norm / BALL / 2**bits
    event = charged_gaussian(moves * 2**bits, mu, len(total), step, "variances on the ring")
    noisy = total * 2**bits + noise.gaussian(event.stddev, len(total))
    return Measured(noisy * step, event)
