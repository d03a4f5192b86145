"""The promises, and which of them a run does not keep. A new promise is one more line of BARS."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import beta

from benchmarks.accuracy.spectra import SPECTRA

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


def verdicts(cells: Sequence[dict[str, Any]], bars: Sequence[Bar]) -> list[dict[str, Any]]:
    """Every bar with the cell that does worst under it, and whether all cells meet it; None: not tried."""
    found = []
    for bar in bars:
        tried = list(filter(bar.applies, cells))
        missed = [cell for cell in tried if _missed(bar, cell["estimators"][bar.estimator], cell["trials"])]
        worst = max(tried, key=lambda cell: _badness(bar, cell), default=None)
        measured = "not tried" if worst is None else f"{abs(_badness(bar, worst)):.4g} ({_place(worst)})"
        found.append(
            {"bar": str(bar), "worst": measured, "cells": len(tried), "met": None if worst is None else not missed}
        )
    return found


def _badness(bar: Bar, cell: dict[str, Any]) -> float:
    """The figure itself, or minus the pass probability: the larger, the worse."""
    row = cell["estimators"][bar.estimator]
    if bar.figure == "pass":
        return -float(row.get("probability", 1 - row["refusals"] / cell["trials"]))
    return float("inf") if row[bar.figure] is None else float(row[bar.figure][1])


def misses(cells: Sequence[dict[str, Any]], bars: Sequence[Bar] = BARS) -> list[str]:
    """Every bar that a cell does not meet, in words."""
    found = []
    for bar in bars:
        for cell in filter(bar.applies, cells):
            verdict = _missed(bar, cell["estimators"][bar.estimator], cell["trials"])
            if verdict:
                found.append(f"{_place(cell)}: {bar.estimator}: {verdict}")
    growth = dimension_growth(cells)
    if growth is None or growth <= DIMENSION_FREE:
        return found
    return [*found, f"error grows {growth:.2f}-fold with the dimension, bar {DIMENSION_FREE}"]


def dimension_growth(cells: Sequence[dict[str, Any]]) -> float | None:
    """Median error at the largest dimension over that at the smallest, S1; infinite where all was refused."""
    section = sorted((cell for cell in cells if cell["section"] == "dimension"), key=lambda cell: cell["dimension"])
    errors = [cell["estimators"]["recentred"]["error"] for cell in section]
    if not errors:
        return None
    return float("inf") if None in errors else float(errors[-1][1] / errors[0][1])


def _place(cell: dict[str, Any]) -> str:
    return f"{cell['spectrum']}, n = {cell['count']}, d = {cell['dimension']}, ε = {cell['epsilon']:g}, {cell['data']}"


def _missed(bar: Bar, row: dict[str, Any], trials: int) -> str | None:
    if "probability" in row:  # known exactly, draw by draw
        share = row["probability"]
        return f"pass probability {share:.4f}, bar {bar.limit}" if share < bar.limit else None
    if bar.figure == "pass":
        return _missed_pass(bar, row["refusals"], trials)
    if row[bar.figure] is None:
        return f"always refused, bar {bar.figure} {bar.limit}"
    median = row[bar.figure][1]
    return f"{bar.figure} {median:.3f}, bar {bar.limit}" if median > bar.limit else None


def _missed_pass(bar: Bar, refusals: int, trials: int) -> str | None:
    """A share below the bar is always told; whether chance could explain it is said with it."""
    low, high = clopper_pearson(trials - refusals, trials)
    if 1 - refusals / trials >= bar.limit:
        return None
    words = "MISSED" if high < bar.limit else "below the bar, within sampling error"
    return f"{refusals} of {trials} refused, pass in [{low:.4f}, {high:.4f}], bar {bar.limit}: {words}"


def clopper_pearson(successes: int, trials: int, confidence: float = 0.95) -> list[float]:
    """An interval that covers the true probability at least this often."""
    tail = (1 - confidence) / 2
    low = beta.ppf(tail, successes, trials - successes + 1) if successes else 0.0
    high = beta.ppf(1 - tail, successes + 1, trials - successes) if successes < trials else 1.0
    return [float(low), float(high)]
