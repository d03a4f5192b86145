"""What was asked of the bases, and whether the figures of bases.py meet it. A new promise is one more line of BARS."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.accuracy.bases_measuring import PLAIN
from benchmarks.accuracy.bases_worlds import OWN, REAL, ROTATED
from benchmarks.accuracy.resolving import Figure, Verdict, judged
from benchmarks.accuracy.spectra import SPECTRA

CellResult = dict[str, Any]
_REFUSED = Figure.sure(float("inf"), 1)


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

    def measured(self, cell: CellResult) -> Figure:
        """The median; infinite where a release was refused that should not have been."""
        row, pair = cell["estimators"][self.contestant], cell["pairs"].get(self.contestant)
        if (pair["refused_alone"] or not pair["error"]) if self.paired else row["refusals"]:
            return _REFUSED
        return Figure.median(pair["error"] if self.paired else row["draws"]["times"])

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


def verdicts(cells: Sequence[CellResult], bars: Sequence[BasesBar] = BARS) -> list[Verdict]:
    """Every bar with the cell that does worst under it."""
    return [
        judged(str(bar), bar.limit, {place(cell): bar.measured(cell) for cell in cells if bar.applies(cell)})
        for bar in bars
    ]


def place(cell: CellResult) -> str:
    return f"{cell['world']}, n = {cell['count']}, d = {cell['dimension']}, ε = {cell['epsilon']:g}"
