"""The privacy kernel: the only holder of records, secret coins and noise, with a closed set of queries.

A program takes a `PrivateTable`, opens it once with branches that fit the budget, takes one branch and makes queries on
its views. Nothing but `Released` values comes out, each charged before a record is read, so that whatever a program
computes is post-processing. Proof: proofs/kernel.md.
"""

from dimfree.kernel.directions import Directions, OuterProducts
from dimfree.kernel.groups import GroupCosts, PrivateGroups
from dimfree.kernel.pairs import Pairs, RingPairs, share_sensitivity
from dimfree.kernel.parameters import KernelError
from dimfree.kernel.rows.bases import Basis, LearnedAxes
from dimfree.kernel.rows.clip import MAX_RADII
from dimfree.kernel.rows.cosine import Cosine
from dimfree.kernel.session import NoisyCounts, Released, Session
from dimfree.kernel.statistics.clipped_sum import Ball, Block
from dimfree.kernel.statistics.scores import SCORE_SENSITIVITY, Scoring, phi_inverse
from dimfree.kernel.statistics.secret_ring import RING_SENSITIVITY, pair_scoring
from dimfree.kernel.statistics.soft_histogram import Cells, Magnitudes, Offsets, weights_of
from dimfree.kernel.statistics.stable import THOUSANDTHS, admissible, core_sensitivity
from dimfree.kernel.statistics.unit_vectors import OUTER_SENSITIVITY, DirectionCenter
from dimfree.kernel.table import PrivateTable
from dimfree.kernel.views import View

# fmt: off
__all__ = [
    "admissible", "Ball", "Basis", "Block", "Cells", "core_sensitivity", "Cosine", "DirectionCenter", "Directions",
    "GroupCosts", "KernelError", "LearnedAxes", "Magnitudes", "MAX_RADII", "NoisyCounts", "Offsets",
    "OUTER_SENSITIVITY", "OuterProducts", "pair_scoring", "Pairs", "phi_inverse", "PrivateGroups", "PrivateTable",
    "Released", "RING_SENSITIVITY", "RingPairs", "SCORE_SENSITIVITY", "Scoring", "Session", "share_sensitivity",
    "THOUSANDTHS", "View", "weights_of",
]
# fmt: on
