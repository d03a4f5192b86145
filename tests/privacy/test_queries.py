"""One property for every query of the kernel, under both neighboring relations.

For neighboring tables the statistic moves by at most the sensitivity of the event that was charged, and the noise drawn
has the stated standard deviation, dimension and precision. The statistic is read off the released value: a far draw
shows what a step of noise is worth. Mutants of the kernel, made by name, must be caught.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, strategies
from hypothesis.extra import numpy as arrays
from privacy.asked import Asked, branches_with_test, open_session

from dimfree.accounting.budget import Neighbors
from dimfree.accounting.events import SEARCH_STEPS, Gaussian
from dimfree.kernel import NoisyCounts, Released, Session, View
from dimfree.kernel import directions as outer
from dimfree.kernel import pairs as pairs
from dimfree.kernel import views as views
from dimfree.kernel.rows import clip
from dimfree.kernel.rows.clip import BALL
from dimfree.kernel.rows.cosine import Cosine
from dimfree.kernel.rows.space import Space
from dimfree.kernel.session import ChargedNoise
from dimfree.kernel.statistics import soft_histogram
from dimfree.kernel.statistics import unit_vectors as directions
from dimfree.kernel.statistics.clipped_sum import Ball, votes
from dimfree.kernel.statistics.scores import Scoring
from dimfree.kernel.statistics.secret_ring import pair_scoring
from dimfree.kernel.statistics.soft_histogram import STEP, Magnitudes, Offsets
from dimfree.kernel.statistics.stable import core_sensitivity

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
RELATIONS = (ADD, REPLACE)
MU = 0.4
FAR = 2**40  # steps of noise: so far that the difference of two released floats is exact enough
EDGES = np.array([0.25, 0.75, 1.0, 1.5, 4.0])
HALF = Fraction(1, 2)


def ball(view: View, cap: float = math.inf) -> Ball:
    return Ball(np.full(view.dimension, 0.3), 1.0, 1.0, cap=cap)


def lookout(view: View) -> directions.DirectionCenter:
    return directions.DirectionCenter(np.zeros(view.dimension), np.ones(view.dimension))


def directions_of(view: View) -> outer.Directions:
    return view.directions(lookout(view), Cosine(view.dimension))


def scoring(view: View) -> Scoring:
    return Scoring(np.zeros(view.dimension), 1.0, 1.0)


def ring_scoring(view: View) -> Scoring:
    return pair_scoring(np.ones(view.dimension), 1.0)


def offsets(view: View) -> Offsets:
    return Offsets(np.zeros(view.dimension), np.ones(view.dimension))


def all_columns(view: View) -> np.ndarray:
    return np.arange(view.dimension)


Query = Callable[[Session, View, float], Released | NoisyCounts]
QUERIES: dict[str, Query] = {
    "sum clipped": lambda s, v, mu: v.sum_clipped(ball(v), mu, "p"),
    "capped sum": lambda s, v, mu: v.sum_clipped(ball(v, 0.4), mu, "p"),
    "block of a sum": lambda s, v, mu: v.sum_clipped(Ball(np.zeros(v.dimension), 1.0, 0.5, np.array([0])), mu, "p"),
    "shell sum": lambda s, v, mu: v.shell_sum(ball(v), 0.6, mu),
    "thin shell sum": lambda s, v, mu: v.shell_sum(ball(v), 0.998, mu),
    "scores": lambda s, v, mu: v.scores(scoring(v), 1.0, mu),
    "count clipped scores": lambda s, v, mu: v.count_clipped_scores(scoring(v), 0.5, 3.0, EDGES, len(EDGES), mu),
    "missing": lambda s, v, mu: v.missing(mu),
    "missing by column": lambda s, v, mu: v.missing_by_column(1.7, mu),
    "lengths": lambda s, v, mu: v.lengths(ball(v), EDGES, mu),
    "votes": lambda s, v, mu: v.votes(ball(v), EDGES, mu),
    "within": lambda s, v, mu: v.within(ball(v), EDGES, len(EDGES), mu),
    "soft histogram": lambda s, v, mu: v.histograms(offsets(v), all_columns(v), mu, "p"),
    "magnitudes": lambda s, v, mu: v.histograms(Magnitudes(), all_columns(v), mu, "p"),
    "unevenness": lambda s, v, mu: directions_of(v).unevenness(mu),
    "weight": lambda s, v, mu: directions_of(v).weight(mu),
    "spread": lambda s, v, mu: directions_of(v).l1_norm(mu),
    "togetherness": lambda s, v, mu: v.outer_products(lookout(v)).off_diagonal_norm(mu),
    "outer products": lambda s, v, mu: v.outer_products(lookout(v)).matrix(mu),
    "ring scores": lambda s, v, mu: v.ring(0).scores(ring_scoring(v), 1.0, mu),
    "ring lengths": lambda s, v, mu: v.ring(0).lengths(np.ones(v.dimension), HALF, len(EDGES), mu),
    "ring units": lambda s, v, mu: v.ring(0).count_unclipped(ring_scoring(v), HALF, EDGES, len(EDGES), mu),
    "friends": lambda s, v, mu: v.pairs(0).friends(HALF, len(EDGES), mu),
    "second count": lambda s, v, mu: s.count_again(1 / mu),
    "valid count": lambda s, v, mu: v.valid_count(mu),
}
BY_ENTRY = ("missing", "missing by column")
PUBLIC_SIZE = ("second count",)  # released under add-remove only
OWN_METHODS = {
    "rescale",
    "rotate",
    "of_all",
    "draw_nested_samples",
    "poisson_sample",
    "pairs",
    "ring",
}  # release nothing


def test_every_query_has_a_line_above():
    """A new query without its property is noticed."""
    asked = {"directions", "outer_products"} | {name.replace(" ", "_") for name in QUERIES} | {"histograms"}
    public = {name for name, value in vars(View).items() if not name.startswith("_") and callable(value)}
    assert public - OWN_METHODS <= asked


def released(name: str, table: np.ndarray, relation: Neighbors, turn: int) -> tuple[np.ndarray, object, list]:
    """The statistic in steps of its grid, the event, and what the noise was asked for.

    All noisy answers are asked at one point, whose `turn` it is: then they all move at once.
    """
    values, events, logs = [], [], []
    for draw in (0, FAR):
        noise = Asked(draw)
        session, view = open_session(table, relation, noise, by_entry=name in BY_ENTRY)
        found = QUERIES[name](session, view, MU)
        if isinstance(found, NoisyCounts):
            values.append(np.array([found.at(float(EDGES[turn % len(EDGES)])) for _ in EDGES]))
        else:
            values.append(np.asarray(found.value))
        events.append(found.event)
        logs.append([(scale, size) for kind, scale, size in noise.log if kind == "gaussian"])
    statistic = values[0] / (values[1] - values[0]) * FAR
    if name == "outer products":  # symmetric: each draw enters once
        statistic = statistic[np.triu_indices(len(statistic))]
    return statistic.ravel(), events[0], logs[0]


def complaint(name: str, relation: Neighbors, table: np.ndarray, other: np.ndarray, turn: int) -> str:
    """What is wrong for one pair of neighboring tables; empty if nothing is."""
    (here, event, asked), (there, _, _) = (released(name, each, relation, turn) for each in (table, other))
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
def neighbors(d: int) -> list[tuple[Neighbors, np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(d)
    records = list(odd_records(rng, d))
    between = np.vstack([np.zeros(d), np.r_[0, 1.414, np.zeros(d - 2)]])
    found = []
    for rest in (np.zeros((0, d)), rng.normal(size=(3, d)), between, np.ones((5, d))):
        found += [(ADD, np.vstack([rest, record]), rest) for record in records]
        exchanges = itertools.islice(itertools.permutations(records, 2), 0, None, 23)
        found += [(REPLACE, np.vstack([rest, x]), np.vstack([rest, y])) for x, y in exchanges]
    return found


def complaints(name: str, dimensions: tuple[int, ...] = (2, 17)) -> Iterator[str]:
    for d in dimensions:
        for turn, (relation, table, other) in enumerate(neighbors(d)):
            asked = relation is ADD or name not in PUBLIC_SIZE
            if asked and (said := complaint(name, relation, table, other, turn)):
                yield f"{relation.value}: {said}"


@pytest.mark.parametrize("name", QUERIES)
def test_one_record_moves_a_statistic_by_at_most_what_is_charged(name):
    assert next(complaints(name), "") == ""


ENTRIES = strategies.one_of(
    strategies.floats(-3, 3), strategies.floats(allow_infinity=True, allow_nan=True), strategies.just(0.0)
)


@pytest.mark.parametrize("name", QUERIES)
@given(data=strategies.data())
def test_the_same_for_random_neighbors(name, data):
    d = data.draw(strategies.integers(2, 5))
    table = data.draw(arrays.arrays(np.float64, (data.draw(strategies.integers(1, 5)), d), elements=ENTRIES))
    record = data.draw(arrays.arrays(np.float64, (1, d), elements=ENTRIES))
    turn = data.draw(strategies.integers(0, len(EDGES) - 1))
    assert complaint(name, ADD, np.vstack([table, record]), table, turn) == ""
    if name not in PUBLIC_SIZE:
        assert complaint(name, REPLACE, np.vstack([table[1:], record]), table[[*range(1, len(table)), 0]], turn) == ""


# ---- the core's mean: behind its test, on tables that are stable


def core_mean(table: np.ndarray, relation: Neighbors, draw: int) -> Released:
    noise = Asked(draw)
    branches = branches_with_test(relation)
    _, view = open_session(table, relation, noise, branches)
    floor = None if relation is REPLACE else len(table) - 20
    return view.pairs(0).core_mean(3.0, Fraction(9, 10), 6, floor, branches.tested[0].mu * 0.9)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_cores_mean_moves_by_at_most_what_is_charged(relation):
    """Records that agree, and one more anywhere: the sensitivity is that of tables that both pass the test (P5)."""
    rng = np.random.default_rng(0)
    rest = rng.normal(size=(120, 3)) / 4
    for place in (0.0, 1.0, 2.0, 2.9, 3.1, 50.0):
        here = np.vstack([rest, [[place, 0.0, 0.0]]])
        there = rest if relation is ADD else np.vstack([rest, [[-place, 0.0, 0.0]]])
        event = core_mean(here, relation, 0).event
        step = core_mean(here, relation, FAR).value - core_mean(here, relation, 0).value
        moved = (core_mean(here, relation, 0).value - core_mean(there, relation, 0).value) / step * FAR
        assert np.linalg.norm(moved) <= event.sensitivity * (1 + 1e-9)
        assert event.dimension == 3
        least = 121 if relation is REPLACE else len(here) - 20 + 3  # of records, in the larger of two stable neighbors
        assert event.sensitivity * event.step >= 3.0 * core_sensitivity(least, Fraction(9, 10), 6, relation)


@pytest.mark.parametrize("relation", RELATIONS)
def test_an_invalid_record_is_a_stranger_to_the_core(relation):
    """A friend of itself only, without weight: what a valid record infinitely far away would be."""
    rest = np.random.default_rng(0).normal(size=(120, 3)) / 4
    invalid, stranger = (core_mean(np.vstack([rest, np.full(3, far)]), relation, 0) for far in (np.nan, 1e200))
    assert np.array_equal(invalid.value, stranger.value)
    assert invalid.event == stranger.event


# ---- mutants: a mistake made by name, in the part of the kernel that it belongs to


Mutant = Callable[[pytest.MonkeyPatch], None]


def understated(factor: float) -> Mutant:
    """Every release claims less than its statistic moves."""

    def change(patch: pytest.MonkeyPatch) -> None:
        right_session, right_counts = Session._release, NoisyCounts.__init__

        def release(self, statistic, size, moves, *rest, **given):
            return right_session(self, statistic, size, factor * moves, *rest, **given)

        def counts(self, session, read, answers, moves, *rest):
            right_counts(self, session, read, answers, factor * moves, *rest)

        patch.setattr(Session, "_release", release)
        patch.setattr(NoisyCounts, "__init__", counts)

    return change


def made(module: object, name: str, of: Callable[[object], object]) -> Mutant:
    """Put something made of what stands there under a name of a module or class."""
    return lambda patch: patch.setattr(module, name, of(getattr(module, name)))


def instead(module: object, name: str, value: object) -> Mutant:
    return made(module, name, lambda _: value)


def as_arrivals(module: object, constant: str) -> Mutant:
    """An exchange of records is charged as an arrival."""
    return made(module, constant, lambda known: dict.fromkeys(known, known[ADD]))


def halved(release: Callable[..., Released]) -> Callable[..., Released]:
    def wrong(self, *given, **more):
        noise, self._noise = self._noise, Halved(self._noise)
        try:
            return release(self, *given, **more)
        finally:
            self._noise = noise

    return wrong


class Halved:
    def __init__(self, noise: Asked) -> None:
        self.noise = noise

    def gaussian(self, stddev: float, size: int) -> np.ndarray:
        return self.noise.gaussian(stddev / 2, size)


def whole_vectors(right: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda squares, inner=0: right(squares)


def rounded_to_nearest(steps: np.ndarray, squares: np.ndarray, _: int = 0) -> np.ndarray:
    """The length is looked at before the last rounding."""
    outside = squares > float(BALL) ** 2
    steps[outside] = np.rint(steps[outside] * (BALL / np.sqrt(squares[outside]))[:, None])
    return steps


def longer(right: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda rows: 1.02 * right(rows)


def by_largest_coordinate(offsets: np.ndarray) -> np.ndarray:
    """Directions up to the root of d long."""
    largest = np.maximum(np.abs(offsets).max(axis=1, keepdims=True), 1e-300)
    return np.trunc(directions.LENGTH * offsets / largest)


def whole_weights(weights: np.ndarray) -> np.ndarray:
    return np.where(np.arange(len(weights)) > 0, float(STEP), weights)


def first_coordinate_alone(right: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A record outside the ball by its other coordinates keeps them."""

    def wrong(rows, radius, entrywise):
        others = np.rint(entrywise(rows[:, 1:], slice(None), radius / BALL)).sum(axis=0)
        return np.concatenate([right(rows[:, :1], radius, entrywise), others.astype(np.int64)])

    return wrong


def without_clipping(norm: float, rows: np.ndarray) -> np.ndarray:
    return (np.isnan(rows).sum(axis=0) * (BALL / norm)).astype(np.int64)


def votes_of_all(space: Space, ball: Ball, levels: np.ndarray) -> np.ndarray:
    alone = [replace(ball, scale=np.where(np.arange(space.dimension) == j, 1.0, 1e300)) for j in range(space.dimension)]
    return sum(votes(space, each, levels) for each in alone)


def signed(right: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def wrong(self, unit, values, columns, step=1.0):
        return np.copysign(right(self, unit, values, columns, step), values)

    return wrong


def whole_pairs(pairs: int, of: int, share: Fraction) -> int:
    """The target of a ring rounded to whole pairs."""
    return (pairs - round(share * of)) * SEARCH_STEPS


def uncharged(self: Session, event: Gaussian) -> ChargedNoise:
    return ChargedNoise(replace(event, stddev=1.0), self._noise)


OWN_LINE = ("outer products", "second count")  # charged on lines of their own
MUTANTS: dict[str, tuple[str, Mutant]] = {  # what is wrong -> the query that shows it
    **{f"0.7 of what moves: {name}": (name, understated(0.7)) for name in QUERIES if name not in OWN_LINE},
    "sum charged as an arrival": ("sum clipped", as_arrivals(views, "CHANGED_RECORDS")),
    "shell charged as an arrival": ("shell sum", as_arrivals(views, "CHANGED_RECORDS")),
    "shell keeps what lies within": (
        "shell sum",
        made(clip, "_shrinkage", lambda right: lambda squares, _: right(squares)),
    ),
    "lengths charged as an arrival": ("lengths", as_arrivals(views, "CHANGED_RECORDS")),
    "votes charged as an arrival": ("votes", as_arrivals(views, "CHANGED_RECORDS")),
    "a vote in every column": ("votes", instead(views, "votes", votes_of_all)),
    "histogram charged as an arrival": ("soft histogram", as_arrivals(views, "CHANGED_RECORDS")),
    "scores charged as an arrival": ("scores", as_arrivals(views, "SCORE_SENSITIVITY")),
    "missing charged as an arrival": ("missing by column", as_arrivals(views, "SCORE_SENSITIVITY")),
    "products charged as an arrival": ("outer products", as_arrivals(outer, "OUTER_SENSITIVITY")),
    "togetherness charged as an arrival": ("togetherness", as_arrivals(outer, "OUTER_SENSITIVITY")),
    "ring charged as an arrival": ("ring scores", as_arrivals(pairs, "RING_SENSITIVITY")),
    "ring charged for two pairs": ("ring scores", made(pairs, "RING_SENSITIVITY", lambda known: {**known, ADD: 2.0})),
    "ring's target in whole pairs": ("ring lengths", instead(pairs, "excess", whole_pairs)),
    "friends charged one record": ("friends", instead(pairs, "share_sensitivity", lambda *_: 1.0)),
    "answers charged as one": ("within", instead(math, "sqrt", lambda _: 1.0)),
    "half the noise": ("sum clipped", made(Session, "_release", halved)),
    "noise that is not charged": ("second count", instead(Session, "_charge", uncharged)),
    "clipped to nearest": ("sum clipped", instead(clip, "_shorten", rounded_to_nearest)),
    "not clipped": ("capped sum", instead(clip, "_shorten", lambda steps, *_: steps)),
    "scores with a sign": ("scores", made(Scoring, "scores", signed)),
    "missing entries not clipped": ("missing by column", instead(views, "clip_missing", without_clipping)),
    "weights of two whole cells": ("soft histogram", made(soft_histogram, "_NEXT", whole_weights)),
    "directions 2% too long": ("outer products", made(directions, "unit_steps", longer)),
    "directions by largest coordinate": (
        "togetherness",
        instead(directions, "unit_steps", by_largest_coordinate),
    ),
    "squares clipped by one coordinate": ("unevenness", made(directions, "total_clipped", first_coordinate_alone)),
    "42 beside the diagonal": ("outer products", instead(outer, "CROSS", 42)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(monkeypatch, name):
    query, change = MUTANTS[name]
    change(monkeypatch)
    found = next(complaints(query), "")
    assert found
    assert "arrival" not in name or found.startswith("replace-one")
