"""Known covariance: every estimator against the floor, on the same draws.

    python -m benchmarks.accuracy.known [--quick] [--trials N] [--draws N] [--seeded] [--jobs J] [--out FOLDER]

What is tried where: cells.py; the promises: bars.py; how it is written down: tables.py.
"""

import argparse
import hashlib
import json
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

import dimfree
from benchmarks.accuracy.bars import clopper_pearson, misses
from benchmarks.accuracy.cells import (
    FULL,
    WATCHED,
    Cell,
    accuracy_cells,
    budget_cells,
    dimension_cells,
    large_cells,
    pass_cells,
    robustness_cells,
)
from benchmarks.accuracy.tables import report
from benchmarks.accuracy.worlds import World
from benchmarks.accuracy.yardsticks import Oracle, error, noise_ratio
from benchmarks.record import FORMAT, provenance, write_results
from dimfree import Release, SeededNoise, release_mean
from dimfree.accounting.events import Gaussian, Ledger
from dimfree.accounting.precision import largest_mu

DELTA = 1e-6
SEED = 20250101
RESULTS = Path("benchmarks/results")


@dataclass
class Row:
    """The measurements of one estimator in one cell: for every figure one number per released trial."""

    figures: dict[str, list[float]] = field(default_factory=dict)
    refusals: int = 0

    def add(self, release: Release, world: World, oracle: Oracle) -> None:
        if release.refused:
            self.refusals += 1
            return
        figures = {
            "error": error(release.mean, world.mean),
            "noise_ratio": noise_ratio(release.noise_stddev, oracle),
            "from_sample_mean": error(release.mean, world.honest_mean) / oracle.noise_rms,
            "stages": release.parameters.get("stages", 0),
            **spending(release.ledger),
        }
        for name, value in figures.items():
            self.figures.setdefault(name, []).append(float(value))

    def summary(self, floor: float) -> dict[str, Any]:
        errors = self.figures.get("error", [])
        figures = {"error": errors, "noise_ratio": [], **self.figures, "error_over_floor": [e / floor for e in errors]}
        return {name: quartiles(values) for name, values in figures.items()} | {"refusals": self.refusals}


def spending(ledger: Ledger) -> dict[str, float]:
    """Where the precision mu² goes: shares of the chosen branch's, and what the branch leaves of the whole budget."""
    if ledger.chosen is None or ledger.filtered:
        return {}
    branch = ledger.menu[ledger.chosen].mu
    full = largest_mu(ledger.budget.epsilon, ledger.budget.delta)
    stages = [event for event in ledger.after if event.purpose.startswith("stage")]
    searches = [event for event in ledger.after if event.purpose == "clipping radius"]
    rest = [event for event in ledger.after if event not in stages and event not in searches]
    return {
        "slack": full / branch,
        "before": _precision(ledger.before) / full**2,
        "core_share": _precision(rest) / branch**2,
        "stage_share": _precision(stages) / branch**2,
        "search_share": _precision(searches) / branch**2,
    }


def _precision(events: Iterable[Gaussian]) -> float:
    return sum(event.mu**2 for event in events)


def quartiles(values: Sequence[float]) -> list[float] | None:
    """[lower quartile, median, upper quartile], or None where every trial was refused."""
    return [float(value) for value in np.quantile(values, [0.25, 0.5, 0.75])] if values else None


def release(world: World, cell: Cell, estimator: str, noise_seed: int | None) -> Release:
    noise = None if noise_seed is None else SeededNoise(noise_seed)
    return release_mean(world.X, delta=DELTA, noise=noise, **cell.options(estimator))


def measure(cell: Cell, seed: int, seeded: bool) -> dict[str, Any]:
    """Every estimator of one cell on the same draws."""
    oracle = Oracle(cell.stddevs, cell.count, cell.epsilon, DELTA)
    sample, floor = [], []
    rows = {name: Row() for name in cell.estimators}
    for trial in range(cell.trials):
        generator = cell.generator(seed, trial)
        world = cell.draw(generator)
        sample.append(error(world.X.mean(axis=0), world.mean))
        floor.append(error(oracle.estimate(world.X, world.mean, generator), world.mean))
        for name, row in rows.items():
            noise_seed = int(generator.integers(2**63)) if seeded else None
            row.add(release(world, cell, name, noise_seed), world, oracle)
        del world  # before the next one is drawn: the largest take gigabytes
    yardsticks = {"np": quartiles(sample), "floor": quartiles(floor), "oracle_noise_rms": oracle.noise_rms}
    summaries = {name: row.summary(float(np.median(floor))) for name, row in rows.items()}
    return {**asdict(cell), **yardsticks, "estimators": summaries}


def passing(cell: Cell, seed: int) -> dict[str, Any]:
    """How often the watched estimators release on honest data, with a 95 % Clopper–Pearson interval."""
    refusals = dict.fromkeys(cell.estimators, 0)
    for trial in range(cell.trials):
        generator = cell.generator(seed, trial)
        world = cell.draw(generator)
        for name in cell.estimators:
            refusals[name] += release(world, cell, name, int(generator.integers(2**63))).refused
    shares = {name: _pass_share(cell.trials - refused, cell.trials) for name, refused in refusals.items()}
    return {**asdict(cell), "estimators": shares}


def _pass_share(passed: int, trials: int) -> dict[str, Any]:
    return {
        "trials": trials,
        "refusals": trials - passed,
        "pass": passed / trials,
        "interval": clopper_pearson(passed, trials),
    }


def pooled(cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The pass section's draws taken together, for each estimator."""
    shares = {}
    for name in WATCHED:
        rows = [cell["estimators"][name] for cell in cells if name in cell["estimators"]]
        trials, refused = (sum(row[key] for row in rows) for key in ("trials", "refusals"))
        shares[name] = _pass_share(trials - refused, trials)
    return shares


def run(options: argparse.Namespace, trials: int, draws: int) -> dict[str, Any]:
    """All cells, with a line to stderr for each one done."""
    cells = accuracy_cells(trials, options.quick) + robustness_cells(trials) + pass_cells(draws)
    if not options.quick:
        cells = dimension_cells(trials) + budget_cells(trials) + cells + large_cells(options.large)
    done = _each(partial(_kept, options.keep, options.seed, options.seeded), cells, options.jobs)
    return {
        "delta": DELTA,
        "seeded": options.seeded,
        "cells": done,
        "pooled": pooled([cell for cell in done if cell["section"] == "passing"]),
        "missed": misses(done),
    }


def _kept(folder: Path | None, seed: int, seeded: bool, cell: Cell) -> dict[str, Any]:
    """One cell, from the folder where an interrupted run has left it there."""
    if folder is None:
        return _one(cell, seed, seeded)
    name = hashlib.sha256(repr((FORMAT, source_digest(), cell, seed, seeded)).encode()).hexdigest()[:16]
    path = folder / f"{name}.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(_one(cell, seed, seeded)))
    kept: dict[str, Any] = json.loads(path.read_text())
    return kept


def source_digest() -> str:
    """Of the package: cells measured with other code are not taken over."""
    files = sorted(Path(dimfree.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def _one(cell: Cell, seed: int, seeded: bool) -> dict[str, Any]:
    start = time.perf_counter()
    done = passing(cell, seed) if cell.section == "passing" else measure(cell, seed, seeded)
    seconds = time.perf_counter() - start
    figures = {
        name: f"{row['noise_ratio'][1]:.3f}" for name, row in done["estimators"].items() if row.get("noise_ratio")
    }
    print(f"{cell.name}, {cell.trials} draws: {seconds:.1f} s; noise ratio {figures}", file=sys.stderr, flush=True)
    return {**done, "seconds": seconds}


def _each(work: Callable[[Cell], dict[str, Any]], cells: Sequence[Cell], jobs: int) -> list[dict[str, Any]]:
    """The results in the order of the cells; fresh processes, each with its own noise door."""
    if jobs == 1:
        return [work(cell) for cell in cells]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(work, cells))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.known", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few and small cells; written only where --out is given")
    parser.add_argument("--trials", type=int, help="draws of a small cell (20; 3 if quick); large ones in proportion")
    parser.add_argument("--draws", type=int, help="draws of a small cell of the pass section (200; 20 if quick)")
    parser.add_argument(
        "--large", type=int, default=5, help="draws of n = 4000, d = 10 000; its neighbours in proportion, 0: none"
    )
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--seeded", action="store_true", help="SeededNoise everywhere: faster, not private")
    parser.add_argument("--jobs", type=int, default=1, help="processes; set OMP_NUM_THREADS=1 with several")
    parser.add_argument("--out", type=Path, help=f"folder for known.json and known.md ({RESULTS}; none if quick)")
    parser.add_argument("--keep", type=Path, help="folder for finished cells, so that a run can be continued")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    result: dict[str, Any] = {"run": provenance("benchmarks.accuracy.known", given, options.seed)}
    result |= run(
        options, options.trials or (3 if options.quick else FULL), options.draws or (20 if options.quick else 200)
    )
    result["minutes"] = sum(cell["seconds"] for cell in result["cells"]) / 60
    lines = report(result)
    print("\n".join(lines))
    folder = options.out or (None if options.quick else RESULTS)
    if folder:
        write_results(folder, "known", result, lines)


if __name__ == "__main__":
    main()
