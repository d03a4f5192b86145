"""Ordinary tables: columns in different units, skewed, with zeros, indicators and counts; and a zoo of laws.

    python -m benchmarks.accuracy.ordinary [--budget MINUTES] [--draws N] [--cells PATTERN] [--jobs J] [--keep FOLDER]

What is tried where: ordinary_cells.py (ordinary_tables.py, ordinary_laws.py); who is tried: ordinary_contestants.py and
ordinary_peers.py; what is measured: ordinary_figures.py, ordinary_measuring.py, ordinary_speed.py; what was asked:
ordinary_verdicts.py; how it is written down: ordinary_report.py.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.accuracy.ordinary_cells import OrdinaryCell, cells_of
from benchmarks.accuracy.ordinary_contestants import EXACT, ON_LAWS, ON_TABLES, OURS
from benchmarks.accuracy.ordinary_measuring import measure
from benchmarks.accuracy.ordinary_peers import PEERS
from benchmarks.accuracy.ordinary_report import report
from benchmarks.accuracy.ordinary_speed import POINTS, speed
from benchmarks.accuracy.ordinary_verdicts import error_bar_verdicts, informative, verdicts
from benchmarks.accuracy.running import DELTA, Way, add_options, measured, publish, without_paths
from benchmarks.record import provenance

MODULE = "benchmarks.accuracy.ordinary"
DRAWS = 30


def run(cells: Sequence[OrdinaryCell], points: Sequence[str], seed: int, way: Way) -> dict[str, Any]:
    """The cells that decide a target first; then the seconds, with the machine to themselves."""
    done = measured(measure, sorted(cells, key=informative), way)
    quick = [speed(name, seed) for name in points]
    asked, bars = verdicts(done.cells, quick), error_bar_verdicts(done.cells)
    return {**done.as_dict(), "delta": DELTA, "speed": quick, "verdicts": [*asked, *bars]}


def main(arguments: Sequence[str] | None = None) -> None:
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(given)
    on_tables, on_laws = (_chosen(names, options) for names in (ON_TABLES, ON_LAWS))
    cells = cells_of(options.draws, on_tables, on_laws, options.seed, options.cells)
    points = [name for name in POINTS if re.search(options.cells, f"speed: {name}")]
    result = {"run": provenance(MODULE, without_paths(given), options.seed)}
    result |= run(cells, points, options.seed, Way.of("ordinary", MODULE, options))
    publish("ordinary", result, report(result), options.out, whole=not (options.cells or options.contestants))


def _chosen(names: tuple[str, ...], options: argparse.Namespace) -> tuple[str, ...]:
    """Those that were asked for; exact noise on tables alone."""
    if not options.seeded and names == ON_TABLES:
        names = (*names, EXACT)
    return tuple(name for name in names if not options.contestants or name in options.contestants)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"of every cell ({DRAWS})")
    parser.add_argument(
        "--cells",
        default="",
        help="regular expression, as '^table', 'law.*d = 1,', '^speed'; written only with --out",
    )
    parser.add_argument("--contestants", nargs="+", choices=[*OURS, *PEERS], help="written only with --out")
    parser.add_argument("--seeded", action="store_true", help="leave out the column with the system's exact noise")
    add_options(parser, "ordinary")
    return parser


if __name__ == "__main__":
    main()
