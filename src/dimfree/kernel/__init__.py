"""The privacy kernel: the only holder of records, secret coins and noise, with a closed set of queries.

A program takes a `PrivateTable`, opens it once with branches that fit the budget, takes one branch and asks queries of
its views. Nothing but `Released` values comes out, each charged before a record is read, so that whatever a program
computes is post-processing. Proof: proofs/kernel.md.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_MODULES = {  # the public names of each
    "directions": "Directions OuterProducts",
    "groups": "GroupCosts PrivateGroups",
    "pairs": "Pairs RingPairs share_sensitivity",
    "parameters": "KernelError",
    "rows.bases": "Basis LearnedAxes",
    "rows.clip": "HELD",
    "rows.cosine": "Cosine",
    "session": "NoisyCounts Released Session",
    "statistics.clipped_sum": "Ball Block",
    "statistics.scores": "SCORE_SENSITIVITY Scoring phi_inverse",
    "statistics.secret_ring": "RING_SENSITIVITY pair_scoring",
    "statistics.soft_histogram": "Cells Magnitudes Offsets weights_of",
    "statistics.stable": "THOUSANDTHS admissible core_sensitivity",
    "statistics.unit_vectors": "OUTER_SENSITIVITY Lookout",
    "table": "PrivateTable",
    "views": "View",
}

# fmt: off
__all__ = [
    "Ball", "Basis", "Block", "Cells", "Cosine", "Directions", "GroupCosts", "HELD", "KernelError", "LearnedAxes",
    "Lookout", "Magnitudes", "NoisyCounts", "OUTER_SENSITIVITY", "Offsets", "OuterProducts", "Pairs", "PrivateGroups",
    "PrivateTable", "RING_SENSITIVITY", "Released", "RingPairs", "SCORE_SENSITIVITY", "Scoring", "Session",
    "THOUSANDTHS", "View", "admissible", "core_sensitivity", "pair_scoring", "phi_inverse", "share_sensitivity",
    "weights_of",
]
# fmt: on


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: shapes and readers need `kernel.rows` alone."""
    module = next((each for each, names in _MODULES.items() if name in names.split()), None)
    if module is None:
        raise AttributeError(f"module 'dimfree.kernel' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dimfree.kernel.{module}"), name)
