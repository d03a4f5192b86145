"""Few people, and few people beside many columns: who is answered, how far off, and whether the stated noise holds.

    python -m benchmarks.accuracy.few [--budget MINUTES] [--draws N] [--passing N] [--large N] [--keep FOLDER]

A cell is a spectrum, a number of records and of columns, and what is known. Passing: the exact probability of the
test's bit in each draw. Noise is seeded, so that a run can be repeated. Cells that decide a target come first.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from benchmarks.accuracy.cells import Cell
from benchmarks.accuracy.resolving import VERDICT_HEADER, Figure, Verdict, judged, judged_within, verdict_rows
from benchmarks.accuracy.running import (
    DELTA,
    Way,
    add_options,
    left_out_lines,
    measured,
    minutes_line,
    publish,
    without_paths,
)
from benchmarks.accuracy.unknown import measure, passing
from benchmarks.record import provenance, provenance_lines, table

MODULE = "benchmarks.accuracy.few"
NOTHING, TOLD = "auto", "known"
_HONEST = 1.15  # measured noise over stated noise, at most
TARGETS = [  # what was asked: section, spectra, n, d, at most (error / floor) or at least (passing)
    ("passing", ("S1", "S4", "S5"), 240, 30, 0.99),
    ("passing", ("S1", "S4", "S5"), 240, 1000, 0.99),
    ("accuracy", ("S1", "S4", "S5"), 300, 30, 2.2),
    ("accuracy", ("S1", "S4", "S5"), 450, 30, 1.2),
    ("accuracy", ("S1", "S2", "S5"), 1000, 1000, 1.4),
    ("accuracy", ("S3", "S4"), 1000, 1000, 1.5),
    ("accuracy", ("S1",), 1000, 10_000, 3.0),
]
HUGE = ("S1", 1000, 100_000, 0.5)  # spectrum, n, d, error at most


def cells(draws: int, probed: int, large: int, huge: int) -> list[Cell]:
    """The worlds that targets speak of, then their neighbours: more people, the covariance known, replace-one."""
    every = ("S1", "S2", "S3", "S4", "S5")
    found = [Cell("passing", s, 240, 30, probed, (NOTHING,)) for s in every]
    found += [Cell("accuracy", s, n, 30, draws, (NOTHING,)) for n in (300, 450) for s in every]
    found += [Cell("accuracy", s, 1000, 1000, draws, (NOTHING,)) for s in every]
    found += [Cell("accuracy", "S1", 1000, 10_000, large, (NOTHING,))] * (large > 0)
    found += [Cell("passing", s, 240, 1000, max(1, probed // 4), (NOTHING,)) for s in ("S1", "S4", "S5")]
    found += [Cell("passing", s, 140, 30, probed, (TOLD,)) for s in ("S1", "S4", "S5")]
    found += [Cell("accuracy", s, 700, 1000, draws, (NOTHING,)) for s in every]
    found += [Cell("accuracy", s, 1500, 1000, draws, ("auto, replace-one",)) for s in ("S1", "S4")]
    found += [Cell("accuracy", s, 1000, 10_000, large, (NOTHING,)) for s in every[1:] if large]
    return found + [Cell("accuracy", *HUGE[:3], huge, (NOTHING,))] * (huge > 0)


def run_cell(seed: int, cell: Cell) -> dict[str, Any]:
    found = passing(cell, seed) if cell.section == "passing" else measure(cell, seed, seeded=True)
    return {**found, "estimators_tried": cell.estimators[0]}


def verdicts(done: Sequence[dict[str, Any]]) -> list[Verdict]:
    """What was asked, and whether the cells that were measured meet it."""
    at = {(cell["section"], cell["count"], cell["dimension"], cell["spectrum"]): cell for cell in done}
    found = []
    for section, spectra, n, d, bar in TARGETS:
        figures = {s: _figure(at[section, n, d, s]) for s in spectra if (section, n, d, s) in at}
        what = f"probability of an answer ≥ {bar:g}" if section == "passing" else f"error / floor ≤ {bar:g}"
        found.append(judged(f"n = {n}, d = {d}: {what}", bar, figures, at_most=section == "accuracy"))
    spectrum, n, d, bar = HUGE
    huge = at.get(("accuracy", n, d, spectrum))
    figures = {} if huge is None else {spectrum: Figure.median(_errors(huge))}
    return [*found, judged(f"n = {n}, d = {d}: error ≤ {bar:g}", bar, figures), _honest(done)]


def _figure(cell: dict[str, Any]) -> Figure:
    if cell["section"] == "passing":
        return Figure.share(sum(cell["chances"][cell["estimators_tried"]]), cell["trials"])
    return Figure.median(_errors(cell), over=cell["floor"][1])


def _errors(cell: dict[str, Any]) -> list[float | None]:
    """Of every draw; None where it was refused."""
    row = _row(cell)
    return [*row["draws"]["error"], *[None] * row["refusals"]]


def _honest(done: Sequence[dict[str, Any]]) -> Verdict:
    """Neither above nor below by more than the bar; root mean squares over the draws of each cell."""
    rows = {_place(cell): _row(cell)["draws"]["found_over_stated"] for cell in done if cell["section"] == "accuracy"}
    found = {place: Figure.rms(ratios) for place, ratios in rows.items() if ratios}
    return judged_within(STATED, _HONEST, found)


STATED = "measured noise within 15 % of the stated one"


def _row(cell: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = cell["estimators"][cell["estimators_tried"]]
    return row


def _place(cell: dict[str, Any]) -> str:
    return f"{cell['spectrum']}, n = {cell['count']}, d = {cell['dimension']}"


def report(result: dict[str, Any]) -> list[str]:
    done = result["cells"]
    lines = ["# Few people", "", *provenance_lines(result["run"]), ""]
    lines += [minutes_line(result), *left_out_lines(result), ""]
    lines += [
        f"ε = 1, δ = {DELTA:g}; Gaussian records, mean at distance 10·sqrt(tr Σ); seeded noise. floor: median",
        "error of the oracle, which is told the true mean. error / floor: median error over it, in brackets a 95 %",
        "interval of the median error by order statistics, over the same floor; below six draws there is none.",
        "found / stated: distance from the sample mean over the length of the stated noise, root mean square over the",
        "draws; clipping adds to it. passing: mean over draws of the exact probability that the test's bit passes; a",
        "refusal before it counts as 0. auto: nothing is known; known: the covariance is.",
        "",
    ]
    lines += ["## What was asked", "", *table(VERDICT_HEADER, verdict_rows(result["verdicts"])), ""]
    header = ("spectrum", "n", "d", "who", "draws", "refused", "floor", "error / floor", "found / stated", "s")
    lines += ["## Accuracy", "", *table(header, [_accuracy_row(c) for c in done if c["section"] == "accuracy"]), ""]
    header = ("spectrum", "n", "d", "who", "draws", "refused before the bit", "passing", "least")
    return lines + ["## Passing", "", *table(header, [_passing_row(c) for c in done if c["section"] == "passing"])]


def _accuracy_row(cell: dict[str, Any]) -> list[str]:
    who = cell["estimators_tried"]
    row = cell["estimators"][who]
    ratio = row["found_over_stated"]
    stated = "–" if ratio is None else f"{ratio:.2f}"
    seconds = "–" if ratio is None else f"{row['seconds'][1]:.2g}"
    place = [cell["spectrum"], str(cell["count"]), str(cell["dimension"]), who, str(cell["trials"])]
    return [*place, str(row["refusals"]), f"{cell['floor'][1]:.3g}", _figure(cell).words, stated, seconds]


def _passing_row(cell: dict[str, Any]) -> list[str]:
    who = cell["estimators_tried"]
    row = cell["estimators"][who]
    place = [cell["spectrum"], str(cell["count"]), str(cell["dimension"]), who, str(cell["trials"])]
    return [*place, str(row["refusals"]), _passing_words(_figure(cell)), f"{row['least']:.3g}"]


def _passing_words(share: Figure) -> str:
    return f"{share.value:.4f} [{share.low:.4f}, {share.high:.4f}]"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--draws", type=int, default=20, help="of a cell with at most 1000 columns (20)")
    parser.add_argument("--passing", type=int, default=400, help="draws where only the bit is looked at (400)")
    parser.add_argument("--large", type=int, default=6, help="draws of 10 000 columns (6); 0: none")
    parser.add_argument("--huge", type=int, default=6, help="draws of 100 000 columns (6); 0: none")
    parser.add_argument("--cells", default="", help="a regular expression; written only with --out")
    add_options(parser, "few")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    every = cells(options.draws, options.passing, options.large, options.huge)
    chosen = [cell for cell in every if re.search(options.cells, cell.name)]
    done = measured(partial(run_cell, options.seed), chosen, Way.of("few", MODULE, options), options.seed)
    result: dict[str, Any] = {"run": provenance(MODULE, without_paths(given), options.seed), **done.as_dict()}
    result["verdicts"] = verdicts(done.cells)
    publish("few", result, report(result), options.out, whole=not options.cells)


if __name__ == "__main__":
    main()
