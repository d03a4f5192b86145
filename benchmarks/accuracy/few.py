"""Few people, and few people beside many columns: who is answered, how far off, and whether the stated noise holds.

    python -m benchmarks.accuracy.few [--draws N] [--passing N] [--large N] [--jobs J] [--cells REGEX] [--keep FOLDER]

A cell is a spectrum, a number of records and of columns, and what is known. Passing: the exact probability of the
test's bit in each draw, so that few draws tell much. Noise is seeded, so that a run can be repeated.
"""

import argparse
import re
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.cells import Cell
from benchmarks.accuracy.running import DELTA, RESULTS, SEED, each, kept, without_paths
from benchmarks.accuracy.unknown import measure, passing
from benchmarks.record import provenance, provenance_lines, table, write_results

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


def cells(draws: int, probed: int, large: int) -> list[Cell]:
    """The worlds that targets speak of, and their neighbours: more people, the covariance known, replace-one."""
    every = ("S1", "S2", "S3", "S4", "S5")
    found = [Cell("passing", s, 240, 30, probed, (NOTHING,)) for s in every]
    found += [Cell("passing", s, 140, 30, probed, (TOLD,)) for s in ("S1", "S4", "S5")]
    found += [Cell("passing", s, 240, 1000, max(1, probed // 4), (NOTHING,)) for s in ("S1", "S4", "S5")]
    found += [Cell("accuracy", s, n, 30, draws, (NOTHING,)) for n in (300, 450) for s in every]
    found += [Cell("accuracy", s, n, 1000, draws, (NOTHING,)) for n in (700, 1000) for s in every]
    found += [Cell("accuracy", s, 1500, 1000, draws, ("auto, replace-one",)) for s in ("S1", "S4")]
    return found + [Cell("accuracy", s, 1000, 10_000, large, (NOTHING,)) for s in every if large]


def run_cell(folder: Path | None, seed: int, cell: Cell) -> dict[str, Any]:
    return kept(folder, (cell, seed), partial(_one, cell, seed))


def _one(cell: Cell, seed: int) -> dict[str, Any]:
    start = time.perf_counter()
    found = passing(cell, seed) if cell.section == "passing" else measure(cell, seed, seeded=True)
    seconds = time.perf_counter() - start
    print(f"{cell.name}: {seconds:.0f} s", file=sys.stderr, flush=True)
    return {**found, "seconds": seconds}


def verdicts(done: Sequence[dict[str, Any]]) -> list[list[str]]:
    """[target, figure of each cell, whether it is met] for the targets whose cells were measured."""
    rows = []
    for section, spectra, n, d, bar in TARGETS:
        at = {
            cell["spectrum"]: cell
            for cell in done
            if (cell["section"], cell["count"], cell["dimension"]) == (section, n, d)
        }
        if not set(spectra) <= set(at):
            continue
        found = {s: _figure(at[s]) for s in spectra}
        least = section == "passing"
        met = all(value >= bar if least else value <= bar for value in found.values())
        what = f"probability of an answer ≥ {bar:g}" if least else f"error / floor ≤ {bar:g}"
        rows.append([f"n = {n}, d = {d}: {what}", _listed(found), "yes" if met else "NO"])
    honest = {_place(cell): found for cell in done if (found := _found_over_stated(cell)) is not None}
    if honest:
        worst = max(honest, key=lambda place: abs(honest[place] - 1))
        met = "yes" if all(1 / _HONEST <= ratio <= _HONEST for ratio in honest.values()) else "NO"
        rows.append(["measured noise within 15 % of the stated one", f"{honest[worst]:.2f} ({worst})", met])
    return rows


def _figure(cell: dict[str, Any]) -> float:
    row = cell["estimators"][cell["estimators_tried"]]
    if cell["section"] == "passing":
        return float(row["probability"])
    return float(row["error_over_floor"][1]) if row["error_over_floor"] else np.inf


def _found_over_stated(cell: dict[str, Any]) -> float | None:
    """Root mean square distance from the sample mean over that of the stated noise; None: not measured."""
    row = cell["estimators"][cell["estimators_tried"]]
    return row.get("found_over_stated") if cell["section"] == "accuracy" else None


def _listed(found: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in found.items())


def _place(cell: dict[str, Any]) -> str:
    return f"{cell['spectrum']}, n = {cell['count']}, d = {cell['dimension']}"


def report(result: dict[str, Any]) -> list[str]:
    done = result["cells"]
    lines = ["# Few people", "", *provenance_lines(result["run"]), ""]
    lines += [f"Measuring took {result['minutes']:.0f} minutes, added up over the processes.", ""]
    lines += [
        f"ε = 1, δ = {DELTA:g}; Gaussian records, mean at distance 10·sqrt(tr Σ); seeded noise. floor: median",
        "error of the oracle, which is told the true mean. error / floor: median error over it, quartiles in brackets.",
        "found / stated: distance from the sample mean over the length of the stated noise, root mean square over the",
        "draws; clipping adds to it. passing: mean over draws of the exact probability that the test's bit passes; a",
        "refusal before it counts as 0. auto: nothing is known; known: the covariance is.",
        "",
    ]
    lines += ["## What was asked", "", *table(("target", "figure", "met"), verdicts(done)), ""]
    header = ("spectrum", "n", "d", "who", "draws", "refused", "floor", "error / floor", "found / stated", "s")
    lines += ["## Accuracy", "", *table(header, [_accuracy_row(c) for c in done if c["section"] == "accuracy"]), ""]
    header = ("spectrum", "n", "d", "who", "draws", "refused before the bit", "passing", "least")
    return lines + ["## Passing", "", *table(header, [_passing_row(c) for c in done if c["section"] == "passing"])]


def _accuracy_row(cell: dict[str, Any]) -> list[str]:
    who = cell["estimators_tried"]
    row = cell["estimators"][who]
    over, ratio = row["error_over_floor"], row["found_over_stated"]
    error = f"{over[1]:.3g} [{over[0]:.3g}, {over[2]:.3g}]" if over else "–"
    stated = "–" if ratio is None else f"{ratio:.2f}"
    seconds = f"{row['seconds'][1]:.2g}" if over else "–"
    place = [cell["spectrum"], str(cell["count"]), str(cell["dimension"]), who, str(cell["trials"])]
    return [*place, str(row["refusals"]), f"{cell['floor'][1]:.3g}", error, stated, seconds]


def _passing_row(cell: dict[str, Any]) -> list[str]:
    who = cell["estimators_tried"]
    row = cell["estimators"][who]
    place = [cell["spectrum"], str(cell["count"]), str(cell["dimension"]), who, str(cell["trials"])]
    return [*place, str(row["refusals"]), f"{row['probability']:.4f}", f"{row['least']:.3g}"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.few", description=__doc__)
    parser.add_argument("--draws", type=int, default=20, help="of a cell with at most 1000 columns (20)")
    parser.add_argument("--passing", type=int, default=200, help="draws where only the bit is looked at (200)")
    parser.add_argument("--large", type=int, default=3, help="draws of 10 000 columns (3); 0: none")
    parser.add_argument("--cells", default="", help="a regular expression; written only with --out")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=1, help="processes; set OMP_NUM_THREADS=1 with several")
    parser.add_argument("--out", type=Path, help=f"folder for few.json.gz and few.md ({RESULTS})")
    parser.add_argument("--keep", type=Path, help="folder for finished cells, so that a run can be continued")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    chosen = [
        cell for cell in cells(options.draws, options.passing, options.large) if re.search(options.cells, cell.name)
    ]
    done = each(partial(run_cell, options.keep, options.seed), chosen, options.jobs)
    done = [{**cell, "estimators_tried": next(iter(cell["estimators"]))} for cell in done]
    result: dict[str, Any] = {"run": provenance("benchmarks.accuracy.few", without_paths(given), options.seed)}
    result |= {"cells": done, "minutes": sum(cell["seconds"] for cell in done) / 60}
    lines = report(result)
    print("\n".join(lines))
    folder = options.out or (None if options.cells else RESULTS)
    if folder:
        write_results(folder, "few", result, lines)


if __name__ == "__main__":
    main()
