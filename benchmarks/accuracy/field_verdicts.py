"""Whether an estimator of ours is ahead of its rivals, the peers that have no more prior knowledge than it has.

A peer has more where it was told all that ours was told and something besides. Where each was told something that the
other was not ("other"), the peer does not have more, and ours has to be ahead of it. Only peers that took part count.
"""

import math
from collections.abc import Mapping
from typing import Any

from dimfree.comparison.contestants import CONTESTANTS, Contestant
from dimfree.comparison.outcome import Score
from dimfree.comparison.worlds import Synthetic

OURS = tuple(contestant for contestant in CONTESTANTS if contestant.ours)
PEERS = tuple(contestant for contestant in CONTESTANTS if contestant.private and not contestant.ours)
_WORLD = Synthetic("S1", 1)  # what follows from what is the same in every cell: all are Gaussian


def beside(peer: Contestant, ours: Contestant) -> str:
    """The peer's prior knowledge beside ours: "less", "equal", "more" or "other"."""
    return peer.knows(ours, _WORLD)


def scores_of(cell: Mapping[str, Any]) -> dict[str, Score]:
    """By name, from what the measurement wrote down."""
    rows = [Score(**{**row, "errors": tuple(row["errors"])}) for row in cell["scores"]]
    return {row.name: row for row in rows}


def verdicts(scores: Mapping[str, Score]) -> list[dict[str, Any]]:
    """One for each estimator of ours, in words and plain numbers."""
    return [verdict(contestant, scores) for contestant in OURS]


def verdict(ours: Contestant, scores: Mapping[str, Score]) -> dict[str, Any]:
    """Medians are compared; a refusal is infinitely far off, and two of them are a tie, which is nobody's win."""
    present = {peer.name: scores[peer.name].typical for peer in PEERS if not scores[peer.name].remark}
    told_more = [peer.name for peer in PEERS if peer.name in present and beside(peer, ours) == "more"]
    rivals = [name for name in present if name not in told_more]
    own = scores[ours.name].typical
    best = min(rivals, key=lambda name: present[name], default=None)
    to_beat = math.inf if best is None else present[best]
    return {
        "estimator": ours.name,
        "error": _finite(own),
        "rivals": rivals,
        "best_rival": best,
        "best_rival_error": _finite(to_beat),
        "ahead": best is not None and own < to_beat,  # ahead of nobody is not ahead
        "told_more": told_more,
        "ahead_of_told_more": [name for name in told_more if own < present[name]],
        "nearer_but_told_more": {name: present[name] for name in told_more if present[name] < own},
    }


def _finite(error: float) -> float | None:
    """None where most draws were refused: JSON has no infinity."""
    return error if math.isfinite(error) else None
