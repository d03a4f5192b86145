"""The results of field.py for people: who was told what, who is ahead, all errors and times."""

from collections.abc import Callable, Sequence
from typing import Any

from dimfree.comparison.contestants import CONTESTANTS, FACTS
from dimfree.comparison.outcome import Score

from benchmarks.accuracy.field_cells import ADD, REPLACE
from benchmarks.accuracy.field_verdicts import OURS, PEERS, beside, scores_of
from benchmarks.accuracy.resolving import MET, OPEN, VERDICT_HEADER, verdict_rows
from benchmarks.accuracy.running import left_out_lines, minutes_line
from benchmarks.record import provenance_lines, table

CellResult = dict[str, Any]
Verdict = dict[str, Any]

_PLACE = ("spectrum", "dimension", "count", "trials")
_HEADER = ("spectrum", "d", "n", "draws")


def report(result: dict[str, Any]) -> list[str]:
    lines = ["# The field", "", *provenance_lines(result["run"]), ""]
    lines += [minutes_line(result), *left_out_lines(result), ""]
    lines += [*table(VERDICT_HEADER, verdict_rows(result["verdicts"])), ""]
    lines += [*_legend(result), "", "## Who was told what", "", *_knowledge(), ""]
    for relation, title in ((ADD, "Add/remove"), (REPLACE, "Replace-one")):
        if cells := [cell for cell in result["cells"] if cell["neighbours"] == relation]:
            for place, ours in enumerate(OURS):
                found = [(cell, cell["ahead"][place]) for cell in cells]
                lines += [f"## {title}: {ours.name}, told {ours.told}", "", *_ahead(found), ""]
            lines += [f"## {title}: all errors", "", *_wide(cells, _error), ""]
    return [*lines, "## Seconds of one release", "", *_wide(result["cells"], _seconds)]


def _legend(result: dict[str, Any]) -> list[str]:
    return [
        f"ε = {result['epsilon']:g}, δ = {result['delta']:g} in total for everybody, exact accounting for everybody;"
        " the same draws for everybody,",
        "Gaussian with the mean at distance 10·sqrt(tr Σ). Noise: SeededNoise (not private). Error: Euclidean distance",
        "from the true mean; medians, quartiles in brackets. Refused releases are left out of these and counted; for",
        "verdicts a refusal is infinitely far off, and brackets hold an exact 95 % interval of the median by order",
        "statistics (none below six draws); ahead by intervals: ours lies below that of every rival. floor: true mean",
        "and σ public, full budget. np: the sample mean. The floor clips hardly anything: a yardstick, no bound, and a",
        "tighter ball may get below it. Algorithm 1, 2: the paper's, exactly accounted. ball: Algorithm 1 with M = I.",
    ]


def _knowledge() -> list[str]:
    """What each peer was told, and whether that is more than ours."""
    header = ["estimator", "was told", *(f"beside {ours.name} ({ours.told})" for ours in OURS)]
    rows = [[peer.name, peer.told, *(beside(peer, ours) for ours in OURS)] for peer in PEERS]
    facts = [f"- {name}: {meaning}" for name, meaning in FACTS.items()]
    other = [
        "other: each was told something that the other was not; such a peer counts as a rival. A peer without a proof",
        "for a relation takes no part there and is counted nowhere.",
    ]
    return [*table(header, rows), "", *facts, "", *other]


def _ahead(found: Sequence[tuple[CellResult, Verdict]]) -> list[str]:
    """One estimator of ours in every cell: its two counts, with the names of those it is counted against."""
    header = [*_HEADER, "np", "floor", "error", "nearest rival", "ahead of every rival"]
    header += ["ahead of those told more", "told more, and nearer"]
    each = [verdict for _, verdict in found]
    return [*_counts(each), "", *table(header, [_verdict_row(cell, verdict) for cell, verdict in found])]


def _counts(each: Sequence[Verdict]) -> list[str]:
    rivals, more = (_names(each, key) for key in ("rivals", "told_more"))
    first = sum(verdict["ahead"] for verdict in each)
    sure = sum(verdict["state"] == MET for verdict in each)
    all_told_more = sum(set(verdict["ahead_of_told_more"]) == set(verdict["told_more"]) for verdict in each)
    beaten, met = (sum(len(verdict[key]) for verdict in each) for key in ("ahead_of_told_more", "told_more"))
    return [
        f"- Rivals, who have no more prior knowledge ({rivals}): ahead of every one in {first} of {_cells(each)};"
        f" by intervals in {sure}.",
        f"- Peers that were told more ({more}): ahead of every one in {all_told_more} of {_cells(each)}; one by one,"
        f" ahead in {beaten} of {met} meetings.",
    ]


def _names(each: Sequence[Verdict], key: str) -> str:
    return ", ".join(dict.fromkeys(name for verdict in each for name in verdict[key]))


def _cells(each: Sequence[Verdict]) -> str:
    return "1 cell" if len(each) == 1 else f"{len(each)} cells"


def _verdict_row(cell: CellResult, verdict: Verdict) -> list[str]:
    scores = scores_of(cell)
    own = verdict["error"]
    nearer = sorted(verdict["nearer_but_told_more"].items(), key=lambda peer: peer[1])
    return [
        *_place(cell),
        scores["empirical mean"].words,
        scores["oracle floor"].words,
        verdict["figure"],
        _beside(verdict["best_rival"], verdict["best_rival_error"], own),
        ("yes" if verdict["ahead"] else "NO") + (f", {OPEN}" if verdict["state"] == OPEN else ""),
        f"{len(verdict['ahead_of_told_more'])} of {len(verdict['told_more'])}",
        "; ".join(_beside(name, error, own) for name, error in nearer) or "none",
    ]


def _beside(name: str | None, error: float | None, own: float | None) -> str:
    """A peer's error, and over ours."""
    if name is None:
        return "nobody"
    return f"{name} {_number(error)}" + (f" ({error / own:.3g} ×)" if error and own else "")


def _number(error: float | None) -> str:
    return "refused" if error is None else f"{error:.3g}"


def _place(cell: CellResult) -> list[str]:
    return [str(cell[key]) for key in _PLACE]


def _wide(cells: Sequence[CellResult], shown: Callable[[Score], str]) -> list[str]:
    header = [*_HEADER, *(contestant.name for contestant in CONTESTANTS)]
    rows = [[*_place(cell), *(shown(score) for score in scores_of(cell).values())] for cell in cells]
    return table(header, rows)


def _error(score: Score) -> str:
    if score.quartiles is None:
        return score.words
    low, _, high = score.quartiles
    return f"{score.words} [{low:.3g}, {high:.3g}]"


def _seconds(score: Score) -> str:
    return "" if score.remark else f"{score.seconds:.2g}"
