"""Known covariance: every estimator against the floor, on the same draws.

    python -m benchmarks.accuracy.known [--quick] [--trials N] [--seeded] [--jobs J] [--out benchmarks/results]

A new estimator is one more line of ESTIMATORS; a new promise is one more line of BARS.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

from benchmarks.accuracy.spectra import SPECTRA, Floats, draw
from benchmarks.accuracy.yardsticks import Oracle, error, noise_ratio
from benchmarks.record import provenance, provenance_lines, table, write_results
from dimfree import Release, SeededNoise, release_mean

EPSILON, DELTA = 1.0, 1e-6
SEED = 20250101
RESULTS = Path("benchmarks/results")

GAUSSIAN = {"outliers": 0.0, "tails": "gaussian"}
ALONE = {"core": "stable", "stages": 0}  # no recentring
ESTIMATORS: dict[str, dict[str, Any]] = {  # options of release_mean
    "basic": {"core": "basic", **GAUSSIAN},
    "soft": {"core": "soft", **GAUSSIAN},
    "stable": {**ALONE, **GAUSSIAN},
    "stable, robust defaults": ALONE,
    "stable, replace-one": {**ALONE, "neighbours": "replace-one", **GAUSSIAN},
}
WATCHED = ("stable", "stable, robust defaults", "stable, replace-one")  # whose refusals the pass section counts


@dataclass(frozen=True)
class Bar:
    """A promise: the figure of an estimator's row is at most (for "pass": at least) the limit."""

    estimator: str
    figure: str  # "error_over_floor" | "noise_ratio" | "pass"
    limit: float
    count: int | None = None  # None: every number of records
    spectra: tuple[str, ...] = ("S1", "S2", "S3", "S4")


BARS = (
    Bar("stable", "error_over_floor", 3.0, 1000),
    Bar("stable", "error_over_floor", 2.0, 4000),
    Bar("stable", "pass", 0.99, spectra=tuple(SPECTRA)),  # failure_probability is promised for every honest spectrum
    Bar("stable, robust defaults", "pass", 0.99, spectra=tuple(SPECTRA)),
    Bar("stable, replace-one", "pass", 0.99, spectra=tuple(SPECTRA)),
)


@dataclass(frozen=True)
class Cell:
    """One world: a spectrum, a number of records, a dimension, and how many draws of it."""

    spectrum: str
    count: int
    dimension: int
    trials: int

    @property
    def name(self) -> str:
        return f"{self.spectrum}, n = {self.count}, d = {self.dimension}"

    @property
    def stddevs(self) -> Floats:
        return SPECTRA[self.spectrum](self.dimension)

    def generator(self, seed: int, trial: int) -> np.random.Generator:
        """Depends on the world and the trial alone: adding a cell changes no other cell's draws."""
        return np.random.default_rng([seed, int(self.spectrum[1:]), self.count, self.dimension, trial])


@dataclass
class Row:
    """The measurements of one estimator in one cell; lists hold one number per released trial."""

    errors: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    refusals: int = 0

    def add(self, release: Release, mean: Floats, oracle: Oracle) -> None:
        if release.refused:
            self.refusals += 1
            return
        self.errors.append(error(release.mean, mean))
        self.ratios.append(noise_ratio(release.noise_stddev, oracle))

    def summary(self, floor: float) -> dict[str, Any]:
        over = [value / floor for value in self.errors]
        figures = {"error": self.errors, "error_over_floor": over, "noise_ratio": self.ratios}
        return {name: quartiles(values) for name, values in figures.items()} | {"refusals": self.refusals}


def quartiles(values: Sequence[float]) -> list[float] | None:
    """[lower quartile, median, upper quartile], or None where every trial was refused."""
    return [float(value) for value in np.quantile(values, [0.25, 0.5, 0.75])] if values else None


def release(X: Floats, cell: Cell, options: dict[str, Any], noise_seed: int | None) -> Release:
    noise = None if noise_seed is None else SeededNoise(noise_seed)
    return release_mean(X, epsilon=EPSILON, delta=DELTA, covariance=cell.stddevs**2, noise=noise, **options)


def measure(cell: Cell, seed: int, seeded: bool) -> dict[str, Any]:
    """Every estimator on the same draws of one cell."""
    oracle = Oracle(cell.stddevs, cell.count, EPSILON, DELTA)
    sample, floor = [], []
    rows = {name: Row() for name in ESTIMATORS}
    for trial in range(cell.trials):
        generator = cell.generator(seed, trial)
        X, mean = draw(cell.stddevs, cell.count, generator)
        sample.append(error(X.mean(axis=0), mean))
        floor.append(error(oracle.estimate(X, mean, generator), mean))
        for name, options in ESTIMATORS.items():
            noise_seed = int(generator.integers(2**63)) if seeded else None
            rows[name].add(release(X, cell, options, noise_seed), mean, oracle)
    yardsticks = {"np": quartiles(sample), "floor": quartiles(floor), "oracle_noise_rms": oracle.noise_rms}
    summaries = {name: row.summary(float(np.median(floor))) for name, row in rows.items()}
    return {**asdict(cell), **yardsticks, "estimators": summaries}


def passing(cell: Cell, seed: int) -> dict[str, Any]:
    """How often the watched estimators release on honest data, with a 95 % Clopper–Pearson interval."""
    refusals = dict.fromkeys(WATCHED, 0)
    for trial in range(cell.trials):
        generator = cell.generator(seed, trial)
        X, _ = draw(cell.stddevs, cell.count, generator)
        for name in WATCHED:
            refusals[name] += release(X, cell, ESTIMATORS[name], int(generator.integers(2**63))).refused
    shares = {name: _pass_share(cell.trials - refused, cell.trials) for name, refused in refusals.items()}
    return {**asdict(cell), "estimators": shares}


def _pass_share(passed: int, trials: int) -> dict[str, Any]:
    return {"refusals": trials - passed, "pass": passed / trials, "interval": clopper_pearson(passed, trials)}


def clopper_pearson(successes: int, trials: int, confidence: float = 0.95) -> list[float]:
    """An interval that covers the true probability at least this often."""
    tail = (1 - confidence) / 2
    low = beta.ppf(tail, successes, trials - successes + 1) if successes else 0.0
    high = beta.ppf(1 - tail, successes + 1, trials - successes) if successes < trials else 1.0
    return [float(low), float(high)]


def pooled(cells: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The pass section's draws taken together."""
    cells = list(cells)
    trials = sum(cell["trials"] for cell in cells)
    refused = {name: sum(cell["estimators"][name]["refusals"] for cell in cells) for name in WATCHED}
    return {"trials": trials, "estimators": {name: _pass_share(trials - refused[name], trials) for name in WATCHED}}


def misses(accuracy: Sequence[dict[str, Any]], passes: Sequence[dict[str, Any]]) -> list[str]:
    """Every bar that a cell does not meet, in words. A pass bar is asked of the accuracy section's refusals too."""
    found = []
    for bar in BARS:
        for cell in [*accuracy, *passes] if bar.figure == "pass" else accuracy:
            applies = cell["spectrum"] in bar.spectra and bar.count in (None, cell["count"])
            verdict = _missed(bar, cell["estimators"][bar.estimator], cell["trials"]) if applies else None
            if verdict:
                found.append(f"{_name(cell)}: {bar.estimator}: {verdict}")
    return found


def _missed(bar: Bar, row: dict[str, Any], trials: int) -> str | None:
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


def _name(cell: dict[str, Any]) -> str:
    return Cell(cell["spectrum"], cell["count"], cell["dimension"], cell["trials"]).name


def accuracy_cells(trials: int, quick: bool) -> list[Cell]:
    """S1–S5 at d = 1000, and S1 at d = 10 000; fewer draws of the largest world."""
    counts = (500, 1000) if quick else (500, 1000, 4000)
    cells = [Cell(spectrum, count, 1000, trials) for spectrum in SPECTRA for count in counts]
    large = [Cell("S1", count, 10_000, trials if count <= 1000 else min(trials, 5)) for count in counts]
    return cells if quick else cells + large


def pass_cells(trials: int) -> list[Cell]:
    return [Cell(spectrum, count, 200, trials) for spectrum in SPECTRA for count in (500, 1000)]


def report(result: dict[str, Any]) -> list[str]:
    """The results for people."""
    noise = "SeededNoise (not private)" if result["seeded"] else "SystemNoise (exact, private)"
    lines = ["# Known covariance", "", *provenance_lines(result["run"]), ""]
    lines += [
        f"ε = {EPSILON:g}, δ = {DELTA:g}; mean at distance 10·sqrt(tr Σ); noise of the accuracy section: {noise}.",
        "np, floor: median L2 error of the sample mean and of the oracle (true mean public, full budget, add/remove,",
        "sensitivity r/n, also where an estimator is replace-one). error/floor: median error over the oracle's median",
        "error on the same draws. noise: length of `noise_stddev` over the oracle's. Quartiles in brackets.",
        "",
    ]
    lines += ["## Accuracy", "", *_accuracy_table(result["accuracy"], "error_over_floor", "error/floor"), ""]
    lines += [*_accuracy_table(result["accuracy"], "noise_ratio", "noise ratio"), ""]
    lines += [
        "## Passing",
        "",
        "Honest draws at d = 200 with SeededNoise (not private), refusals counted; 95 % intervals.",
        "",
    ]
    lines += [*_pass_table(result["passing"], result["pooled"]), ""]
    lines += ["## Bars", "", *[f"- {_bar_line(bar)}" for bar in BARS], "", *_shown_lines(result["passing"]), ""]
    return lines + (
        ["Not met:", "", *[f"- {miss}" for miss in result["missed"]]]
        if result["missed"]
        else ["All medians and shares meet the bars."]
    )


def _shown_lines(passes: Sequence[dict[str, Any]]) -> list[str]:
    """A pass bar is shown where the whole interval is above it."""
    lines = []
    for bar in BARS:
        if bar.figure == "pass":
            lows = [
                cell["estimators"][bar.estimator]["interval"][0] for cell in passes if cell["spectrum"] in bar.spectra
            ]
            shown = sum(low >= bar.limit for low in lows)
            lines.append(
                f"{bar.estimator}: pass ≥ {bar.limit} is shown at 95 % confidence in {shown} of {len(lows)} cells."
            )
    return lines


def _bar_line(bar: Bar) -> str:
    where = f"n = {bar.count}" if bar.count else "every n"
    sign = "≥" if bar.figure == "pass" else "≤"
    return f"{bar.estimator}: {bar.figure} {sign} {bar.limit} at {where} on {', '.join(bar.spectra)}"


def _accuracy_table(cells: Sequence[dict[str, Any]], figure: str, title: str) -> list[str]:
    header = ["spectrum", "n", "d", "trials", "np", "floor", *[f"{title}: {name}" for name in ESTIMATORS]]
    rows = [
        [
            *[str(cell[key]) for key in ("spectrum", "count", "dimension", "trials")],
            *[f"{cell[key][1]:.3g}" for key in ("np", "floor")],
            *[_figure(cell["estimators"][name], figure) for name in ESTIMATORS],
        ]
        for cell in cells
    ]
    return table(header, rows)


def _figure(row: dict[str, Any], figure: str) -> str:
    refused = f", {row['refusals']} refused" if row["refusals"] else ""
    if row[figure] is None:
        return "always refused"
    low, median, high = row[figure]
    return f"{median:.2f} [{low:.2f}, {high:.2f}]{refused}"


def _pass_table(cells: Sequence[dict[str, Any]], everything: dict[str, Any]) -> list[str]:
    header = ["spectrum", "n", "draws", *[f"pass: {name}" for name in WATCHED]]
    rows = [[cell["spectrum"], str(cell["count"]), str(cell["trials"]), *_shares(cell["estimators"])] for cell in cells]
    return table(header, [*rows, ["all", "", str(everything["trials"]), *_shares(everything["estimators"])]])


def _shares(estimators: dict[str, Any]) -> list[str]:
    rows = [estimators[name] for name in WATCHED]
    return [f"{row['pass']:.4f} [{row['interval'][0]:.4f}, {row['interval'][1]:.4f}]" for row in rows]


def run(options: argparse.Namespace, trials: int, draws: int) -> dict[str, Any]:
    """All cells, with a line to stderr for each one done."""
    accuracy_work = partial(measure, seed=options.seed, seeded=options.seeded)
    accuracy = _each(accuracy_work, accuracy_cells(trials, options.quick), options.jobs)
    passes = _each(partial(passing, seed=options.seed), pass_cells(draws), options.jobs)
    return {
        "epsilon": EPSILON,
        "delta": DELTA,
        "seeded": options.seeded,
        "accuracy": accuracy,
        "passing": passes,
        "pooled": pooled(passes),
        "missed": misses(accuracy, passes),
    }


def _each(work: Callable[[Cell], dict[str, Any]], cells: Sequence[Cell], jobs: int) -> list[dict[str, Any]]:
    """The results in the order of the cells; fresh processes, so that each opens its own noise door."""
    told = partial(_told, work)
    if jobs == 1:
        return [told(cell) for cell in cells]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(told, cells))


def _told(work: Callable[[Cell], dict[str, Any]], cell: Cell) -> dict[str, Any]:
    start = time.perf_counter()
    done = work(cell)
    print(f"{cell.name}, {cell.trials} draws: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    return done


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.known", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few and small cells; written only where --out is given")
    parser.add_argument("--trials", type=int, help="draws per accuracy cell (20; 3 if quick)")
    parser.add_argument("--draws", type=int, help="draws per cell of the pass section (400; 40 if quick)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--seeded", action="store_true", help="SeededNoise everywhere: faster, not private")
    parser.add_argument("--jobs", type=int, default=1, help="processes; set OMP_NUM_THREADS=1 with several")
    parser.add_argument("--out", type=Path, help=f"folder for known.json and known.md ({RESULTS}; none if quick)")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    trials = options.trials or (3 if options.quick else 20)
    draws = options.draws or (40 if options.quick else 400)
    result = {"run": provenance("benchmarks.accuracy.known", given, options.seed)}
    result |= run(options, trials, draws)
    lines = report(result)
    print("\n".join(lines))
    folder = options.out or (None if options.quick else RESULTS)
    if folder:
        write_results(folder, "known", result, lines)


if __name__ == "__main__":
    main()
