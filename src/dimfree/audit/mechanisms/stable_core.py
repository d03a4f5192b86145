"""The stable core: the bit of its test, the mean after it, and both together (P4, P5, P6).

Noise that draws nothing shows the chance of the bit and how far the mean moves. So the law of bit and mean together is
known for any two tables.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_private_count, calibrate_public_count
from dimfree.accounting.events import Tested
from dimfree.accounting.ladder import DENOMINATOR, Ladder, tested_profile
from dimfree.accounting.precision import hockey_stick
from dimfree.audit.audited import DELTA, Audited, Subject, plain_space, prepared, whole_mu
from dimfree.audit.core_runs import FAILURE, line_values, model, on_a_line, run_on
from dimfree.audit.exact.divergence import Divergence, GaussianShifts, true_epsilon
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.audit.pairs.pair import Pair, Table, TableSize
from dimfree.audit.pairs.suites import at_stability, pairs
from dimfree.audit.search.climb import Target
from dimfree.audit.search.moves import Domain
from dimfree.kernel.statistics import stable
from dimfree.kernel.statistics.distances import pair_distances
from dimfree.noise import Noise
from dimfree.programs.choose.core import Size, StableChoice, stable_choices
from dimfree.programs.opening import core_mean

_SMALL = 24  # records of a small table, with
_FULL_SHARE = Fraction(7, 10)  # b
_TOLERANT = 6  # B where some records may be unstable; 2: none may be


@dataclass(frozen=True)
class Seen:
    """What the core does with a table: the chance of its bit, and its mean in standard deviations."""

    chance: int  # in units of 2^-64
    mean: Floats

    def distance(self, other: "Seen") -> float:
        return float(np.linalg.norm(self.mean - other.mean))


class Core:
    """The stable core at a public choice, without noise."""

    def __init__(self, choice: StableChoice, relation: Neighbours) -> None:
        self.choice = choice
        self.run = run_on(np.zeros((1, 1)), Budget(1.0, DELTA), relation)

    def see(self, table: Table) -> Seen:
        noise = ZeroNoise()
        run = replace(self.run, space=plain_space(table), noise=noise)
        distances = pair_distances(run.space, None)
        found = core_mean(run, self.choice, self.choice.radius, self.choice.branch.mu, distances)
        coin, drawn = (next(each for each in noise.asked if each[0] == kind) for kind in ("coin", "gaussian"))
        assert found is not None
        return Seen(int(coin[1]), found.value / (drawn[1] * found.event.step))

    def bit_and_mean(self, here: Table, there: Table) -> "BitAndMean":
        seen = self.see(here), self.see(there)
        return BitAndMean(seen[0].chance, seen[1].chance, seen[0].distance(seen[1]))


@dataclass(frozen=True)
class BitAndMean:
    """Pass with either chance, and two Gaussians `mu` apart on pass: the exact divergence of P6."""

    here: int
    there: int
    mu: float
    pairs: int = 1
    slack: float = 0.0

    def delta_at(self, level: float) -> float:
        return max(self._divergence(self.here, self.there, level), self._divergence(self.there, self.here, level))

    def _divergence(self, one: int, other: int, level: float) -> float:
        refused = max(0.0, (DENOMINATOR - one) - math.exp(level) * (DENOMINATOR - other)) / DENOMINATOR
        if not one or not other:
            return one / DENOMINATOR + refused
        return one / DENOMINATOR * float(hockey_stick(self.mu, level - math.log(one / other))) + refused


# ---- search


def _small_choice(ladder: Ladder, epsilon: float, relation: Neighbours, budget: int) -> StableChoice:
    """A small public choice: P5 holds from _SMALL records on (add/remove) or for so many (replace-one)."""
    floor = _SMALL - 3 if relation is Neighbours.ADD_REMOVE else None
    moves = stable.core_sensitivity(_SMALL, _FULL_SHARE, budget, relation)
    return StableChoice(Tested(ladder, whole_mu(epsilon)), _FULL_SHARE, budget, floor, 1.0, moves, 0.0)


def torn(relation: Neighbours, budget: int) -> Pair:
    """A few records that just lack friends, so that all their weights move when one more of them is added.

    They are at one edge, most records in the middle, which are their friends, and the others at the opposite edge.
    """
    few = max(1, budget - 3)
    middle = int(_FULL_SHARE * _SMALL) - few - 1
    rest = [(middle, 0.0), (_SMALL - 1 - middle - few, 1.0), (few, -1.0)]
    given = TableSize(_SMALL, dimension=1)
    there = given.table(*rest) if relation is Neighbours.ADD_REMOVE else given.table(*rest, (1, 1.0))
    return Pair("torn", relation, given.table(*rest, (1, -1.0)), there)


def _small_tables(relation: Neighbours, budget: int) -> tuple[tuple[Pair, ...], Domain]:
    given, more = TableSize(_SMALL, dimension=1), 8 if relation is Neighbours.ADD_REMOVE else 0
    lonely = (at_stability(relation, given, k, f"{k} lonely") for k in range(budget))
    domain = Domain(line_values(1.0), (0.25, 0.05), _SMALL - more // 2, _SMALL + more)
    return (*lonely, torn(relation, budget), *on_a_line(relation, given)), domain


def bit_target(epsilon: float, relation: Neighbours) -> Target:
    """The bit alone, on a ladder that is pure if and only if neighbours' statistics differ by one at most (P4)."""
    chances = [math.exp(-epsilon * (_TOLERANT - k)) / 2 for k in range(_TOLERANT + 1)]
    ladder = Ladder(tuple(int(p * DENOMINATOR) for p in chances))
    core = Core(_small_choice(ladder, epsilon, relation, _TOLERANT), relation)

    def divergence(here: Table, there: Table) -> BitAndMean:
        return BitAndMean(core.see(here).chance, core.see(there).chance, 0.0)

    def score(here: Table, there: Table) -> float:
        found = divergence(here, there)
        return abs(math.log(found.here / found.there))

    return Target("stability bit", relation, epsilon, 0.0, score, divergence, *_small_tables(relation, _TOLERANT))


def mean_target(epsilon: float, relation: Neighbours, budget: int = 2) -> Target:
    """The mean of tables that both have T >= 2 (P5); other tables have no claim."""
    ladder = Ladder(tuple(range(budget + 1)))  # the chance is T itself
    core = Core(_small_choice(ladder, epsilon, relation, budget), relation)

    def score(here: Table, there: Table) -> float:
        seen = core.see(here), core.see(there)
        lowest = min(seen[0].chance, seen[1].chance)
        return seen[0].distance(seen[1]) if lowest >= 2 else float(lowest - 2)

    def divergence(here: Table, there: Table) -> Divergence:
        return GaussianShifts((max(0.0, score(here, there)),))

    name = "stable mean" if budget == 2 else "stable mean, unstable records"
    return Target(name, relation, epsilon, DELTA, score, divergence, *_small_tables(relation, budget))


def core_target(epsilon: float, relation: Neighbours) -> Target:
    """Bit and mean at a calibrated choice (P6); under add/remove what follows the noisy count, at its own delta."""
    size, budget = 60 + 90 * math.ceil(1 / epsilon), Budget(epsilon, DELTA)
    if relation is Neighbours.ADD_REMOVE:
        size += 80
        found = calibrate_private_count(budget, FAILURE / 2)
        asked = Size(float(size), found.count_stddev, 2 * size)
        choice = min(stable_choices(found.tested, asked, FAILURE, model()), key=lambda each: each.noise)
    else:
        choice = stable_choice(budget, size)
    core = Core(choice, relation)
    claimed = float(tested_profile(choice.branch.ladder, choice.branch.mu, epsilon)[0])

    def score(here: Table, there: Table) -> float:
        found = core.bit_and_mean(here, there)
        return true_epsilon(found, claimed) + 1e-3 * min(found.mu, 10.0) * min(found.here, found.there) / DENOMINATOR

    given = TableSize(size, choice.radius, dimension=1)
    starts = (*_edges(relation, given, choice), *on_a_line(relation, given))
    spread = 0 if relation is Neighbours.REPLACE_ONE else choice.branch.ladder.length
    domain = Domain(line_values(choice.radius), (choice.radius / 4,), size - spread, size + spread)
    return Target("stable core", relation, epsilon, claimed, score, core.bit_and_mean, starts, domain)


# ---- samples


def stable_choice(budget: Budget, size: int) -> StableChoice:
    """The least noisy choice for a public number of records."""
    found = calibrate_public_count(budget, FAILURE / 2)
    return min(stable_choices(found.tested, Size(size, None, size), FAILURE, model()), key=lambda each: each.noise)


def _edges(relation: Neighbours, given: TableSize, choice: StableChoice) -> list[Pair]:
    """Both sides of every interesting value of T: 2, the middle of the ladder, its end."""
    steps = choice.branch.ladder.length
    edges = sorted({2, max(2, steps // 2), steps})
    return [at_stability(relation, given, choice.budget - t, f"T = {t} edge") for t in edges]


def stable_pairs(choice: StableChoice, size: int) -> tuple[Pair, ...]:
    """The edges of T, and the suite."""
    relation, given = Neighbours.REPLACE_ONE, TableSize(size, choice.radius)
    return (*_edges(relation, given, choice), *pairs(relation, given))


def stable_core(epsilon: float) -> Subject:
    """The bit and the mean after it at the whole mu of the branch, under replace-one."""
    budget, relation, size = Budget(epsilon, DELTA), Neighbours.REPLACE_ONE, 60 + 90 * math.ceil(1 / epsilon)
    choice, run_at = stable_choice(budget, size), prepared(lambda table: run_on(table, budget, relation))

    def draw(table: Table, noise: Noise) -> Floats:
        run = replace(run_at(table), noise=noise)
        mean = core_mean(run, choice, choice.radius, choice.branch.mu, pair_distances(run.space, None))
        return np.array([1.0, np.nan] if mean is None else [0.0, mean.value[0]])

    return Subject("stable core", epsilon, relation, draw, lambda: stable_pairs(choice, size), 2.0)


AUDIT = Audited(
    searches={
        "stability bit": bit_target,
        "stable mean": mean_target,
        "stable mean, unstable records": partial(mean_target, budget=_TOLERANT),
        "stable core": core_target,
    },
    other_subjects=lambda epsilon: (stable_core(epsilon),),
)
