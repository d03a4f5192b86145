"""Tiny worlds of vectors: the noisy mean of real tables, and the coarsest lattice that the accounting lets pass."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.composition import Composition
from dimfree.accounting.events import Gaussian
from dimfree.accounting.precision import hockey_stick
from dimfree.audit.laws.claims import precise
from dimfree.audit.laws.exact import World, largest_divergence
from dimfree.audit.laws.gaussian_worlds import Largest, whole
from dimfree.audit.noise_doubles import Asked
from dimfree.geometry.grid import RADIUS
from dimfree.mechanisms import Measured
from dimfree.mechanisms.gaussian import noisy_mean
from dimfree.noise import Noise

_EDGE = 9.0
MOVES = ((5, 0), (3, 4), (4, -3), (0, 5))  # all of length 5


def vectors(epsilon: float, delta: float) -> World:
    """What `noisy_mean` draws and how far it moves; and a lattice on which the slack of M8 shows."""
    return Largest([means(epsilon, delta), lattice_vectors(epsilon, delta)])


@dataclass(frozen=True)
class Apart:
    """Gaussians of one spread, so many of it apart. Their lattice is too fine to matter: 2^24 steps to the spread."""

    mus: Sequence[float]
    slack: float = 1e-12

    @property
    def pairs(self) -> int:
        return len(self.mus)

    def delta_at(self, level: float) -> float:
        return float(hockey_stick(max(self.mus), level))


def means(epsilon: float, delta: float) -> Apart:
    """`noisy_mean` of seven records, one of them exchanged for another so far away that the mean moves by `length`."""
    unit, count = RADIUS // 64, 7
    length, around = math.hypot(*MOVES[0]) * unit, np.outer(np.arange(count) - 3, (unit, -2 * unit))

    def mean(move: tuple[int, int], mu: float, noise: Noise) -> Measured[Floats]:
        table = around.copy()
        table[-1] += np.array(move) * unit * count
        return noisy_mean(table, np.ones(count, dtype=np.int64), length, mu, 1 / RADIUS, noise=noise)

    mu = precise(whole(epsilon, delta), lambda each: mean((0, 0), each, Asked()).event)
    found = []
    for move in MOVES:
        doors = Asked(), Asked()
        here, there = (mean(each, mu, door) for each, door in zip(((0, 0), move), doors, strict=True))
        stddev = min(door.asked[0][1] for door in doors) * here.event.step
        found.append(float(np.linalg.norm(here.value - there.value)) / stddev)
    return Apart(found)


# ---- the lattice


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
        last = math.ceil(_EDGE * self.stddev) + max(abs(step) for move in self.moves for step in move)
        z = np.arange(-last, last + 1, dtype=np.float64)
        weight = {step: np.exp(-((z - step) ** 2) / (2 * self.stddev**2)) for move in self.moves for step in (0, *move)}
        total = weight[0].sum()
        centred = np.outer(weight[0], weight[0]) / total**2
        return [(centred, np.outer(weight[a], weight[b]) / total**2) for a, b in self.moves]

    def delta_at(self, level: float) -> float:
        return max(largest_divergence(p, q, level) for p, q in self._tables)


def lattice_vectors(epsilon: float, delta: float) -> LatticeVectors:
    """The coarsest noise on two whole coordinates that the accounting lets pass at this budget, the slack of M8
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
