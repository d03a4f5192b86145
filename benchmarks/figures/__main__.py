"""The paper's claims as figures: pictures, the numbers behind them, and a page.

    python -m benchmarks.figures [--quick] [--only a,c] [--jobs J] [--keep FOLDER] [--out FOLDER]

How an error is measured: spots.py; how many records are needed: searching.py; one file for each figure. Noise is
seeded, so that a run can be repeated. A full run takes about an hour on two processors.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.accuracy.running import RESULTS, SEED, without_paths
from benchmarks.figures.making import FIGURES, figures, measured, measurements
from benchmarks.figures.writing import page, write_figure, write_page
from benchmarks.record import provenance


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few and small places; written only where --out is given")
    parser.add_argument("--only", default=",".join(FIGURES), help="letters of figures, as in a,c")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=1, help="processes; set OMP_NUM_THREADS=1 with several")
    parser.add_argument("--out", type=Path, help=f"folder for figures.md and figures/ ({RESULTS}; none if quick)")
    parser.add_argument("--keep", type=Path, help="folder for finished measurements, so that a run can be continued")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    letters, size = options.only.split(","), "quick" if options.quick else "full"
    if unknown := set(letters) - set(FIGURES):
        parser.error(f"--only takes letters among {', '.join(FIGURES)}, got {', '.join(sorted(unknown))}")
    results = measured(letters, size, options.seed, options.jobs, options.keep)
    run = provenance("benchmarks.figures", without_paths(given), options.seed)
    made = figures(letters, size, results)
    folder = options.out or (None if options.quick else RESULTS)
    if folder is None:
        print("\n".join(page([{**figure.as_dict(), "run": run} for figure in made])))
        return
    for figure in made:
        write_figure(folder, figure, run, measurements(figure.letter, size, results))
    print("\n".join(write_page(folder)))


if __name__ == "__main__":
    main()
