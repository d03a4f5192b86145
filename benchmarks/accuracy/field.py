"""The whole field at equal privacy: every estimator on the same draws, and whether ours is ahead.

    python -m benchmarks.accuracy.field [--budget MINUTES] [--quick] [--trials N] [--cells PATTERN] [--keep FOLDER]

Rivals of an estimator are the peers that have no more prior knowledge than it has. A peer has more if it is given all
that ours is given and something else. If each is given something that the other is not ("other"), the peer is a rival.
"""

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.accuracy.resolving import (
    MET,
    MISSED,
    OPEN,
    UNTRIED,
    VERDICT_HEADER,
    Figure,
    Verdict,
    verdict_rows,
)
from benchmarks.accuracy.running import DELTA, Course, Result, few
from benchmarks.contestants import ADD, CONTESTANTS, FACTS, REPLACE, Contestant
from benchmarks.record import table
from benchmarks.trials import Point, Score, score_of, scored
from benchmarks.worlds import Synthetic
from dimfree.planning.question import SPECTRA

EPSILON = 1.0
OURS = tuple(contestant for contestant in CONTESTANTS if contestant.ours)
PEERS = tuple(contestant for contestant in CONTESTANTS if contestant.private and not contestant.ours)
_WORLD = Synthetic("S1", 1)  # what follows from what is the same in every cell: all are Gaussian


@dataclass(frozen=True)
class FieldCell:
    """One world, how many draws of it, and the neighboring relation of every estimator."""

    spectrum: str
    dimension: int
    count: int
    draws: int
    neighbors: str = ADD

    @property
    def name(self) -> str:
        return f"{self.spectrum}, d = {self.dimension}, n = {self.count}, {self.neighbors}"

    @property
    def point(self) -> Point:
        return Point(Synthetic(self.spectrum, self.dimension), self.count, EPSILON, DELTA, self.neighbors)


def cells(options: argparse.Namespace) -> list[FieldCell]:
    """List the cells that README quotes, then those in which peers were first measured, then larger ones."""
    draws = options.draws
    if options.quick:
        found = [FieldCell("S1", 100, n, draws) for n in (1000, 4000)]
        found += [FieldCell(s, 1000, 1000, draws) for s in SPECTRA]
        return [*found, FieldCell("S1", 100, 4000, draws, REPLACE)]
    fewer = {1000: draws, 4000: few(10, draws), 16_000: few(6, draws)}  # some peers are quadratic in n
    found = [FieldCell(s, 1000, n, fewer[n]) for n in (1000, 4000) for s in SPECTRA]
    found += [FieldCell("S1", 100, n, draws) for n in (1000, 16_000)]
    found += [FieldCell("S1", 100, n, few(10, draws), REPLACE) for n in (1000, 4000)]
    found += [FieldCell(s, 1000, 4000, few(6, draws), REPLACE) for s in SPECTRA]
    found += [FieldCell(s, 10_000, 1000, few(6, draws)) for s in SPECTRA]
    found += [FieldCell(s, 1000, 16_000, fewer[16_000]) for s in SPECTRA]
    found += [FieldCell(s, 10_000, 4000, few(6, draws)) for s in SPECTRA]
    return [*found, FieldCell("S1", 100_000, 1000, few(6, draws))]


def measure(seed: int, cell: FieldCell) -> Result:
    """Run every contestant of one cell on the same draws."""
    scores = scored(cell.point, CONTESTANTS, cell.draws, seed)
    return {**asdict(cell), "scores": [asdict(score) for score in scores]}


# --- Verdicts


def scores_in(cell: Mapping[str, Any]) -> dict[str, Score]:
    return {row["name"]: score_of(row) for row in cell["scores"]}


def judge(ours: Contestant, scores: Mapping[str, Score]) -> dict[str, Any]:
    """Compare medians; a refusal is infinitely far off, and nobody wins a tie of two refusals."""
    present = {peer.name: scores[peer.name].typical for peer in PEERS if not scores[peer.name].remark}
    more = [peer.name for peer in PEERS if peer.name in present and peer.knows(ours, _WORLD) == "more"]
    rivals = [name for name in present if name not in more]
    own = scores[ours.name].typical
    best = min(rivals, key=present.__getitem__, default=None)
    return {
        "error": own,
        "rivals": rivals,
        "best": best,
        "best_error": math.inf if best is None else present[best],
        "ahead": best is not None and own < present[best],  # ahead of nobody is not ahead
        "state": _state(figure_of(scores[ours.name]), [figure_of(scores[name]) for name in rivals]),
        "more": more,
        "nearer": {name: present[name] for name in more if present[name] <= own},
    }


def figure_of(score: Score) -> Figure:
    """Return the median error with its exact interval, a refusal being infinitely far off."""
    return Figure.median([*score.errors, *[None] * score.refusals])


def _state(own: Figure, rivals: Sequence[Figure]) -> str:
    """MET if our interval lies below that of every rival, MISSED if one rival's lies below ours."""
    if not rivals:
        return UNTRIED
    if any(rival.high < own.low for rival in rivals):
        return MISSED
    return MET if all(own.high < rival.low for rival in rivals) else OPEN


def verdicts(done: Sequence[Result]) -> list[Verdict]:
    """For each estimator of ours: in how many cells it is ahead of every rival, and how many of these are resolved."""
    return [_everywhere(ours, done) for ours in OURS]


def _everywhere(ours: Contestant, done: Sequence[Result]) -> Verdict:
    found = [judge(ours, scores_in(cell)) for cell in done]
    states, ahead = [each["state"] for each in found], sum(each["ahead"] for each in found)
    words = f"by medians in {ahead} of {len(found)} cells, by intervals in {states.count(MET)}"
    draws = [cell["draws"] for cell in done]
    return {
        "target": f"{ours.name}: ahead of every rival in every cell",
        "figure": words if found else "",
        "draws": f"{min(draws)}–{max(draws)}" if draws else "",
        "state": next((each for each in (MISSED, OPEN, UNTRIED, MET) if each in states), UNTRIED),
    }


# --- The page

_LEGEND = [
    f"ε = {EPSILON:g}, δ = {DELTA:g} in total and exact accounting for every estimator; the same Gaussian draws,",
    "mean at distance 10·sqrt(tr Σ); seeded noise (not private). Error: Euclidean distance from the true mean;",
    "medians, quartiles in brackets. Refused releases are left out of these and counted; in verdicts a refusal is",
    "infinitely far off, and brackets hold an exact 95 % interval of the median by order statistics (none below six",
    "draws). Ahead by intervals: ours lies below that of every rival. floor: true mean and σ public, full budget;",
    "it clips hardly anything, so that a tighter ball may get below it. np: the sample mean. Algorithm 1, 2: the",
    "paper's. ball: Algorithm 1 with M = I.",
]
_PLACE = ("spectrum", "dimension", "count", "draws")
_HEADER = ("spectrum", "d", "n", "draws")


def report(result: Result) -> list[str]:
    lines = [*table(VERDICT_HEADER, verdict_rows(result["verdicts"])), "", *_LEGEND, ""]
    lines += ["## Prior knowledge", "", *_knowledge(), ""]
    for relation in (ADD, REPLACE):
        if cells := [cell for cell in result["cells"] if cell["neighbors"] == relation]:
            for ours in OURS:
                lines += [f"## {relation}: {ours.name}, given {ours.told}", "", *_against(ours, cells), ""]
            lines += [f"## {relation}: all errors", "", *_wide(cells), ""]
    return lines[:-1]


def _knowledge() -> list[str]:
    header = ["estimator", "is given", *(f"relative to {ours.name} ({ours.told})" for ours in OURS)]
    rows = [[peer.name, peer.told, *(peer.knows(ours, _WORLD) for ours in OURS)] for peer in PEERS]
    return [*table(header, rows), "", *(f"- {name}: {meaning}" for name, meaning in FACTS.items())]


def _against(ours: Contestant, cells: Sequence[Result]) -> list[str]:
    """Return one estimator of ours in every cell, with the peers that it is compared with."""
    header = [*_HEADER, "np", "floor", "error", "nearest rival", "ahead of every rival", "given more, and nearer"]
    rows = []
    for cell in cells:
        scores = scores_in(cell)
        found = judge(ours, scores)
        yes = ("yes" if found["ahead"] else "NO") + (f", {OPEN}" if found["state"] == OPEN else "")
        nearer = sorted(found["nearer"].items(), key=lambda peer: peer[1])
        references = [scores[name].words for name in ("empirical mean", "oracle floor")]
        rival = _peer(found["best"], found["best_error"], found["error"])
        last = "; ".join(_peer(name, error, found["error"]) for name, error in nearer) or "none"
        rows.append([*_place(cell), *references, figure_of(scores[ours.name]).words, rival, yes, last])
    return table(header, rows)


def _peer(name: str | None, error: float, own: float) -> str:
    """Return a peer's error, and its ratio to ours."""
    if name is None:
        return "none"
    if not math.isfinite(error):
        return f"{name} refused"
    return f"{name} {error:.3g}" + (f" ({error / own:.3g} ×)" if math.isfinite(own) else "")


def _place(cell: Result) -> list[str]:
    return [str(cell[key]) for key in _PLACE]


def _wide(cells: Sequence[Result]) -> list[str]:
    header = [*_HEADER, *(contestant.name for contestant in CONTESTANTS)]
    return table(header, [[*_place(cell), *map(_error, scores_in(cell).values())] for cell in cells])


def _error(score: Score) -> str:
    if score.quartiles is None:
        return score.words
    low, _, high = score.quartiles
    return f"{score.words} [{low:.3g}, {high:.3g}]"


COURSE = Course("field", __doc__, cells, measure, verdicts, report, "The field")

if __name__ == "__main__":
    COURSE.main()
