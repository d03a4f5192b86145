"""Which coordinates: the menu of bases, each basis by itself and spherical noise, on the same draws.

    python -m benchmarks.accuracy.bases [--data FOLDER] [--epsilons 1 2 4] [--trials N] [--worlds WORDS] [--seeded]

What is tried where: bases_worlds.py; who is tried: bases_measuring.py; the promises: bases_verdicts.py; how it is
written down: bases_tables.py. FOLDER holds the files that real_data.py names; no record enters the results.
"""

import argparse
import sys
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
from benchmarks.accuracy.running import DELTA, RESULTS, SEED, each, kept
from benchmarks.record import provenance, write_results
from dimfree.comparison.outcome import draws

FEW = 2  # draws of a cell in a quick run


def run(cells: Sequence[BasesCell], data: Path, jobs: int, keep: Path | None) -> dict[str, Any]:
    """All cells, with a line to stderr for each one done."""
    done = each(partial(_one, data, keep), cells, jobs)
    found = [cell for cell in done if "missing" not in cell]
    return {
        "delta": DELTA,
        "seeded": any(cell.seeded for cell in cells),
        "cells": found,
        "absent": {cell["world"]: cell["missing"] for cell in done if "missing" in cell},
        "bars": verdicts(found),
        "minutes": sum(cell["seconds"] for cell in found) / 60,
    }


def _one(data: Path, keep: Path | None, cell: BasesCell) -> dict[str, Any]:
    try:
        done = kept(keep, cell, partial(measure, data, cell))
    except Missing as missing:
        done = {"world": cell.world, "missing": str(missing)}
    words = done.get("missing") or f"{done['seconds']:.0f} s; {_headline(done)}"
    print(f"{cell.name}, {draws(cell.trials)}: {words}", file=sys.stderr, flush=True)
    return done


def _headline(done: dict[str, Any]) -> str:
    rows = {name: row["times"] for name, row in done["estimators"].items()}
    return ", ".join(f"{name} {times[1]:.3f}" if times else f"{name} refused" for name, times in rows.items())


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    trials = options.trials or (FEW if options.quick else FULL)
    found = quick_places(trials) if options.quick else places(trials)
    cells = cells_of(found, options.epsilons, options.contestants, seeded=options.seeded, seed=options.seed)
    cells = [cell for cell in cells if not options.worlds or any(words in cell.name for words in options.worlds)]
    result = {"run": provenance("benchmarks.accuracy.bases", _without_paths(options, trials), options.seed)}
    result |= run(cells, options.data, options.jobs, options.keep)
    lines = report(result)
    print("\n".join(lines))
    folder = options.out or (None if options.quick or options.worlds else RESULTS)
    if folder:
        write_results(folder, "bases", result, lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.bases", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(), help="folder with the tables; see real_data.py")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 2.0, 4.0])
    parser.add_argument("--trials", type=int, help=f"draws of a usual cell ({FULL}; {FEW} if quick); dear ones fewer")
    parser.add_argument(
        "--worlds", nargs="+", help="cells whose name has one of these, as 'rotated: S2'; written only with --out"
    )
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS, default=list(USUAL))
    parser.add_argument("--quick", action="store_true", help="few and small cells; written only where --out is given")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--seeded", action="store_true", help="SeededNoise: faster, reproducible, not private")
    parser.add_argument("--jobs", type=int, default=1, help="processes; set OMP_NUM_THREADS=1 with several")
    parser.add_argument("--out", type=Path, help=f"folder for bases.json.gz and bases.md ({RESULTS}; none if quick)")
    parser.add_argument("--keep", type=Path, help="folder for finished cells, so that a run can be continued")
    return parser


def _without_paths(options: argparse.Namespace, trials: int) -> list[str]:
    """The command as a reader would give it: folders are theirs to choose."""
    words = ["--data FOLDER", f"--epsilons {' '.join(f'{epsilon:g}' for epsilon in options.epsilons)}"]
    words += [f"--trials {trials}", f"--contestants {' '.join(options.contestants)}"]
    words += [f"--worlds {' '.join(map(repr, options.worlds))}"] if options.worlds else []
    return words + ["--quick"] * options.quick + ["--seeded"] * options.seeded


if __name__ == "__main__":
    main()
