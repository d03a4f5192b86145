"""A climb over pairs of small neighbouring tables, toward the pair that tells most about the record between them.

What is hunted is a mechanism whose divergence on two given tables is known without sampling: the real code behind a
door that draws nothing, or its exact law. So whatever the climb ends at is a certain lower bound on epsilon.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.audit.laws.exact import World, true_epsilon
from dimfree.audit.neighbours import Pair, Table
from dimfree.audit.search.moves import Herd, Terrain, moved
from dimfree.noise import public_simulation

WIDEST = 8  # coordinates of a pair that is climbed from; wider ones are tried as they are
_STRIDES = (12, 48, 192)  # moves from every start between two comparisons, round by round
_TOLERANCE = 0.2  # of a score: what a step down may lose, at most
_PATIENCE = 4  # rounds without progress before other tables are taken
_FEWEST = 3  # starts that are kept
_FAR, _AGAIN = 12, 2  # moves to another table, and how many are made of each start


@dataclass(frozen=True)
class Quarry:
    """A claim, what two tables really give away, and where to look.

    `score` is what the climb goes by: quick, and rising where epsilon would; `world` is the truth about two tables.
    """

    mechanism: str
    relation: Neighbours
    epsilon: float
    delta: float
    score: Callable[[Table, Table], float]
    world: Callable[[Table, Table], World]
    starts: tuple[Pair, ...]
    terrain: Terrain


@dataclass(frozen=True)
class Hunted:
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
class _Standing:
    """A pair on the way, how far up it is, and the name of the pair that it came from."""

    score: float
    start: str = field(compare=False)
    pair: Pair = field(compare=False)
    herd: Herd | None = field(compare=False)  # None: too wide to climb from


def hunt(quarry: Quarry, seconds: float = math.inf, tries: float = math.inf, seed: int = 1) -> Hunted:
    """The worst pair within a time or a number of tries; with the latter alone, the same every time.

    All starts climb for a while, the better half goes on. When nothing has moved for long, other tables are taken:
    the starts after many random moves.
    """
    limit, coins = _Limit(time.monotonic() + seconds, tries), public_simulation(seed)
    standing = sorted(_first(quarry, limit), reverse=True)
    best, turn, waited = standing[0], 0, 0
    starts = pack = [each for each in standing if each.herd is not None]
    while pack and not limit.reached:
        stride = _STRIDES[min(turn, len(_STRIDES) - 1)]
        grown = sorted((_climbed(quarry, each, stride, limit, coins) for each in pack), reverse=True)
        turn, waited = turn + 1, 0 if grown[0] > pack[0] else waited + 1
        best, pack = max(best, grown[0]), grown[: max(_FEWEST, len(grown) // 2)]
        if waited == _PATIENCE:
            pack = sorted((_elsewhere(quarry, each, limit, coins) for each in starts * _AGAIN), reverse=True)
            turn = waited = 0
    return _reported(quarry, best, limit.tried)


def _first(quarry: Quarry, limit: _Limit) -> Iterator[_Standing]:
    """The starts as they are; at least one, whatever the limit."""
    for pair in quarry.starts:
        if limit.tried and limit.reached:
            return
        limit.tried += 1
        herd = Herd.of(pair) if pair.here.shape[1] <= WIDEST else None
        yield _Standing(quarry.score(pair.here, pair.there), pair.name, pair, herd)


def _climbed(quarry: Quarry, start: _Standing, moves: int, limit: _Limit, coins: np.random.Generator) -> _Standing:
    """The best of so many moves; plateaus are crossed, and now and then a step down is taken."""
    best = now = start
    for _ in range(moves):
        assert now.herd is not None
        herd = moved(now.herd, quarry.terrain, coins)
        if limit.reached:
            break
        if herd == now.herd:
            continue
        limit.tried += 1
        pair = herd.pair(f"hunted from {start.start}")
        score = quarry.score(pair.here, pair.there)
        if score >= now.score - _TOLERANCE * coins.random() ** 3 * abs(now.score):
            now = _Standing(score, start.start, pair, herd)
            best = max(now, best)  # of equals the later one
    return best


def _elsewhere(quarry: Quarry, start: _Standing, limit: _Limit, coins: np.random.Generator) -> _Standing:
    """Many moves from here, whatever they score."""
    assert start.herd is not None
    herd = start.herd
    for _ in range(_FAR):
        herd = moved(herd, quarry.terrain, coins)
    limit.tried += 1
    pair = herd.pair(f"hunted from {start.start}")
    return _Standing(quarry.score(pair.here, pair.there), start.start, pair, herd)


def _reported(quarry: Quarry, best: _Standing, tried: int) -> Hunted:
    pair = best.pair
    found = true_epsilon(quarry.world(pair.here, pair.there), quarry.delta * (1 + 1e-9) + 1e-12)
    claim = quarry.mechanism, quarry.relation, quarry.epsilon, quarry.delta
    detail = pair.name if best.herd is None else f"{pair.name}: {best.herd}"
    return Hunted(*claim, found, tried, pair, detail)
