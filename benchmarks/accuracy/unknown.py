"""Unknown covariance: auto, the literal Algorithm 2, spherical and known against the floor, on the same draws.

    python -m benchmarks.accuracy.unknown [--quick] [--trials N] [--draws N] [--large N] [--seeded] [--jobs J]

What is tried where: unknown_cells.py; the promises: bars.py; how it is written down: unknown_tables.py.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.bars import UNKNOWN_BARS, misses, verdicts
from benchmarks.accuracy.cells import FULL, Cell
from benchmarks.accuracy.measuring import measure, release
from benchmarks.accuracy.noise_doubles import BitReached, ProbedBit
from benchmarks.accuracy.running import DELTA, RESULTS, SEED, each, kept, without_paths
from benchmarks.accuracy.unknown_cells import WATCHED, accuracy_cells, large_cells, pass_cells, robustness_cells
from benchmarks.accuracy.unknown_tables import report
from benchmarks.accuracy.worlds import World
from benchmarks.record import provenance, write_results


def passing(cell: Cell, seed: int) -> dict[str, Any]:
    """The pass probabilities of the watched estimators on honest data, one for each draw."""
    chances: dict[str, list[float]] = {name: [] for name in cell.estimators}
    for trial in range(cell.trials):
        generator = cell.generator(seed, trial)
        world = cell.draw(generator)
        for name, found in chances.items():
            found.append(_chance(world, cell, name, int(generator.integers(2**63))))
    return {**asdict(cell), "chances": chances, "estimators": {name: _share(found) for name, found in chances.items()}}


def _chance(world: World, cell: Cell, estimator: str, noise_seed: int) -> float:
    """The bit's probability given all that was released ahead of it; 0 for a refusal ahead of it."""
    try:
        release(world, cell, estimator, ProbedBit(noise_seed))
    except BitReached as reached:
        return reached.probability
    return 0.0


def _share(chances: Sequence[float]) -> dict[str, Any]:
    return {
        "trials": len(chances),
        "refusals": sum(chance == 0.0 for chance in chances),
        "probability": float(np.mean(chances)),
        "standard_error": float(np.std(chances) / np.sqrt(len(chances))),
        "least": min(chances),
    }


def pooled(cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The pass section's draws taken together, for each estimator."""
    found = {name: [chance for cell in cells for chance in cell["chances"].get(name, [])] for name in WATCHED}
    return {name: _share(chances) for name, chances in found.items() if chances}


def run(options: argparse.Namespace, trials: int, draws: int) -> dict[str, Any]:
    """All cells, with a line to stderr for each one done."""
    cells = accuracy_cells(trials, options.quick) + robustness_cells(trials, options.quick) + pass_cells(draws)
    cells += [] if options.quick else large_cells(options.large)
    if options.only:
        cells = [cell for cell in cells if all(part in cell.name for part in options.only)]
    done = each(partial(_kept, options.keep, options.seed, options.seeded), cells, options.jobs)
    return {
        "delta": DELTA,
        "seeded": options.seeded,
        "cells": done,
        "pooled": pooled([cell for cell in done if cell["section"] == "passing"]),
        "bars": verdicts(done, UNKNOWN_BARS),
        "missed": misses(done, UNKNOWN_BARS),
    }


def _kept(folder: Path | None, seed: int, seeded: bool, cell: Cell) -> dict[str, Any]:
    return kept(folder, (cell, seed, seeded), partial(_one, cell, seed, seeded))


def _one(cell: Cell, seed: int, seeded: bool) -> dict[str, Any]:
    start = time.perf_counter()
    done = passing(cell, seed) if cell.section == "passing" else measure(cell, seed, seeded)
    seconds = time.perf_counter() - start
    figures = {name: _headline(row) for name, row in done["estimators"].items()}
    print(f"{cell.name}, {cell.trials} draws: {seconds:.1f} s; {figures}", file=sys.stderr, flush=True)
    return {**done, "seconds": seconds}


def _headline(row: dict[str, Any]) -> str:
    if "probability" in row:
        return f"pass {row['probability']:.4f}"
    return f"{row['error_over_floor'][1]:.3f}" if row["error_over_floor"] else "always refused"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.unknown", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few and small cells; written only where --out is given")
    parser.add_argument("--trials", type=int, help=f"draws of d = 1000 ({FULL}; 2 if quick); robustness in proportion")
    parser.add_argument("--draws", type=int, help="draws of the pass section (200; 10 if quick); 1000 columns: fewer")
    parser.add_argument(
        "--large", type=int, default=5, help="draws of d = 10 000, n = 4000; twice that at 4500; 0: none"
    )
    parser.add_argument("--only", nargs="+", help="cells whose name has all these words; written only with --out")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--seeded", action="store_true", help="SeededNoise everywhere: faster, not private")
    parser.add_argument("--jobs", type=int, default=1, help="processes; set OMP_NUM_THREADS=1 with several")
    parser.add_argument("--out", type=Path, help=f"folder for the results ({RESULTS}; none if quick)")
    parser.add_argument("--keep", type=Path, help="folder for finished cells, so that a run can be continued")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    result: dict[str, Any] = {"run": provenance("benchmarks.accuracy.unknown", without_paths(given), options.seed)}
    result |= run(
        options, options.trials or (2 if options.quick else FULL), options.draws or (10 if options.quick else 200)
    )
    result["minutes"] = sum(cell["seconds"] for cell in result["cells"]) / 60
    lines = report(result)
    print("\n".join(lines))
    folder = options.out or (None if options.quick or options.only else RESULTS)
    if folder:
        write_results(folder, "unknown", result, lines)


if __name__ == "__main__":
    main()
