"""The soft core: soft weights with a noisy total, and the mean whose noise depends on it (P2, P3)."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_bounded
from dimfree.accounting.events import Gaussian
from dimfree.accounting.precision import hockey_stick
from dimfree.audit.audited import DELTA, Audited, Subject, plain_space, prepared, suite
from dimfree.audit.core_runs import line_values, model, on_a_line, run_on
from dimfree.audit.noise_doubles import ConstantNoise, ZeroNoise
from dimfree.audit.pairs.pair import Table, TableSize
from dimfree.audit.search.climb import Target
from dimfree.audit.search.moves import Domain
from dimfree.noise import Noise
from dimfree.programs.choose.core import default_bounded
from dimfree.programs.without_test import soft_mean

_EDGE, _WIDTH = 6.0, 0.125  # of the noisy total, in standard deviations: where it is computed, and how finely


@dataclass(frozen=True)
class Weighed:
    """Output of the soft core at one draw of its total: the lower bound, and the mean with its noise."""

    lowest: float
    mean: Floats | None = None  # None: refused
    noise: float = 1.0

    def distance(self, other: "Weighed") -> float:
        """Of the means, in standard deviations; the released totals are equal, so both have the same noise."""
        if self.mean is None or other.mean is None:
            return 0.0
        return float(np.linalg.norm(self.mean - other.mean)) / max(self.noise, other.noise)


class SoftCore:
    """The soft core at the choice of a budget."""

    def __init__(self, budget: Budget) -> None:
        self.run = run_on(np.zeros((1, 1)), budget, Neighbours.ADD_REMOVE)
        branch = calibrate_bounded(budget)
        self.choice, self.ledger = default_bounded(branch, self.run.model), self.run.ledger((), (branch,), chosen=0)
        noise = ZeroNoise()
        found = soft_mean(replace(self.run, noise=noise), self.choice, self.ledger)
        total = next(event for event in found.ledger.events if isinstance(event, Gaussian))
        self.stddev, self.step = noise.asked[0][1], total.step

    def weigh(self, table: Table, draw: int) -> Weighed:
        space, noise = plain_space(table), ConstantNoise(draw=draw, once=True)
        run = replace(self.run, space=space, spectrum=np.ones(space.dimension), noise=noise)
        found = soft_mean(run, self.choice, self.ledger)
        lowest = float(found.parameters["weight_lower_bound"])
        if found.refused:
            return Weighed(lowest)
        step = [event.step for event in found.ledger.events if isinstance(event, Gaussian)][-1]
        return Weighed(lowest, found.mean, noise.asked[1][1] * step)  # the noise drawn, whatever is stated


@dataclass(frozen=True)
class TotalAndMean:
    """The noisy total, cut into cells, and the mean whose noise depends on it.

    In a cell the smaller divergence of its two ends is counted: the sum is at most the truth where the divergence is
    monotone within a cell.
    """

    core: SoftCore
    here: Table
    there: Table
    pairs: int = 1
    slack: float = 0.0

    @cached_property
    def shift(self) -> float:
        """Distance of the totals, in standard deviations."""
        return self._steps / self.core.stddev

    @cached_property
    def _steps(self) -> int:
        here, there = (self.core.weigh(table, 0).lowest for table in (self.here, self.there))
        return round((here - there) / self.core.step)

    @property
    def score(self) -> float:
        """Both shifts where the total is somewhat large, so that the mean has somewhat little noise."""
        return math.hypot(self.shift, self.mean_shift(1.0))

    def mean_shift(self, t: float) -> float:
        """Distance of the means where the total of the first table has a noise of t standard deviations."""
        draw = round(t * self.core.stddev)
        return self.core.weigh(self.here, draw).distance(self.core.weigh(self.there, draw + self._steps))

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats]:
        t = np.arange(-_EDGE, _EDGE + _WIDTH, _WIDTH)
        return t, np.array([self.mean_shift(float(each)) for each in t])

    def delta_at(self, level: float) -> float:
        t, mus = self._nodes
        return max(_cells(t, mus, self.shift, level), _cells(t + self.shift, mus, -self.shift, level))


def _cells(t: Floats, mus: Floats, shift: float, level: float) -> float:
    """E over the total's noise t of the mean's divergence, at the level that the total's own loss leaves."""
    losses = shift * t + shift**2 / 2
    found = np.array([float(hockey_stick(mu, level - loss)) for mu, loss in zip(mus, losses, strict=True)])
    return float((np.diff(ndtr(t)) * np.minimum(found[1:], found[:-1])).sum())


def soft_target(epsilon: float) -> Target:
    """Total weight and mean together (P3)."""
    core, relation = SoftCore(Budget(epsilon, DELTA)), Neighbours.ADD_REMOVE
    size, radius = 25 + 25 * math.ceil(1 / epsilon), core.choice.radius

    def divergence(here: Table, there: Table) -> TotalAndMean:
        return TotalAndMean(core, here, there)

    def score(here: Table, there: Table) -> float:
        return divergence(here, there).score

    domain = Domain(line_values(radius), (radius / 4,), fewest=5, most=4 * size)
    starts = on_a_line(relation, TableSize(size, radius))
    return Target("soft core", relation, epsilon, DELTA, score, divergence, starts, domain)


def soft_core(epsilon: float) -> Subject:
    """Its lower bound and its mean, on the suite in units of its radius."""
    budget, relation, size = Budget(epsilon, DELTA), Neighbours.ADD_REMOVE, 25 + 25 * math.ceil(1 / epsilon)
    branch = calibrate_bounded(budget)
    choice, run_at = default_bounded(branch, model()), prepared(lambda table: run_on(table, budget, relation))

    def draw(table: Table, noise: Noise) -> Floats:
        run = replace(run_at(table), noise=noise)
        found = soft_mean(run, choice, run.ledger((), (branch,), chosen=0))
        lowest = float(found.parameters["weight_lower_bound"])
        return np.array([1.0, np.nan, lowest] if found.refused else [0.0, found.mean[0], lowest])

    tables = suite(relation, TableSize(size, choice.radius))
    return Subject("soft core", epsilon, relation, draw, tables, 2.0)


AUDIT = Audited(add_remove_searches={"soft core": soft_target}, other_subjects=lambda epsilon: (soft_core(epsilon),))
