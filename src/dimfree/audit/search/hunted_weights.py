"""Cores without a test to be hunted: soft weights behind a noisy total (P2, P3), and the paper's coins (P1)."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_bounded
from dimfree.accounting.events import Gaussian
from dimfree.accounting.lifting import before_lifting
from dimfree.accounting.precision import hockey_stick
from dimfree.audit.laws.coin_worlds import noisy_number
from dimfree.audit.laws.exact import Laws, World
from dimfree.audit.neighbours import Place, Table
from dimfree.audit.noise_doubles import Asked, Law
from dimfree.audit.search.climb import Quarry
from dimfree.audit.search.hunted_cores import marks, on_a_line
from dimfree.audit.search.hunted_sums import space_of
from dimfree.audit.search.moves import Terrain
from dimfree.audit.subjects import cores
from dimfree.audit.subjects.subject import DELTA
from dimfree.core import basic
from dimfree.core.friends import all_counts
from dimfree.estimators.choose.core import default_bounded
from dimfree.estimators.without_test import soft_mean
from dimfree.geometry.grid import on_grid

_EDGE, _WIDTH = 6.0, 0.125  # of the noisy total, in standard deviations: where it is looked at, and how finely
_FEW = 11  # records that the paper's filter is hunted with


# ---- soft weights


class Steered(Asked):
    """The first Gaussian draw is the number given; then nothing is drawn."""

    def __init__(self, draw: int) -> None:
        super().__init__()
        self.draw = draw

    def gaussian(self, stddev: float, size: int) -> NDArray[np.int64]:
        return super().gaussian(stddev, size) + (self.draw if len(self.asked) == 1 else 0)


@dataclass(frozen=True)
class Weighed:
    """What leaves the soft core at one draw of its total: the lower bound, and the mean with its noise."""

    lowest: float
    mean: Floats | None = None  # None: refused
    noise: float = 1.0

    def apart(self, other: "Weighed") -> float:
        """How far the means are apart, in units of the noise; they have the same, as the totals that left are equal."""
        if self.mean is None or other.mean is None:
            return 0.0
        return float(np.linalg.norm(self.mean - other.mean)) / max(self.noise, other.noise)


class SoftCore:
    """The soft core at the choice of a budget."""

    def __init__(self, budget: Budget) -> None:
        self.run = cores.run_on(np.zeros((1, 1)), budget, Neighbours.ADD_REMOVE)
        branch = calibrate_bounded(budget)
        self.choice, self.ledger = default_bounded(branch, self.run.model), self.run.ledger((), (branch,), chosen=0)
        door = Asked()
        found = soft_mean(replace(self.run, noise=door), self.choice, self.ledger)
        total = next(event for event in found.ledger.events if isinstance(event, Gaussian))
        self.stddev, self.step = door.asked[0][1], total.step

    def weigh(self, table: Table, draw: int) -> Weighed:
        space = space_of(table)
        door = Steered(draw)
        run = replace(self.run, space=space, spectrum=np.ones(space.dimension), noise=door)
        found = soft_mean(run, self.choice, self.ledger)
        lowest = float(found.parameters["weight_lower_bound"])
        if found.refused:
            return Weighed(lowest)
        step = [event.step for event in found.ledger.events if isinstance(event, Gaussian)][-1]
        return Weighed(lowest, found.mean, door.asked[1][1] * step)  # the noise drawn, whatever is stated


@dataclass(frozen=True)
class SoftWorld:
    """The noisy total, cut into cells, and the mean whose noise rests on it.

    In a cell the smaller divergence of its two ends is counted, so that the sum is no more than the truth where the
    divergence goes one way within a cell.
    """

    core: SoftCore
    here: Table
    there: Table
    pairs: int = 1
    slack: float = 0.0

    @cached_property
    def shift(self) -> float:
        """How far the totals are apart, in standard deviations."""
        return self._steps / self.core.stddev

    @cached_property
    def _steps(self) -> int:
        here, there = (self.core.weigh(table, 0).lowest for table in (self.here, self.there))
        return round((here - there) / self.core.step)

    @property
    def together(self) -> float:
        """Both shifts where the total is somewhat large, so that the mean has somewhat little noise."""
        return math.hypot(self.shift, self.apart(1.0))

    def apart(self, t: float) -> float:
        """Of the means, where the total of the first table has a noise of t deviations."""
        draw = round(t * self.core.stddev)
        return self.core.weigh(self.here, draw).apart(self.core.weigh(self.there, draw + self._steps))

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats]:
        t = np.arange(-_EDGE, _EDGE + _WIDTH, _WIDTH)
        return t, np.array([self.apart(float(each)) for each in t])

    def delta_at(self, level: float) -> float:
        t, mus = self._nodes
        return max(_cells(t, mus, self.shift, level), _cells(t + self.shift, mus, -self.shift, level))


def _cells(t: Floats, mus: Floats, shift: float, level: float) -> float:
    """E over the total's noise t of the mean's divergence, at the level that the total's own loss leaves."""
    losses = shift * t + shift**2 / 2
    found = np.array([float(hockey_stick(mu, level - loss)) for mu, loss in zip(mus, losses, strict=True)])
    return float((np.diff(ndtr(t)) * np.minimum(found[1:], found[:-1])).sum())


def soft_core(epsilon: float) -> Quarry:
    """Total weight and mean together (P3)."""
    core, relation = SoftCore(Budget(epsilon, DELTA)), Neighbours.ADD_REMOVE
    size, radius = 25 + 25 * math.ceil(1 / epsilon), core.choice.radius

    def score(here: Table, there: Table) -> float:
        return SoftWorld(core, here, there).together

    def world(here: Table, there: Table) -> World:
        return SoftWorld(core, here, there)

    starts = on_a_line(relation, Place(size, radius))
    terrain = Terrain(marks(radius), (radius / 4,), fewest=5, most=4 * size)
    return Quarry("soft core", relation, epsilon, DELTA, score, world, starts, terrain)


# ---- the paper's coins


class Level(Asked):
    """All uniform draws are the number given."""

    def __init__(self, value: int) -> None:
        super().__init__()
        self.value = value

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        return super().below(bound, size) + self.value


def keep_chances(table: Table) -> Floats:
    """Of every record, exactly: how many of its equally likely coins keep it. The coins are independent."""
    counts = all_counts(on_grid(space_of(table), 1.0))
    kept = [basic.keep(counts, Level(value)) for value in range(len(counts))]
    return np.mean(kept, axis=0)


def drift(here: Table, there: Table) -> float:
    """Σ|p_j - p'_j|, the absent record having p = 0: at most 2 - 1/n (P1). The tables differ in their last rows."""
    one, other = keep_chances(here), keep_chances(there)
    shared = min(len(one), len(other))
    return float(np.abs(one[:shared] - other[:shared]).sum() + one[shared:].sum() + other[shared:].sum())


def number_kept(chances: Floats) -> Law:
    """{how many are kept: probability}."""
    masses = np.ones(1)
    for p in chances:
        masses = np.append(masses * (1 - p), 0.0) + np.append(0.0, masses * p)
    return dict(enumerate(masses.tolist()))


def basic_filter(epsilon: float) -> Quarry:
    """The coins before a count that is private on friendly data at what P1 leaves of epsilon (pure)."""
    relation, inner = Neighbours.ADD_REMOVE, before_lifting(epsilon, 0.5)[0]

    def world(here: Table, there: Table) -> World:
        kept = (number_kept(keep_chances(table)) for table in (here, there))
        return Laws([tuple(noisy_number(law, inner, 0, _FEW) for law in kept)])  # type: ignore[list-item]

    terrain = Terrain(marks(1.0), (0.25,), fewest=2, most=_FEW)
    starts = on_a_line(relation, Place(_FEW))
    return Quarry("basic filter", relation, epsilon, 0.0, drift, world, starts, terrain)
