"""The paper's claims as figures: pictures, the numbers behind them, and a page of all figures in their folder.

    python -m benchmarks.figures [--budget MINUTES] [--quick] [--only b,d] [--jobs J] [--keep FOLDER] [--out FOLDER]

How an error is measured: spots.py; how many records are needed: searching.py; one file for each figure. Noise is
seeded, so that a run can be repeated. A figure is drawn once all of its parts are measured; the one with a bar first.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.accuracy.running import Way, add_options, measure_cells, without_paths
from benchmarks.figures import b_example, c_lower_bound, d_unknown
from benchmarks.figures.drawing import picture
from benchmarks.figures.spots import Task
from benchmarks.record import RESULTS, provenance, provenance_lines, read_numbers, table, write_numbers

MODULE = "benchmarks.figures"
FIGURES: dict[str, ModuleType] = {"d": d_unknown, "b": b_example, "c": c_lower_bound}
FOLDER = "figures"
METHOD = """\
Gaussian records about a mean ten times sqrt(tr Σ) from the origin; δ = 1e-6, add/remove; every estimator at the same
budget and given what `benchmarks.compare` gives it (Karwa-Vadhan and ball: σ; PLAN: σ and a radius ten times too
large).

- *Error:* the root of tr Σ/n, the sampling part in closed form, plus the square of the private part. That is the
  distance of the release from the sample mean of its own records; the median over the draws, a refusal being
  infinitely far off.
- *Records needed:* the n where this error comes down to α: bisection over a grid of four numbers to the octave, then a
  straight line between the last two on logarithmic scales. "> n" (a triangle): the largest table tried did not suffice.
- *Slopes:* least squares on logarithms, ± one standard error.

Noise is seeded: a simulation on public draws, nothing here is private."""


def _measure(seed: int, task: Task) -> dict[str, Any]:
    return task.measure(seed)


def made(letters: Sequence[str], size: str, seed: int, way: Way) -> list[dict[str, Any]]:
    """Measure every task once, the smallest of a figure first; return the figures that are complete."""
    tasks = {letter: FIGURES[letter].tasks(size) for letter in letters}
    wanted = dict.fromkeys(task for of in tasks.values() for task in sorted(of, key=lambda task: task.entries))
    named = {task.name: task for task in wanted}
    done = measure_cells(partial(_measure, seed), list(wanted), way, seed)
    results = {named[result["name"]]: result for result in done.cells}
    whole = {letter: of for letter, of in tasks.items() if all(task in results for task in of)}
    return [
        {
            **FIGURES[letter].figure(size, results).as_dict(),
            "measurements": [{**asdict(task), **results[task]} for task in of],
        }
        for letter, of in whole.items()
    ]


def page(figures: list[dict[str, Any]]) -> list[str]:
    lines = ["# The paper's claims as figures", "", METHOD]
    for figure in figures:
        lines += ["", f"## ({figure['letter']}) {figure['title']}", ""]
        lines += [f"![{figure['title']}]({FOLDER}/{figure['name']}.svg)", ""]
        lines += [f"*Claimed:* {figure['claim']}", "", f"*Measured:* {figure['found']}", ""]
        lines += [*table(figure["header"], figure["table"]), "", *provenance_lines(figure["run"])]
        lines += [f"The numbers behind: [{figure['name']}.json.gz]({FOLDER}/{figure['name']}.json.gz)."]
    return lines


def write_page(folder: Path) -> list[str]:
    """Write figures.md, of every figure in the folder, so that one figure can be made again separately."""
    lines = page([read_numbers(path) for path in sorted((folder / FOLDER).glob("*.json.gz"))])
    (folder / "figures.md").write_text("\n".join(lines) + "\n")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few and small places; written only where --out is given")
    parser.add_argument("--only", default=",".join(FIGURES), help="letters of figures, as in b,d")
    add_options(parser, "figures")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    letters, size = options.only.split(","), "quick" if options.quick else "full"
    if unknown := set(letters) - set(FIGURES):
        parser.error(f"--only takes letters among {', '.join(FIGURES)}, got {', '.join(sorted(unknown))}")
    figures = made(letters, size, options.seed, Way(options.jobs, options.keep, options.budget))
    run = provenance(MODULE, without_paths(given), options.seed)
    folder = options.out or (None if options.quick else RESULTS)
    if folder is None:
        print("\n".join(page([{**figure, "run": run} for figure in figures])))
        return
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    for figure in figures:
        write_numbers(folder / FOLDER / f"{figure['name']}.json.gz", {"run": run, **figure})
        (folder / FOLDER / f"{figure['name']}.svg").write_text(picture(figure))
    print("\n".join(write_page(folder)))


if __name__ == "__main__":
    main()
