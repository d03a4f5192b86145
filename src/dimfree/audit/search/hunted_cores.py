"""The stable core to be hunted: the bit that leaves its test, the mean behind it, and both together (P4, P5, P6).

The door tells the chance of the bit; behind a door that draws nothing a mean shows how far it moves. So the law of
bit and mean together is known for any two tables.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_private_count
from dimfree.accounting.events import Tested
from dimfree.accounting.ladder import DENOMINATOR, Ladder, tested_profile
from dimfree.accounting.precision import hockey_stick
from dimfree.audit.laws.exact import World, true_epsilon
from dimfree.audit.neighbours import SUITES, Pair, Place, Table, at_stability, pairs
from dimfree.audit.noise_doubles import Asked
from dimfree.audit.search.climb import Quarry
from dimfree.audit.search.hunted_sums import INSIDE, OUTSIDE, GaussianWorld, space_of
from dimfree.audit.search.moves import Terrain
from dimfree.audit.subjects import cores
from dimfree.audit.subjects.subject import DELTA, whole_mu
from dimfree.core import stable
from dimfree.estimators.choose.core import Size, StableChoice, stable_choices
from dimfree.estimators.opening import core_mean
from dimfree.estimators.run import Run

REPLACE = Neighbours.REPLACE_ONE
_SMALL = 24  # records of a small world, with
_FULL_SHARE = Fraction(7, 10)  # b
_TOLERANT = 6  # B of a world in which some records may be unstable; 2: none may be


def marks(radius: float) -> tuple[float, ...]:
    """Along a line, in radii: friends of both ends, of one, of none."""
    near = (0.0, *(sign * x for x in (0.5, INSIDE, 1.0, OUTSIDE, 2.0) for sign in (1, -1)))
    return tuple(radius * x for x in (*near, 100.0, 1e6))


def on_a_line(relation: Neighbours, place: Place) -> tuple[Pair, ...]:
    """The named pairs, with one coordinate where one is enough: fewer ways to go astray."""
    narrow = replace(place, dimension=1)
    flat = replace(place, dimension=2)
    known = (name for name in SUITES[relation] if name != "turned")
    return (*pairs(relation, narrow, tuple(known)), *pairs(relation, flat, ("turned",) * (relation is REPLACE)))


@dataclass(frozen=True)
class Seen:
    """What the core would do with a table: the chance of its bit, and its mean in units of its noise."""

    chance: int  # in units of 2^-64
    mean: Floats

    def apart(self, other: "Seen") -> float:
        return float(np.linalg.norm(self.mean - other.mean))


class Core:
    """The stable core at a public choice, behind a door that draws nothing."""

    def __init__(self, choice: StableChoice, relation: Neighbours) -> None:
        self.choice = choice
        self.run = cores.run_on(np.zeros((1, 1)), Budget(1.0, DELTA), relation)

    def see(self, table: Table) -> Seen:
        door = Asked()
        run: Run = replace(self.run, space=space_of(table), noise=door)
        found = core_mean(run, self.choice, self.choice.radius, self.choice.branch.mu, None)
        coin, drawn = (next(each for each in door.asked if each[0] == kind) for kind in ("coin", "gaussian"))
        assert found is not None
        return Seen(int(coin[1]), found.value / (drawn[1] * found.event.step))


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


def _made_up(ladder: Ladder, epsilon: float, relation: Neighbours, budget: int) -> StableChoice:
    """A small public choice: P5 holds from _SMALL records on (add/remove) or for so many (replace-one)."""
    floor = _SMALL - 3 if relation is Neighbours.ADD_REMOVE else None
    moves = stable.sensitivity(_SMALL, _FULL_SHARE, budget, relation)
    return StableChoice(Tested(ladder, whole_mu(epsilon)), _FULL_SHARE, budget, floor, 1.0, moves, 0.0)


def torn(relation: Neighbours, budget: int) -> Pair:
    """A few records that just lack friends, so that all their weights move when one more of them comes or goes.

    They stand at one edge, most records in the middle, which they know, and the others at the opposite edge.
    """
    few = max(1, budget - 3)
    middle = int(_FULL_SHARE * _SMALL) - few - 1
    rest = [(middle, 0.0), (_SMALL - 1 - middle - few, 1.0), (few, -1.0)]
    place = Place(_SMALL, dimension=1)
    there = place.at(*rest) if relation is Neighbours.ADD_REMOVE else place.at(*rest, (1, 1.0))
    return Pair("torn", relation, place.at(*rest, (1, -1.0)), there)


def _small_world(relation: Neighbours, budget: int) -> tuple[tuple[Pair, ...], Terrain]:
    place, more = Place(_SMALL, dimension=1), 8 if relation is Neighbours.ADD_REMOVE else 0
    lonely = (at_stability(relation, place, k, f"{k} lonely") for k in range(budget))
    terrain = Terrain(marks(1.0), (0.25, 0.05), _SMALL - more // 2, _SMALL + more)
    return (*lonely, torn(relation, budget), *on_a_line(relation, place)), terrain


def stability_bit(epsilon: float, relation: Neighbours) -> Quarry:
    """The bit alone, on a ladder that is pure if and only if neighbours' statistics differ by one at most (P4)."""
    chances = [math.exp(-epsilon * (_TOLERANT - k)) / 2 for k in range(_TOLERANT + 1)]
    ladder = Ladder(tuple(int(p * DENOMINATOR) for p in chances))
    core = Core(_made_up(ladder, epsilon, relation, _TOLERANT), relation)

    def world(here: Table, there: Table) -> BitAndMean:
        return BitAndMean(core.see(here).chance, core.see(there).chance, 0.0)

    def score(here: Table, there: Table) -> float:
        found = world(here, there)
        return abs(math.log(found.here / found.there))

    return Quarry("stability bit", relation, epsilon, 0.0, score, world, *_small_world(relation, _TOLERANT))


def stable_mean(epsilon: float, relation: Neighbours, budget: int = 2) -> Quarry:
    """The mean of tables that both have T >= 2 (P5); other tables have no claim."""
    reading = Ladder(tuple(range(budget + 1)))  # the chance is T itself
    core = Core(_made_up(reading, epsilon, relation, budget), relation)

    def score(here: Table, there: Table) -> float:
        seen = core.see(here), core.see(there)
        lowest = min(seen[0].chance, seen[1].chance)
        return seen[0].apart(seen[1]) if lowest >= 2 else float(lowest - 2)

    def world(here: Table, there: Table) -> World:
        return GaussianWorld(max(0.0, score(here, there)))

    name = "stable mean" if budget == 2 else "stable mean, unstable records"
    return Quarry(name, relation, epsilon, DELTA, score, world, *_small_world(relation, budget))


def tolerant_mean(epsilon: float, relation: Neighbours) -> Quarry:
    """The same where some records may change their weight."""
    return stable_mean(epsilon, relation, _TOLERANT)


def stable_core(epsilon: float, relation: Neighbours) -> Quarry:
    """Bit and mean at a calibrated choice (P6); under add/remove what follows the noisy count, at its own delta."""
    size = 60 + 90 * math.ceil(1 / epsilon)
    budget = Budget(epsilon, DELTA)
    if relation is Neighbours.ADD_REMOVE:
        size += 80
        menu = calibrate_private_count(budget, cores.FAILURE / 2)
        asked = Size(float(size), menu.count_stddev, 2 * size)
        choice = min(stable_choices(menu.tested, asked, cores.FAILURE, cores.model()), key=lambda each: each.noise)
    else:
        choice = cores.stable_choice(budget, size)
    core = Core(choice, relation)
    claimed = float(tested_profile(choice.branch.ladder, choice.branch.mu, epsilon)[0])

    def world(here: Table, there: Table) -> BitAndMean:
        seen = core.see(here), core.see(there)
        return BitAndMean(seen[0].chance, seen[1].chance, seen[0].apart(seen[1]))

    def score(here: Table, there: Table) -> float:
        found = world(here, there)
        return true_epsilon(found, claimed) + 1e-3 * min(found.mu, 10.0) * min(found.here, found.there) / DENOMINATOR

    place = Place(size, choice.radius, dimension=1)
    edges = sorted({2, max(2, choice.branch.ladder.length // 2), choice.branch.ladder.length})
    starts = tuple(at_stability(relation, place, choice.budget - t, f"T = {t} edge") for t in edges)
    spread = 0 if relation is Neighbours.REPLACE_ONE else choice.branch.ladder.length
    terrain = Terrain(marks(choice.radius), (choice.radius / 4,), size - spread, size + spread)
    starts = (*starts, *on_a_line(relation, place))
    return Quarry("stable core", relation, epsilon, claimed, score, world, starts, terrain)
