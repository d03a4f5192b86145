"""The promises, and whether a run keeps them. A new promise is one more line of BARS."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.accuracy.resolving import Figure, Verdict, judged, median_interval
from benchmarks.accuracy.spectra import SPECTRA

CellResult = dict[str, Any]

ALL = tuple(SPECTRA)
DIMENSION_FREE = 1.5  # error at the largest dimension over the error at the smallest


@dataclass(frozen=True)
class Bar:
    """A promise: the figure of an estimator's row is at most (for "pass": at least) the limit."""

    estimator: str
    figure: str  # "error_over_floor" | "error_over_np" | "noise_ratio" | "pass"
    limit: float
    count: int | None = None  # None: every number of records
    dimension: int | None = None  # None: every dimension
    sections: tuple[str, ...] = ("accuracy",)
    spectra: tuple[str, ...] = ("S1", "S2", "S3", "S4")

    def applies(self, cell: dict[str, Any]) -> bool:
        place = bool(cell["section"] in self.sections and cell["spectrum"] in self.spectra)
        size = self.count in (None, cell["count"]) and self.dimension in (None, cell["dimension"])
        return place and size and self.estimator in cell["estimators"]

    def __str__(self) -> str:
        sign = "≥" if self.figure == "pass" else "≤"
        count = f"n = {self.count}" if self.count else "every n"
        dimension = f"d = {self.dimension}" if self.dimension else "every d"
        where = f"{count}, {dimension}, {', '.join(self.spectra)} ({', '.join(self.sections)})"
        return f"{self.estimator}: {self.figure} {sign} {self.limit} at {where}"


_TRIED = ("accuracy", "passing")  # a pass bar is asked of the accuracy section's refusals too
BARS = (
    Bar("stable", "error_over_floor", 3.0, 1000),
    Bar("stable", "error_over_floor", 2.0, 4000),
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
    Bar("recentred, robust defaults", "error_over_floor", 1.5, sections=("robustness",)),
    Bar("recentred, robust defaults", "pass", 1.0, sections=("robustness",)),
    Bar("recentred", "pass", 0.99, sections=("accuracy", "budget", "dimension"), spectra=ALL),
    *(
        Bar(name, "pass", 0.99, sections=_TRIED, spectra=ALL)  # failure_probability is promised for every spectrum
        for name in ("stable", "stable, robust defaults", "stable, replace-one", "stable, unknown scale")
    ),
)

UNKNOWN_BARS = (
    Bar("auto", "error_over_floor", 3.3, 1000, 1000, spectra=ALL),
    Bar("auto", "error_over_floor", 1.3, 2000, 1000, spectra=ALL),
    Bar("auto", "error_over_floor", 1.15, 4000, 1000, spectra=ALL),
    Bar("auto", "error_over_floor", 1.9, 4000, 10_000, spectra=ALL),
    Bar("auto", "error_over_np", 2.0, 4500, 10_000, spectra=("S1",)),
    Bar("auto", "error_over_floor", 1.5, 4000, sections=("robustness",), spectra=ALL),
    Bar("auto", "pass", 1.0, 4000, sections=("robustness",), spectra=ALL),
    Bar("auto", "pass", 0.99, sections=_TRIED, spectra=ALL),
    Bar("auto, replace-one", "pass", 0.99, sections=_TRIED, spectra=ALL),
)


def verdicts(cells: Sequence[CellResult], bars: Sequence[Bar] = BARS) -> list[Verdict]:
    """Every bar with the cell that does worst under it. A medians' yardstick counts as known."""
    found = []
    for bar in bars:
        tried = [cell for cell in cells if bar.applies(cell)]
        figures = _passes(bar, tried) if bar.figure == "pass" else {_place(cell): _median(bar, cell) for cell in tried}
        found.append(judged(str(bar), bar.limit, figures, at_most=bar.figure != "pass"))
    return found


_YARDSTICKS = {"error_over_floor": "floor", "error_over_np": "np"}


def _median(bar: Bar, cell: CellResult) -> Figure:
    row = cell["estimators"][bar.estimator]
    drawn = row["draws"]["noise_ratio" if bar.figure == "noise_ratio" else "error"]
    over = cell[_YARDSTICKS[bar.figure]][1] if bar.figure in _YARDSTICKS else 1.0
    return Figure.median([*drawn, *[None] * row["refusals"]], over)


def _passes(bar: Bar, tried: Sequence[CellResult]) -> dict[str, Figure]:
    """Of each spectrum, all cells together: one cell has too few draws to resolve a share near 1."""
    found = {}
    for spectrum in dict.fromkeys(cell["spectrum"] for cell in tried):
        of = [cell for cell in tried if cell["spectrum"] == spectrum]
        draws = sum(cell["trials"] for cell in of)
        passed = sum(_passed(bar, cell) for cell in of)
        found[spectrum] = Figure.sure(passed / draws, draws) if bar.limit == 1.0 else Figure.share(passed, draws)
    return found


def _passed(bar: Bar, cell: CellResult) -> float:
    """How many draws were answered; where the bit's probability is known in each draw, their sum."""
    if "chances" in cell:
        return float(sum(cell["chances"][bar.estimator]))
    return float(cell["trials"] - cell["estimators"][bar.estimator]["refusals"])


def dimension_verdict(cells: Sequence[CellResult]) -> Verdict:
    """Median error at the largest dimension over that at the smallest, S1; both intervals at 97.5 %."""
    target = f"recentred: error grows at most {DIMENSION_FREE}-fold from the smallest to the largest d"
    section = sorted((cell for cell in cells if cell["section"] == "dimension"), key=lambda cell: cell["dimension"])
    if len(section) < 2:
        return judged(target, DIMENSION_FREE, {})
    rows = [cell["estimators"]["recentred"] for cell in (section[0], section[-1])]
    first, last = ([*row["draws"]["error"], *[float("inf")] * row["refusals"]] for row in rows)
    (low, high), (least, most) = (median_interval(errors, 0.975) for errors in (first, last))
    grown = Figure.median(last, Figure.median(first).value).value
    bounds = (least / high, most / low) if low > 0 else (-float("inf"), float("inf"))
    place = f"d = {section[0]['dimension']} … {section[-1]['dimension']}"
    return judged(target, DIMENSION_FREE, {place: Figure(grown, *bounds, min(len(first), len(last)))})


def _place(cell: CellResult) -> str:
    return f"{cell['spectrum']}, n = {cell['count']}, d = {cell['dimension']}, ε = {cell['epsilon']:g}, {cell['data']}"
