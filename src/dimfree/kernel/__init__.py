"""The privacy kernel: the only holder of records, secret coins and noise, with a closed set of queries.

A program takes a `PrivateTable`, opens it once with branches that fit the budget, takes one branch and asks queries of
its views. Nothing but `Released` values comes out, each charged before a record is read, so that whatever a program
computes is post-processing. Proof: proofs/kernel.md.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dimfree.kernel.counts import NoisyCounts as NoisyCounts
    from dimfree.kernel.directions import Directions as Directions
    from dimfree.kernel.directions import OuterProducts as OuterProducts
    from dimfree.kernel.groups import GroupCosts as GroupCosts
    from dimfree.kernel.groups import PrivateGroups as PrivateGroups
    from dimfree.kernel.pairs import Pairs as Pairs
    from dimfree.kernel.released import KernelError as KernelError
    from dimfree.kernel.released import Released as Released
    from dimfree.kernel.ring import RingPairs as RingPairs
    from dimfree.kernel.rows.bases.basis import Basis as Basis
    from dimfree.kernel.rows.bases.cosine import Cosine as Cosine
    from dimfree.kernel.rows.bases.learned import LearnedAxes as LearnedAxes
    from dimfree.kernel.rows.clip import HELD as HELD
    from dimfree.kernel.session import Session as Session
    from dimfree.kernel.statistics.clipped_sum import Ball as Ball
    from dimfree.kernel.statistics.clipped_sum import Block as Block
    from dimfree.kernel.statistics.friend_radius import friend_average_sensitivity as friend_average_sensitivity
    from dimfree.kernel.statistics.outer_sum import OUTER_SENSITIVITY as OUTER_SENSITIVITY
    from dimfree.kernel.statistics.ring_lengths import pair_count_sensitivity as pair_count_sensitivity
    from dimfree.kernel.statistics.ring_scores import RING_SENSITIVITY as RING_SENSITIVITY
    from dimfree.kernel.statistics.ring_scores import pair_scoring as pair_scoring
    from dimfree.kernel.statistics.scores import SCORE_SENSITIVITY as SCORE_SENSITIVITY
    from dimfree.kernel.statistics.scores import Scoring as Scoring
    from dimfree.kernel.statistics.scores import phi_inverse as phi_inverse
    from dimfree.kernel.statistics.soft_histogram import Cells as Cells
    from dimfree.kernel.statistics.soft_histogram import Magnitudes as Magnitudes
    from dimfree.kernel.statistics.soft_histogram import Offsets as Offsets
    from dimfree.kernel.statistics.soft_histogram import weights_of as weights_of
    from dimfree.kernel.statistics.stable import THOUSANDTHS as THOUSANDTHS
    from dimfree.kernel.statistics.stable import admissible as admissible
    from dimfree.kernel.statistics.stable import core_sensitivity as core_sensitivity
    from dimfree.kernel.statistics.unit_vectors import Lookout as Lookout
    from dimfree.kernel.table import PrivateTable as PrivateTable
    from dimfree.kernel.views import View as View

_MODULES = {
    "NoisyCounts": "counts",
    "Directions": "directions",
    "OuterProducts": "directions",
    "GroupCosts": "groups",
    "PrivateGroups": "groups",
    "Pairs": "pairs",
    "KernelError": "released",
    "Released": "released",
    "RingPairs": "ring",
    "Basis": "rows.bases.basis",
    "Cosine": "rows.bases.cosine",
    "LearnedAxes": "rows.bases.learned",
    "HELD": "rows.clip",
    "Session": "session",
    "Ball": "statistics.clipped_sum",
    "Block": "statistics.clipped_sum",
    "friend_average_sensitivity": "statistics.friend_radius",
    "OUTER_SENSITIVITY": "statistics.outer_sum",
    "pair_count_sensitivity": "statistics.ring_lengths",
    "RING_SENSITIVITY": "statistics.ring_scores",
    "pair_scoring": "statistics.ring_scores",
    "SCORE_SENSITIVITY": "statistics.scores",
    "Scoring": "statistics.scores",
    "phi_inverse": "statistics.scores",
    "Cells": "statistics.soft_histogram",
    "Magnitudes": "statistics.soft_histogram",
    "Offsets": "statistics.soft_histogram",
    "weights_of": "statistics.soft_histogram",
    "THOUSANDTHS": "statistics.stable",
    "admissible": "statistics.stable",
    "core_sensitivity": "statistics.stable",
    "Lookout": "statistics.unit_vectors",
    "PrivateTable": "table",
    "View": "views",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: shapes and readers need `kernel.rows` alone."""
    if name not in _MODULES:
        raise AttributeError(f"module 'dimfree.kernel' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dimfree.kernel.{_MODULES[name]}"), name)
