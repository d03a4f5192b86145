"""What is sampled: mechanisms and estimators as functions from a table to a row of numbers, with their pairs.

A row holds everything that leaves: a refusal, the mean, its noise, the released parameters.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree.accounting.discrete import idealised
from dimfree.accounting.events import Ledger, Tested
from dimfree.accounting.precision import largest_mu
from dimfree.audit import cores
from dimfree.audit.doors import Asked
from dimfree.audit.neighbours import Pair, Place, Table, at_stability, pairs
from dimfree.budget import Budget, Neighbours
from dimfree.grouping import slots
from dimfree.mechanisms.clipped_sum import Ball, noisy_clipped_mean
from dimfree.mechanisms.friend_radius import noisy_friend_radius
from dimfree.mechanisms.laplace_count import laplace_count
from dimfree.mechanisms.scores import Scoring, noisy_scores
from dimfree.mechanisms.search import geometric_grid
from dimfree.noise import Noise
from dimfree.records import as_records
from dimfree.release import release_mean
from dimfree.sample import poisson_sample
from dimfree.scale import pair_distances
from dimfree.shape import Isotropic
from dimfree.space import Space

Floats = NDArray[np.float64]

DELTA = 1e-2  # of the audited claims: a smaller one leaves less to see in the same time, and is the same code
_RELEASED = ("count", "weight_lower_bound", "radius", "scale", "top", "groups")
_FAILURE = 0.2  # accepted chance of a refusal: shorter ladders, so smaller tables


@dataclass(frozen=True)
class Subject:
    """A claim and the code it is about; `draw` gives one output as a row of numbers, NaN where nothing left."""

    name: str
    epsilon: float
    delta: float
    relation: Neighbours
    draw: Callable[[Table, Noise], Floats]
    pairs: Callable[[], tuple[Pair, ...]]  # made when asked for: some look at the code first
    weight: float = 1.0  # of its share of the time


Prepared = TypeVar("Prepared")


def prepared(make: Callable[[Table], Prepared]) -> Callable[[Table], Prepared]:
    """`make`, once for every table: what is done before noise is drawn gives the same bits every time."""
    known: dict[int, tuple[Table, Prepared]] = {}

    def get(table: Table) -> Prepared:
        if id(table) not in known:
            known[id(table)] = (table, make(table))  # the table is kept, so that its id stays its own
        return known[id(table)][1]

    return get


def _space(table: Table) -> Space:
    return Space(as_records(table), Isotropic(1.0))


def _mu(epsilon: float) -> float:
    return largest_mu(*idealised(epsilon, DELTA))


def _suite(relation: Neighbours, place: Place, *names: str) -> Callable[[], tuple[Pair, ...]]:
    return lambda: tuple(pairs(relation, place, names or None))


def clipped_mean(epsilon: float, relation: Neighbours) -> Subject:
    """The plain Gaussian release of a clipped sum at the whole budget."""
    mu, count, space_of = _mu(epsilon), 4.0, prepared(_space)

    def draw(table: Table, noise: Noise) -> Floats:
        space = space_of(table)
        ball = Ball(np.zeros(space.dimension), 1.0, 1.0)
        value = noisy_clipped_mean(space, ball, count, mu, relation, "audit", noise=noise).value
        return np.array([value[0], value.mean()])

    suite = _suite(relation, Place(4), "clipping boundary", "far outlier", "wide", "sparse")
    return Subject(f"clipped mean, {relation}", epsilon, DELTA, relation, draw, suite, 6.0)  # the audit's own measure


def scores(epsilon: float, relation: Neighbours) -> Subject:
    """The noisy sum of clipped scores (P10)."""
    mu, space_of = _mu(epsilon), prepared(_space)

    def draw(table: Table, noise: Noise) -> Floats:
        space = space_of(table)
        scoring = Scoring(np.zeros(space.dimension), 1.0, 1.0)
        value = noisy_scores(space, scoring, 1.0, mu, relation, noise=noise).value
        return np.array([value[0], value[1], value.mean()])

    names = ("turned" if relation is Neighbours.REPLACE_ONE else "clipping boundary", "far outlier", "wide", "sparse")
    return Subject(f"scores, {relation}", epsilon, DELTA, relation, draw, _suite(relation, Place(4), *names))


def friend_radius(epsilon: float, relation: Neighbours) -> Subject:
    """The noisy search for the radius at which the friend average reaches a share (M5')."""
    mu, grid = _mu(epsilon), geometric_grid(0.25, 4.0, 2.0)
    distances = prepared(lambda table: pair_distances(_space(table), None))

    def draw(table: Table, noise: Noise) -> Floats:
        return np.array([noisy_friend_radius(distances(table), Fraction(1, 2), grid, mu, relation, noise=noise).value])

    names = ("two cliques", "edge of friendliness", "far outlier")
    place = Place(5, radius=1.0)
    return Subject(f"friend radius, {relation}", epsilon, DELTA, relation, draw, _suite(relation, place, *names))


def grouped_count(epsilon: float) -> Subject:
    """A Laplace count of groups that agree, the groups laid out by secret coins (M1)."""

    def draw(table: Table, noise: Noise) -> Floats:
        column = np.append(np.asarray(table)[:, 0], np.nan)  # the last one stands for an empty slot
        layout = slots(len(column) - 1, 4, 2, noise)
        agree = int((column[layout[:, 0]] == column[layout[:, 1]]).sum())
        return np.array([laplace_count(agree, epsilon, noise=noise).value], dtype=np.float64)

    return Subject("grouping", epsilon, 0.0, Neighbours.ADD_REMOVE, draw, lambda: (first_leaves(),))


def first_leaves() -> Pair:
    """Rows that agree two by two; when the first leaves, no two consecutive ones do."""
    column = np.repeat(np.arange(5.0), 2)[:9, None]
    return Pair("first record leaves", Neighbours.ADD_REMOVE, column, column[1:])


def sampled_sum(epsilon: float) -> Subject:
    """A Laplace sum over a secret Poisson sample (P8)."""

    def draw(table: Table, noise: Noise) -> Floats:
        column = np.asarray(table)[:, 0]
        total = int(column[poisson_sample(len(column), 0.95, noise)].sum())
        return np.array([laplace_count(total, epsilon, noise=noise).value], dtype=np.float64)

    return Subject("sample", epsilon, 0.0, Neighbours.ADD_REMOVE, draw, lambda: (odd_one_out(),))


def odd_one_out(size: int = 20) -> Pair:
    """All say -1 but one, who says 1 and may be absent."""
    crowd = np.full((size, 1), -1.0)
    return Pair("odd one out", Neighbours.ADD_REMOVE, np.vstack([crowd, [[1.0]]]), crowd)


# ---- the cores


def soft(epsilon: float) -> Subject:
    """The soft core; the pairs of the suite in units of its radius."""
    budget, relation, size = Budget(epsilon, DELTA), Neighbours.ADD_REMOVE, 25 + 25 * math.ceil(1 / epsilon)
    core = cores.soft_core(budget)
    run_on = prepared(lambda table: cores.run_on(table, budget, relation))

    def draw(table: Table, noise: Noise) -> Floats:
        return core.draw(cores.with_noise(run_on(table), noise))

    return Subject("soft core", epsilon, DELTA, relation, draw, _suite(relation, Place(size, core.radius)), 2.0)


def stable(epsilon: float) -> Subject:
    """The stable core under replace-one, with the edges of its statistic."""
    budget, relation, size = Budget(epsilon, DELTA), Neighbours.REPLACE_ONE, 60 + 90 * math.ceil(1 / epsilon)
    choice = cores.stable_choice(budget, size)
    core = cores.stable_core(choice)
    run_on = prepared(lambda table: cores.run_on(table, budget, relation))

    def draw(table: Table, noise: Noise) -> Floats:
        return core.draw(cores.with_noise(run_on(table), noise))

    return Subject("stable core", epsilon, DELTA, relation, draw, lambda: cores.stable_pairs(choice, size), 2.0)


# ---- whole estimators


@dataclass(frozen=True)
class Way:
    """How `release_mean` is called, and how many records it needs at this budget."""

    name: str
    options: dict[str, Any]
    size: int
    relation: Neighbours = Neighbours.ADD_REMOVE

    def release(self, table: Table, epsilon: float, noise: Noise) -> Any:
        return release_mean(
            table,
            epsilon=epsilon,
            delta=DELTA,
            neighbours=self.relation,
            failure_probability=_FAILURE,
            noise=noise,
            **self.options,
        )


def ways(epsilon: float) -> list[Way]:
    """Every estimator, with tables just large enough that refusals are possible but not certain."""
    known, more = {"shape": Isotropic(1.0)}, math.ceil(1 / epsilon)
    stable = {**known, "core": "stable", "stages": 0}
    return [
        Way("soft", {**known, "core": "soft"}, 30 + 25 * more),
        Way("basic", {**known, "core": "basic"}, 40 + 60 * more),
        Way("stable", stable, 80 + 140 * more),
        Way("stable", stable, 60 + 90 * more, Neighbours.REPLACE_ONE),
        Way("recentred", {**known, "core": "stable"}, 80 + 140 * more),
        Way("auto", {}, 200 + 400 * more),
        Way("auto", {}, 200 + 300 * more, Neighbours.REPLACE_ONE),
        Way("paper", {"shape": "paper"}, 150 + 150 * more),
    ]


def estimator(way: Way, epsilon: float) -> Subject:
    """A whole release: refusal, mean, noise and released parameters."""

    def draw(table: Table, noise: Noise) -> Floats:
        return released_row(way.release(table, epsilon, noise))

    name = f"release: {way.name}, {way.relation}"
    return Subject(name, epsilon, DELTA, way.relation, draw, lambda: _release_pairs(way, epsilon), 4.0)


def released_row(release: Any) -> Floats:
    """Everything that left, as numbers; the pairs differ along the first coordinate or along all alike."""
    known = [float(release.parameters.get(name, math.nan)) for name in _RELEASED]
    if release.refused:
        return np.array([1.0, math.nan, math.nan, math.nan, math.nan, *known])
    mean, noise = release.mean, float(np.log(release.noise_stddev[0]))
    return np.array([0.0, mean[0], mean.mean(), float(np.linalg.norm(mean)), noise, *known])


def _release_pairs(way: Way, epsilon: float) -> tuple[Pair, ...]:
    """The suite in units of the friend radius that the code uses, and the edge of its stability test."""
    probe = way.release(Place(way.size).at((way.size, 0.0)), epsilon, Asked())
    place = Place(way.size, float(probe.parameters.get("radius", 1.0)))
    found = list(pairs(way.relation, place))
    lonely = lonely_at_two(way, epsilon, place)
    return (*found[:1], *([at_stability(way.relation, place, lonely)] if lonely is not None else []), *found[1:])


def lonely_at_two(way: Way, epsilon: float, place: Place) -> int | None:
    """With how many lonely records the code tosses the coin of T = 2; None where it tosses none.

    T falls by one with each of them (P4), and the coin's weight, which a door sees, tells T up to the first rungs.
    """
    low, high = 0, place.size // 2
    if _lowest_coin(way, epsilon, place, low) is not False or _lowest_coin(way, epsilon, place, high) is not True:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _lowest_coin(way, epsilon, place, middle) else (middle, high)
    return high


def _lowest_coin(way: Way, epsilon: float, place: Place, lonely: int) -> bool | None:
    """Whether the bit was tossed with the chance of T <= 2."""
    door = Asked()
    ledger = way.release(at_stability(way.relation, place, lonely).here, epsilon, door).ledger
    coins = [numerator for kind, numerator, _ in door.asked if kind == "coin"]
    if not coins or not isinstance(ledger, Ledger) or ledger.chosen is None:
        return None
    branch = ledger.menu[ledger.chosen]
    return coins[0] == branch.ladder.rungs[2] if isinstance(branch, Tested) else None


def subjects(epsilon: float) -> list[Subject]:
    """All of them at this epsilon, in a fixed order."""
    both = tuple(Neighbours)
    mechanisms = [make(epsilon, relation) for make in (clipped_mean, scores, friend_radius) for relation in both]
    return [
        *mechanisms,
        grouped_count(epsilon),
        sampled_sum(epsilon),
        soft(epsilon),
        stable(epsilon),
        *(estimator(way, epsilon) for way in ways(epsilon)),
    ]
