"""Whether an estimator of the house is ahead of every peer that has no more prior knowledge than it has.

A peer has more where it was told all that ours was told and something besides. Where each was told something that the
other was not ("other"), the peer does not have more, and ours has to be ahead of it.
"""

import math
from collections.abc import Mapping
from typing import Any

from dimfree.comparison.contestants import CONTESTANTS, Contestant
from dimfree.comparison.outcome import Score

OURS = tuple(contestant for contestant in CONTESTANTS if contestant.ours)
PEERS = tuple(contestant for contestant in CONTESTANTS if contestant.private and not contestant.ours)


def scores_of(cell: Mapping[str, Any]) -> dict[str, Score]:
    """By name, from what the measurement wrote down."""
    rows = [Score(**{**row, "errors": tuple(row["errors"])}) for row in cell["scores"]]
    return {row.name: row for row in rows}


def verdicts(scores: Mapping[str, Score]) -> list[dict[str, Any]]:
    """One for each estimator of the house, in words and plain numbers."""
    return [verdict(contestant, scores) for contestant in OURS]


def verdict(ours: Contestant, scores: Mapping[str, Score]) -> dict[str, Any]:
    """Medians are compared; a refusal is infinitely far off."""
    rivals = [peer.name for peer in PEERS if peer.knows(ours) != "more"]
    told_more = [peer.name for peer in PEERS if peer.knows(ours) == "more"]
    own = scores[ours.name].typical
    best = min(rivals, key=lambda name: scores[name].typical)
    nearer = [name for name in told_more if scores[name].typical < own]
    return {
        "estimator": ours.name,
        "error": _finite(own),
        "rivals": rivals,
        "best_rival": best,
        "best_rival_error": _finite(scores[best].typical),
        "ahead": own < min(scores[name].typical for name in rivals),
        "nearer_but_told_more": {name: scores[name].typical for name in nearer},
        "ahead_of_told_more": [name for name in told_more if name not in nearer],
    }


def _finite(error: float) -> float | None:
    """None where most draws were refused: JSON has no infinity."""
    return error if math.isfinite(error) else None
