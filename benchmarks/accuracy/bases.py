"""Which coordinates: the menu of bases, each basis by itself and spherical noise, on the same draws.

    python -m benchmarks.accuracy.bases [--budget MINUTES] [--data FOLDER] [--epsilons 2 1 4] [--trials N]

What is tried where: bases_worlds.py; who is tried: bases_measuring.py; the promises: bases_verdicts.py; how it is
written down: bases_tables.py. FOLDER holds the files that real_data.py names; no record enters the results.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.accuracy.bases_measuring import CONTESTANTS, USUAL, measure
from benchmarks.accuracy.bases_tables import report
from benchmarks.accuracy.bases_verdicts import verdicts
from benchmarks.accuracy.bases_worlds import BasesCell, cells_of, places, quick_places
from benchmarks.accuracy.cells import FULL
from benchmarks.accuracy.real_data import Missing
from benchmarks.accuracy.running import DELTA, Way, add_options, measured, publish
from benchmarks.record import provenance

MODULE = "benchmarks.accuracy.bases"
FEW = 2  # draws of a cell in a quick run


def run(cells: Sequence[BasesCell], data: Path, way: Way) -> dict[str, Any]:
    done = measured(partial(_one, data), cells, way)
    found = [cell for cell in done.cells if "missing" not in cell]
    return {
        **done.as_dict(),
        "delta": DELTA,
        "seeded": any(cell.seeded for cell in cells),
        "cells": found,
        "absent": {cell["world"]: cell["missing"] for cell in done.cells if "missing" in cell},
        "verdicts": verdicts(found),
    }


def _one(data: Path, cell: BasesCell) -> dict[str, Any]:
    try:
        return measure(data, cell)
    except Missing as missing:
        return {"world": cell.world, "missing": str(missing)}


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    trials = options.trials or (FEW if options.quick else FULL)
    found = quick_places(trials) if options.quick else places(trials)
    cells = cells_of(found, options.epsilons, options.contestants, seeded=not options.exact, seed=options.seed)
    cells = [cell for cell in cells if not options.worlds or any(words in cell.name for words in options.worlds)]
    result = {"run": provenance(MODULE, _without_paths(options, trials), options.seed)}
    result |= run(cells, options.data, Way.of("bases", MODULE, options))
    publish("bases", result, report(result), options.out, whole=not (options.quick or options.worlds))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(), help="folder with the tables; see real_data.py")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[2.0, 1.0, 4.0])
    parser.add_argument("--trials", type=int, help=f"draws of a usual cell ({FULL}; {FEW} if quick); dear ones fewer")
    parser.add_argument(
        "--worlds", nargs="+", help="cells whose name has one of these, as 'rotated: S2'; written only with --out"
    )
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS, default=list(USUAL))
    parser.add_argument("--quick", action="store_true", help="few and small cells; written only where --out is given")
    parser.add_argument("--exact", action="store_true", help="the system's exact noise: slower")
    add_options(parser, "bases")
    return parser


def _without_paths(options: argparse.Namespace, trials: int) -> list[str]:
    """The command as a reader would give it: folders are theirs to choose."""
    words = ["--data FOLDER", f"--epsilons {' '.join(f'{epsilon:g}' for epsilon in options.epsilons)}"]
    words += [f"--trials {trials}", f"--contestants {' '.join(options.contestants)}"]
    words += [f"--budget {options.budget:g}"] if options.budget is not None else []
    words += [f"--worlds {' '.join(map(repr, options.worlds))}"] if options.worlds else []
    return words + ["--quick"] * options.quick + ["--exact"] * options.exact


if __name__ == "__main__":
    main()
