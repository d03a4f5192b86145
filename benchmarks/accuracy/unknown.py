"""Unknown covariance: auto, the literal Algorithm 2, spherical and known against the floor, on the same draws.

    python -m benchmarks.accuracy.unknown [--budget MINUTES] [--quick] [--trials N] [--draws N] [--large N] [--exact]

What is tried where: unknown_cells.py, the cells with bars first; the promises: bars.py; how it is written down:
unknown_tables.py.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from benchmarks.accuracy.bars import UNKNOWN_BARS, verdicts
from benchmarks.accuracy.cells import FULL, NEAREST, RIVALS, Cell
from benchmarks.accuracy.measuring import measure, release
from benchmarks.accuracy.noise_doubles import BitReached, ProbedBit
from benchmarks.accuracy.running import DELTA, Way, add_options, measured, publish, without_paths
from benchmarks.accuracy.unknown_cells import WATCHED, accuracy_cells, large_cells, pass_cells, robustness_cells
from benchmarks.accuracy.unknown_tables import report
from benchmarks.accuracy.worlds import World
from benchmarks.record import provenance

MODULE = "benchmarks.accuracy.unknown"


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


def plan(trials: int, draws: int, large: int, quick: bool, literal: bool = False) -> list[Cell]:
    """Cells with bars first, the cheap ones before the dear ones."""
    whom = RIVALS if literal else NEAREST
    first = accuracy_cells(trials, quick, whom) + pass_cells(draws) + robustness_cells(trials, quick)
    return first + ([] if quick else large_cells(large, whom))


def run_cell(seed: int, seeded: bool, cell: Cell) -> dict[str, Any]:
    return passing(cell, seed) if cell.section == "passing" else measure(cell, seed, seeded)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few and small cells; written only where --out is given")
    parser.add_argument("--trials", type=int, help=f"draws of d = 1000 ({FULL}; 2 if quick); robustness in proportion")
    parser.add_argument("--draws", type=int, help="draws of the pass section (200; 10 if quick); 1000 columns: fewer")
    parser.add_argument(
        "--large", type=int, default=6, help="draws of d = 10 000, n = 4000; twice that at 4500; 0: none"
    )
    parser.add_argument("--literal", action="store_true", help="also the paper's Algorithm 2, and a wrong belief: slow")
    parser.add_argument("--only", nargs="+", help="cells whose name has all these words; written only with --out")
    parser.add_argument("--exact", action="store_true", help="the system's exact noise (Passing apart): slower")
    add_options(parser, "unknown")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    trials, draws = options.trials or (2 if options.quick else FULL), options.draws or (10 if options.quick else 200)
    cells, seeded = plan(trials, draws, options.large, options.quick, options.literal), not options.exact
    cells = [cell for cell in cells if all(part in cell.name for part in options.only or [])]
    done = measured(
        partial(run_cell, options.seed, seeded), cells, Way.of("unknown", MODULE, options), (options.seed, seeded)
    )
    result: dict[str, Any] = {"run": provenance(MODULE, without_paths(given), options.seed), **done.as_dict()}
    result |= {"delta": DELTA, "seeded": seeded, "verdicts": verdicts(done.cells, UNKNOWN_BARS)}
    result["pooled"] = pooled([cell for cell in done.cells if cell["section"] == "passing"])
    publish("unknown", result, report(result), options.out, whole=not (options.quick or options.only))


if __name__ == "__main__":
    main()
