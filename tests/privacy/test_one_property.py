"""One property for every Gaussian mechanism, under both neighboring relations.

For neighboring tables, the statistic of a mechanism moves by at most the sensitivity that its event states, and the
noise drawn has the stated standard deviation, dimension and precision. The statistic is read off the released value:
one unit of noise shows what a unit is worth. Mutants of the mechanisms, made by name, must be caught.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from dimfree.mechanisms import (
    Measured,
    clipped_sum,
    count,
    directions,
    length_histogram,
    missing,
    outer_sum,
    ring_scores,
    scores,
    soft_histogram,
)
from hypothesis import given, strategies
from hypothesis.extra import numpy as arrays

from dimfree.accounting.budget import CHANGED_RECORDS, Neighbours
from dimfree.data.records import as_records
from dimfree.kernel.rows.bases.cosine import Cosine
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.secret_ring import Ring
from dimfree.shapes import Isotropic

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
MU = 0.4
EDGES = np.array([0.25, 0.75, 1.0, 1.5, 4.0])


@dataclass
class Asked:
    """Noise that draws the given constant and records what it was asked for."""

    draw: int = 0
    private: bool = False
    asked: list[tuple[float, int]] = field(default_factory=list)

    def gaussian(self, stddev: float, size: int) -> np.ndarray:
        self.asked.append((stddev, size))
        return np.full(size, self.draw, dtype=np.int64)

    def below(self, bound: int, size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)


def ball_of(space: Space) -> clipped_sum.Ball:
    return clipped_sum.Ball(np.full(space.dimension, 0.3), 1.0, 1.0)


def sighted(space: Space) -> directions.Sighting:
    lookout = directions.Lookout(np.zeros(space.dimension), np.ones(space.dimension))
    return directions.sighted(space, lookout, Cosine(space.dimension))


def outer(space: Space) -> np.ndarray:
    return outer_sum.outer_sum(space, directions.Lookout(np.zeros(space.dimension), np.ones(space.dimension)))


def histograms(space: Space, cells: object, relation: Neighbours, noise: Asked) -> Measured:
    return soft_histogram.noisy_histograms(space, cells, np.arange(space.dimension), MU, relation, "p", noise=noise)


def offsets_of(space: Space) -> soft_histogram.Offsets:
    return soft_histogram.Offsets(np.zeros(space.dimension), np.ones(space.dimension))


Mechanism = Callable[[Space, Neighbours, Asked], Measured]
MECHANISMS: dict[str, Mechanism] = {
    "clipped mean": lambda s, r, n: clipped_sum.noisy_clipped_mean(s, ball_of(s), 1.0, MU, r, "p", noise=n),
    "capped mean": lambda s, r, n: clipped_sum.noisy_clipped_mean(
        s, replace(ball_of(s), cap=0.4), 1.0, MU, r, "p", noise=n
    ),
    "scores": lambda s, r, n: scores.noisy_scores(
        s, scores.Scoring(np.zeros(s.dimension), 1.0, 1.0), 1.0, MU, r, noise=n
    ),
    "missing share": lambda s, r, n: missing.noisy_missing(s, MU, noise=n),
    "missing counts": lambda s, r, n: missing.noisy_missing_counts(s, 1.7, MU, r, noise=n),
    "lengths": lambda s, r, n: length_histogram.noisy_length_counts(s, ball_of(s), EDGES, MU, r, noise=n),
    "soft histogram": lambda s, r, n: histograms(s, offsets_of(s), r, n),
    "magnitudes": lambda s, r, n: histograms(s, soft_histogram.Magnitudes(), r, n),
    "unevenness": lambda s, r, n: directions.noisy_unevenness(sighted(s), MU, noise=n),
    "weight": lambda s, r, n: directions.noisy_weight(sighted(s), MU, noise=n),
    "spread": lambda s, r, n: directions.noisy_spread(sighted(s), MU, noise=n),
    "togetherness": lambda s, r, n: outer_sum.noisy_togetherness(outer(s), MU, r, noise=n),
    "outer products": lambda s, r, n: outer_sum.noisy_outer_sum(outer(s), MU, r, noise=n),
    "ring scores": lambda s, r, n: ring_scores.noisy_ring_scores(
        Ring.of(s, None, 0, noise=Asked()), ring_scores.pair_scoring(np.ones(s.dimension), 1.0), 1.0, MU, r, noise=n
    ),
    "count": lambda s, r, n: count.noisy_count(s.count, 1 / MU, noise=n),
    "total": lambda s, r, n: count.noisy_total(Fraction(s.count), 1.0, MU, "p", noise=n),
    "valid count": lambda s, r, n: count.noisy_valid_count(s, MU, noise=n),
}
BY_ENTRY = ("missing share", "missing counts")
PUBLIC_SIZE = ("count", "total")  # released under add/remove only: the size is public under replace-one


def released(name: str, table: np.ndarray, relation: Neighbours) -> tuple[np.ndarray, object, list[tuple[float, int]]]:
    """The statistic in steps of its grid, the event, and what the noise was asked for."""
    space = replace(Space(as_records(table, on_missing="drop"), Isotropic(1.0)), by_entry=name in BY_ENTRY)
    still, moved = Asked(0), Asked(2**40)  # so far that the difference is exact enough
    found, step = (MECHANISMS[name](space, relation, noise) for noise in (still, moved))
    statistic = np.asarray(found.value / (step.value - found.value)) * 2.0**40
    if name == "outer products":  # symmetric: each draw enters once
        statistic = statistic[np.triu_indices(len(statistic))]
    return statistic.ravel(), found.event, still.asked


def complaint(name: str, relation: Neighbours, table: np.ndarray, other: np.ndarray) -> str:
    """What is wrong for one pair of neighboring tables; empty if nothing is."""
    (here, event, asked), (there, _, _) = (released(name, each, relation) for each in (table, other))
    if {stddev for stddev, _ in asked} != {event.stddev}:
        return "draws other noise than it states"
    if sum(size for _, size in asked) != event.dimension:
        return "states another dimension than it draws"
    if not math.isclose(event.mu, MU, rel_tol=1e-9):
        return "states another precision than asked for"
    ratio = float(np.linalg.norm(here - there)) / event.sensitivity
    return f"one record moves {ratio:.3f} times the stated sensitivity" if ratio > 1 + 1e-9 else ""


def odd_records(rng: np.random.Generator, d: int) -> Iterator[np.ndarray]:
    """The corners of every clipping, and a few records of each magnitude."""
    first, last = np.eye(d)[0], np.eye(d)[-1]
    yield from (np.zeros(d), np.ones(d), -np.ones(d), first, 2 * first, 3 * last, np.full(d, 0.3))
    yield from (np.full(d, 1e300), -np.full(d, 1e300), 1e300 * first, 1e300 * last, np.full(d, np.nan))
    yield from (np.where(first, np.nan, 0.0), np.where(last, np.nan, 0.0), 2 * np.where(np.arange(d) % 2, 1.0, -1.0))
    yield from (np.r_[0.0, 2.0, np.zeros(d - 2)], -2 * first)
    yield from (np.where(np.arange(d) % 2, np.nan, 0.0), np.where(np.arange(d) % 2, 0.0, np.nan))
    yield from (rng.normal(size=d) * 10.0**power for power in (-2, -1, 0, 0, 1, 2))


@cache
def neighbors(d: int) -> list[tuple[Neighbours, np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(d)
    records = list(odd_records(rng, d))
    between = np.vstack([np.zeros(d), np.r_[0, 1.414, np.zeros(d - 2)]])
    found = []
    for rest in (np.zeros((0, d)), rng.normal(size=(3, d)), between, np.ones((5, d))):
        found += [(ADD, np.vstack([rest, record]), rest) for record in records]
        exchanges = itertools.islice(itertools.permutations(records, 2), 0, None, 11)
        found += [(REPLACE, np.vstack([rest, x]), np.vstack([rest, y])) for x, y in exchanges]
    return found


def complaints(name: str, dimensions: tuple[int, ...] = (2, 17)) -> Iterator[str]:
    for d in dimensions:
        for relation, table, other in neighbors(d):
            if (relation is ADD or name not in PUBLIC_SIZE) and (said := complaint(name, relation, table, other)):
                yield f"{relation.value}: {said}"


@pytest.mark.parametrize("name", MECHANISMS)
def test_one_record_moves_a_statistic_by_at_most_what_is_stated(name):
    assert next(complaints(name), "") == ""


ENTRIES = strategies.one_of(
    strategies.floats(-3, 3), strategies.floats(allow_infinity=True, allow_nan=True), strategies.just(0.0)
)


@pytest.mark.parametrize("name", MECHANISMS)
@given(data=strategies.data())
def test_the_same_for_random_neighbors(name, data):
    d = data.draw(strategies.integers(2, 5))
    table = data.draw(arrays.arrays(np.float64, (data.draw(strategies.integers(1, 5)), d), elements=ENTRIES))
    record = data.draw(arrays.arrays(np.float64, (1, d), elements=ENTRIES))
    assert complaint(name, ADD, np.vstack([table, record]), table) == ""
    if name not in PUBLIC_SIZE:
        assert complaint(name, REPLACE, np.vstack([table[1:], record]), table[[*range(1, len(table)), 0]]) == ""


# ---- mutants: a mistake made by name, in the part of the package that it belongs to


CHARGING = (
    *(clipped_sum, count, directions, length_histogram, missing),
    *(outer_sum, ring_scores, scores, soft_histogram),
)


CHARGED = [name for name in MECHANISMS if name != "count"]  # whose event is a constant of `events`


@pytest.mark.parametrize("name", CHARGED)
def test_seven_tenths_of_a_sensitivity_are_caught(monkeypatch, name):
    for module in CHARGING:
        right = module.charged_gaussian
        monkeypatch.setattr(module, "charged_gaussian", lambda moves, *rest, right=right: right(0.7 * moves, *rest))
    assert next(complaints(name), "")


MOVED_AS_ARRIVALS = {
    "clipped mean": (clipped_sum, "CHANGED_RECORDS"),
    "lengths": (length_histogram, "CHANGED_RECORDS"),
    "soft histogram": (soft_histogram, "CHANGED_RECORDS"),
    "scores": (scores, "MOVES"),
    "missing counts": (missing, "MOVES"),
    "outer products": (outer_sum, "MOVES"),
    "ring scores": (ring_scores, "RING_SENSITIVITY"),
}


@pytest.mark.parametrize("name", MOVED_AS_ARRIVALS)
def test_an_exchange_charged_as_an_arrival_is_caught(monkeypatch, name):
    module, constant = MOVED_AS_ARRIVALS[name]
    monkeypatch.setattr(module, constant, dict.fromkeys(CHANGED_RECORDS, getattr(module, constant)[ADD]))
    assert next(complaints(name), "").startswith("replace-one")


def test_a_ring_charged_for_two_pairs_is_caught(monkeypatch):
    monkeypatch.setattr(ring_scores, "RING_SENSITIVITY", {**ring_scores.RING_SENSITIVITY, ADD: 2.0})
    assert next(complaints("ring scores"), "").startswith("add-remove")


def test_directions_that_are_too_long_are_caught(monkeypatch):
    right = directions.unit_steps
    monkeypatch.setattr(directions, "unit_steps", lambda rows: 1.02 * right(rows))
    assert next(complaints("outer products"), "")


def test_an_unclipped_sum_is_caught(monkeypatch):
    right = clipped_sum.clipped_total
    monkeypatch.setattr(clipped_sum, "clipped_total", lambda rows, radius, offsets: 2 * right(rows, radius, offsets))
    assert next(complaints("clipped mean"), "")


def test_noise_that_was_not_asked_for_is_caught(monkeypatch):
    right = clipped_sum.noisy_clipped_mean

    def halved(*given, noise):
        return right(*given, noise=Halved(noise))

    monkeypatch.setattr(clipped_sum, "noisy_clipped_mean", halved)
    assert "other noise" in next(complaints("clipped mean"))


@dataclass
class Halved:
    source: Asked

    def gaussian(self, stddev: float, size: int) -> np.ndarray:
        return self.source.gaussian(stddev / 2, size)
