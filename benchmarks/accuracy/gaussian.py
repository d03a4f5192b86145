"""Records of a public spectrum beside an oracle: the covariance known, unknown, or the records few.

    python -m benchmarks.accuracy.gaussian --page known|unknown|few [--budget MINUTES] [--quick] [--cells PATTERN]

Records are Gaussian, heavy-tailed, skewed or contaminated, all about the same mean with the same standard deviations.
"""

import argparse
import re
import tomllib
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.resolving import VERDICT_HEADER, Figure, Verdict, judged, verdict_rows
from benchmarks.accuracy.running import DELTA, Course, Result, few
from benchmarks.peers.not_private import floor_radius, oracle_floor
from benchmarks.record import table
from dimfree import Options, release_mean
from dimfree._types import Floats
from dimfree.accounting.precision import largest_mu
from dimfree.planning.question import SPECTRA, draw
from dimfree.testing import SeededNoise

ALL = tuple(SPECTRA)
_CLEAN: dict[str, Any] = {"outliers": 0.0, "tails": "gaussian"}
GIVEN: dict[str, Callable[[Floats], dict[str, Any]]] = {  # estimator: keywords of release_mean, from the true SDs
    "known": lambda sd: {"covariance": sd**2},
    "known, clean": lambda sd: {"covariance": sd**2, "options": Options(**_CLEAN)},
    "known, wrong scale": lambda sd: {"covariance": (sd / 100) ** 2, "options": Options(**_CLEAN, scale="learn")},
    "known, replace-one": lambda sd: {**GIVEN["known, clean"](sd), "neighbors": "replace-one"},
    "auto": lambda _: {},
    "auto, replace-one": lambda _: {"neighbors": "replace-one"},
    "relative": lambda _: {"objective": "relative"},
}
UNIT: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Floats]] = {  # mean 0, variance 1
    "t4 coordinates": lambda rng, size: rng.standard_t(4, size=size) / np.sqrt(2),
    "t4 records": lambda rng, size: rng.normal(size=size) * np.sqrt(2 / rng.chisquare(4, size=(size[0], 1))),
    "exponential": lambda rng, size: rng.exponential(size=size) - 1,
}
PLACES = {"outliers scattered": None, "outliers in one place": 1}  # 2 % of the records, at 100·sqrt(tr Σ)


@dataclass(frozen=True)
class Cell:
    """One world, how many draws of it, and the estimators that are tried."""

    spectrum: str
    count: int
    dimension: int
    draws: int
    estimators: tuple[str, ...]
    epsilon: float = 1.0
    data: str = "gaussian"

    @property
    def name(self) -> str:
        return f"{self.data} {self.spectrum}, n = {self.count}, d = {self.dimension}, ε = {self.epsilon:g}"


FLOOR, NP, NOISE, ANSWERS, FOUND = "error/floor", "error/np", "noise ratio", "answers", "found/stated"
PAGES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def cells(page: str, options: argparse.Namespace) -> list[Cell]:
    chosen = [row for row in PAGES[page]["cells"] if min(row["n"]) * row["d"] < 10**6 or not options.quick]
    return [cell for row in chosen for cell in _grid(row, few(row["draws"], options.draws))]


def _grid(row: dict[str, Any], draws: int) -> list[Cell]:
    laws = (*UNIT, *PLACES) if row.get("far") else ("gaussian",)
    given = (row["d"], draws, tuple(row["whom"]), row.get("epsilon", 1.0))
    return [Cell(s, n, *given, law) for n in row["n"] for law in laws for s in row.get("spectra", ALL)]


# --- Measuring


def measure(seed: int, cell: Cell) -> Result:
    """Run every estimator of a cell on the same draws; a release that was refused is None."""
    sds = SPECTRA[cell.spectrum](cell.dimension)
    sample, floor, found = [], [], {name: [] for name in cell.estimators}
    for trial in range(cell.draws):
        rng = np.random.default_rng([seed, zlib.crc32(cell.name.encode()), trial])
        X, mean, honest = _records(cell, sds, rng)
        sample.append(float(np.linalg.norm(X.mean(axis=0) - mean)))
        oracle = oracle_floor(X, cell.epsilon, DELTA, rng, mean=mean, stddevs=sds)
        floor.append(float(np.linalg.norm(oracle - mean)))
        for name, releases in found.items():
            releases.append(_release(cell, name, sds, X, (mean, X[:honest].mean(axis=0)), int(rng.integers(2**63))))
        del X  # before the next one is drawn: the largest take gigabytes
    noise = floor_radius(sds, cell.count) / cell.count / largest_mu(cell.epsilon, DELTA) * np.sqrt(sds.sum())
    medians = {"np": float(np.median(sample)), "floor": float(np.median(floor)), "noise": float(noise)}
    return {**asdict(cell), **medians, "estimators": found}


def _records(cell: Cell, sds: Floats, rng: np.random.Generator) -> tuple[Floats, Floats, int]:
    """Return the records, honest ones first, their true mean, and how many are honest."""
    X, mean = draw(sds, cell.count, rng)
    if cell.data in UNIT:
        return mean + sds * UNIT[cell.data](rng, X.shape), mean, cell.count
    bad = round(0.02 * cell.count) if cell.data in PLACES else 0
    away = rng.normal(size=(bad and (PLACES[cell.data] or bad), cell.dimension))
    X[cell.count - bad :] = mean + 100 * np.linalg.norm(sds) * away / np.linalg.norm(away, axis=1, keepdims=True)
    return X, mean, cell.count - bad


def _release(cell: Cell, name: str, sds: Floats, X: Floats, means: Sequence[Floats], seed: int) -> Result | None:
    """Return lengths: from the true mean, from that of the honest records, and of the noise that is stated."""
    noise = SeededNoise(seed)
    release = release_mean(X, epsilon=cell.epsilon, delta=DELTA, noise=noise, **GIVEN[name](sds))
    if release.refused:
        return None
    units = sds * np.sqrt(len(sds)) if name == "relative" else 1.0
    parts = (release.mean - means[0], release.mean - means[1], release.noise_stddev)
    lengths = [float(np.linalg.norm(part / units)) for part in parts]
    return dict(zip(("error", "added", "stated"), lengths, strict=True))


# --- Bars and the page


def figure_of(cell: Result, name: str, figure: str, base: float = 1.0) -> Figure | None:
    """Return a figure with its interval; none where there is nothing to compare."""
    releases = cell["estimators"][name]
    made = [release for release in releases if release]
    if figure == ANSWERS:
        return Figure.share(len(made), len(releases))
    if figure == FOUND:
        return Figure.rms([each["added"] / each["stated"] for each in made]) if made else None
    over = {FLOOR: cell["floor"], NP: cell["np"], NOISE: cell["noise"]}.get(figure, base)
    key = "stated" if figure == NOISE else "error"
    return Figure.median([each and each[key] for each in releases], over)


def verdicts(page: str, done: Sequence[Result]) -> list[Verdict]:
    """Judge every bar by its worst cell; the median of a yardstick counts as known. Answers are pooled by spectrum."""
    return [_judge(done, *bar) for bar in PAGES[page]["bars"]]


def _judge(done: Sequence[Result], name: str, figure: str, limit: float, pattern: str) -> Verdict:
    tried = [cell for cell in done if name in cell["estimators"] and re.search(pattern, cell["name"])]
    at_most = not (figure == ANSWERS or (figure == FOUND and limit < 1))
    target = f"{name}: {figure} {'≤' if at_most else '≥'} {limit:g}" + (f" in cells `{pattern}`" if pattern else "")
    if figure == ANSWERS:
        pooled = {s: [each for c in tried if c["spectrum"] == s for each in c["estimators"][name]] for s in ALL}
        tried = [{"name": s, "estimators": {name: each}} for s, each in pooled.items() if each]
    base = next((figure_of(c, name, "error").value for c in done if figure.endswith(f"d = {c['dimension']}")), 1.0)
    figures = {cell["name"]: figure_of(cell, name, figure, base) for cell in tried}
    return judged(target, limit, {place: each for place, each in figures.items() if each}, at_most=at_most)


_LEGEND = """
δ = 1e-6, add-remove unless said; mean at distance 10·sqrt(tr Σ); seeded noise (not private). np, floor: median
Euclidean error of the sample mean and of the oracle, which is told the true mean. error/floor, error/np: median error
over those, on the same draws. noise ratio: length of `noise_stddev` over the oracle's. found/stated: distance from the
mean of the honest records over the length of the stated noise, root mean square; clipping adds to it. Brackets: 95 %
intervals, of medians by order statistics (none below six draws), refusals infinitely far off. known: the covariance,
robust defaults; clean: without outliers and with Gaussian tails, as told; wrong scale: SDs 100 times too small."""
_SHOWN = (FLOOR, NP, NOISE, FOUND, ANSWERS)


def report(result: Result) -> list[str]:
    rows = [_row(cell, name) for cell in result["cells"] for name in cell["estimators"]]
    bars = table(VERDICT_HEADER, verdict_rows(result["verdicts"]))
    header = ("records", "draws", "np", "floor", "estimator", *_SHOWN)
    return [_LEGEND.strip(), "", "## Bars", "", *bars, "", "## Cells", "", *table(header, rows)]


def _row(cell: Result, name: str) -> list[str]:
    shown = [figure_of(cell, name, figure) for figure in _SHOWN]
    place = [cell["name"], str(cell["draws"]), f"{cell['np']:.3g}", f"{cell['floor']:.3g}", name]
    return [*place, *(each.words if each else "" for each in shown)]


def _add_page(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--page", choices=list(PAGES), required=True)


def course(page: str) -> Course:
    parts = (partial(cells, page), measure, partial(verdicts, page), report, PAGES[page]["title"])
    return Course(page, __doc__, *parts, more_options=_add_page, module="gaussian")


if __name__ == "__main__":
    chosen = argparse.ArgumentParser(add_help=False)
    _add_page(chosen)
    course(chosen.parse_known_args()[0].page).main()
