"""How a result is written down: Markdown for people, compressed JSON for programs, both with how they came about."""

import gzip
import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import dimfree

FORMAT = 1
ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path("benchmarks/results")


@cache
def commit() -> str:
    """Name the commit of the checkout; `+` marks a working tree with changes, `unknown` a folder without git."""
    asked = ("git", "-C", str(ROOT), "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*")
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


@cache
def code_digest() -> str:
    """Hash the package and the benchmarks, so that a kept cell is never taken over from other code."""
    files = sorted([*(ROOT / "src/dimfree").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")])
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def provenance(module: str, arguments: Sequence[str], seed: int) -> dict[str, Any]:
    """Return what a reader needs to run the benchmark again: command, commit, seed, versions, machine."""
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
        "commit": commit(),
    }


def provenance_lines(run: dict[str, Any]) -> list[str]:
    """The same for people."""
    versions = ", ".join(f"{name} {run[name]}" for name in ("dimfree", "numpy", "scipy", "python"))
    machine = f"{run['processors']} processors, OMP_NUM_THREADS: {run['threads']}"
    where = f"commit {run['commit']}; " if "commit" in run else ""
    return [f"Written by `{run['command']}` ({where}seed {run['seed']}; {versions}; {machine})."]


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
