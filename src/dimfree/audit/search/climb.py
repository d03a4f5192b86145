"""Hill climbing over pairs of small neighbouring tables, toward the pair with the largest divergence.

A target is a mechanism whose divergence on two given tables is known without sampling: the real code with noise that
draws nothing, or its exact law. So the result is a certain lower bound on epsilon.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.audit.exact.divergence import Divergence, true_epsilon
from dimfree.audit.pairs.pair import Pair, Table
from dimfree.audit.search.moves import ClusteredPair, Domain, moved
from dimfree.simulation import public_simulation

WIDEST = 8  # coordinates of a pair that is climbed from; wider ones are only scored
_STRIDES = (12, 48, 192)  # moves from every start between two comparisons, round by round
_TOLERANCE = 0.2  # of a score: what a step down may lose, at most
_PATIENCE = 4  # rounds without progress before a restart
_FEWEST = 3  # starts that are kept
_FAR, _AGAIN = 12, 2  # moves of a restart, and restarts of each start


@dataclass(frozen=True)
class Target:
    """A claim, its true divergence on two tables, and where to search.

    `score` guides the climb: quick to compute, and larger where epsilon is larger.
    """

    mechanism: str
    relation: Neighbours
    epsilon: float
    delta: float
    score: Callable[[Table, Table], float]
    divergence: Callable[[Table, Table], Divergence]
    starts: tuple[Pair, ...]
    domain: Domain


@dataclass(frozen=True)
class WorstPair:
    """The worst pair found: epsilon is certainly at least `found`, at the claimed delta."""

    mechanism: str
    relation: Neighbours
    epsilon: float
    delta: float
    found: float
    tried: int
    pair: Pair
    detail: str

    @property
    def violated(self) -> bool:
        """Beyond rounding. Claims keep some delta for noise on a grid (M8), so it may be read as continuous."""
        return self.found > self.epsilon * (1 + 1e-6) + 1e-9


@dataclass
class _Limit:
    """Time and tries that are left."""

    end: float
    tries: float
    tried: int = 0

    @property
    def reached(self) -> bool:
        return self.tried >= self.tries or time.monotonic() >= self.end


@dataclass(frozen=True, order=True)
class _Scored:
    """A pair, its score, and the name of the start that it came from."""

    score: float
    start: str = field(compare=False)
    pair: Pair = field(compare=False)
    clusters: ClusteredPair | None = field(compare=False)  # None: too wide to climb from

    @classmethod
    def of(cls, target: Target, start: str, clusters: ClusteredPair) -> "_Scored":
        pair = clusters.pair(f"searched from {start}")
        return cls(target.score(pair.here, pair.there), start, pair, clusters)


def find_worst_pair(target: Target, seconds: float = math.inf, tries: float = math.inf, seed: int = 1) -> WorstPair:
    """The worst pair within a time or a number of tries; with a number of tries alone, the same every time.

    All starts climb for some moves and the better half goes on. Without progress the climb restarts from the starts
    after many random moves.
    """
    limit, rng = _Limit(time.monotonic() + seconds, tries), public_simulation(seed)
    first = sorted(_first(target, limit), reverse=True)
    best, turn, waited = first[0], 0, 0
    starts = kept = [each for each in first if each.clusters is not None]
    while kept and not limit.reached:
        stride = _STRIDES[min(turn, len(_STRIDES) - 1)]
        climbed = sorted((_climbed(target, each, stride, limit, rng) for each in kept), reverse=True)
        turn, waited = turn + 1, 0 if climbed[0] > kept[0] else waited + 1
        best, kept = max(best, climbed[0]), climbed[: max(_FEWEST, len(climbed) // 2)]
        if waited == _PATIENCE:
            kept = sorted((_restarted(target, each, limit, rng) for each in starts * _AGAIN), reverse=True)
            turn = waited = 0
    return _reported(target, best, limit.tried)


def _first(target: Target, limit: _Limit) -> Iterator[_Scored]:
    """The starts as they are; at least one, whatever the limit."""
    for pair in target.starts:
        if limit.tried and limit.reached:
            return
        limit.tried += 1
        clusters = ClusteredPair.of(pair) if pair.here.shape[1] <= WIDEST else None
        yield _Scored(target.score(pair.here, pair.there), pair.name, pair, clusters)


def _climbed(target: Target, start: _Scored, moves: int, limit: _Limit, rng: np.random.Generator) -> _Scored:
    """The best of so many moves; equal scores are accepted, and now and then a lower one."""
    best = now = start
    for _ in range(moves):
        assert now.clusters is not None
        clusters = moved(now.clusters, target.domain, rng)
        if limit.reached:
            break
        if clusters == now.clusters:
            continue
        limit.tried += 1
        tried = _Scored.of(target, start.start, clusters)
        if tried.score >= now.score - _TOLERANCE * rng.random() ** 3 * abs(now.score):
            now = tried
            best = max(now, best)  # of equals the later one
    return best


def _restarted(target: Target, start: _Scored, limit: _Limit, rng: np.random.Generator) -> _Scored:
    """Many moves from here, whatever their score."""
    assert start.clusters is not None
    clusters = start.clusters
    for _ in range(_FAR):
        clusters = moved(clusters, target.domain, rng)
    limit.tried += 1
    return _Scored.of(target, start.start, clusters)


def _reported(target: Target, best: _Scored, tried: int) -> WorstPair:
    pair = best.pair
    found = true_epsilon(target.divergence(pair.here, pair.there), target.delta * (1 + 1e-9) + 1e-12)
    claim = target.mechanism, target.relation, target.epsilon, target.delta
    detail = pair.name if best.clusters is None else f"{pair.name}: {best.clusters}"
    return WorstPair(*claim, found, tried, pair, detail)
