"""The paper's claims as figures: pictures, the numbers behind them, and a page.

    python -m benchmarks.figures [--budget MINUTES] [--quick] [--only a,c] [--jobs J] [--keep FOLDER] [--out FOLDER]

How an error is measured: spots.py; how many records are needed: searching.py; one file for each figure. Noise is
seeded, so that a run can be repeated. A figure is drawn once all of its parts are measured; those with a bar first.
"""

import argparse
import sys
from collections.abc import Sequence

from benchmarks.accuracy.running import Way, add_options, remember_costs, without_paths
from benchmarks.figures.making import FIGURES, complete, figures, measured, measurements
from benchmarks.figures.writing import page, write_figure, write_page
from benchmarks.record import provenance
from benchmarks.registry import RESULTS

MODULE = "benchmarks.figures"
_ORDER = "d,a,f,b,e,c"  # with a bar, then the cheap ones


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few and small places; written only where --out is given")
    parser.add_argument("--only", default=_ORDER, help="letters of figures, as in a,c")
    add_options(parser, "figures")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    letters, size = options.only.split(","), "quick" if options.quick else "full"
    if unknown := set(letters) - set(FIGURES):
        parser.error(f"--only takes letters among {', '.join(FIGURES)}, got {', '.join(sorted(unknown))}")
    results, done = measured(letters, size, options.seed, Way("figures", options.jobs, options.keep, options.budget))
    run = provenance(MODULE, without_paths(given), options.seed)
    made = figures(complete(letters, size, results), size, results)
    folder = options.out or (None if options.quick else RESULTS)
    if folder is None:
        print("\n".join(page([{**figure.as_dict(), "run": run} for figure in made])))
        return
    for figure in made:
        write_figure(folder, figure, run, measurements(figure.letter, size, results))
    print("\n".join(write_page(folder)))
    if folder == RESULTS:
        remember_costs("figures", done.cells)


if __name__ == "__main__":
    main()
