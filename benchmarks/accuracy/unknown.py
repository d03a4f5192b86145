"""No prior knowledge: the default estimator and the known covariance against the floor, on the same draws.

python -m benchmarks.accuracy.unknown [--budget MINUTES] [--quick] [--draws N] [--cells PATTERN] [--keep FOLDER]
"""

import argparse
from collections.abc import Sequence

from benchmarks.accuracy.gaussian import ACCURACY, ALL, DATA, PASSING, ROBUSTNESS, Cell, measure
from benchmarks.accuracy.gaussian_page import UNKNOWN_BARS, judge_bars, report
from benchmarks.accuracy.resolving import Verdict
from benchmarks.accuracy.running import Course, Result, few

MODULE = "benchmarks.accuracy.unknown"
RIVALS = ("auto", "known")
WATCHED = ("auto", "auto, replace-one")


def cells(options: argparse.Namespace) -> list[Cell]:
    """List the cells with bars first, the cheap ones before the dear ones."""
    draws, large = options.draws, few(6, options.draws)
    first = [Cell(ACCURACY, s, 1000, 1000, draws, RIVALS) for s in ALL]
    if options.quick:
        return [*first, *(Cell(PASSING, s, 500, 50, 5 * draws, WATCHED) for s in ALL)]
    first += [Cell(ACCURACY, s, n, 1000, draws, RIVALS) for n in (2000, 4000) for s in ALL]
    first += [Cell(PASSING, s, n, 50, 10 * draws, WATCHED) for n in (500, 1000) for s in ALL]
    first += [Cell(PASSING, s, n, 1000, few(60, draws), WATCHED[:1]) for n in (500, 1000) for s in ALL]
    first += [
        Cell(ROBUSTNESS, s, 4000, 1000, few(6, draws), WATCHED[:1], data=data)
        for data in DATA
        if data != "gaussian"
        for s in ALL
    ]
    first += [Cell(ACCURACY, s, 4000, 10_000, large, RIVALS) for s in ALL]
    return [*first, Cell(ACCURACY, "S1", 4500, 10_000, 2 * large, RIVALS)]


def verdicts(done: Sequence[Result]) -> list[Verdict]:
    return judge_bars(done, UNKNOWN_BARS)


COURSE = Course("unknown", MODULE, cells, measure, verdicts, report, "Unknown covariance")


def main(arguments: Sequence[str] | None = None) -> None:
    COURSE.run(argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__), arguments)


if __name__ == "__main__":
    main()
