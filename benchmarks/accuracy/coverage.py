"""How often every kind of error bar covers its target, at a confidence of 95 %.

    python -m benchmarks.accuracy.coverage [--budget MINUTES] [--draws N] [--cells PATTERN] [--jobs J] [--keep FOLDER]

A cell is a way to release, a law, a number of records and of columns. Noise is seeded. Every way sees the same records.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.accuracy.clipping import clipped_mean
from benchmarks.accuracy.ordinary import OrdinaryCell
from benchmarks.accuracy.ordinary_page import LAW
from benchmarks.accuracy.ordinary_worlds import LAWS
from benchmarks.accuracy.resolving import VERDICT_HEADER, Figure, Verdict, judged, verdict_rows
from benchmarks.accuracy.running import DELTA, Course, Result
from benchmarks.record import table
from dimfree import Release, release_group_means, release_mean
from dimfree._types import Floats
from dimfree.noise import Noise

EPSILON, CONFIDENCE, COVERAGE = 1.0, 0.95, 0.93
GAPS = 0.1  # probability of a missing value
GROUPS = 2  # each of as many records as the cell has
KNOWN, TOTAL, RELATIVE = "known covariance", "total", "relative"
MISSING, MEANS = "relative, 10 % missing", "release_group_means, two groups"
WAYS: dict[str, dict[str, Any]] = {  # keywords of release_mean or release_group_means
    KNOWN: {},  # the covariance of the law
    RELATIVE: {"objective": "relative"},
    MISSING: {"objective": "relative", "missing": "available-case"},
    TOTAL: {"objective": "total"},
    MEANS: {"objective": "total"},
}
_E, _SHARED = float(np.e), 0.9
COVARIANCES: dict[str, Callable[[int], Floats]] = {  # of the laws
    "normal": np.ones,
    "exponential": np.ones,
    "lognormal": lambda d: np.full(d, (_E - 1) * _E),
    "one factor": lambda d: _SHARED + (1 - _SHARED) * np.eye(d),
}
KINDS = {  # as they are stored: as they are called, and which mean they cover
    "records": ("interval()", "each column separately: the mean of these records."),
    "clipped": (
        "interval(), clipped",
        "the same intervals, and the mean of the records clipped to `release.clipping`.",
    ),
    "population": ("interval(include_sampling=True)", "each column separately: the mean of the law."),
    "at once": ("interval(simultaneous=True)", "all columns at once: the mean of these records."),
    "ball": ("confidence_ball()", "all columns at once, by Euclidean distance: the mean of the law."),
    "box": ("confidence_box()", "all columns at once, an interval for each: the mean of the law."),
}

Bar = dict[str, float]  # covered (a share of the columns, or 0 or 1), half (its width), square (of the error)
Bars = dict[str, Bar | None]  # by kind; None: the release does not offer it


@dataclass(frozen=True)
class CoverageCell:
    way: str
    law: str
    count: int
    dimension: int
    draws: int

    @property
    def name(self) -> str:
        return f"{self.way}: {self.law}, n = {self.count}, d = {self.dimension}"

    @property
    def place(self) -> OrdinaryCell:
        """Where records and noise of each draw come from."""
        records = self.count * (GROUPS if self.way == MEANS else 1)
        return OrdinaryCell(LAW, self.law, EPSILON, self.draws, (self.way,), records, self.dimension)


def cells(options: argparse.Namespace) -> list[CoverageCell]:
    """List every way and law at 30 columns; then 5 columns, fewer records, 200 columns; groups, the slowest, last."""
    draws, single = options.draws, (RELATIVE, KNOWN, MISSING, TOTAL)
    if options.quick:
        return [CoverageCell(way, "normal", 2000, 5, draws) for way in WAYS]
    found = [CoverageCell(way, law, 2000, 30, draws) for way in single for law in COVARIANCES]
    found += [CoverageCell(way, law, 600, 5, draws) for way in single for law in ("normal", "exponential")]
    found += [CoverageCell(way, law, 2000, d, draws) for d in (5, 200) for way in single for law in COVARIANCES]
    fewer = max(min(10, draws), draws // 4)
    return found + [CoverageCell(MEANS, law, 2000, d, fewer) for d in (30, 5, 200) for law in COVARIANCES]


def measure(seed: int, cell: CoverageCell) -> Result:
    """For every kind and draw: whether it covered, its width, the error; None if it is not offered."""
    drawn = [_drawn(cell, seed, draw) for draw in range(cell.draws)]
    kinds = {kind: [_average([bars[kind] for bars in draw]) for draw, _ in drawn if draw] for kind in KINDS}
    methods = sorted({method for _, found in drawn for method in found})
    answered = sum(bool(draw) for draw, _ in drawn)
    return {**asdict(cell), "answered": answered, "methods": methods, "kinds": kinds}


def _drawn(cell: CoverageCell, seed: int, draw: int) -> tuple[list[Bars], list[str]]:
    """Return bars and methods of all releases of one draw: one, or one for each group that was answered."""
    X, population = cell.place.records(seed, draw), LAWS[cell.law].mean
    if cell.way == MISSING:
        X[cell.place.generator(seed, draw, "gaps").random(X.shape) < GAPS] = np.nan
    pairs = _released(cell, X, cell.place.noise(seed, draw, cell.way))
    made = [(release, table) for release, table in pairs if not release.refused]
    return [_bars(release, table, population) for release, table in made], [release.method for release, _ in made]


def _released(cell: CoverageCell, X: Floats, noise: Noise) -> list[tuple[Release, Floats]]:
    """Return every release with its records."""
    asked: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "noise": noise, **WAYS[cell.way]}
    if cell.way == MEANS:
        labels = np.arange(len(X)) % GROUPS
        means = release_group_means(X, by=labels, groups=list(range(GROUPS)), **asked)
        return [(release, X[labels == int(key)]) for key, release in means.items()]
    known = {"covariance": COVARIANCES[cell.law](cell.dimension)} if cell.way == KNOWN else {}
    return [(release_mean(X, **asked, **known), X)]


def _bars(release: Release, X: Floats, population: float) -> Bars:
    """Compare each kind with its target."""
    own, law = np.nanmean(X, axis=0), np.full(X.shape[1], population)
    offers_law = release.error_model.covers_population
    target, about = ("population", law) if offers_law else ("sample", own)
    ball, box = (make(CONFIDENCE, target=target) for make in (release.confidence_ball, release.confidence_box))
    offset = release.mean - about
    alone = release.confidence_interval(CONFIDENCE, target="sample")
    whole = release.confidence_interval(CONFIDENCE, target="sample", simultaneous=True)
    return {
        "records": _columns(*alone, own),
        "clipped": _columns(*alone, clipped_mean(X, release)) if release.clipping is not None else None,
        "population": _columns(*release.confidence_interval(CONFIDENCE), law) if offers_law else None,
        "at once": _all_columns(*whole, own),
        "ball": {"covered": float(ball.contains(about)), "half": ball.radius, "square": float(offset @ offset)},
        "box": _all_columns(box.low, box.high, about),
    }


def _columns(low: Floats, high: Floats, mean: Floats) -> Bar:
    """Return the share of the columns that are covered."""
    square = float(np.mean(((low + high) / 2 - mean) ** 2))
    covered = float(np.mean((low <= mean) & (mean <= high)))
    return {"covered": covered, "half": float(np.mean(high - low)) / 2, "square": square}


def _all_columns(low: Floats, high: Floats, mean: Floats) -> Bar:
    """Return 1 if all columns are covered."""
    found = _columns(low, high, mean)
    return {**found, "covered": float(found["covered"] == 1.0)}


def _average(bars: Sequence[Bar | None]) -> Bar | None:
    """Average the groups of one draw: draws are what is counted."""
    made = [bar for bar in bars if bar is not None]
    return {key: float(np.mean([bar[key] for bar in made])) for key in made[0]} if made else None


# --- Verdicts and the page


def verdicts(done: Sequence[Result]) -> list[Verdict]:
    """Judge each kind in every cell, and over all cells of each way to release together."""
    return [each for kind in KINDS if kind != "clipped" for each in (_in_cells(done, kind), _in_ways(done, kind))]


def _in_cells(done: Sequence[Result], kind: str) -> Verdict:
    found = {cell["name"]: covered([cell], kind) for cell in done}
    return _judged(f"{KINDS[kind][0]}: covers ≥ {COVERAGE} in every cell", found)


def _in_ways(done: Sequence[Result], kind: str) -> Verdict:
    ways = dict.fromkeys(cell["way"] for cell in done)
    found = {way: covered([cell for cell in done if cell["way"] == way], kind) for way in ways}
    return _judged(f"{KINDS[kind][0]}: covers ≥ {COVERAGE} for every way, all its cells together", found)


def _judged(target: str, found: dict[str, Figure | None]) -> Verdict:
    return judged(target, COVERAGE, {name: each for name, each in found.items() if each}, at_most=False)


def covered(cells: Sequence[Result], kind: str) -> Figure | None:
    """Draws are counted, not columns, which move together; None where no draw offers this kind."""
    shares = [bar["covered"] for cell in cells for bar in made(cell, kind)]
    return Figure.share(sum(shares), len(shares)) if shares else None


def made(cell: Result, kind: str) -> list[dict[str, float]]:
    return [bar for bar in cell["kinds"][kind] if bar is not None]


def width(cell: Result, kind: str) -> float | None:
    """Mean half width, or radius, over the root mean square of the errors."""
    bars = made(cell, kind)
    error = math.sqrt(np.mean([bar["square"] for bar in bars])) if bars else 0.0
    return float(np.mean([bar["half"] for bar in bars])) / error if error else None


def report(result: dict[str, Any]) -> list[str]:
    done = result["cells"]
    lines = [
        f"ε = 1, δ = {DELTA:g}, add/remove, confidence 0.95; seeded noise. Shares of draws that cover, in brackets",
        "exact binomial 95 % intervals. For intervals of each column separately, a draw counts with the share of its",
        "columns, and the interval takes draws for coins, which is the widest case. Draws that were refused are left",
        "out. Half width: mean half width, or radius, over the root mean square of the errors from the same mean; a",
        "normal interval of the right width for one column has 1.96.",
        "",
        "Which mean each kind covers:",
        "",
        *(f"- `{name}`: {words}" for name, words in KINDS.values()),
        "",
        "With missing entries the mean of these records is that over the people who have an entry, and entries are",
        "missing whatever their value, so that the mean of the law is the same. Of groups, the mean is that of the",
        "group, and a draw counts with the mean over its groups. Ball and box cover the mean of these records where a",
        "release says nothing of the population; that is counted as they state it.",
        "",
    ]
    lines += ["## What was asked", "", *table(VERDICT_HEADER, verdict_rows(result["verdicts"])), ""]
    header = ("release", "law", "n", "d", "method", "draws", "answered")
    names = [f"`{name}`" for name, _ in KINDS.values()]
    lines += ["## Coverage", "", *table([*header, *names], [[*_place(c), *_covered(c)] for c in done]), ""]
    return [*lines, "## Half width", "", *table([*header[:4], *names], [[*_place(c)[:4], *_widths(c)] for c in done])]


def _place(cell: Result) -> list[str]:
    place = [cell["way"], cell["law"], str(cell["count"]), str(cell["dimension"]), ", ".join(cell["methods"])]
    return [*place, str(cell["draws"]), str(cell["answered"])]


def _covered(cell: Result) -> list[str]:
    figures = [covered([cell], kind) for kind in KINDS]
    return [figure.words if figure else "–" for figure in figures]


def _widths(cell: Result) -> list[str]:
    found = [width(cell, kind) for kind in KINDS]
    return ["–" if each is None else f"{each:.2f}" for each in found]


COURSE = Course("coverage", __doc__, cells, measure, verdicts, report, "Coverage of error bars", draws=200, quick=3)

if __name__ == "__main__":
    COURSE.main()
