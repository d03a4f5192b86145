"""How a cell of the benchmark of scale is measured: a table for a while, fresh processes, and what they found."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.accuracy.running import kept
from benchmarks.speed.friends import GIB

_ROOM = 1.3  # of the free disk to the table

Found = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table to be written: its size, the type of its numbers, and the kind of file."""

    count: int
    dimension: int
    dtype: str = "float32"
    kind: str = "npy"

    @property
    def gib(self) -> float:
        return self.count * self.dimension * np.dtype(self.dtype).itemsize / GIB


@dataclass(frozen=True)
class Setting:
    """What all cells share."""

    quick: bool
    cap: float  # entries of a table of the grid, at most
    seed: int
    keep: Path | None
    folder: Path | None  # where tables are written for a while
    pbmc: Path | None


def in_turn(task: str, **arguments: Any) -> Found:
    """A measurement in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.speed.scale_one", task, json.dumps(arguments)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        return {"failed": run.stderr.strip().splitlines()[-1] if run.stderr.strip() else f"exit {run.returncode}"}
    found: Found = json.loads(run.stdout.splitlines()[-1])
    shown = f"{found['seconds']:.2f} s, {found['peak_gib']:.2f} GiB" if "seconds" in found else "done"
    told = {key: value for key, value in arguments.items() if key not in ("path", "seed")}
    print(f"  {task} {told}: {shown}", file=sys.stderr, flush=True)
    return found


@contextmanager
def written(table: Table, setting: Setting) -> Iterator[Path | None]:
    """The path of the table while it is needed; None where it does not fit the disk."""
    with TemporaryDirectory(dir=setting.folder) as folder:
        if shutil.disk_usage(folder).free < _ROOM * table.gib * GIB:
            yield None
            return
        path = Path(folder) / f"records.{table.kind}"
        done = in_turn("write", path=str(path), seed=setting.seed, **asdict(table))
        if "failed" in done:
            raise RuntimeError(f"The table could not be written: {done['failed']}")
        yield path


def cell(setting: Setting, name: str, table: Table, measure: Callable[[Path], Found]) -> Found:
    """One cell on one table, from where an earlier run has kept it."""

    def run() -> Found:
        print(f"{name}: n = {table.count}, d = {table.dimension}, {table.gib:.2f} GiB", file=sys.stderr, flush=True)
        with written(table, setting) as path:
            found = {"skipped": "does not fit the disk"} if path is None else measure(path)
        return {"name": name, "quick": setting.quick, **asdict(table), "gib": table.gib, **found}

    return kept(setting.keep, ("scale", name, table, setting.seed), run)
