"""From the letters of figures to figures: every task is measured once, whichever figures ask for it."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from types import ModuleType
from typing import Any

from benchmarks.accuracy.running import Done, Way, measure_cells
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


def measured(letters: Sequence[str], size: str, seed: int, way: Way) -> tuple[dict[Task, dict[str, Any]], Done]:
    """Every task of the figures once, figure after figure, the smallest first; and what there was no time for."""
    wanted = dict.fromkeys(
        task for letter in letters for task in sorted(FIGURES[letter].tasks(size), key=lambda task: task.entries)
    )
    done = measure_cells(partial(_measure, seed), list(wanted), way, seed)
    named = {task.name: task for task in wanted}
    return {named[result["name"]]: result for result in done.cells}, done


def _measure(seed: int, task: Task) -> dict[str, Any]:
    return task.measure(seed)


def complete(letters: Sequence[str], size: str, results: dict[Task, dict[str, Any]]) -> list[str]:
    """The figures all of whose tasks were measured."""
    return [letter for letter in letters if all(task in results for task in FIGURES[letter].tasks(size))]


def figures(letters: Sequence[str], size: str, results: dict[Task, dict[str, Any]]) -> list[Figure]:
    return [FIGURES[letter].figure(size, results) for letter in letters]


def measurements(letter: str, size: str, results: dict[Task, dict[str, Any]]) -> list[dict[str, Any]]:
    """The tasks of one figure with their results, for the numbers behind it."""
    return [{**asdict(task), **results[task]} for task in FIGURES[letter].tasks(size)]
