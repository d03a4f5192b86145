"""The privacy kernel: the only holder of records, secret coins and noise, with a closed set of queries.

A program takes a `PrivateTable`, opens it once with branches that fit the budget, takes one branch and asks queries of
its views. Nothing but `Released` values comes out, each charged before a record is read, so that whatever a program
computes is post-processing. Proof: proofs/kernel.md.
"""

from dimfree.kernel.directions import Directions, OuterProducts
from dimfree.kernel.groups import GroupCosts, PrivateGroups
from dimfree.kernel.pairs import Pairs, RingPairs, share_sensitivity
from dimfree.kernel.parameters import KernelError
from dimfree.kernel.rows.bases import Basis, LearnedAxes
from dimfree.kernel.rows.clip import HELD
from dimfree.kernel.rows.cosine import Cosine
from dimfree.kernel.session import NoisyCounts, Released, Session
from dimfree.kernel.statistics.clipped_sum import Ball, Block
from dimfree.kernel.statistics.scores import SCORE_SENSITIVITY, Scoring, phi_inverse
from dimfree.kernel.statistics.secret_ring import RING_SENSITIVITY, pair_scoring
from dimfree.kernel.statistics.soft_histogram import Cells, Magnitudes, Offsets, weights_of
from dimfree.kernel.statistics.stable import THOUSANDTHS, admissible, core_sensitivity
from dimfree.kernel.statistics.unit_vectors import OUTER_SENSITIVITY, Lookout
from dimfree.kernel.table import PrivateTable
from dimfree.kernel.views import View

# fmt: off
__all__ = [
    "Ball", "Basis", "Block", "Cells", "Cosine", "Directions", "GroupCosts", "HELD", "KernelError", "LearnedAxes",
    "Lookout", "Magnitudes", "NoisyCounts", "OUTER_SENSITIVITY", "Offsets", "OuterProducts", "Pairs", "PrivateGroups",
    "PrivateTable", "RING_SENSITIVITY", "Released", "RingPairs", "SCORE_SENSITIVITY", "Scoring", "Session",
    "THOUSANDTHS", "View", "admissible", "core_sensitivity", "pair_scoring", "phi_inverse", "share_sensitivity",
    "weights_of",
]
# fmt: on
