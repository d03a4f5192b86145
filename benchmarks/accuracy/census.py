"""Means of real tables: the error over an oracle's, the coverage of intervals, silent errors, refusals, stability.

The folder of tables is an argument; no table enters the repository. Tables are split by package (the part of a name
before `__`): constants are settled on one half and reported on the other. All draws use seeded noise.

    python -m benchmarks.accuracy.census --data FOLDER --half check --draws 2 --jobs 2
"""

import argparse
import hashlib
import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

from benchmarks.accuracy.clipping import clipped_mean
from benchmarks.accuracy.resolving import VERDICT_HEADER, Figure, Verdict, judged, verdict_rows
from benchmarks.accuracy.running import DELTA, Course
from benchmarks.record import table
from dimfree import Release, release_mean
from dimfree._types import Floats
from dimfree.accounting.precision import largest_mu
from dimfree.errors import DimfreeError
from dimfree.testing import SeededNoise

HALVES = ("settle", "check", "all")
CLASSES = (200, 500, 1000, 3000, 10_000, math.inf)
RADII = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 1.0)  # quantiles of the lengths that the oracle tries
POPULATION, SAMPLES = 8000, (400, 1000, 3000)  # rows of a table that stands for a population, and of samples from it
DECLARED = 1.5  # the ends that are declared, over the true range
WRONG = 0.5  # standard deviations: a column that is farther off is wrong


@dataclass(frozen=True)
class Census:
    """One table, and what is measured of it."""

    path: str
    epsilon: float
    draws: int

    @property
    def name(self) -> str:
        return f"{Path(self.path).stem} ε={self.epsilon:g}"

    @property
    def half(self) -> str:
        package = Path(self.path).stem.partition("__")[0]
        return HALVES[hashlib.sha256(package.encode()).digest()[0] % 2]


def read_frame(path: str) -> pd.DataFrame:
    """Read the columns of a table that vary."""
    frame = pd.read_parquet(path).astype(float)
    return frame.loc[:, frame.std(ddof=0) > 0]


def measure(seed: int, cell: Census) -> dict[str, Any]:
    """Release the means of a table `draws` times, and of samples from it if it is large."""
    frame = read_frame(cell.path)
    found: dict[str, Any] = {"name": cell.name, "half": cell.half, "rows": len(frame), "columns": frame.shape[1]}
    if not frame.shape[1]:
        return found | {"releases": [], "declared": [], "samples": []}
    truth = _Truth.of(frame, cell.epsilon)
    draws = [_release(frame, truth, cell.epsilon, seed + k) for k in range(cell.draws)]
    declared = [_declared(frame, truth, cell.epsilon, seed + k) for k in range(cell.draws)]
    samples = []
    if len(frame) >= POPULATION:
        coins = np.random.default_rng([seed, len(frame)])
        for size in SAMPLES:
            for k in range(cell.draws):
                sample = frame.iloc[coins.integers(len(frame), size=size)].reset_index(drop=True)
                samples.append(_sample(sample, truth, cell.epsilon, seed + k))
    figures = {"oracle": truth.oracle, "bounds": truth.bounds, "sampling": 1 / math.sqrt(len(frame))}
    return found | figures | {"releases": draws, "declared": declared, "samples": samples}


@dataclass(frozen=True)
class _Truth:
    """What nobody may know: means, standard deviations, and the errors of two methods that are given them or bounds."""

    mean: Floats
    stddev: Floats
    oracle: float  # error/SD, root mean square over columns
    bounds: float  # the same of a joint Gaussian with the true bounds widened twice

    @classmethod
    def of(cls, frame: pd.DataFrame, epsilon: float) -> "_Truth":
        X, mu = frame.to_numpy(), largest_mu(epsilon, DELTA)
        mean, stddev = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
        n, d = X.shape
        Z = np.nan_to_num((X - mean) / stddev)
        half = (np.nanmax(X, axis=0) - np.nanmin(X, axis=0)) / 2
        bounds = float(np.sqrt(np.mean((math.sqrt(d) * 2 * half / stddev / (n * mu)) ** 2)))
        return cls(mean, stddev, _oracle_error(Z, mu), bounds)


def _oracle_error(Z: Floats, mu: float) -> float:
    """Error of standardized records, clipped about their true mean at the radius that is best in hindsight."""
    lengths = np.linalg.norm(Z, axis=1)
    radii = np.unique(np.quantile(lengths, RADII))
    biases = ((Z * np.minimum(1, r / np.maximum(lengths, 1e-300))[:, None]).mean(axis=0) for r in radii if r > 0)
    return min(
        math.sqrt(float((bias**2).mean()) + (r / (len(Z) * mu)) ** 2)
        for r, bias in zip(radii[radii > 0], biases, strict=True)
    )


def _declared(frame: pd.DataFrame, truth: _Truth, epsilon: float, seed: int) -> float | None:
    """Error where all ends are declared, over that of a bounded Gaussian told the same; None: refused."""
    low, high = (extreme(frame.to_numpy(), axis=0) for extreme in (np.nanmin, np.nanmax))
    room = (DECLARED - 1) / 2 * (high - low)
    named = frame.set_axis([f"c{place}" for place in range(frame.shape[1])], axis=1)
    ends = {name: (float(a), float(b)) for name, a, b in zip(named.columns, low - room, high + room, strict=True)}
    release = _run(named, epsilon, seed, bounds=ends)
    if release.refused:
        return None
    return float(np.sqrt((((release.mean - truth.mean) / truth.stddev) ** 2).mean()) / (DECLARED / 2 * truth.bounds))


def _run(frame: pd.DataFrame, epsilon: float, seed: int, **known: Any) -> Release:
    missing = "available-case" if frame.isna().to_numpy().any() else "raise"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return release_mean(frame, epsilon=epsilon, delta=DELTA, missing=missing, noise=SeededNoise(seed), **known)


def _release(frame: pd.DataFrame, truth: _Truth, epsilon: float, seed: int) -> dict[str, Any]:
    """One release, against the mean of the sample and the mean of the clipped records."""
    started = time.perf_counter()
    try:
        release = _run(frame, epsilon, seed)
    except DimfreeError as error:
        return {"refused": True, "seconds": 0.0, "failed": str(error)}
    seconds = time.perf_counter() - started
    if release.refused:
        return {"refused": True, "seconds": seconds}
    error = (release.mean - truth.mean) / truth.stddev
    low, high = release.confidence_interval(target="sample")
    found = np.isfinite(low) & np.isfinite(high)
    wrong, resolved = np.abs(error) > WRONG, release.resolved
    clipped = clipped_mean(frame.to_numpy(), release)
    return {
        "refused": False,
        "seconds": seconds,
        "method": release.method,
        "error": float(np.sqrt((error**2).mean())),
        "noise": float(np.sqrt(((release.noise_stddev / truth.stddev) ** 2).mean())),
        "bias": float(np.sqrt((((clipped - truth.mean) / truth.stddev) ** 2).mean())),
        "sample": _covered(low, high, truth.mean, found),
        "clipped": _covered(low, high, clipped, found),
        "missing": int((~found).sum()),
        "wrong": int(wrong.sum()),
        "silent": int((wrong & (np.ones_like(wrong) if resolved is None else resolved) & found).sum()),
    }


def _covered(low: Floats, high: Floats, mean: Floats, among: NDArray[np.bool_]) -> int:
    """Count the columns whose interval covers, but for the last bits of a float."""
    rounding = 1e-12 * np.abs(mean)
    return int(((low <= mean + rounding) & (mean - rounding <= high) & among).sum())


def _sample(frame: pd.DataFrame, truth: _Truth, epsilon: float, seed: int) -> dict[str, Any]:
    """Intervals for the mean of the population that a sample was drawn from, next to the non-private t interval."""
    size = len(frame)
    present = frame.notna().sum().to_numpy()
    half = student.ppf(0.975, np.maximum(present - 1, 1)) * frame.std().to_numpy() / np.sqrt(present)
    plain = np.abs(frame.mean().to_numpy() - truth.mean) <= half
    try:
        release = _run(frame, epsilon, seed)
    except DimfreeError:
        return {"size": size, "refused": True}
    if release.refused:
        return {"size": size, "refused": True}
    low, high = release.confidence_interval(target="population")
    found = np.isfinite(low) & np.isfinite(high)
    widths = ((high - low) / 2 / np.where(half > 0, half, np.nan))[found]
    return {
        "size": size,
        "refused": False,
        "columns": len(found),
        "found": int(found.sum()),
        "covered": _covered(low, high, truth.mean, found),
        "plain": int(plain[found].sum()),
        "width": float(np.nanmedian(widths)) if np.isfinite(widths).any() else None,
    }


_RELEASES = ("n", "tables", "columns", "error/oracle: median", "p90", "expected", "with sampling",
             "ahead of bounds × 2", "sample mean covered", "clipped mean covered", "no interval",
             "wrong, silently, in 1000", "refused", "errors", "noise twice: p95 of the ratio",
             "declared, over the bounded Gaussian: median", "p90", "refused")  # fmt: skip
_SAMPLES = ("sample of", "intervals", "population mean covered", "by the t interval", "no interval",
            "width/t", "refused")  # fmt: skip


def summarize(cells: Sequence[dict[str, Any]]) -> list[str]:
    """Return the tables of the page."""
    rows = [row for low, high in pairwise(CLASSES) if (row := _class(cells, low, high))]
    lines = [*table(_RELEASES, [*rows, *([_class(cells, 0, math.inf)] if rows else [])]), ""]
    return [*lines, *table(_SAMPLES, [row for size in SAMPLES if (row := _sampled(cells, size))])]


def _class(cells: Sequence[dict[str, Any]], low: float, high: float) -> list[str]:
    chosen = [cell for cell in cells if low <= cell["rows"] < high and cell["releases"]]
    made = [(cell, draw) for cell in chosen for draw in cell["releases"] if not draw["refused"]]
    if not made:
        return []
    columns = sum(cell["columns"] for cell, _ in made)
    ratios = [draw["error"] / cell["oracle"] for cell, draw in made]
    whole = [_with_sampling(cell, draw["error"]) / _with_sampling(cell, cell["oracle"]) for cell, draw in made]
    bars = columns - sum(draw["missing"] for _, draw in made)
    draws = sum(len(cell["releases"]) for cell in chosen)
    return [
        f"{low:g}–{high:g}",
        f"{len(chosen)}",
        f"{sum(cell['columns'] for cell in chosen)}",
        f"{np.median(ratios):.2f}",
        f"{np.quantile(ratios, 0.9):.1f}",
        f"{np.median([math.hypot(draw['noise'], draw['bias']) / cell['oracle'] for cell, draw in made]):.2f}",
        f"{np.median(whole):.2f}",
        f"{np.mean([draw['error'] < cell['bounds'] for cell, draw in made]):.2f}",
        f"{sum(draw['sample'] for _, draw in made) / bars:.3f}",
        f"{sum(draw['clipped'] for _, draw in made) / bars:.3f}",
        f"{1 - bars / columns:.1%}",
        f"{1000 * sum(draw['silent'] for _, draw in made) / columns:.1f}",
        f"{1 - len(made) / draws:.1%}",
        f"{sum('failed' in draw for cell in chosen for draw in cell['releases'])}",
        _stability(chosen),
        *_declared_figures(chosen),
    ]


def _declared_figures(cells: Sequence[dict[str, Any]]) -> list[str]:
    every = [ratio for cell in cells for ratio in cell["declared"]]
    found = [ratio for ratio in every if ratio is not None]
    return [f"{np.median(found):.2f}", f"{np.quantile(found, 0.9):.2f}", f"{1 - len(found) / len(every):.1%}"]


def _with_sampling(cell: dict[str, Any], error: float) -> float:
    return math.hypot(error, cell["sampling"])


def _stability(cells: Sequence[dict[str, Any]]) -> str:
    pairs = [[draw["noise"] for draw in cell["releases"][:2] if not draw["refused"]] for cell in cells]
    ratios = [max(pair) / min(pair) for pair in pairs if len(pair) == 2]
    return f"{np.quantile(ratios, 0.95):.2f}" if ratios else ""


def _sampled(cells: Sequence[dict[str, Any]], size: int) -> list[str]:
    every = [sample for cell in cells for sample in cell["samples"] if sample["size"] == size]
    made = [sample for sample in every if not sample["refused"]]
    if not made:
        return []
    found, columns = (sum(sample[name] for sample in made) for name in ("found", "columns"))
    return [
        f"{size}",
        f"{found}",
        f"{sum(sample['covered'] for sample in made) / found:.3f}",
        f"{sum(sample['plain'] for sample in made) / found:.3f}",
        f"{1 - found / columns:.1%}",
        f"{np.median([sample['width'] for sample in made if sample['width'] is not None]):.2f}",
        f"{1 - len(made) / len(every):.1%}",
    ]


_ERROR_BARS = (1.9, 1.6, 1.4, 1.35, 1.5)  # error/oracle: median, by class
_CLASS_BARS = ((4, "error/oracle, p90", 4.0), (8, "sample mean covered", -0.94), (9, "clipped mean covered", -0.95),
               (11, "wrong, silently, in 1000", 2.0))  # fmt: skip
_WHOLE_BARS = ((7, "ahead of bounds × 2", -0.9), (12, "refused, %", 3.0), (13, "errors", 0.0),
               (14, "noise twice, p95 of the ratio", 1.5), (15, "declared, median", 1.05),
               (16, "declared, p90", 1.7))  # fmt: skip
_SAMPLE_BARS = ((2, "population mean covered", -0.945), (4, "no population interval, %", 1.0))


def verdicts(cells: Sequence[dict[str, Any]]) -> list[Verdict]:
    """Judge these very tables by every class, or as a whole; a negative limit is a least one."""
    classes = [_class(cells, low, high) for low, high in pairwise(CLASSES)]
    whole, samples = [_class(cells, 0, math.inf)], [_sampled(cells, size) for size in SAMPLES]
    found = [_judge([row], 3, f"error/oracle, median, n in {CLASSES[k]:g}–{CLASSES[k + 1]:g}", _ERROR_BARS[k])
             for k, row in enumerate(classes)]  # fmt: skip
    for rows, bars in ((classes, _CLASS_BARS), (whole, _WHOLE_BARS), (samples, _SAMPLE_BARS)):
        found += [_judge(rows, *bar) for bar in bars]
    return found


def _judge(rows: Sequence[Sequence[str]], column: int, name: str, limit: float) -> Verdict:
    figures = {
        f"n: {row[0]}": Figure.sure(float(row[column].rstrip("%")), int(row[1])) for row in rows if row and row[column]
    }
    at_most = limit >= 0
    return judged(f"{name} {'≤' if at_most else '≥'} {abs(limit):g}", abs(limit), figures, at_most=at_most)


def report(result: dict[str, Any]) -> list[str]:
    """Return the page."""
    bars = table(VERDICT_HEADER, verdict_rows(result["verdicts"]))
    intro = "No prior knowledge, δ = 1e-6, add-remove. Errors from the sample mean in standard deviations, root mean"
    intro += " square over columns; the oracle is given means, SDs and the best radius."
    intro += f" Declared: all ends, {DECLARED:g} × the true range."
    intro += " Bars are judged on these very tables; their draws are tables, or columns of samples."
    return [intro, "", *summarize(result["cells"]), "", "## Bars", "", *bars]


def cells(options: argparse.Namespace) -> list[Census]:
    """List the tables of the chosen half."""
    found = [Census(str(path), options.epsilon, options.draws) for path in sorted(options.data.rglob("*.parquet"))]
    return [cell for cell in found if options.half in ("all", cell.half)][:: options.every]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="a folder of Parquet files, each a table of numbers")
    parser.add_argument("--half", choices=HALVES, default="check")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--every", type=int, default=1, help="only every so many of the tables, in order of names")


COURSE = Course(
    "census", __doc__, cells, measure, verdicts, report, "Real tables", draws=2, quick=1, more_options=add_options
)

if __name__ == "__main__":
    COURSE.main()
