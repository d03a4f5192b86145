"""What bases.py measures: records on their own axes, turned, smooth along their columns, and real tables.

A new world is one more line of SIGNALS or of a list of cells; nothing is tuned to any of them.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from benchmarks.accuracy.cells import few
from benchmarks.accuracy.real_data import TABLES
from benchmarks.accuracy.spectra import DISTANCE, SPECTRA, Floats, draw
from dimfree import SeededNoise
from dimfree.noise import Noise

OWN, ROTATED, SMOOTH, REAL = "own axes", "rotated", "smooth", "real"
DEAR = ("kg_chr22_region", "pbmc3k, per 10 000", "mice_snps")  # tables of which a release takes up to a minute
CHEAP = 4  # times as many draws where a release takes less than a second: few coordinates make errors vary more
_RECORDS, _NOISE = 1, 2  # streams: records and noise may never come from one seed

Generator = np.random.Generator


@dataclass(frozen=True)
class BasesCell:
    """One world at one budget, how many draws of it, and who is tried on them."""

    section: str  # OWN | ROTATED | SMOOTH | REAL
    world: str
    count: int  # 0: as many as the table has
    dimension: int
    epsilon: float
    trials: int
    contestants: tuple[str, ...]
    seeded: bool
    seed: int

    @property
    def name(self) -> str:
        size = f", n = {self.count}, d = {self.dimension}" if self.count else ""
        return f"{self.section}: {self.world}{size}, ε = {self.epsilon:g}"

    def generator(self, trial: int) -> Generator:
        """Depends on the world and the trial alone: every budget and every contestant sees the same draws."""
        return np.random.default_rng([*self._place(_RECORDS), trial])

    def noise(self, trial: int, contestant: str) -> Noise | None:
        """None: exact noise. Seeded: a stream of its own for each budget, trial and contestant."""
        if not self.seeded:
            return None
        words = zlib.crc32(f"{self.epsilon:g}, {contestant}".encode())
        return SeededNoise(int(np.random.default_rng([*self._place(_NOISE), trial, words]).integers(2**63)))

    def _place(self, stream: int) -> list[int]:
        words = zlib.crc32(f"{self.section}: {self.world}".encode())
        return [self.seed, stream, words, self.count, self.dimension]


def drawn(cell: BasesCell, trial: int) -> Floats:
    """The records of one trial."""
    generator = cell.generator(trial)
    if cell.section == SMOOTH:
        return SIGNALS[cell.world](cell.count, cell.dimension, generator)
    X, _ = draw(SPECTRA[cell.world](cell.dimension), cell.count, generator)
    return X @ rotation(cell.dimension, generator) if cell.section == ROTATED else X


def rotation(dimension: int, generator: Generator) -> Floats:
    """Uniform on the orthogonal group: the signs of R make the QR decomposition unique."""
    Q, R = np.linalg.qr(generator.normal(size=(dimension, dimension)))
    return np.asarray(Q * np.sign(np.diag(R)))


def _walk(count: int, dimension: int, generator: Generator) -> Floats:
    return _moved(np.cumsum(generator.normal(size=(count, dimension)), axis=1), generator)


def _autoregressive(memory: float) -> Callable[[int, int, Generator], Floats]:
    """Stationary: every column has variance 1, so that nothing is to be gained on the records' own axes."""

    def make(count: int, dimension: int, generator: Generator) -> Floats:
        steps = generator.normal(size=(count, dimension))
        steps[:, 1:] *= np.sqrt(1 - memory**2)
        return _moved(np.asarray(lfilter([1.0], [1.0, -memory], steps, axis=1)), generator)

    return make


def _shuffled(make: Callable[[int, int, Generator], Floats]) -> Callable[[int, int, Generator], Floats]:
    """The same records with their columns in an order that means nothing."""
    return lambda count, dimension, generator: generator.permutation(make(count, dimension, generator), axis=1)


def _moved(X: Floats, generator: Generator) -> Floats:
    """To a mean at DISTANCE · sqrt(tr Σ) in a random direction, as the spectra have it."""
    direction = generator.normal(size=X.shape[1])
    X += direction * (DISTANCE * np.sqrt(X.var(axis=0).sum()) / np.linalg.norm(direction))
    return X


SIGNALS: dict[str, Callable[[int, int, Generator], Floats]] = {
    "random walk": _walk,
    "AR(1), 0.95": _autoregressive(0.95),
    "AR(1), 0.5": _autoregressive(0.5),
    "AR(1), 0.95, columns shuffled": _shuffled(_autoregressive(0.95)),
}

Place = tuple[str, str, int, int, int]  # section, world, n, d, draws


def places(trials: int) -> list[Place]:
    """A full run."""
    found: list[Place] = [(ROTATED, world, 4000, 1000, trials) for world in ("S1", "S2")]
    found += [(OWN, world, n, 1000, trials) for n in (4000, 1000) for world in SPECTRA]
    found += [(OWN, world, n, 100, CHEAP * trials) for n in (4000, 1000) for world in SPECTRA]
    found += [(OWN, "S4", n, d, trials) for n, d in ((2000, 1000), (16_000, 1000), (500, 100), (16_000, 100))]
    found += [(SMOOTH, signal, 4000, 1000, trials) for signal in SIGNALS]
    return found + [(REAL, table, 0, 0, few(6, trials) if table in DEAR else trials) for table in TABLES]


def quick_places(trials: int) -> list[Place]:
    """One world of each kind."""
    found: list[Place] = [(ROTATED, "S2", 4000, 1000, trials), (SMOOTH, "AR(1), 0.95", 4000, 1000, trials)]
    found += [(OWN, world, 4000, 100, trials) for world in ("S2", "S4")]
    return [*found, *((REAL, table, 0, 0, trials) for table in ("MNIST", "digits"))]


def cells_of(
    found: Sequence[Place], epsilons: Sequence[float], contestants: Sequence[str], *, seeded: bool, seed: int
) -> list[BasesCell]:
    """All places at the first budget, then at the others."""
    whom = tuple(contestants)
    return [
        BasesCell(section, world, n, d, epsilon, trials, whom, seeded, seed)
        for epsilon in epsilons
        for section, world, n, d, trials in found
    ]
