"""Exact privacy of the discrete mechanisms on tiny worlds: what neighbours really give away, against what is claimed.

A world is a list of pairs of output laws; its delta at a level is the largest hockey-stick divergence over them, its
epsilon at a delta the level where that delta is reached. Nothing is sampled: a claim below either is wrong.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from dimfree._types import Floats
from dimfree.accounting.ladder import DENOMINATOR, Ladder
from dimfree.audit.noise_doubles import Law, Masses

_LARGEST = 64.0  # epsilon that is looked for
_WIDTH = 0.05  # of a cell, in standard deviations
_EDGE = 9.0


class World(Protocol):
    """Something whose true divergence is known at every level."""

    @property
    def pairs(self) -> int: ...

    @property
    def slack(self) -> float:
        """What the law leaves out: a divergence is wrong by at most this much at level 0."""
        ...

    def delta_at(self, level: float) -> float: ...


@dataclass(frozen=True)
class Finding:
    """What a world gives away: delta at the claimed epsilon, and epsilon at the claimed delta."""

    delta: float
    epsilon: float
    pairs: int
    violated: bool


def judge(world: World, epsilon: float, delta: float) -> Finding:
    """Whether the world keeps the claim; what the laws leave out counts for the claim."""
    spare = delta * (1 + 1e-9) + 1e-12
    found = world.delta_at(epsilon)
    return Finding(found, true_epsilon(world, spare), world.pairs, found > spare + math.exp(epsilon) * world.slack)


def true_epsilon(world: World, delta: float) -> float:
    """The level at which the world's delta falls to the one given, from below."""
    low, high = 0.0, _LARGEST
    if world.delta_at(low) <= delta:
        return 0.0
    for _ in range(40):
        middle = (low + high) / 2
        over = world.delta_at(middle) > delta + math.exp(middle) * world.slack
        low, high = (middle, high) if over else (low, middle)
    return low


def hockey_stick(here: Law, there: Law, level: float) -> float:
    """Σ (P - e^level·Q)_+ over the outcomes of P."""
    factor = math.exp(level)
    return math.fsum(max(0.0, mass - factor * there.get(outcome, 0.0)) for outcome, mass in here.items())


@dataclass(frozen=True, eq=False)
class Laws:
    """Pairs of laws of neighbours; both directions count."""

    both: Sequence[tuple[Law, Law]]
    slack: float = 0.0

    @property
    def pairs(self) -> int:
        return len(self.both)

    @cached_property
    def _masses(self) -> list[tuple[Floats, Floats]]:
        found = []
        for here, there in self.both:
            outcomes = list(dict.fromkeys([*here, *there]))
            found.append(tuple(np.array([law.get(o, 0.0) for o in outcomes]) for law in (here, there)))
        return found  # type: ignore[return-value]

    def delta_at(self, level: float) -> float:
        return max(largest_divergence(p, q, level) for p, q in self._masses)


def largest_divergence(p: Floats, q: Floats, level: float) -> float:
    """Hockey stick between masses on the same outcomes, the larger of both directions."""
    factor = math.exp(level)
    return float(max(np.maximum(p - factor * q, 0).sum(), np.maximum(q - factor * p, 0).sum()))


def laws(law: Callable[..., Law], tables: Iterable[tuple[object, object]], slack: float = 0.0) -> Laws:
    """The laws of all pairs of tables; each table's law is computed once."""
    known = lru_cache(maxsize=None)(law)
    return Laws([(known(here), known(there)) for here, there in tables], slack)


# ---- noise


def laplace_masses(reach: float) -> Callable[[float], Masses]:
    """scale -> {z: probability} of the discrete Laplace within `reach` scales; e^-reach is left out."""

    @lru_cache(maxsize=16)
    def masses(scale: float) -> Masses:
        q, last = math.exp(-1 / scale), math.ceil(reach * scale)
        return {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-last, last + 1)}

    return masses


@dataclass(frozen=True)
class ShiftedGaussian:
    """A discrete Gaussian on the integers and the same one moved by `shift`: the exact lattice sum (M8)."""

    stddev: float
    shift: int
    pairs: int = 1
    slack: float = 1e-15

    @cached_property
    def _masses(self) -> tuple[Floats, Floats]:
        last = math.ceil(_EDGE * self.stddev) + abs(self.shift)
        z = np.arange(-last, last + 1, dtype=np.float64)
        here, there = (np.exp(-((z - centre) ** 2) / (2 * self.stddev**2)) for centre in (0, self.shift))
        return here / here.sum(), there / here.sum()  # one normaliser: the lattice is the same

    def delta_at(self, level: float) -> float:
        return largest_divergence(*self._masses, level)


# ---- the bit between Gaussians


@dataclass(frozen=True)
class BitWorld:
    """A noisy count, the bit at neighbouring statistics that the count may choose, a Gaussian on pass (P6, P9).

    Outputs are cut into cells, which is post-processing: what is summed here really occurs.
    """

    ladder: Ladder
    mu_before: float
    mu_after: float
    slack: float = 0.0

    @property
    def pairs(self) -> int:
        return len(self.statistics)

    @property
    def statistics(self) -> list[tuple[int, int]]:
        last = self.ladder.length
        return [(k, j) for k in range(last + 1) for j in (k - 1, k, k + 1) if 0 <= j <= last]

    def delta_at(self, level: float) -> float:
        """The count chooses the worst pair of statistics in each of its cells."""
        return float(self.parts(level).max(axis=0).sum())

    def parts(self, level: float) -> Floats:
        """The divergence in every cell of the count (columns) for every pair of statistics (rows)."""
        before, before_there = gaussian_cells(self.mu_before)
        return np.array([self._part(pair, before, before_there, level) for pair in self.statistics])

    def _part(self, pair: tuple[int, int], before: Floats, before_there: Floats, level: float) -> Floats:
        """Of one pair. By cells of the loss: (P - e^level·Q)_+ needs only P where P/Q is large, so sums are sorted."""
        here, there = self._masses(pair)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(there > 0, here / there, np.inf)
            needed = np.where(before > 0, math.exp(level) * before_there / before, np.inf)
        order = np.argsort(-ratio)
        p, q = (np.append(0.0, np.cumsum(each[order])) for each in (here, there))
        above = np.searchsorted(-ratio[order], -needed, side="left")  # how many cells have ratio > needed
        return np.maximum(0.0, before * p[above] - math.exp(level) * before_there * q[above])

    def _masses(self, pair: tuple[int, int]) -> tuple[Floats, Floats]:
        """(pass cells, refused) at either statistic; below 2 the two tables have nothing in common on pass."""
        here, there = gaussian_cells(self.mu_after) if min(pair) >= 2 else (np.array([1.0, 0.0]), np.array([0.0, 1.0]))
        p, q = (self.ladder.numerator(k) for k in pair)
        left, right = ((DENOMINATOR - each) / DENOMINATOR for each in (p, q))
        return np.append(p / DENOMINATOR * here, left), np.append(q / DENOMINATOR * there, right)


@lru_cache(maxsize=32)
def gaussian_cells(mu: float) -> tuple[Floats, Floats]:
    """Masses of N(mu, 1) and N(0, 1) on the same cells; the outer cells reach to infinity."""
    if mu == 0:
        return np.ones(1), np.ones(1)
    edges = np.arange(-_EDGE, _EDGE + mu + _WIDTH, _WIDTH)

    def masses(centre: float) -> Floats:
        z = edges - centre
        inner = np.where(z[1:] > 0, ndtr(-z[:-1]) - ndtr(-z[1:]), ndtr(z[1:]) - ndtr(z[:-1]))
        return np.concatenate([[ndtr(z[0])], inner, [ndtr(-z[-1])]])

    return masses(mu), masses(0.0)
