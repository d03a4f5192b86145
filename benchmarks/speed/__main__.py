"""How long releases take, against one mean and one matrix product in the same run.

    python -m benchmarks.speed [--small] [--only NAME ...] [--folder FOLDER] [--out benchmarks/results]

Each cell is a process of its own. What an earlier run has left in the results stays there, with its own provenance,
until the cell is measured again. Give the machine to itself.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.accuracy.resolving import MET, MISSED
from benchmarks.accuracy.running import RESULTS, SEED, without_paths
from benchmarks.record import provenance, provenance_lines, read_numbers, table, write_results
from benchmarks.speed.cells import CELLS
from benchmarks.speed.clocks import Row
from dimfree.threads import cores


def with_measured_gains(name: str, small: bool, seed: int, folder: Path | None) -> dict[str, Any]:
    """The cell in a fresh process, or why there is none."""
    with TemporaryDirectory(dir=folder) as own:
        words = json.dumps({"small": small, "seed": seed, "folder": own})
        command = [sys.executable, "-m", "benchmarks.speed.cells", name, words]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        return {"failed": run.stderr.strip().splitlines()[-1] if run.stderr.strip() else f"exit {run.returncode}"}
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def report(result: dict[str, Any]) -> list[str]:
    """The cells that there are, in their order."""
    lines = ["# Speed", "", *provenance_lines(result["run"]), ""]
    lines += [
        "ε = 1, δ = 10⁻⁶, add/remove, private noise, spectrum S3 (standard deviations i^(-1/2)). Each section is a",
        f"process of its own with {result['run']['cores']} threads; ratios are of measurements of that process. What",
        "`import dimfree` and its parts take is timed in `start`, `parquet` and `parts` alone.",
    ]
    for name, make in CELLS.items():
        if name in result["cells"]:
            lines += ["", f"## {name}", "", str(make.__doc__).split("\n")[0], "", *told(result["cells"][name], result)]
    return lines


def told(cell: dict[str, Any], result: dict[str, Any]) -> list[str]:
    """One cell for people; with its own provenance where that is another one."""
    older = [] if cell["run"] == result["run"] else [*provenance_lines(cell["run"]), ""]
    if "failed" in cell:
        return [*older, f"Failed: {cell['failed']}"]
    rows = [[r["what"], f"{r['value']:.3g} {r['unit']}", _seconds(r), _verdict(r, cell["small"])] for r in cell["rows"]]
    peak = f"Largest resident size of the process: {cell['peak_gib']:.2f} GiB."
    return [*older, *table(["what", "measured", "seconds", "bar"], rows), "", peak]


def _seconds(figure: Row) -> str:
    return "" if figure["seconds"] is None else f"{figure['seconds']:.3g}"


def _verdict(figure: Row, small: bool) -> str:
    if figure["bar"] is None:
        return ""
    verdict = "too small a table to tell" if small else "met" if figure["value"] <= figure["bar"] else "MISSED"
    return f"≤ {figure['bar']:.3g}: {verdict}"


def verdicts(cells: dict[str, Any]) -> list[dict[str, Any]]:
    """One for each figure with a bar, as the page of all targets reads them."""
    kept = {name: cell for name, cell in cells.items() if not cell["small"]}
    rows = [(name, row) for name, cell in kept.items() for row in cell.get("rows", ()) if row["bar"]]
    return [
        {
            "target": f"{name}: {row['what']} ≤ {row['bar']:.3g}",
            "figure": f"{row['value']:.3g} {row['unit']}",
            "draws": 1,
            "state": MET if row["value"] <= row["bar"] else MISSED,
        }
        for name, row in rows
    ]


def _earlier(folder: Path | None) -> dict[str, Any]:
    path = None if folder is None else folder / "speed.json.gz"
    return read_numbers(path)["cells"] if path is not None and path.exists() else {}


def _shown(given: Sequence[str]) -> list[str]:
    """The command less the reader's own places."""
    words = without_paths(given)
    return ["..." if index and words[index - 1] == "--folder" else word for index, word in enumerate(words)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--small", action="store_true", help="small sizes; written only where --out is given")
    parser.add_argument("--only", nargs="+", choices=tuple(CELLS), default=tuple(CELLS), metavar="NAME")
    parser.add_argument("--folder", type=Path, help="where tables are written for a while (the system's choice)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path, help=f"folder for speed.json.gz and speed.md ({RESULTS}; none if small)")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    folder = options.out or (None if options.small else RESULTS)
    run = {
        **provenance("benchmarks.speed", _shown(given), options.seed),
        "cores": cores(),
    }
    result: dict[str, Any] = {"run": run, "cells": _earlier(folder)}
    for name in options.only:
        cell = with_measured_gains(name, options.small, options.seed, options.folder)
        result["cells"][name] = {"run": run, "small": options.small, **cell}
        print("\n".join(["", f"{name}:", *told(result["cells"][name], result)]), file=sys.stderr, flush=True)
        result["verdicts"] = verdicts(result["cells"])
        if folder:  # after every cell: a run that is stopped leaves what it has
            write_results(folder, "speed", result, report(result))
    print("\n".join(report(result)))


if __name__ == "__main__":
    main()
