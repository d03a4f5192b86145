"""Few records, also of many columns: the share of answers, the error, and whether the stated noise is right.

python -m benchmarks.accuracy.few [--budget MINUTES] [--quick] [--draws N] [--cells PATTERN] [--keep FOLDER]
"""

import argparse
from collections.abc import Sequence

from benchmarks.accuracy.gaussian import ACCURACY, ALL, PASSING, Cell, measure
from benchmarks.accuracy.gaussian_page import answers, figure_of, place, report
from benchmarks.accuracy.resolving import Figure, Verdict, judged, judged_within
from benchmarks.accuracy.running import Course, Result, few

MODULE = "benchmarks.accuracy.few"
AUTO, KNOWN = ("auto",), ("known",)
HONEST = 1.15  # measured noise over stated noise, at most
TARGETS = (  # section, spectra, n, d, at most (error / floor) or at least (share of answers)
    (PASSING, ("S1", "S4", "S5"), 240, 30, 0.99),
    (PASSING, ("S1", "S4", "S5"), 240, 1000, 0.99),
    (ACCURACY, ("S1", "S4", "S5"), 300, 30, 2.2),
    (ACCURACY, ("S1", "S4", "S5"), 450, 30, 1.2),
    (ACCURACY, ("S1", "S2", "S5"), 1000, 1000, 1.4),
    (ACCURACY, ("S3", "S4"), 1000, 1000, 1.5),
    (ACCURACY, ("S1",), 1000, 10_000, 3.0),
)
HUGE = ("S1", 1000, 100_000, 0.5)  # spectrum, n, d, error at most


def cells(options: argparse.Namespace) -> list[Cell]:
    """List the worlds of the targets, then neighbors: more records, the covariance known, replace-one."""
    draws, probed, large = options.draws, 20 * options.draws, few(6, options.draws)
    first = [Cell(PASSING, s, 240, 30, probed, AUTO) for s in ALL]
    first += [Cell(ACCURACY, s, n, 30, draws, AUTO) for n in (300, 450) for s in ALL]
    if options.quick:
        return first
    first += [Cell(ACCURACY, s, 1000, 1000, draws, AUTO) for s in ALL]
    first += [Cell(ACCURACY, "S1", 1000, 10_000, large, AUTO)]
    first += [Cell(PASSING, s, 240, 1000, max(1, probed // 4), AUTO) for s in ("S1", "S4", "S5")]
    first += [Cell(PASSING, s, 140, 30, probed, KNOWN) for s in ("S1", "S4", "S5")]
    first += [Cell(ACCURACY, s, 700, 1000, draws, AUTO) for s in ALL]
    first += [Cell(ACCURACY, s, 1500, 1000, draws, ("auto, replace-one",)) for s in ("S1", "S4")]
    first += [Cell(ACCURACY, s, 1000, 10_000, large, AUTO) for s in ALL[1:]]
    return [*first, Cell(ACCURACY, *HUGE[:3], large, AUTO)]


def verdicts(done: Sequence[Result]) -> list[Verdict]:
    at = {(cell["section"], cell["count"], cell["dimension"], cell["spectrum"]): cell for cell in done}
    found = []
    for section, spectra, n, d, bar in TARGETS:
        figures = {s: _figure(at[section, n, d, s]) for s in spectra if (section, n, d, s) in at}
        asked = f"probability of an answer ≥ {bar:g}" if section == PASSING else f"error / floor ≤ {bar:g}"
        found.append(judged(f"n = {n}, d = {d}: {asked}", bar, figures, at_most=section == ACCURACY))
    spectrum, n, d, bar = HUGE
    huge = at.get((ACCURACY, n, d, spectrum))
    figures = {spectrum: figure_of(huge, "auto")} if huge else {}
    return [*found, judged(f"n = {n}, d = {d}: error ≤ {bar:g}", bar, figures), _judge_noise(done)]


def _figure(cell: Result) -> Figure:
    (name,) = cell["estimators"]
    if cell["section"] == PASSING:
        return Figure.share(answers(cell, name), cell["draws"])
    return figure_of(cell, name, over=cell["floor"][1])


def _judge_noise(done: Sequence[Result]) -> Verdict:
    """Judge the root mean square of found over stated noise: neither above nor below by more than the bar."""
    rows = {
        place(c): row["draws"]["found_over_stated"] for c in done if "floor" in c for row in c["estimators"].values()
    }
    found = {where: Figure.rms(ratios) for where, ratios in rows.items() if ratios}
    return judged_within("measured noise within 15 % of the stated one", HONEST, found)


COURSE = Course("few", MODULE, cells, measure, verdicts, report, "Few records")


def main(arguments: Sequence[str] | None = None) -> None:
    COURSE.run(argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__), arguments)


if __name__ == "__main__":
    main()
