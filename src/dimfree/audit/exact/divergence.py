"""Divergences that are known exactly, and the verdict on a claim.

A `Divergence` covers pairs of output distributions on neighbouring tables. Its delta at a level is the largest
hockey-stick divergence over the pairs; its epsilon at a delta is the level at which that delta is reached. Nothing is
sampled: a claim below either is wrong.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtr

from dimfree._types import Floats
from dimfree.accounting.discrete import idealised
from dimfree.accounting.ladder import DENOMINATOR, Ladder
from dimfree.accounting.precision import hockey_stick, largest_mu
from dimfree.audit.noise_doubles import Law, Masses, ZeroNoise

LARGEST_STDDEVS = 9.0  # where sums over a lattice end, in standard deviations
_LARGEST = 64.0  # the largest epsilon that is searched
_WIDTH = 0.05  # width of a cell, in standard deviations


class Divergence(Protocol):
    """The true divergence of some pairs of output distributions, at every level."""

    @property
    def pairs(self) -> int: ...

    @property
    def slack(self) -> float:
        """Mass that the distributions leave out: bounds the error of the divergence at level 0."""
        ...

    def delta_at(self, level: float) -> float: ...


@dataclass(frozen=True)
class Finding:
    """Delta at the claimed epsilon, epsilon at the claimed delta, and whether the claim is violated."""

    delta: float
    epsilon: float
    pairs: int
    violated: bool


def judge(found: Divergence, epsilon: float, delta: float) -> Finding:
    """Compare with the claim; mass that is left out counts in favour of the claim."""
    spare = delta * (1 + 1e-9) + 1e-12
    true = found.delta_at(epsilon)
    return Finding(true, true_epsilon(found, spare), found.pairs, true > spare + math.exp(epsilon) * found.slack)


def true_epsilon(found: Divergence, delta: float) -> float:
    """The level at which the true delta falls to `delta`, rounded down."""
    low, high = 0.0, _LARGEST
    if found.delta_at(low) <= delta:
        return 0.0
    for _ in range(40):
        middle = (low + high) / 2
        over = found.delta_at(middle) > delta + math.exp(middle) * found.slack
        low, high = (middle, high) if over else (low, middle)
    return low


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
    """The laws of all pairs of tables; the law of each table is computed once."""
    known = lru_cache(maxsize=None)(law)
    return Laws([(known(here), known(there)) for here, there in tables], slack)


def one_removed(tables: Iterable[tuple[Any, ...]]) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Every table with every table that lacks one of its records."""
    return [(table, table[:j] + table[j + 1 :]) for table in tables for j in range(len(table))]


@dataclass(frozen=True)
class WorstOf:
    """Several divergences at once: the largest counts."""

    parts: Sequence[Divergence]
    slack: float = 0.0

    @property
    def pairs(self) -> int:
        return sum(part.pairs for part in self.parts)

    def delta_at(self, level: float) -> float:
        return max(part.delta_at(level) for part in self.parts)


# ---- noise


def laplace_masses(reach: float) -> Callable[[float], Masses]:
    """scale -> {z: probability} of the discrete Laplace within `reach` scales; e^-reach is left out."""

    @lru_cache(maxsize=16)
    def masses(scale: float) -> Masses:
        q, last = math.exp(-1 / scale), math.ceil(reach * scale)
        return {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-last, last + 1)}

    return masses


def no_noise(scale: float) -> Masses:
    """For code that must not draw Laplace or Gaussian noise."""
    raise ValueError("No Laplace or Gaussian noise is expected here.")


def whole_mu(epsilon: float, delta: float) -> float:
    """The mu of one Gaussian that spends all of (epsilon, delta)."""
    return largest_mu(*idealised(epsilon, delta))


@dataclass(frozen=True)
class GaussianShifts:
    """Pairs of Gaussians with equal standard deviation; `mus` are their distances in standard deviations.

    The noise is read as continuous: the lattice of a release is so fine that this changes a delta by less than a
    ten-thousandth of itself.
    """

    mus: Sequence[float]
    slack: float = 0.0

    @property
    def pairs(self) -> int:
        return len(self.mus)

    def delta_at(self, level: float) -> float:
        return float(hockey_stick(max(self.mus), level))


@dataclass(frozen=True)
class LatticeShift:
    """A discrete Gaussian on the integers and the same one moved by `shift`: the exact lattice sum (M8)."""

    stddev: float
    shift: int
    pairs: int = 1
    slack: float = 1e-15

    @classmethod
    def read_off(cls, noises: tuple[ZeroNoise, ZeroNoise], moved: float, step: float) -> "LatticeShift":
        """From the noise that the code asked for on two tables, and how far its value moved."""
        return cls(min(noise.asked[0][1] for noise in noises), round(moved / step))

    @cached_property
    def _masses(self) -> tuple[Floats, Floats]:
        last = math.ceil(LARGEST_STDDEVS * self.stddev) + abs(self.shift)
        z = np.arange(-last, last + 1, dtype=np.float64)
        here, there = (np.exp(-((z - centre) ** 2) / (2 * self.stddev**2)) for centre in (0, self.shift))
        return here / here.sum(), there / here.sum()  # one normaliser: the lattice is the same

    def delta_at(self, level: float) -> float:
        return largest_divergence(*self._masses, level)


# ---- the bit between Gaussians


@dataclass(frozen=True)
class CountBitMean:
    """A noisy count, the bit at neighbouring statistics that the count may choose, a Gaussian on pass (P6, P9).

    Outputs are cut into cells, which is post-processing: the divergence of the cells is really attained.
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
        """In each of its cells the count chooses the worst pair of statistics."""
        return float(self.parts(level).max(axis=0).sum())

    def parts(self, level: float) -> Floats:
        """The divergence in every cell of the count (columns) for every pair of statistics (rows)."""
        before, before_there = gaussian_cells(self.mu_before)
        return np.array([self._part(pair, before, before_there, level) for pair in self.statistics])

    def _part(self, pair: tuple[int, int], before: Floats, before_there: Floats, level: float) -> Floats:
        """Of one pair. (P - e^level·Q)_+ needs only the cells with large P/Q, so cells are sorted by it."""
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
    edges = np.arange(-LARGEST_STDDEVS, LARGEST_STDDEVS + mu + _WIDTH, _WIDTH)

    def masses(centre: float) -> Floats:
        z = edges - centre
        inner = np.where(z[1:] > 0, ndtr(-z[:-1]) - ndtr(-z[1:]), ndtr(z[1:]) - ndtr(z[:-1]))
        return np.concatenate([[ndtr(z[0])], inner, [ndtr(-z[-1])]])

    return masses(mu), masses(0.0)
