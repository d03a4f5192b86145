"""Ordinary tables: columns in different units, skewed, with zeros, indicators and counts; and a zoo of laws.

    python -m benchmarks.accuracy.ordinary [--draws N] [--cells PATTERN] [--exact] [--jobs J] [--keep FOLDER]

What is tried where: ordinary_cells.py (ordinary_tables.py, ordinary_laws.py); who is tried: ordinary_contestants.py and
ordinary_peers.py; what is measured: ordinary_figures.py, ordinary_measuring.py, ordinary_speed.py; what was asked:
ordinary_verdicts.py; how it is written down: ordinary_report.py.
"""

import argparse
import hashlib
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.accuracy.ordinary_cells import OrdinaryCell, cells_of
from benchmarks.accuracy.ordinary_contestants import EXACT, ON_LAWS, ON_TABLES, OURS
from benchmarks.accuracy.ordinary_measuring import measure
from benchmarks.accuracy.ordinary_peers import PEERS
from benchmarks.accuracy.ordinary_report import report
from benchmarks.accuracy.ordinary_speed import POINTS, speed
from benchmarks.accuracy.ordinary_verdicts import error_bar_verdicts, verdicts
from benchmarks.accuracy.running import DELTA, RESULTS, SEED, each, kept, without_paths
from benchmarks.record import provenance, write_results

DRAWS = 30
_WORDS = ("ordinary_report", "ordinary_verdicts", "ordinary_speed")  # what is made of the figures, or beside them


def run(
    cells: Sequence[OrdinaryCell], points: Sequence[str], seed: int, jobs: int, keep: Path | None
) -> dict[str, Any]:
    """All cells, with a line to stderr for each one done; then the seconds, with the machine to themselves."""
    done = each(partial(_one, keep), cells, jobs)
    quick = [kept(keep, ("ordinary speed", name, seed), partial(speed, name, seed)) for name in points]
    return {
        "delta": DELTA,
        "cells": done,
        "speed": quick,
        "verdicts": verdicts(done, quick),
        "error_bars": error_bar_verdicts(done),
        "minutes": sum(cell["seconds"] for cell in done) / 60,
    }


def _one(keep: Path | None, cell: OrdinaryCell) -> dict[str, Any]:
    done = kept(keep, ("ordinary", cell, _code()), partial(measure, cell))
    rows = ((name, row) for name, row in done["estimators"].items() if name in OURS)
    words = ", ".join(f"{name} {row['z']:.3g}" if row["z"] is not None else f"{name} refused" for name, row in rows)
    print(f"{cell.name}, {cell.draws} draws: {done['seconds']:.0f} s; z-rms {words}", file=sys.stderr, flush=True)
    return done


def _code() -> str:
    """Of the modules that the figures depend on: a cell measured otherwise is not taken over."""
    files = sorted(path for path in Path(__file__).parent.glob("ordinary_*.py") if path.stem not in _WORDS)
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def main(arguments: Sequence[str] | None = None) -> None:
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(given)
    on_tables, on_laws = (_chosen(names, options) for names in (ON_TABLES, ON_LAWS))
    cells = cells_of(options.draws, on_tables, on_laws, options.seed, options.cells)
    points = [name for name in POINTS if re.search(options.cells, f"speed: {name}")]
    result = {"run": provenance("benchmarks.accuracy.ordinary", without_paths(given), options.seed)}
    result |= run(cells, points, options.seed, options.jobs, options.keep)
    lines = report(result)
    print("\n".join(lines))
    folder = options.out or (None if options.cells or options.contestants else RESULTS)
    if folder:
        write_results(folder, "ordinary", result, lines)


def _chosen(names: tuple[str, ...], options: argparse.Namespace) -> tuple[str, ...]:
    """Those that were asked for; exact noise on tables alone."""
    if options.exact and names == ON_TABLES:
        names = (*names, EXACT)
    return tuple(name for name in names if not options.contestants or name in options.contestants)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.ordinary", description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"of every cell ({DRAWS})")
    parser.add_argument(
        "--cells",
        default="",
        help="regular expression, as '^table', 'law.*d = 1,', '^speed'; written only with --out",
    )
    parser.add_argument("--contestants", nargs="+", choices=[*OURS, *PEERS], help="written only with --out")
    parser.add_argument("--exact", action="store_true", help="also the relative release with the system's exact noise")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=1, help="processes; set OMP_NUM_THREADS=1 with several")
    parser.add_argument("--out", type=Path, help=f"folder for ordinary.json.gz and ordinary.md ({RESULTS})")
    parser.add_argument("--keep", type=Path, help="folder for finished cells, so that a run can be continued")
    return parser


if __name__ == "__main__":
    main()
