"""What field.py measures: the worlds, how many draws of each, which relation. A new world is one more line."""

from dataclasses import dataclass

from benchmarks.accuracy.cells import few
from benchmarks.accuracy.running import DELTA
from benchmarks.trials import Point
from benchmarks.worlds import Synthetic
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.planning.spectra import SPECTRA

EPSILON = 1.0
ADD, REPLACE = str(Neighbours.ADD_REMOVE), str(Neighbours.REPLACE_ONE)


@dataclass(frozen=True)
class FieldCell:
    """One world, how many draws of it, and the relation that everybody promises."""

    spectrum: str
    dimension: int
    count: int
    trials: int
    neighbours: str = ADD

    @property
    def name(self) -> str:
        return f"{self.spectrum}, d = {self.dimension}, n = {self.count}, {self.neighbours}"

    @property
    def point(self) -> Point:
        return Point(Synthetic(self.spectrum, self.dimension), self.count, EPSILON, DELTA, self.neighbours)


def field_cells(trials: int) -> list[FieldCell]:
    """The cells that README quotes, then those in which the peers were first measured and others that have a bar."""
    draws = {1000: trials, 4000: few(10, trials), 16_000: few(6, trials)}  # some peers are quadratic in n
    cells = [FieldCell(s, 1000, n, draws[n]) for n in (1000, 4000) for s in SPECTRA]
    cells += [FieldCell("S1", 100, n, trials) for n in (1000, 16_000)]
    cells += replace_cells(trials)
    cells += [FieldCell(s, 10_000, 1000, few(6, trials)) for s in SPECTRA]
    cells += [FieldCell(s, 1000, 16_000, draws[16_000]) for s in SPECTRA]
    cells += [FieldCell(s, 10_000, 4000, few(6, trials)) for s in SPECTRA]
    return [*cells, FieldCell("S1", 100_000, 1000, few(6, trials))]


def replace_cells(trials: int) -> list[FieldCell]:
    """The other relation: a smaller table."""
    cells = [FieldCell("S1", 100, n, few(10, trials), REPLACE) for n in (1000, 4000)]
    return cells + [FieldCell(s, 1000, 4000, few(6, trials), REPLACE) for s in SPECTRA]


def quick_cells(trials: int) -> list[FieldCell]:
    """A few minutes: one cell of each kind that is cheap."""
    cells = [FieldCell("S1", 100, n, trials) for n in (1000, 4000)]
    cells += [FieldCell(s, 1000, 1000, trials) for s in SPECTRA]
    cells += [FieldCell(s, 1000, 4000, 1) for s in SPECTRA]
    return [*cells, FieldCell("S1", 100, 4000, trials, REPLACE)]
