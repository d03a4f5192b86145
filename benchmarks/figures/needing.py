"""What figures of "records needed" share: rows, words and slopes of searches along d."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.figures.drawing import MEASURED, MORE, row
from benchmarks.figures.fitting import Line, fitted
from benchmarks.figures.searching import Search
from benchmarks.figures.spots import Task

Results = Mapping[Task, dict[str, Any]]


def needed_row(series: str, x: float, result: dict[str, Any]) -> dict[str, Any]:
    """A crossing, or the end of the search."""
    records = result["records"]
    return row(series, MORE, x, result["most"]) if records is None else row(series, MEASURED, x, records)


def needed_words(result: dict[str, Any]) -> str:
    return f"> {result['most']}" if result["records"] is None else f"{result['records']:.0f}"


def slope_along_d(searches: Sequence[Search], results: Results) -> Line | None:
    """Over the places where a number was found."""
    found = [(s.dimension, results[s]["records"]) for s in searches if results[s]["records"] is not None]
    return fitted([d for d, _ in found], [n for _, n in found]) if len(found) > 1 else None


def slope_words(searches: Sequence[Search], results: Results) -> str:
    line = slope_along_d(searches, results)
    return "–" if line is None else line.words
