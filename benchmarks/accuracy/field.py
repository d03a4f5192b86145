"""The whole field at equal privacy: every estimator on the same draws, and whether ours is ahead.

    python -m benchmarks.accuracy.field [--quick] [--trials N] [--only WORDS] [--jobs J] [--keep FOLDER]

What is tried where: field_cells.py; who is ahead of whom: field_verdicts.py; how it is written down: field_tables.py.
Noise is seeded, so that a run can be repeated.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.accuracy.cells import FULL
from benchmarks.accuracy.field_cells import EPSILON, FieldCell, field_cells, quick_cells
from benchmarks.accuracy.field_tables import report
from benchmarks.accuracy.field_verdicts import scores_of, verdicts
from benchmarks.accuracy.running import DELTA, RESULTS, SEED, each, kept, without_paths
from benchmarks.record import provenance, write_results
from dimfree.comparison.contestants import CONTESTANTS
from dimfree.comparison.outcome import draws
from dimfree.comparison.trials import scored

FEW = 2  # draws of a small cell in a quick run


def measure(cell: FieldCell, seed: int) -> dict[str, Any]:
    """Every contestant of one cell on the same draws, with a line to stderr when done."""
    start = time.perf_counter()
    scores = scored(cell.point, CONTESTANTS, cell.trials, seed)
    done = {**asdict(cell), "scores": [asdict(score) for score in scores], "seconds": time.perf_counter() - start}
    figures = ", ".join(f"{score.name} {score.words}" for score in scores)
    print(f"{cell.name}, {draws(cell.trials)}: {done['seconds']:.0f} s; {figures}", file=sys.stderr, flush=True)
    return done


def _kept(folder: Path | None, seed: int, cell: FieldCell) -> dict[str, Any]:
    return kept(folder, ("field", cell, seed), partial(measure, cell, seed))


def run(cells: Sequence[FieldCell], seed: int, jobs: int, folder: Path | None) -> dict[str, Any]:
    done = each(partial(_kept, folder, seed), cells, jobs)
    return {
        "epsilon": EPSILON,
        "delta": DELTA,
        "cells": [{**cell, "verdicts": verdicts(scores_of(cell))} for cell in done],
        "minutes": sum(cell["seconds"] for cell in done) / 60,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.field", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few and small cells; written only where --out is given")
    parser.add_argument("--trials", type=int, help=f"draws of a small cell ({FULL}; {FEW} if quick); others fewer")
    parser.add_argument("--only", nargs="+", help="cells whose name has all these words; written only with --out")
    parser.add_argument("--largest", type=int, help="cells of at most so many records; written only with --out")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=1, help="processes; set OMP_NUM_THREADS=1 with several")
    parser.add_argument("--out", type=Path, help=f"folder for field.json.gz and field.md ({RESULTS}; none if quick)")
    parser.add_argument("--keep", type=Path, help="folder for finished cells, so that a run can be continued")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    cells = quick_cells(options.trials or FEW) if options.quick else field_cells(options.trials or FULL)
    cells = [cell for cell in cells if all(word in cell.name for word in options.only or [])]
    cells = [cell for cell in cells if options.largest is None or cell.count <= options.largest]
    result = {"run": provenance("benchmarks.accuracy.field", without_paths(given), options.seed)}
    result |= run(cells, options.seed, options.jobs, options.keep)
    lines = report(result)
    print("\n".join(lines))
    folder = options.out or (None if options.quick or options.only or options.largest else RESULTS)
    if folder:
        write_results(folder, "field", result, lines)


if __name__ == "__main__":
    main()
