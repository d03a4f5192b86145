"""The errors of every estimator on the same public records at the same budget, as multiples of an oracle's.

    python -m benchmarks.compare --epsilon 1 --delta 1e-6 [--spectrum S1] [-d 1000] [-n 1000]
    python -m benchmarks.compare --epsilon 1 --delta 1e-6 --public-table FILE [-n 1000]

The oracle is told the true mean and standard deviations, and spends the whole budget on one clipped mean. Every other
estimator is told the truth it asks for, but for a radius R that is ten times too large. Noise is seeded, and the errors
are exact: nothing here is private, so FILE has to be a table that everybody may see.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.contestants import ADD, CONTESTANTS, FACTS, FLOOR, REPLACE, contestants_named
from benchmarks.record import table
from benchmarks.trials import Point, Score, scored
from benchmarks.worlds import PublicTable, Synthetic, World
from dimfree import DimfreeError, read_table

_HEADER = ("estimator", "was told", "× oracle", "error", "seconds")


def lines(point: Point, scores: Sequence[Score], trials: int) -> list[str]:
    """The table for people, the nearest first."""
    oracle = next(score for score in scores if score.name == FLOOR).typical
    heading = f"{point.world.name}, n = {point.count}; ε = {point.epsilon:g}, δ = {point.delta:g}, {point.neighbors}."
    rows = [_row(score, oracle) for score in sorted(scores, key=lambda score: score.typical)]
    facts = [f"{name}: {meaning}." for name, meaning in FACTS.items()]
    return [heading, f"Median Euclidean errors of {trials} draws, with seeded noise: not private.", "",
            *table(_HEADER, rows), "", *facts]  # fmt: skip


def _row(score: Score, oracle: float) -> list[str]:
    told = score.told if score.private else f"{score.told} (not private)"
    times = f"{score.typical / oracle:.3g}" if math.isfinite(score.typical) else "–"
    return [score.name, told, times, score.words, f"{score.seconds:.2g}"]


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    try:
        point = Point(*_world(options), options.epsilon, options.delta, options.neighbors)
        scores = scored(point, contestants_named((*options.estimators, FLOOR)), options.trials, options.seed)
    except (DimfreeError, ValueError) as error:
        sys.exit(str(error))
    print("\n".join(lines(point, scores, options.trials)))


def _parser() -> argparse.ArgumentParser:
    names = [contestant.name for contestant in CONTESTANTS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--neighbors", choices=(ADD, REPLACE), default=ADD)
    parser.add_argument("--spectrum", default="S1", help="of the standard deviations: S1 to S5, power:A, exponential:A")
    parser.add_argument("-d", type=int, default=1000, help="columns (1000)")
    parser.add_argument("-n", type=int, help="records (1000, or half of the rows of FILE where that is fewer)")
    parser.add_argument("--public-table", type=Path, metavar="FILE", help="a table that everybody may see, instead")
    listed = f"of: {', '.join(names)}"
    parser.add_argument("--estimators", nargs="+", choices=names, default=names, metavar="NAME", help=listed)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    return parser


def _world(options: argparse.Namespace) -> tuple[World, int]:
    if options.public_table is None:
        return Synthetic(options.spectrum, options.d), options.n or 1000
    public = PublicTable.of(read_table(options.public_table), options.public_table.name)
    return public, options.n or min(1000, len(public.rows) // 2)


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        main()
