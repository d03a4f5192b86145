"""Two neighbouring tables as camps of records, and the moves by which a hunt turns one such pair into another."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dimfree.accounting.budget import Neighbours
from dimfree.audit.neighbours import Pair, Table

Spot = tuple[float, ...]
Coins = np.random.Generator


@dataclass(frozen=True, repr=False)
class Herd:
    """Camps of records that share a spot, and the record (or two) that tells the tables apart."""

    camps: tuple[tuple[int, Spot], ...]
    one: Spot
    other: Spot | None  # None: add/remove

    @classmethod
    def of(cls, pair: Pair) -> "Herd":
        here, there = (Counter(map(tuple, _dense(table).tolist())) for table in (pair.here, pair.there))
        gone, new = (next(iter(left.elements()), None) for left in (here - there, there - here))
        camps = tuple((times, spot) for spot, times in (here & there).items())
        one, other = (gone, new) if gone is not None else (new, None)
        return cls(camps, one, other)  # type: ignore[arg-type]  # neighbours differ

    @property
    def size(self) -> int:
        """Of the larger table."""
        return 1 + sum(times for times, _ in self.camps)

    def pair(self, name: str) -> Pair:
        """With the record and without it, or with either of two."""
        spots = np.array([spot for _, spot in self.camps], dtype=np.float64).reshape(-1, len(self.one))
        crowd = np.repeat(spots, [times for times, _ in self.camps], axis=0)
        here = np.vstack([crowd, [self.one]])
        if self.other is None:
            return Pair(name, Neighbours.ADD_REMOVE, here, crowd)
        return Pair(name, Neighbours.REPLACE_ONE, here, np.vstack([crowd, [self.other]]))

    def gathered(self) -> "Herd":
        """Camps on the same spot become one; empty ones are gone."""
        times: Counter[Spot] = Counter()
        for count, spot in self.camps:
            times[spot] += count
        return replace(self, camps=tuple((count, spot) for spot, count in times.items() if count > 0))

    def __str__(self) -> str:
        camps = ", ".join(f"{times} × {_shown(spot)}" for times, spot in self.camps)
        last = "present or absent" if self.other is None else f"or {_shown(self.other)}"
        return f"{camps or 'nobody'}; {_shown(self.one)} {last}"


def _shown(spot: Spot) -> str:
    return "(" + " ".join(f"{x:.7g}" for x in spot[:3]) + (" …)" if len(spot) > 3 else ")")


def _dense(table: Table) -> NDArray[np.float64]:
    return np.asarray(table.toarray() if sparse.issparse(table) else table, dtype=np.float64)


@dataclass(frozen=True)
class Terrain:
    """Where records may stand: values that a coordinate may take, steps that it may move by, and how many there are."""

    marks: tuple[float, ...]
    steps: tuple[float, ...] = ()
    fewest: int = 2  # records of the larger table
    most: int = 12

    def holds(self, herd: Herd) -> bool:
        return self.fewest <= herd.size <= self.most and herd.one != herd.other


def moved(herd: Herd, terrain: Terrain, coins: Coins) -> Herd:
    """One random move, sometimes two or three at once; the same herd where it would leave the terrain."""
    found = herd
    for _ in range(1 + int(coins.integers(3)) * int(coins.integers(2))):
        found = _MOVES[coins.integers(len(_MOVES))](found, terrain, coins)
    found = found.gathered()
    return found if terrain.holds(found) else herd


# ---- the moves. An actor is a camp, the one record or the other


def _spots(herd: Herd) -> list[Spot]:
    ends = [herd.one] if herd.other is None else [herd.one, herd.other]
    return [*(spot for _, spot in herd.camps), *ends]


def _placed(herd: Herd, actor: int, spot: Spot) -> Herd:
    """The herd with one actor somewhere else."""
    if actor < len(herd.camps):
        camps = list(herd.camps)
        camps[actor] = (camps[actor][0], spot)
        return replace(herd, camps=tuple(camps))
    return replace(herd, one=spot) if actor == len(herd.camps) else replace(herd, other=spot)


def _changed(spot: Spot, terrain: Terrain, coins: Coins) -> Spot:
    """One coordinate on a mark, or a step away from where it was."""
    place = int(coins.integers(len(spot)))
    if terrain.steps and coins.integers(2):
        value = spot[place] + terrain.steps[coins.integers(len(terrain.steps))] * (1 - 2 * int(coins.integers(2)))
    else:
        value = terrain.marks[coins.integers(len(terrain.marks))]
    return (*spot[:place], value, *spot[place + 1 :])


def _shift(herd: Herd, terrain: Terrain, coins: Coins) -> Herd:
    spots = _spots(herd)
    actor = int(coins.integers(len(spots)))
    return _placed(herd, actor, _changed(spots[actor], terrain, coins))


def _differ(herd: Herd, terrain: Terrain, coins: Coins) -> Herd:
    """The record that tells the tables apart, or its counterpart, moves."""
    spots = _spots(herd)
    actor = int(coins.integers(len(herd.camps), len(spots)))
    return _placed(herd, actor, _changed(spots[actor], terrain, coins))


def _copy(herd: Herd, terrain: Terrain, coins: Coins) -> Herd:
    """An actor goes where another stands."""
    spots = _spots(herd)
    actor, model = (int(coins.integers(len(spots))) for _ in range(2))
    return _placed(herd, actor, spots[model])


def _some(herd: Herd, coins: Coins) -> tuple[int, int]:
    """A camp and how many of it: one, half or all."""
    camp = int(coins.integers(len(herd.camps)))
    times = herd.camps[camp][0]
    return camp, (1, max(1, times // 2), times)[coins.integers(3)]


def _split(herd: Herd, terrain: Terrain, coins: Coins) -> Herd:
    """Some of a camp go elsewhere: to a new spot, or where another actor stands."""
    if not herd.camps:
        return herd
    camp, some = _some(herd, coins)
    times, spot = herd.camps[camp]
    spots = _spots(herd)
    target = spots[coins.integers(len(spots))] if coins.integers(2) else _changed(spot, terrain, coins)
    rest = (*herd.camps[:camp], (times - some, spot), *herd.camps[camp + 1 :])
    return replace(herd, camps=(*rest, (some, target)))


def _recount(herd: Herd, terrain: Terrain, coins: Coins) -> Herd:
    """Bystanders come or go."""
    if not herd.camps:
        return replace(herd, camps=((1, herd.one),))
    camp, some = _some(herd, coins)
    times, spot = herd.camps[camp]
    new = times + some if coins.integers(2) else times - some
    return replace(herd, camps=(*herd.camps[:camp], (new, spot), *herd.camps[camp + 1 :]))


_MOVES: tuple[Callable[[Herd, Terrain, Coins], Herd], ...] = (_shift, _differ, _copy, _split, _recount)
