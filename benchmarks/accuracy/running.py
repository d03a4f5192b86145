"""What all accuracy benchmarks share: quartiles, cells run side by side, cells kept for a run to be continued."""

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import dimfree
from benchmarks.record import FORMAT

DELTA = 1e-6
SEED = 20250101
RESULTS = Path("benchmarks/results")

Work = TypeVar("Work")


def quartiles(values: Sequence[float]) -> list[float] | None:
    """[lower quartile, median, upper quartile], or None where every trial was refused."""
    return [float(value) for value in np.quantile(values, [0.25, 0.5, 0.75])] if values else None


def each(measure: Callable[[Work], dict[str, Any]], cells: Sequence[Work], jobs: int) -> list[dict[str, Any]]:
    """The results in the order of the cells; fresh processes, each with noise of its own."""
    if jobs == 1:
        return [measure(cell) for cell in cells]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(measure, cells))


def kept(folder: Path | None, key: object, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """One cell, from the folder where an interrupted run has left it there; `key` says all that it depends on."""
    if folder is None:
        return measure()
    name = hashlib.sha256(repr((FORMAT, source_digest(), key)).encode()).hexdigest()[:16]
    path = folder / f"{name}.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(measure()))
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def source_digest() -> str:
    """Of the package: cells measured with other code are not taken over."""
    files = sorted(Path(dimfree.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def without_paths(given: Sequence[str]) -> list[str]:
    """The command less the folders, which are the reader's to choose."""
    dropped = {index for index, word in enumerate(given) if word in ("--out", "--keep")}
    return [word for index, word in enumerate(given) if not dropped & {index, index - 1}]
