"""Known covariance: every estimator against the floor, on the same draws.

python -m benchmarks.accuracy.known [--budget MINUTES] [--quick] [--draws N] [--cells PATTERN] [--keep FOLDER]
"""

import argparse
from collections.abc import Sequence

from benchmarks.accuracy.gaussian import (
    ACCURACY,
    ALL,
    BUDGET,
    DATA,
    DIMENSION,
    PASSING,
    ROBUSTNESS,
    Cell,
    measure,
)
from benchmarks.accuracy.gaussian_page import KNOWN_BARS, judge_bars, judge_dimension, report
from benchmarks.accuracy.resolving import Verdict
from benchmarks.accuracy.running import Course, Result, few

MODULE = "benchmarks.accuracy.known"
RECENTRED = ("recentred", "recentred, robust defaults")
BARRED = (*RECENTRED, "recentred, unknown scale")
PROBED = ("recentred", "recentred, replace-one")


def cells(options: argparse.Namespace) -> list[Cell]:
    """List the cells with bars first, the cheap ones before the dear ones."""
    draws, probed, large = options.draws, 10 * options.draws, few(6, options.draws)
    first = [Cell(ACCURACY, s, 500, 1000, draws, BARRED) for s in ALL]
    if options.quick:
        return [*first, *(Cell(PASSING, s, 500, 50, probed, PROBED) for s in ALL)]
    first += [Cell(ACCURACY, s, 1000, 1000, draws, BARRED) for s in ALL]
    first += [Cell(ACCURACY, s, 4000, 1000, few(8, draws), BARRED) for s in ALL]
    first += [Cell(PASSING, s, n, 50, probed, PROBED) for n in (500, 1000) for s in ALL]
    first += [
        Cell(ROBUSTNESS, s, 4000, 1000, few(6, draws), RECENTRED[1:], data=data)
        for data in DATA
        if data != "gaussian"
        for s in ALL
    ]
    first += [Cell(DIMENSION, "S1", 4000, 100, draws, RECENTRED[:1])]
    first += [Cell(DIMENSION, "S1", 4000, 100_000, few(8, draws), RECENTRED[:1])]
    first += [Cell(ACCURACY, "S1", 1250, 10_000, 2 * large, RECENTRED[:1])]
    first += [Cell(ACCURACY, s, 1000, 10_000, 2 * large, RECENTRED) for s in ("S1", "S4")]
    first += [Cell(ACCURACY, s, n, 10_000, large, RECENTRED[:1]) for n in (4000, 16_000) for s in ("S1", "S4")]
    budgets = ((0.2, 4000), (0.2, 16_000), (4.0, 500), (4.0, 1000))
    first += [Cell(BUDGET, s, n, 1000, few(6, draws), RECENTRED[:1], e) for e, n in budgets for s in ("S1", "S4")]
    return [*first, *(Cell(ACCURACY, s, 16_000, 1000, few(6, draws), RECENTRED) for s in ALL)]


def verdicts(done: Sequence[Result]) -> list[Verdict]:
    return [*judge_bars(done, KNOWN_BARS), judge_dimension(done)]


COURSE = Course("known", MODULE, cells, measure, verdicts, report, "Known covariance")


def main(arguments: Sequence[str] | None = None) -> None:
    COURSE.run(argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__), arguments)


if __name__ == "__main__":
    main()
