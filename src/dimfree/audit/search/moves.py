"""Two neighbouring tables as clusters of equal records, and the random moves of the search."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dimfree.accounting.budget import Neighbours
from dimfree.audit.pairs.pair import Pair, Table

Point = tuple[float, ...]
Rng = np.random.Generator


@dataclass(frozen=True, repr=False)
class ClusteredPair:
    """Clusters (how many records, their point) that both tables share, and the record or two that differ."""

    clusters: tuple[tuple[int, Point], ...]
    one: Point
    other: Point | None  # None: add/remove

    @classmethod
    def of(cls, pair: Pair) -> "ClusteredPair":
        here, there = (Counter(map(tuple, _dense(table).tolist())) for table in (pair.here, pair.there))
        gone, new = (next(iter(left.elements()), None) for left in (here - there, there - here))
        clusters = tuple((times, point) for point, times in (here & there).items())
        one, other = (gone, new) if gone is not None else (new, None)
        return cls(clusters, one, other)  # type: ignore[arg-type]  # neighbours differ

    @property
    def size(self) -> int:
        """Of the larger table."""
        return 1 + sum(times for times, _ in self.clusters)

    def pair(self, name: str) -> Pair:
        """As two tables."""
        points = np.array([point for _, point in self.clusters], dtype=np.float64).reshape(-1, len(self.one))
        shared = np.repeat(points, [times for times, _ in self.clusters], axis=0)
        here = np.vstack([shared, [self.one]])
        if self.other is None:
            return Pair(name, Neighbours.ADD_REMOVE, here, shared)
        return Pair(name, Neighbours.REPLACE_ONE, here, np.vstack([shared, [self.other]]))

    def gathered(self) -> "ClusteredPair":
        """Clusters on the same point become one; empty ones are gone."""
        times: Counter[Point] = Counter()
        for count, point in self.clusters:
            times[point] += count
        return replace(self, clusters=tuple((count, point) for point, count in times.items() if count > 0))

    def __str__(self) -> str:
        clusters = ", ".join(f"{times} × {_shown(point)}" for times, point in self.clusters)
        last = "present or absent" if self.other is None else f"or {_shown(self.other)}"
        return f"{clusters or 'no others'}; {_shown(self.one)} {last}"


def _shown(point: Point) -> str:
    return "(" + " ".join(f"{x:.7g}" for x in point[:3]) + (" …)" if len(point) > 3 else ")")


def _dense(table: Table) -> NDArray[np.float64]:
    return np.asarray(table.toarray() if sparse.issparse(table) else table, dtype=np.float64)


@dataclass(frozen=True)
class Domain:
    """Values that a coordinate may take, steps that it may move by, and how many records there may be."""

    values: tuple[float, ...]
    steps: tuple[float, ...] = ()
    fewest: int = 2  # records of the larger table
    most: int = 12

    def contains(self, given: ClusteredPair) -> bool:
        return self.fewest <= given.size <= self.most and given.one != given.other


def moved(given: ClusteredPair, domain: Domain, rng: Rng) -> ClusteredPair:
    """One random move, sometimes two or three at once; nothing changes where it would leave the domain."""
    found = given
    for _ in range(1 + int(rng.integers(3)) * int(rng.integers(2))):
        found = _MOVES[rng.integers(len(_MOVES))](found, domain, rng)
    found = found.gathered()
    return found if domain.contains(found) else given


# ---- the moves. A place numbers a point: the clusters, then the record or two that differ


def _points(given: ClusteredPair) -> list[Point]:
    ends = [given.one] if given.other is None else [given.one, given.other]
    return [*(point for _, point in given.clusters), *ends]


def _placed(given: ClusteredPair, place: int, point: Point) -> ClusteredPair:
    """With the point at one place changed."""
    if place < len(given.clusters):
        clusters = list(given.clusters)
        clusters[place] = (clusters[place][0], point)
        return replace(given, clusters=tuple(clusters))
    return replace(given, one=point) if place == len(given.clusters) else replace(given, other=point)


def _changed(point: Point, domain: Domain, rng: Rng) -> Point:
    """One coordinate takes another value of the domain, or moves by a step."""
    place = int(rng.integers(len(point)))
    if domain.steps and rng.integers(2):
        value = point[place] + domain.steps[rng.integers(len(domain.steps))] * (1 - 2 * int(rng.integers(2)))
    else:
        value = domain.values[rng.integers(len(domain.values))]
    return (*point[:place], value, *point[place + 1 :])


def _shift(given: ClusteredPair, domain: Domain, rng: Rng) -> ClusteredPair:
    points = _points(given)
    place = int(rng.integers(len(points)))
    return _placed(given, place, _changed(points[place], domain, rng))


def _differ(given: ClusteredPair, domain: Domain, rng: Rng) -> ClusteredPair:
    """The record that differs, or its counterpart, moves."""
    points = _points(given)
    place = int(rng.integers(len(given.clusters), len(points)))
    return _placed(given, place, _changed(points[place], domain, rng))


def _copy(given: ClusteredPair, domain: Domain, rng: Rng) -> ClusteredPair:
    """One point becomes equal to another."""
    points = _points(given)
    place, model = (int(rng.integers(len(points))) for _ in range(2))
    return _placed(given, place, points[model])


def _some(given: ClusteredPair, rng: Rng) -> tuple[int, int]:
    """A cluster and how many of it: one, half or all."""
    cluster = int(rng.integers(len(given.clusters)))
    times = given.clusters[cluster][0]
    return cluster, (1, max(1, times // 2), times)[rng.integers(3)]


def _split(given: ClusteredPair, domain: Domain, rng: Rng) -> ClusteredPair:
    """Some records of a cluster move to a new point or to that of another place."""
    if not given.clusters:
        return given
    cluster, some = _some(given, rng)
    times, point = given.clusters[cluster]
    points = _points(given)
    target = points[rng.integers(len(points))] if rng.integers(2) else _changed(point, domain, rng)
    rest = (*given.clusters[:cluster], (times - some, point), *given.clusters[cluster + 1 :])
    return replace(given, clusters=(*rest, (some, target)))


def _recount(given: ClusteredPair, domain: Domain, rng: Rng) -> ClusteredPair:
    """A cluster grows or shrinks."""
    if not given.clusters:
        return replace(given, clusters=((1, given.one),))
    cluster, some = _some(given, rng)
    times, point = given.clusters[cluster]
    new = times + some if rng.integers(2) else times - some
    return replace(given, clusters=(*given.clusters[:cluster], (new, point), *given.clusters[cluster + 1 :]))


_MOVES: tuple[Callable[[ClusteredPair, Domain, Rng], ClusteredPair], ...] = (_shift, _differ, _copy, _split, _recount)
