"""Releases from large files: time and peak memory over n and d, against one streamed mean(0) over the same file.

    python -m benchmarks.speed.scale [--quick] [--part NAME ...] [--pbmc FILE] [--out benchmarks/results]

Parts: million, parquet, csr, dask, growth, core, peers, noise. What was measured is kept (--keep), so that parts may be
run one by one on an idle machine; the report has all that is kept or was just measured. Give the machine to itself.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.accuracy.running import without_paths
from benchmarks.record import provenance, provenance_lines, read_numbers, write_results
from benchmarks.speed.friends import EPSILON, RESULTS, SEED
from benchmarks.speed.scale_one import DELTA
from benchmarks.speed.scale_parts import PARTS
from benchmarks.speed.scale_running import Setting
from benchmarks.speed.scale_tables import TITLES
from dimfree.data.threads import cores

CAP = 5e8
KEPT = Path(".bench-cells")
_PATHS = ("--pbmc", "--folder")
_PACKAGES = ("opendp", "pyarrow", "dask", "distributed")


def report(result: dict[str, Any]) -> list[str]:
    """The parts that there are, in their order."""
    run = result["run"]
    versions = ", ".join(f"{name} {number}" for name, number in run["packages"].items())
    lines = ["# Speed at scale", "", *provenance_lines(run), "", f"Threads of a release: {run['cores']}; {versions}."]
    lines += [
        f"ε = {EPSILON:g}, δ = {DELTA:g}, add/remove, private noise. Each figure is from a fresh process; peak: the",
        "largest resident size of that process, interpreter and imports included. Imports are not timed, except at the",
        "command line. Ratios are of measurements made one after the other on a file that was in the system's cache.",
        "Stage 0 is from the end of the check of the rows to the first block of the first stage: the public",
        "calibration, the coins, the core's sample and the core. The streamed mean is the fastest of four block sizes,",
        "through the reader that releases use.",
    ]
    for name, (title, told) in TITLES.items():
        if name in result["parts"]:
            part = result["parts"][name]
            other = [] if part["run"] == run else [*provenance_lines(part["run"]), ""]
            lines += ["", f"## {title}", "", *other, *told(part["cells"])]
    return lines


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _earlier(folder: Path | None) -> dict[str, Any]:
    """Parts that an earlier run has left in the folder of results."""
    path = None if folder is None else folder / "scale.json.gz"
    return read_numbers(path)["parts"] if path is not None and path.exists() else {}


def _shown(given: Sequence[str]) -> list[str]:
    """The command less the reader's own places."""
    words = without_paths(given)
    return ["..." if index and words[index - 1] in _PATHS else word for index, word in enumerate(words)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes; written only where --out is given")
    parser.add_argument("--part", nargs="+", choices=tuple(PARTS), default=tuple(PARTS), metavar="NAME")
    parser.add_argument("--cap", type=float, default=CAP, help="entries of a table of the grid, at most (5e8)")
    parser.add_argument("--pbmc", type=Path, help="CSR matrix of pbmc3k (.npz); made-up cells otherwise")
    parser.add_argument("--folder", type=Path, help="where tables are written for a while (the system's choice)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--keep", type=Path, help=f"folder of measured cells ({KEPT}; none if quick)")
    parser.add_argument("--out", type=Path, help=f"folder for scale.json.gz and scale.md ({RESULTS}; none if quick)")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    keep = options.keep or (None if options.quick else KEPT)
    folder = options.out or (None if options.quick else RESULTS)
    setting = Setting(options.quick, options.cap, options.seed, keep, options.folder, options.pbmc)
    command = provenance("benchmarks.speed.scale", _shown(given), options.seed)
    run = {**command, "cores": cores(), "packages": _versions()}
    parts = _earlier(folder)
    for name in options.part:
        parts[name] = {"run": run, "cells": list(PARTS[name](setting))}
        result = {"run": run, "parts": parts}
        if folder:  # after every part: a run that is stopped leaves what it has
            write_results(folder, "scale", result, report(result))
    print("\n".join(report(result)))


if __name__ == "__main__":
    main()
