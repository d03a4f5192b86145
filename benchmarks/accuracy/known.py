"""Known covariance: every estimator against the floor, on the same draws.

    python -m benchmarks.accuracy.known [--budget MINUTES] [--quick] [--trials N] [--draws N] [--exact] [--keep FOLDER]

What is tried where, the cells with bars first: cells.py; the promises: bars.py; how it is written down: tables.py.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from benchmarks.accuracy.bars import dimension_verdict, verdicts
from benchmarks.accuracy.cells import (
    BARRED,
    CORES,
    EVERY,
    FULL,
    RECENTRED,
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
from benchmarks.accuracy.resolving import clopper_pearson
from benchmarks.accuracy.running import DELTA, Way, add_options, measured, publish, without_paths
from benchmarks.accuracy.tables import report
from benchmarks.record import provenance
from dimfree import SeededNoise

MODULE = "benchmarks.accuracy.known"


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
    shares: dict[str, Any] = {}
    for name in WATCHED:
        rows = [cell["estimators"][name] for cell in cells if name in cell["estimators"]]
        trials, refused = (sum(row[key] for row in rows) for key in ("trials", "refusals"))
        shares |= {name: _pass_share(trials - refused, trials)} if trials else {}
    return shares


def plan(trials: int, draws: int, large: int, quick: bool, every: bool = False) -> list[Cell]:
    """Cells with bars first, the cheap ones before the dear ones."""
    accuracy = accuracy_cells(trials, quick, EVERY if every else BARRED)
    if quick:
        return accuracy + robustness_cells(trials) + pass_cells(draws)
    near, far = ([cell for cell in accuracy if (cell.count < 16_000) is small] for small in (True, False))
    first = near + pass_cells(draws) + robustness_cells(trials) + dimension_cells(trials)
    return first + large_cells(large, CORES + RECENTRED if every else RECENTRED) + budget_cells(trials) + far


def run_cell(seed: int, seeded: bool, cell: Cell) -> dict[str, Any]:
    return passing(cell, seed) if cell.section == "passing" else measure(cell, seed, seeded)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few and small cells; written only where --out is given")
    parser.add_argument("--trials", type=int, help="draws of a small cell (20; 3 if quick); large ones in proportion")
    parser.add_argument("--draws", type=int, help="draws of a small cell of the pass section (200; 20 if quick)")
    parser.add_argument(
        "--large", type=int, default=6, help="draws of n = 4000, d = 10 000; its neighbours in proportion, 0: none"
    )
    parser.add_argument("--every", action="store_true", help="also estimators that no bar speaks of: twice as long")
    parser.add_argument("--exact", action="store_true", help="the system's exact noise (Passing apart): slower")
    add_options(parser, "known")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    trials, draws = options.trials or (3 if options.quick else FULL), options.draws or (20 if options.quick else 200)
    cells, seeded = plan(trials, draws, options.large, options.quick, options.every), not options.exact
    done = measured(
        partial(run_cell, options.seed, seeded), cells, Way.of("known", MODULE, options), (options.seed, seeded)
    )
    result: dict[str, Any] = {"run": provenance(MODULE, without_paths(given), options.seed), **done.as_dict()}
    result |= {"delta": DELTA, "seeded": seeded}
    result["pooled"] = pooled([cell for cell in done.cells if cell["section"] == "passing"])
    result["verdicts"] = [*verdicts(done.cells), dimension_verdict(done.cells)]
    publish("known", result, report(result), options.out, whole=not options.quick)


if __name__ == "__main__":
    main()
