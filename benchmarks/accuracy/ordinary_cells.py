"""What ordinary.py measures: every table and law at its budgets, with the draws and the noise of each trial."""

import re
import zlib
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.ordinary_laws import COUNTS, DIMENSIONS, EPSILONS, LAWS
from benchmarks.accuracy.ordinary_tables import TABLES, Generator
from benchmarks.accuracy.spectra import Floats
from dimfree import SeededNoise
from dimfree.noise import Noise

TABLE, LAW = "table", "law"
_RECORDS, _NOISE = 1, 2  # streams: records and noise may never come from one seed


@dataclass(frozen=True)
class OrdinaryCell:
    """One table or law at one budget, how many draws of it, and who is tried on them."""

    section: str  # TABLE | LAW
    world: str
    epsilon: float
    draws: int
    contestants: tuple[str, ...]
    seed: int
    count: int = 0  # of a law; a table has as many as it has
    dimension: int = 0

    @property
    def name(self) -> str:
        size = f", n = {self.count}, d = {self.dimension}" if self.count else ""
        return f"{self.section}: {self.world}{size}, ε = {self.epsilon:g}"

    @property
    def half(self) -> str:
        return TABLES[self.world].half if self.section == TABLE else LAWS[self.world].half

    @property
    def population(self) -> float | None:
        """The mean of a law in every column; None for a table."""
        return None if self.section == TABLE else LAWS[self.world].mean

    def records(self, draw: int) -> Floats:
        """The same for every budget and every contestant. A real table is the same in every draw."""
        rng = np.random.default_rng([*self._place(_RECORDS), draw])
        if self.section == TABLE:
            return TABLES[self.world].make(rng)
        return LAWS[self.world].draw(rng, (self.count, self.dimension))

    def generator(self, draw: int, contestant: str) -> Generator:
        """Noise: a stream of its own for each budget, draw and contestant."""
        words = zlib.crc32(f"{self.epsilon:g}, {contestant}".encode())
        return np.random.default_rng([*self._place(_NOISE), draw, words])

    def noise(self, draw: int, contestant: str) -> Noise:
        return SeededNoise(int(self.generator(draw, contestant).integers(2**63)))

    def _place(self, stream: int) -> list[int]:
        words = zlib.crc32(f"{self.section}: {self.world}".encode())
        return [self.seed, stream, words, self.count, self.dimension]


def cells_of(
    draws: int, on_tables: tuple[str, ...], on_laws: tuple[str, ...], seed: int, pattern: str = ""
) -> list[OrdinaryCell]:
    """All cells whose name has `pattern`, a regular expression: tables first, then laws."""
    cells = [
        OrdinaryCell(TABLE, name, epsilon, draws, on_tables, seed)
        for name, each in TABLES.items()
        for epsilon in each.epsilons
    ]
    cells += [
        OrdinaryCell(LAW, name, epsilon, draws, on_laws, seed, count, dimension)
        for dimension in DIMENSIONS
        for name in LAWS
        for count in COUNTS
        for epsilon in EPSILONS
    ]
    return [cell for cell in cells if re.search(pattern, cell.name)]
