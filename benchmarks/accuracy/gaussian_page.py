"""The bars of known, unknown and few, and their pages: one section for each kind of cell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.accuracy.gaussian import ACCURACY, ALL, BUDGET, DIMENSION, ESTIMATORS, PASSING, ROBUSTNESS
from benchmarks.accuracy.resolving import VERDICT_HEADER, Figure, Verdict, judged, median_interval, verdict_rows
from benchmarks.accuracy.running import Result
from benchmarks.record import table

DIMENSION_FREE = 1.5  # error at the largest dimension over the error at the smallest
TRIED = (ACCURACY, PASSING)  # a bar on answers counts the refusals of the accuracy section, too
_YARDSTICKS = {"error_over_floor": "floor", "error_over_np": "np"}


@dataclass(frozen=True)
class Bar:
    """The figure of an estimator's row is at most (for "pass": at least) the limit."""

    estimator: str
    figure: str  # "error_over_floor" | "error_over_np" | "noise_ratio" | "pass"
    limit: float
    count: int | None = None  # None: any number of records
    dimension: int | None = None  # None: any dimension
    sections: tuple[str, ...] = (ACCURACY,)
    spectra: tuple[str, ...] = ("S1", "S2", "S3", "S4")

    def applies(self, cell: Result) -> bool:
        place = cell["section"] in self.sections and cell["spectrum"] in self.spectra
        size = self.count in (None, cell["count"]) and self.dimension in (None, cell["dimension"])
        return place and size and self.estimator in cell["estimators"]

    def __str__(self) -> str:
        sign = "≥" if self.figure == "pass" else "≤"
        count = f"n = {self.count}" if self.count else "every n"
        dimension = f"d = {self.dimension}" if self.dimension else "every d"
        where = f"{count}, {dimension}, {', '.join(self.spectra)} ({', '.join(self.sections)})"
        return f"{self.estimator}: {self.figure} {sign} {self.limit} at {where}"


KNOWN_BARS = (
    Bar("recentred", "noise_ratio", 2.3, 500, 1000),
    Bar("recentred", "noise_ratio", 1.35, 1000, 1000),
    Bar("recentred", "noise_ratio", 1.08, 4000, 1000),
    Bar("recentred", "noise_ratio", 1.04, 16_000, 1000),
    Bar("recentred", "noise_ratio", 2.4, 1000, 10_000),
    Bar("recentred", "noise_ratio", 1.2, 4000, 10_000),
    Bar("recentred", "noise_ratio", 1.06, 16_000, 10_000),
    Bar("recentred", "error_over_np", 2.0, 1250, 10_000, spectra=("S1",)),
    Bar("recentred, unknown scale", "error_over_floor", 1.35, 1000, 1000),
    Bar("recentred, unknown scale", "error_over_floor", 1.08, 4000, 1000),
    Bar("recentred, robust defaults", "error_over_floor", 1.5, sections=(ROBUSTNESS,)),
    Bar("recentred, robust defaults", "pass", 1.0, sections=(ROBUSTNESS,)),
    Bar("recentred", "pass", 0.99, sections=(ACCURACY, PASSING, BUDGET, DIMENSION), spectra=ALL),
    Bar("recentred, replace-one", "pass", 0.99, sections=TRIED, spectra=ALL),
)
UNKNOWN_BARS = (
    Bar("auto", "error_over_floor", 3.3, 1000, 1000, spectra=ALL),
    Bar("auto", "error_over_floor", 1.3, 2000, 1000, spectra=ALL),
    Bar("auto", "error_over_floor", 1.15, 4000, 1000, spectra=ALL),
    Bar("auto", "error_over_floor", 1.9, 4000, 10_000, spectra=ALL),
    Bar("auto", "error_over_np", 2.0, 4500, 10_000, spectra=("S1",)),
    Bar("auto", "error_over_floor", 1.5, 4000, sections=(ROBUSTNESS,), spectra=ALL),
    Bar("auto", "pass", 1.0, 4000, sections=(ROBUSTNESS,), spectra=ALL),
    Bar("auto", "pass", 0.99, sections=TRIED, spectra=ALL),
    Bar("auto, replace-one", "pass", 0.99, sections=TRIED, spectra=ALL),
)


def judge_bars(cells: Sequence[Result], bars: Sequence[Bar]) -> list[Verdict]:
    """Judge every bar by the cell that does worst under it. The yardstick of a median counts as known."""
    found = []
    for bar in bars:
        tried = [cell for cell in cells if bar.applies(cell)]
        figures = _passes(bar, tried) if bar.figure == "pass" else {place(cell): _median(bar, cell) for cell in tried}
        found.append(judged(str(bar), bar.limit, figures, at_most=bar.figure != "pass"))
    return found


def _median(bar: Bar, cell: Result) -> Figure:
    over = cell[_YARDSTICKS[bar.figure]][1] if bar.figure in _YARDSTICKS else 1.0
    return figure_of(cell, bar.estimator, "noise_ratio" if bar.figure == "noise_ratio" else "error", over)


def figure_of(cell: Result, estimator: str, figure: str = "error", over: float = 1.0) -> Figure:
    """Return the median over all draws, a refusal being infinitely far off."""
    row = cell["estimators"][estimator]
    return Figure.median([*row["draws"][figure], *[None] * row["refusals"]], over)


def _passes(bar: Bar, tried: Sequence[Result]) -> dict[str, Figure]:
    """Pool the cells of each spectrum: one cell has too few draws to resolve a share near 1."""
    found = {}
    for spectrum in dict.fromkeys(cell["spectrum"] for cell in tried):
        of = [cell for cell in tried if cell["spectrum"] == spectrum]
        draws = sum(cell["draws"] for cell in of)
        passed = sum(answers(cell, bar.estimator) for cell in of)
        found[spectrum] = Figure.sure(passed / draws, draws) if bar.limit == 1.0 else Figure.share(passed, draws)
    return found


def answers(cell: Result, estimator: str) -> float:
    """Count the draws that were answered; if the bit's probability is known in each draw, add them up."""
    if "chances" in cell:
        return float(sum(cell["chances"][estimator]))
    return float(cell["draws"] - cell["estimators"][estimator]["refusals"])


def judge_dimension(cells: Sequence[Result]) -> Verdict:
    """Compare the median errors at the largest and the smallest dimension, S1; both intervals at 97.5 %."""
    target = f"recentred: error grows at most {DIMENSION_FREE}-fold from the smallest to the largest d"
    section = sorted((cell for cell in cells if cell["section"] == DIMENSION), key=lambda cell: cell["dimension"])
    if len(section) < 2:
        return judged(target, DIMENSION_FREE, {})
    rows = [cell["estimators"]["recentred"] for cell in (section[0], section[-1])]
    first, last = ([*row["draws"]["error"], *[float("inf")] * row["refusals"]] for row in rows)
    (low, high), (least, most) = (median_interval(errors, 0.975) for errors in (first, last))
    grown = Figure.median(last, Figure.median(first).value).value
    bounds = (least / high, most / low) if low > 0 else (-float("inf"), float("inf"))
    where = f"d = {section[0]['dimension']} … {section[-1]['dimension']}"
    return judged(target, DIMENSION_FREE, {where: Figure(grown, *bounds, min(len(first), len(last)))})


def place(cell: Result) -> str:
    return f"{cell['spectrum']}, n = {cell['count']}, d = {cell['dimension']}, ε = {cell['epsilon']:g}, {cell['data']}"


# --- The page

LEGEND = [
    "ε = 1 unless stated, δ = 1e-6, add-remove unless stated; mean at distance 10·sqrt(tr Σ); seeded noise (not",
    "private). np, floor: median L2 error of the sample mean and of the oracle, which knows the true mean.",
    "error/floor, error/np: median error over those, on the same draws. noise ratio: length of `noise_stddev` over",
    "the oracle's. from sample mean: distance from the mean of the honest records over the length of the oracle's",
    "noise. found/stated: the same over the length of the stated noise. Medians, quartiles in brackets, refused",
    "releases left out and counted. Of bars: exact 95 % intervals of the median by order statistics (none below six",
    "draws), refusals infinitely far off. Gross outliers lie at 100·sqrt(tr Σ); errors are from the mean of the",
    "honest law. Unknown scale: the standard deviations given are 100 times too small. auto: no prior knowledge;",
    "known, recentred: known covariance.",
]
_FIGURES = {
    "error_over_floor": "error/floor",
    "error_over_np": "error/np",
    "noise_ratio": "noise ratio",
    "from_sample_mean": "from sample mean",
    "found_over_stated": "found/stated",
    "seconds": "seconds",
}


def report(result: Result) -> list[str]:
    lines = [*LEGEND, "", "## Bars", "", *table(VERDICT_HEADER, verdict_rows(result["verdicts"])), ""]
    for section in (ACCURACY, BUDGET, DIMENSION, ROBUSTNESS):
        if cells := [cell for cell in result["cells"] if cell["section"] == section]:
            lines += [f"## {section.capitalize()}", ""]
            lines += [line for figure in _FIGURES for line in _section(cells, figure)]
    probed = [cell for cell in result["cells"] if cell["section"] == PASSING]
    words = (
        "Honest draws, each run up to the bit of the stability test: the mean of its exact probability, and the least."
    )
    return [*lines, "## Passing", "", words, "", *_wide(probed, _chance)] if probed else lines[:-1]


def _section(cells: Sequence[Result], figure: str) -> list[str]:
    return [f"### {_FIGURES[figure]}", "", *_wide(cells, lambda cell, name: _quartiles(cell, name, figure)), ""]


def _wide(cells: Sequence[Result], show: Callable[[Result, str], str]) -> list[str]:
    """Return one column for each estimator that any of the cells tries."""
    names = [name for name in ESTIMATORS if any(name in cell["estimators"] for cell in cells)]
    rows = [[*_place(cell), *(show(cell, n) if n in cell["estimators"] else "" for n in names)] for cell in cells]
    return table(["spectrum", "n", "d", "ε", "data", "draws", "np", "floor", *names], rows)


def _place(cell: Result) -> list[str]:
    world = [cell["spectrum"], str(cell["count"]), str(cell["dimension"]), f"{cell['epsilon']:g}", cell["data"]]
    return [*world, str(cell["draws"]), *(f"{cell[key][1]:.3g}" if key in cell else "" for key in ("np", "floor"))]


def _quartiles(cell: Result, name: str, figure: str) -> str:
    row: dict[str, Any] = cell["estimators"][name]
    if row.get(figure) is None:
        return "always refused"
    low, median, high = row[figure]
    refused = f", {row['refusals']} refused" if row["refusals"] else ""
    return f"{median:.3g} [{low:.3g}, {high:.3g}]{refused}"


def _chance(cell: Result, name: str) -> str:
    found = Figure.share(answers(cell, name), cell["draws"])
    return f"{found.value:.4f} [{found.low:.4f}, {found.high:.4f}], least {min(cell['chances'][name]):.3g}"
