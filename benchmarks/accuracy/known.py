"""Known covariance: every estimator against the floor, on the same draws.

    python -m benchmarks.accuracy.known [--quick] [--trials N] [--draws N] [--seeded] [--jobs J] [--out FOLDER]

What is tried where: cells.py; the promises: bars.py; how it is written down: tables.py.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

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
from benchmarks.accuracy.measuring import measure, release
from benchmarks.accuracy.running import DELTA, RESULTS, SEED, each, kept
from benchmarks.accuracy.tables import report
from benchmarks.record import provenance, write_results
from dimfree import SeededNoise


def passing(cell: Cell, seed: int) -> dict[str, Any]:
    """How often the watched estimators release on honest data, with a 95 % Clopper–Pearson interval."""
    refusals = dict.fromkeys(cell.estimators, 0)
    for trial in range(cell.trials):
        generator = cell.generator(seed, trial)
        world = cell.draw(generator)
        for name in cell.estimators:
            noise = SeededNoise(int(generator.integers(2**63)))
            refusals[name] += release(world, cell, name, noise).refused
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
    done = each(partial(_kept, options.keep, options.seed, options.seeded), cells, options.jobs)
    return {
        "delta": DELTA,
        "seeded": options.seeded,
        "cells": done,
        "pooled": pooled([cell for cell in done if cell["section"] == "passing"]),
        "missed": misses(done),
    }


def _kept(folder: Path | None, seed: int, seeded: bool, cell: Cell) -> dict[str, Any]:
    return kept(folder, (cell, seed, seeded), partial(_one, cell, seed, seeded))


def _one(cell: Cell, seed: int, seeded: bool) -> dict[str, Any]:
    start = time.perf_counter()
    done = passing(cell, seed) if cell.section == "passing" else measure(cell, seed, seeded)
    seconds = time.perf_counter() - start
    figures = {
        name: f"{row['noise_ratio'][1]:.3f}" for name, row in done["estimators"].items() if row.get("noise_ratio")
    }
    print(f"{cell.name}, {cell.trials} draws: {seconds:.1f} s; noise ratio {figures}", file=sys.stderr, flush=True)
    return {**done, "seconds": seconds}


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
    parser.add_argument("--out", type=Path, help=f"folder for known.json.gz and known.md ({RESULTS}; none if quick)")
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
