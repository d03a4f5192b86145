"""Compare what `dimfree plan` predicts with what releases give, on as many draws of records as it predicts.

python -m benchmarks.accuracy.planned [--budget MINUTES] [--draws N] [--cells PATTERN] [--jobs J] [--keep FOLDER]
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import dimfree
from benchmarks.accuracy import gaussian
from benchmarks.accuracy.resolving import VERDICT_HEADER, Figure, Verdict, judged, verdict_rows
from benchmarks.accuracy.running import DELTA, Course, Result, few
from benchmarks.record import table

HONEST = 1.15  # measured over planned, and its inverse
LEAST = 10  # draws that the normal approximation takes; with fewer there is no interval
FOUND = "n or ε found"
ROUTES = ("auto", "known", "relative", "auto, replace-one", FOUND)


@dataclass(frozen=True)
class PlannedCell(gaussian.Cell):
    """One question to `plan`. With an accuracy, one of count and epsilon is 0: the plan finds it."""

    accuracy: float | None = None

    @property
    def name(self) -> str:
        return f"{self.estimators[0]}: {super().name}" + (f", error {self.accuracy:g}" if self.accuracy else "")

    def plan(self) -> "dimfree.planning.plan.Plan":
        way = self.estimators[0]
        return dimfree.plan(
            n=self.count or None, d=self.dimension, spectrum=self.spectrum, epsilon=self.epsilon or None, delta=DELTA,
            accuracy=self.accuracy, objective="relative" if way == "relative" else "total",
            knowledge="covariance" if way == "known" else "nothing",
            neighbors="replace-one" if way.endswith("replace-one") else "add-remove",
        )  # fmt: skip


def cells(options: argparse.Namespace) -> list[PlannedCell]:
    """List every route, then other budgets and what plan finds."""
    rows = [("S2", 2000, 20, 100, "relative", epsilon, None) for epsilon in (1.0, 4.0)]
    rows += [(s, 1000, 1000, 20, way, 1.0, None) for way in ROUTES[:2] for s in gaussian.ALL]
    rows += [(s, 300, 30, 100, "auto", 1.0, None) for s in gaussian.ALL] + [("S1", 300, 30, 100, "known", 1.0, None)]
    rows += [("S2", 10_000, 100, 20, "relative", 1.0, None), ("S1", 1500, 1000, 20, ROUTES[3], 1.0, None)]
    rows += [("S2", 0, 100, 20, "auto", 1.0, 0.1), ("S4", 2000, 100, 20, "auto", 0.0, 0.4)]
    found = [PlannedCell(s, n, d, few(k, options.draws), (way,), e, accuracy=a) for s, n, d, k, way, e, a in rows]
    return found[-6:] if options.quick else found


def measure(seed: int, cell: PlannedCell) -> Result:
    found = cell.plan()
    expected = found.prediction
    planned = {"error": expected.error, "added": math.hypot(expected.noise, expected.bias)}
    chance = {"chance": found.course.pass_probability, "route": FOUND if cell.accuracy else cell.estimators[0]}
    return {**gaussian.measure(seed, replace(cell, count=found.n, epsilon=found.epsilon)), "planned": planned, **chance}


def ratio(cell: Result, part: str) -> Figure | None:
    """Root mean square over the draws that were answered, over the planned one."""
    values, over = [each[part] for each in _releases(cell) if each], cell["planned"][part]
    if not values or not math.isfinite(over):
        return None
    found = Figure.rms(values, over)
    return found if len(values) >= LEAST else replace(found, low=-math.inf, high=math.inf)


def _releases(cell: Result) -> list[dict[str, float] | None]:
    (found,) = cell["estimators"].values()
    return list(found)


def verdicts(done: Sequence[Result]) -> list[Verdict]:
    found = []
    for route in ROUTES:
        for part in ("error", "added"):
            ratios = {cell["name"]: ratio(cell, part) for cell in done if cell["route"] == route}
            known = {name: each for name, each in ratios.items() if each}
            most, least, words = HONEST, 1 / HONEST, f"{route}: {part} / planned"
            found.append(judged(f"{words} ≤ {most}", most, known))
            found.append(judged(f"{words} ≥ {least:.3g}", least, known, at_most=False))
    draws = sum(cell["draws"] for cell in done) or 1
    stated = sum(cell["chance"] * cell["draws"] for cell in done) / draws
    share = Figure.share(sum(each is not None for cell in done for each in _releases(cell)), draws)
    words = "share of answers ≥ the planned one less 0.01"
    return [*found, judged(words, stated - 0.01, {f"{stated:.4f} planned": share} if done else {}, at_most=False)]


_LEGEND = [
    f"δ = {DELTA:g}; seeded noise; add-remove unless said. error: distance from the true mean; added: from the mean of",
    "the records, which plan calls noise and bias. Root mean squares (relative: over the columns, in its own SDs),",
    f"measured over planned with a 95 % interval by the normal approximation (none below {LEAST} draws).",
]


def report(result: Result) -> list[str]:
    header = ("question", "n", "ε", "draws", "answered", "chance", "planned error", "error / planned",
              "planned addition", "added / planned")  # fmt: skip
    bars = table(VERDICT_HEADER, verdict_rows(result["verdicts"]))
    rows = [_row(cell) for cell in result["cells"]]
    return [*_LEGEND, "", "## Bars", "", *bars, "", "## Questions", "", *table(header, rows)]


def _row(cell: Result) -> list[str]:
    answered = sum(each is not None for each in _releases(cell))
    counts = [str(cell["count"]), f"{cell['epsilon']:.3g}", str(cell["draws"]), str(answered), f"{cell['chance']:.4f}"]
    parts = [(f"{cell['planned'][part]:.3g}", ratio(cell, part)) for part in ("error", "added")]
    return [cell["name"], *counts, *(text for words, r in parts for text in (words, r.words if r else "refused"))]


COURSE = Course("planned", __doc__, cells, measure, verdicts, report, "Plans and releases")

if __name__ == "__main__":
    COURSE.main()
