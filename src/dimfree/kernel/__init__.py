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
    from dimfree.kernel.session import Session as Session
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
    "Session": "session",
    "PrivateTable": "table",
    "View": "views",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: shapes and readers need `kernel.rows` alone."""
    if name not in _MODULES:
        raise AttributeError(f"module 'dimfree.kernel' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dimfree.kernel.{_MODULES[name]}"), name)
