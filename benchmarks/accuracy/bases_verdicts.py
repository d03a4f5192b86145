"""What was asked of the bases, and whether the figures of bases.py meet it. A new promise is one more line of BARS."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.accuracy.bases_measuring import PLAIN
from benchmarks.accuracy.bases_worlds import OWN, REAL, ROTATED
from benchmarks.accuracy.spectra import SPECTRA

CellResult = dict[str, Any]
RESOLVED = 0.03  # a ratio with a larger standard error than this is said to be unresolved
_WITHIN = 2.0  # standard errors: closer to its limit than this, more draws could turn a verdict


@dataclass(frozen=True)
class BasesBar:
    """A promise: the contestant's median error is at most so many times the spherical oracle's (paired: PLAIN's)."""

    contestant: str
    limit: float
    section: str
    worlds: tuple[str, ...]
    epsilon: float | None = None  # None: every budget
    paired: bool = False

    def applies(self, cell: CellResult) -> bool:
        place = cell["section"] == self.section and cell["world"] in self.worlds
        tried = self.contestant in cell["estimators"] and (not self.paired or PLAIN in cell["estimators"])
        return bool(place and tried and self.epsilon in (None, cell["epsilon"]))

    def measured(self, cell: CellResult) -> tuple[float, float | None]:
        """(median, its standard error); infinite where a release was refused that should not have been."""
        row, pair = cell["estimators"][self.contestant], cell["pairs"].get(self.contestant)
        if (pair["refused_alone"] or not pair["error"]) if self.paired else row["refusals"]:
            return float("inf"), None
        return tuple(pair["error"]) if self.paired else (row["times"][1], row["times_standard_error"])

    def __str__(self) -> str:
        budget = "every ε" if self.epsilon is None else f"ε = {self.epsilon:g}"
        whom = f"paired with {PLAIN}" if self.paired else "the spherical oracle"
        return f"{self.section}: {', '.join(self.worlds)}, {budget}: {self.contestant} ≤ {self.limit} × {whom}"


BARS = (
    BasesBar("auto", 0.75, ROTATED, ("S2",), 2.0),
    BasesBar("auto", 1.0, ROTATED, ("S1",), 2.0),
    BasesBar("dct", 0.95, REAL, ("MNIST",), 2.0),
    BasesBar("auto", 1.08, OWN, ("S4",), paired=True),  # every n and d
    BasesBar("auto", 1.05, OWN, tuple(SPECTRA), paired=True),
)


def verdicts(cells: Sequence[CellResult], bars: Sequence[BasesBar] = BARS) -> list[dict[str, Any]]:
    """Every bar with the cell that does worst under it, and whether all of its cells meet it; None: not tried."""
    found = []
    for bar in bars:
        tried = [cell for cell in cells if bar.applies(cell)]
        worst = max(tried, key=lambda cell: bar.measured(cell)[0], default=None)
        missed = [f"{place(cell)}: {_words(bar, cell)}" for cell in tried if bar.measured(cell)[0] > bar.limit]
        words = "not tried" if worst is None else f"{_words(bar, worst)} ({place(worst)})"
        met = None if worst is None else not missed
        found.append({"bar": str(bar), "worst": words, "cells": len(tried), "met": met, "missed": missed})
    return found


def place(cell: CellResult) -> str:
    return f"{cell['world']}, n = {cell['count']}, d = {cell['dimension']}, ε = {cell['epsilon']:g}"


def _words(bar: BasesBar, cell: CellResult) -> str:
    """The figure with its standard error, what that leaves open, and for a pair the stated noise."""
    median, spread = bar.measured(cell)
    if median == float("inf"):
        return "refused"
    if spread is None:
        return f"{median:.3f}, a single draw"
    open_words = [", near the limit"] * (abs(median - bar.limit) < _WITHIN * spread)
    open_words += [", not resolved"] * (bar.paired and spread > RESOLVED)
    noise = "; stated noise {:.3f} ± {:.3f}".format(*cell["pairs"][bar.contestant]["noise"]) if bar.paired else ""
    return f"{median:.3f} ± {spread:.3f}{''.join(open_words)}{noise}"
