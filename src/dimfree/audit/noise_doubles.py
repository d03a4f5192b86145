"""Noise doors of the audit: one that draws in bulk, one that draws every outcome in turn, one that draws nothing.

`Pooled` is as private as the door behind it and much quicker for small draws. `Forked` turns the code under audit into
the exact law of its output. `Asked` shows what the code asked for.
"""

import math
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dimfree._types import Integers
from dimfree.errors import NoiseMisuse
from dimfree.noise import Noise

Law = dict[Hashable, float]
Masses = Mapping[int, float]

_LARGEST_POOL = 512  # the price of a fetch is that of about 20 draws
_MOST_POOLS = 1024


@dataclass
class Pooled:
    """Hands out the draws of another door; draws of one scale are fetched together, more each time."""

    door: Noise
    _pools: dict[tuple[str, float], Integers] = field(default_factory=dict)
    _fetched: dict[tuple[str, float], int] = field(default_factory=lambda: defaultdict(int))
    _owner: tuple[int, int] = field(default_factory=lambda: (os.getpid(), threading.get_ident()))

    @property
    def private(self) -> bool:
        return self.door.private

    def gaussian(self, stddev: float, size: int) -> Integers:
        return self._take(("gaussian", stddev), size)

    def laplace(self, scale: float, size: int) -> Integers:
        return self._take(("laplace", scale), size)

    def coin(self, numerator: int, denominator: int) -> bool:
        return self.door.coin(numerator, denominator)

    def below(self, bound: int, size: int) -> Integers:
        return self.door.below(bound, size)

    def _take(self, key: tuple[str, float], size: int) -> Integers:
        """Every draw is handed out once: the pool keeps what lies beyond. A copy of it elsewhere would not."""
        if (os.getpid(), threading.get_ident()) != self._owner:
            raise NoiseMisuse("A pool of noise belongs to the process and the thread that opened it; open another.")
        pool = self._pools.get(key, np.zeros(0, dtype=np.int64))
        if len(pool) < size:
            pool = np.concatenate([pool, self._fetch(key, size)])
        self._pools.pop(key, None)
        self._pools[key] = pool[size:]  # last in line
        return pool[:size]

    def _fetch(self, key: tuple[str, float], size: int) -> Integers:
        if len(self._pools) > _MOST_POOLS:  # scales that depend on released numbers never come back
            oldest = next(iter(self._pools))
            del self._pools[oldest]
            self._fetched.pop(oldest, None)  # never fetched, if nothing was asked for
        count = max(size, min(_LARGEST_POOL, 2 * self._fetched[key]))
        self._fetched[key] += count
        kind, scale = key
        return self.door.gaussian(scale, count) if kind == "gaussian" else self.door.laplace(scale, count)


class Forked:
    """One path through all the draws that a mechanism can meet; `choices` says which way it went at every fork."""

    private = False

    def __init__(self, choices: list[int], masses: Callable[[float], Masses]) -> None:
        self.choices, self.masses = choices, masses
        self.ways: list[int] = []  # how many ways there were at each fork
        self.probability = 1.0

    def laplace(self, scale: float, size: int) -> Integers:
        masses = self.masses(scale)
        values, weights = list(masses), list(masses.values())
        return np.array([values[self._fork(weights)] for _ in range(size)], dtype=np.int64)

    def gaussian(self, stddev: float, size: int) -> Integers:
        return self.laplace(stddev, size)

    def coin(self, numerator: int, denominator: int) -> bool:
        return self._fork([1 - numerator / denominator, numerator / denominator]) == 1

    def below(self, bound: int, size: int) -> Integers:
        return np.array([self._fork([1 / bound] * bound) for _ in range(size)], dtype=np.int64)

    def _fork(self, weights: list[float]) -> int:
        depth = len(self.ways)
        if depth == len(self.choices):
            self.choices.append(0)
        self.ways.append(len(weights))
        self.probability *= weights[self.choices[depth]]
        return self.choices[depth]


def exact_law(mechanism: Callable[[Noise], Hashable], masses: Callable[[float], Masses]) -> Law:
    """{output: probability} of the code itself: it runs once for every way the draws can fall.

    `masses(scale)` gives the noise of a scale; what it leaves out is left out of the law.
    """
    found: dict[Hashable, list[float]] = defaultdict(list)
    choices: list[int] = []
    while True:
        door = Forked(choices, masses)
        found[mechanism(door)].append(door.probability)
        while choices and choices[-1] + 1 == door.ways[len(choices) - 1]:
            choices.pop()
        if not choices:
            return {outcome: math.fsum(parts) for outcome, parts in found.items()}
        choices[-1] += 1


@dataclass
class Asked:
    """Draws zeros and heads, and remembers (kind, scale, size) of everything asked for."""

    private: bool = False
    asked: list[tuple[str, float, int]] = field(default_factory=list)

    def gaussian(self, stddev: float, size: int) -> Integers:
        self.asked.append(("gaussian", stddev, size))
        return np.zeros(size, dtype=np.int64)

    def laplace(self, scale: float, size: int) -> Integers:
        self.asked.append(("laplace", scale, size))
        return np.zeros(size, dtype=np.int64)

    def coin(self, numerator: int, denominator: int) -> bool:
        self.asked.append(("coin", numerator, denominator))
        return True

    def below(self, bound: int, size: int) -> Integers:
        self.asked.append(("below", bound, size))
        return np.zeros(size, dtype=np.int64)
