"""How often every kind of error bar covers what it is about, at a confidence of 95 %.

    python -m benchmarks.accuracy.coverage [--budget MINUTES] [--draws N] [--cells PATTERN] [--jobs J] [--keep FOLDER]

A cell is a way to release, a law, a number of records and of columns. Noise is seeded. Every way sees the same records.
What was asked, and how it is written down: coverage_report.py.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.accuracy.coverage_report import report, verdicts
from benchmarks.accuracy.ordinary_cells import LAW, OrdinaryCell
from benchmarks.accuracy.ordinary_laws import LAWS
from benchmarks.accuracy.running import DELTA, Course, add_options
from benchmarks.accuracy.spectra import Floats
from dimfree import Options, Release, release_mean, release_means
from dimfree.noise import Noise
from dimfree.results.reach import Reach

PAGE, MODULE = "coverage", "benchmarks.accuracy.coverage"
DRAWS, EPSILON, CONFIDENCE = 200, 1.0, 0.95
GAPS = 0.1  # probability of an entry to be missing
GROUPS = 2  # each of as many records as the cell says
TOLD, CORE, TOTAL, RELATIVE = "told σ", "core", "columns, total", "columns, relative"
MISSING, MEANS = "columns, 10 % missing", "release_means, two groups"
WAYS: dict[str, dict[str, Any]] = {  # keywords of release_mean or release_means
    TOLD: {},  # the covariance of the law
    CORE: {"objective": "total", "options": Options(core="stable")},
    RELATIVE: {"objective": "relative"},
    MISSING: {"objective": "relative", "on_missing": "column"},
    TOTAL: {"objective": "total"},  # by columns where there are few of them
    MEANS: {"objective": "total"},
}
_E, _SHARED = float(np.e), 0.9
COVARIANCES: dict[str, Callable[[int], Floats]] = {  # of the laws, told to those that are told
    "normal": np.ones,
    "exponential": np.ones,
    "lognormal": lambda d: np.full(d, (_E - 1) * _E),
    "one factor": lambda d: _SHARED + (1 - _SHARED) * np.eye(d),
}

KINDS = ("records", "drawn in", "population", "at once", "ball", "box")

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

    def place(self, seed: int) -> OrdinaryCell:
        """Where records and noise of each draw come from."""
        records = self.count * (GROUPS if self.way == MEANS else 1)
        return OrdinaryCell(LAW, self.law, EPSILON, self.draws, (self.way,), seed, records, self.dimension)


def cells(draws: int) -> list[CoverageCell]:
    """Every way and law at 30 columns; then 5 columns, fewer records, 200 columns; groups, which take longest, last."""
    single = (RELATIVE, TOLD, CORE, MISSING)
    found = [CoverageCell(way, law, 2000, 30, draws) for way in single for law in COVARIANCES]
    found += [CoverageCell(TOTAL, law, 2000, 5, draws) for law in COVARIANCES]
    found += [CoverageCell(way, law, 600, 5, draws) for way in (*single, TOTAL) for law in ("normal", "exponential")]
    found += [CoverageCell(way, law, 2000, d, draws) for d in (5, 200) for way in single for law in COVARIANCES]
    few = max(min(10, draws), draws // 4)
    return found + [CoverageCell(MEANS, law, 2000, d, few) for d in (30, 5, 200) for law in COVARIANCES]


def measure(seed: int, cell: CoverageCell) -> dict[str, Any]:
    """For every kind and draw: whether it covered, its width, the error; None where it is not offered."""
    place = cell.place(seed)
    drawn = [_drawn(cell, place, draw) for draw in range(cell.draws)]
    kinds = {kind: [_joined([bars[kind] for bars in draw]) for draw, _ in drawn if draw] for kind in KINDS}
    methods = sorted({method for _, found in drawn for method in found})
    answered = sum(bool(draw) for draw, _ in drawn)
    return {**asdict(cell), "answered": answered, "methods": methods, "kinds": kinds}


def _drawn(cell: CoverageCell, place: OrdinaryCell, draw: int) -> tuple[list[Bars], list[str]]:
    """Bars and methods of all releases of one draw: one, or one for each group that was answered."""
    X, population = place.records(draw), LAWS[cell.law].mean
    if cell.way == MISSING:
        X[place.generator(draw, "gaps").random(X.shape) < GAPS] = np.nan
    pairs = _released(cell, X, place.noise(draw, cell.way))
    made = [(release, table) for release, table in pairs if not release.refused]
    return [_bars(release, table, population) for release, table in made], [release.method for release, _ in made]


def _released(cell: CoverageCell, X: Floats, noise: Noise) -> list[tuple[Release, Floats]]:
    """Every release with the records that it is about."""
    promise: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "noise": noise, **WAYS[cell.way]}
    if cell.way == MEANS:
        labels = np.arange(len(X)) % GROUPS
        means = release_means(X, groups=labels, keys=list(range(GROUPS)), **promise)
        return [(release, X[labels == int(key)]) for key, release in means.items()]
    told = {"covariance": COVARIANCES[cell.law](cell.dimension)} if cell.way == TOLD else {}
    return [(release_mean(X, **promise, **told), X)]


def _bars(release: Release, X: Floats, population: float) -> Bars:
    """Each kind against the mean that it is about."""
    own, law = np.nanmean(X, axis=0), np.full(X.shape[1], population)
    target = "population" if release.error_model.covers_population else "sample"
    ball, box = (make(CONFIDENCE, target=target) for make in (release.confidence_ball, release.confidence_box))
    about = law if target == "population" else own
    offset = release.unbiased_mean - about
    alone, whole = (
        release.confidence_interval(CONFIDENCE, target="sample", simultaneous=every) for every in (False, True)
    )
    found: Bars = {
        "records": _columns(*alone, own),
        "drawn in": None,
        "population": _population(release, law),
        "at once": _all_columns(*whole, own),
        "ball": {"covered": float(ball.contains(about)), "half": ball.radius, "square": float(offset @ offset)},
        "box": _all_columns(box.low, box.high, about),
    }
    if release.reach is not None and not np.isnan(X).any():
        found["drawn in"] = _columns(*alone, drawn_in(release.reach, X))
    return found


def _population(release: Release, law: Floats) -> Bar | None:
    return _columns(*release.confidence_interval(CONFIDENCE), law) if release.error_model.covers_population else None


def _columns(low: Floats, high: Floats, mean: Floats) -> Bar:
    """The share of the columns that are covered."""
    square = float(np.mean(((low + high) / 2 - mean) ** 2))
    covered = float(np.mean((low <= mean) & (mean <= high)))
    return {"covered": covered, "half": float(np.mean(high - low)) / 2, "square": square}


def _all_columns(low: Floats, high: Floats, mean: Floats) -> Bar:
    """1 where all columns are covered."""
    found = _columns(low, high, mean)
    return {**found, "covered": float(found["covered"] == 1.0)}


def drawn_in(reach: Reach, X: Floats) -> Floats:
    """The mean that intervals without sampling are about: of the records, drawn in as `Reach` says."""
    offsets = np.clip((X - reach.centre) / reach.scale, -4 * reach.radius, 4 * reach.radius)
    lengths = np.maximum(np.linalg.norm(offsets, axis=1), 1e-300)
    kept = np.minimum(1.0, reach.radius / lengths)
    return np.asarray(reach.centre + reach.scale * (kept @ offsets) / len(X))


def _joined(bars: Sequence[Bar | None]) -> Bar | None:
    """The mean over the groups of one draw, whose draws are what is counted."""
    made = [bar for bar in bars if bar is not None]
    return {key: float(np.mean([bar[key] for bar in made])) for key in made[0]} if made else None


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    add_options(parser, PAGE)
    Course(PAGE, MODULE, DRAWS, cells, measure, verdicts, report).run(parser, arguments)


if __name__ == "__main__":
    main()
