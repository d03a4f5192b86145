"""Whether an estimator of ours is ahead of its rivals, the peers that have no more prior knowledge than it has.

A peer has more where it was told all that ours was told and something besides. Where each was told something that the
other was not ("other"), the peer does not have more, and ours has to be ahead of it. Only peers that took part count.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dimfree.comparison.contestants import CONTESTANTS, Contestant
from dimfree.comparison.outcome import Score
from dimfree.comparison.worlds import Synthetic

from benchmarks.accuracy.resolving import MET, MISSED, OPEN, UNTRIED, Figure, Verdict

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
    figure = figure_of(scores[ours.name])
    nearest = [figure_of(scores[name]) for name in rivals]
    return {
        "estimator": ours.name,
        "error": _finite(own),
        "figure": figure.words,
        "rivals": rivals,
        "best_rival": best,
        "best_rival_error": _finite(to_beat),
        "ahead": best is not None and own < to_beat,  # ahead of nobody is not ahead
        "state": _state(figure, nearest),
        "told_more": told_more,
        "ahead_of_told_more": [name for name in told_more if own < present[name]],
        "nearer_but_told_more": {name: present[name] for name in told_more if present[name] < own},
    }


def figure_of(score: Score) -> Figure:
    """The median error, a refusal being infinitely far off, with its exact interval."""
    return Figure.median([*score.errors, *[None] * score.refusals])


def _state(own: Figure, rivals: Sequence[Figure]) -> str:
    """MET where our interval lies below that of every rival, MISSED where one rival's lies below ours."""
    if not rivals or any(rival.high < own.low for rival in rivals):
        return MISSED
    return MET if all(own.high < rival.low for rival in rivals) else OPEN


def all_ahead(cells: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """For each estimator of ours: in how many cells it is ahead of every rival, and how many of these are resolved."""
    return [_everywhere(ours.name, [cell["ahead"][place] for cell in cells], cells) for place, ours in enumerate(OURS)]


def _everywhere(name: str, found: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, Any]]) -> Verdict:
    states, ahead = [verdict["state"] for verdict in found], sum(verdict["ahead"] for verdict in found)
    words = f"by medians in {ahead} of {len(found)} cells, by intervals in {states.count(MET)}"
    draws = [cell["trials"] for cell in cells]
    return {
        "target": f"{name}: ahead of every rival in every cell",
        "figure": words if found else "",
        "draws": f"{min(draws)}–{max(draws)}" if draws else "",
        "state": next((each for each in (MISSED, OPEN, MET) if each in states), UNTRIED),
    }


def _finite(error: float) -> float | None:
    """None where most draws were refused: JSON has no infinity."""
    return error if math.isfinite(error) else None
