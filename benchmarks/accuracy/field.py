"""The whole field at equal privacy: every estimator on the same draws, and whether ours is ahead.

    python -m benchmarks.accuracy.field [--budget MINUTES] [--quick] [--trials N] [--only WORDS] [--keep FOLDER]

What is tried where: field_cells.py; who is ahead of whom: field_verdicts.py; how it is written down: field_tables.py.
Noise is seeded, so that a run can be repeated.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from dimfree.comparison.contestants import CONTESTANTS
from dimfree.comparison.trials import scored

from benchmarks.accuracy.cells import FULL
from benchmarks.accuracy.field_cells import EPSILON, FieldCell, field_cells, quick_cells
from benchmarks.accuracy.field_tables import report
from benchmarks.accuracy.field_verdicts import all_ahead, scores_of, verdicts
from benchmarks.accuracy.running import DELTA, Way, add_options, measured, publish, without_paths
from benchmarks.record import provenance

MODULE = "benchmarks.accuracy.field"
FEW = 2  # draws of a small cell in a quick run


def measure(seed: int, cell: FieldCell) -> dict[str, Any]:
    """Every contestant of one cell on the same draws."""
    scores = scored(cell.point, CONTESTANTS, cell.trials, seed)
    return {**asdict(cell), "scores": [asdict(score) for score in scores]}


def run(cells: Sequence[FieldCell], seed: int, way: Way) -> dict[str, Any]:
    done = measured(partial(measure, seed), cells, way, seed)
    judged = [{**cell, "ahead": verdicts(scores_of(cell))} for cell in done.cells]
    return {"epsilon": EPSILON, "delta": DELTA, **done.as_dict(), "cells": judged, "verdicts": all_ahead(judged)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few and small cells; written only where --out is given")
    parser.add_argument("--trials", type=int, help=f"draws of a small cell ({FULL}; {FEW} if quick); others fewer")
    parser.add_argument("--only", nargs="+", help="cells whose name has all these words; written only with --out")
    add_options(parser, "field")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    cells = quick_cells(options.trials or FEW) if options.quick else field_cells(options.trials or FULL)
    cells = [cell for cell in cells if all(word in cell.name for word in options.only or [])]
    result = {"run": provenance(MODULE, without_paths(given), options.seed)}
    result |= run(cells, options.seed, Way.of("field", MODULE, options))
    publish("field", result, report(result), options.out, whole=not (options.quick or options.only))


if __name__ == "__main__":
    main()
