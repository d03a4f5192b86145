"""The noisy mean of a core: the mean of real tables, and the coarsest lattice that the accounting allows."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.composition import Composition
from dimfree.accounting.events import Gaussian
from dimfree.audit.audited import MU, Audited, ChargeCase, ExactCheck, value_off_lattice
from dimfree.audit.exact.claims import precise
from dimfree.audit.exact.divergence import LARGEST_STDDEVS, GaussianShifts, WorstOf, largest_divergence, whole_mu
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.audit.numerics.records import COLUMNS, ROWS, made_up
from dimfree.kernel.rows.grid import RADIUS
from dimfree.kernel.statistics.weighted_mean import noisy_mean
from dimfree.noise import Noise
from dimfree.paper.charged import Measured

MOVES = ((5, 0), (3, 4), (4, -3), (0, 5))  # all of length 5


def vectors(epsilon: float, delta: float) -> WorstOf:
    """What `noisy_mean` draws and how far it moves; and a lattice on which the slack of M8 shows."""
    return WorstOf([means(epsilon, delta), lattice_vectors(epsilon, delta)])


def means(epsilon: float, delta: float) -> GaussianShifts:
    """`noisy_mean` of seven records; one is exchanged for another so far away that the mean moves by `length`."""
    unit, count = RADIUS // 64, 7
    length, around = math.hypot(*MOVES[0]) * unit, np.outer(np.arange(count) - 3, (unit, -2 * unit))

    def mean(move: tuple[int, int], mu: float, noise: Noise) -> Measured[Floats]:
        table = around.copy()
        table[-1] += np.array(move) * unit * count
        return noisy_mean(table, np.ones(count, dtype=np.int64), length, mu, 1 / RADIUS, noise=noise)

    mu = precise(whole_mu(epsilon, delta), lambda each: mean((0, 0), each, ZeroNoise()).event)
    found = []
    for move in MOVES:
        noises = ZeroNoise(), ZeroNoise()
        here, there = (mean(each, mu, noise) for each, noise in zip(((0, 0), move), noises, strict=True))
        stddev = min(noise.asked[0][1] for noise in noises) * here.event.step
        found.append(float(np.linalg.norm(here.value - there.value)) / stddev)
    return GaussianShifts(found, slack=1e-12)


@dataclass(frozen=True)
class LatticeVectors:
    """Discrete Gaussian noise on two coordinates, and the same moved by each of some whole vectors (M8)."""

    stddev: float
    moves: Sequence[tuple[int, int]]
    slack: float = 1e-15

    @property
    def pairs(self) -> int:
        return len(self.moves)

    @cached_property
    def _tables(self) -> list[tuple[Floats, Floats]]:
        last = math.ceil(LARGEST_STDDEVS * self.stddev) + max(abs(step) for move in self.moves for step in move)
        z = np.arange(-last, last + 1, dtype=np.float64)
        weight = {step: np.exp(-((z - step) ** 2) / (2 * self.stddev**2)) for move in self.moves for step in (0, *move)}
        total = weight[0].sum()
        centred = np.outer(weight[0], weight[0]) / total**2
        return [(centred, np.outer(weight[a], weight[b]) / total**2) for a, b in self.moves]

    def delta_at(self, level: float) -> float:
        return max(largest_divergence(p, q, level) for p, q in self._tables)


def lattice_vectors(epsilon: float, delta: float) -> LatticeVectors:
    """The coarsest noise on two whole coordinates that the accounting allows at this budget, the slack of M8
    included; far coarser than any release draws."""
    length = math.hypot(*MOVES[0])
    low, high = 1.0, 1.0
    while not _fits(high, length, epsilon, delta):
        low, high = high, 2 * high
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if _fits(middle, length, epsilon, delta) else (middle, high)
    return LatticeVectors(high, MOVES)


def _fits(stddev: float, length: float, epsilon: float, delta: float) -> bool:
    event = Gaussian("audit", length, stddev, 2, 1.0)
    return Composition(Budget(epsilon, delta), Neighbours.ADD_REMOVE, (event,)).fits()


def _charges() -> Iterator[ChargeCase]:
    integers, moves, step = np.rint(made_up() * RADIUS / 2**25).astype(np.int64), RADIUS / 50, math.pi / RADIUS
    release = partial(noisy_mean, integers, np.arange(ROWS), moves, MU, step)
    yield ChargeCase("core mean", release, MU, moves * step, COLUMNS, value_off_lattice)


AUDIT = Audited(exact={"vector (Gaussian)": ExactCheck(vectors)}, charges=_charges)
