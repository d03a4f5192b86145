"""How a result is written down: Markdown for people, compressed JSON for programs, both with how they came about."""

import gzip
import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import dimfree
from benchmarks.stamp import stamp

FORMAT = 1


def provenance(module: str, arguments: Sequence[str], seed: int) -> dict[str, Any]:
    """What a reader needs to run the benchmark again, and which code it was that ran."""
    return {
        "command": " ".join(["python", "-m", module, *arguments]),
        "module": module,
        "seed": seed,
        "dimfree": dimfree.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "library default"),
        "stamp": stamp(module),
    }


def provenance_lines(run: dict[str, Any]) -> list[str]:
    """The same for people."""
    versions = ", ".join(f"{name} {run[name]}" for name in ("dimfree", "numpy", "scipy", "python"))
    machine = f"{run['processors']} processors, OMP_NUM_THREADS: {run['threads']}"
    written = f"Written by `{run['command']}` (seed {run['seed']}; {versions}; {machine})."
    return [written, *stamp_lines(run)]


def stamp_lines(run: dict[str, Any]) -> list[str]:
    """Which code measured the page, and for which later code somebody vouched; nothing for a page without a stamp."""
    if "stamp" not in run:
        return []
    given = run["stamp"]
    measured = ", ".join(f"{part} {given[part]}" for part in ("estimators", "bench", "releases"))
    vouched = [
        f"Declared to hold for estimators {each['estimators']}, bench {each['bench']}: {each['why']}"
        for each in given["accepted"]
    ]
    return [f"Stamp: {measured}.", *vouched]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return ["| " + " | ".join(cells) + " |" for cells in (header, ["---"] * len(header), *rows)]


def write_numbers(path: Path, data: dict[str, Any]) -> None:
    """JSON, compressed; the same numbers give the same bytes."""
    text = json.dumps({"format": FORMAT, **data}, indent=1, allow_nan=True) + "\n"
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def read_numbers(path: Path) -> dict[str, Any]:
    return json.loads(gzip.decompress(path.read_bytes()))


def write_results(folder: Path, stem: str, data: dict[str, Any], lines: Sequence[str]) -> None:
    """`stem`.json.gz and `stem`.md in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_numbers(folder / f"{stem}.json.gz", data)
    (folder / f"{stem}.md").write_text("\n".join(lines) + "\n")
