"""From the letters of figures to figures: every task is measured once, whichever figures ask for it."""

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.accuracy.running import each, kept
from benchmarks.figures import a_dimension, b_example, c_lower_bound, d_unknown, e_decay, f_free
from benchmarks.figures.drawing import Figure
from benchmarks.figures.spots import Task

FIGURES: dict[str, ModuleType] = {
    "a": a_dimension,
    "b": b_example,
    "c": c_lower_bound,
    "d": d_unknown,
    "e": e_decay,
    "f": f_free,
}


def _done(folder: Path | None, seed: int, task: Task) -> dict[str, Any]:
    """One task, with a line to stderr when done."""
    start = time.perf_counter()
    result = kept(folder, ("figures", task, seed), partial(_timed, task, seed))
    print(f"{time.perf_counter() - start:.0f} s {task}", file=sys.stderr, flush=True)
    return result


def _timed(task: Task, seed: int) -> dict[str, Any]:
    start = time.perf_counter()
    return {**task.measure(seed), "seconds": time.perf_counter() - start}


def measured(
    letters: Sequence[str], size: str, seed: int, jobs: int, folder: Path | None
) -> dict[Task, dict[str, Any]]:
    """Every task of the figures once, the largest first, so that the processes end together."""
    wanted = list(dict.fromkeys(task for letter in letters for task in FIGURES[letter].tasks(size)))
    wanted.sort(key=lambda task: -task.entries)
    return dict(zip(wanted, each(partial(_done, folder, seed), wanted, jobs), strict=True))


def figures(letters: Sequence[str], size: str, results: dict[Task, dict[str, Any]]) -> list[Figure]:
    return [FIGURES[letter].figure(size, results) for letter in letters]


def measurements(letter: str, size: str, results: dict[Task, dict[str, Any]]) -> list[dict[str, Any]]:
    """The tasks of one figure with their results, for the numbers behind it."""
    return [{**asdict(task), **results[task]} for task in FIGURES[letter].tasks(size)]
