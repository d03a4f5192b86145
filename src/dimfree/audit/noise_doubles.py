"""Noise sources that the audit uses in place of the real one.

`PooledNoise` draws from a real source in bulk: as private, and much quicker for small draws. `BranchingNoise` goes
through every outcome and gives the exact law of an output. `ZeroNoise` draws nothing and records what was asked for.
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

_LARGEST_POOL = 512  # a fetch costs about as much as 20 draws
_MOST_POOLS = 1024


@dataclass
class PooledNoise:
    """Draws of another source, each handed out once; draws of one scale are fetched together, more each time."""

    source: Noise
    _pools: dict[tuple[str, float], Integers] = field(default_factory=dict)
    _fetched: dict[tuple[str, float], int] = field(default_factory=lambda: defaultdict(int))
    _owner: tuple[int, int] = field(default_factory=lambda: (os.getpid(), threading.get_ident()))

    @property
    def private(self) -> bool:
        return self.source.private

    def gaussian(self, stddev: float, size: int) -> Integers:
        return self._take(("gaussian", stddev), size)

    def laplace(self, scale: float, size: int) -> Integers:
        return self._take(("laplace", scale), size)

    def coin(self, numerator: int, denominator: int) -> bool:
        return self.source.coin(numerator, denominator)

    def below(self, bound: int, size: int) -> Integers:
        return self.source.below(bound, size)

    def _take(self, key: tuple[str, float], size: int) -> Integers:
        """Every draw is handed out once: the pool keeps the rest. A copy in another process or thread would not."""
        if (os.getpid(), threading.get_ident()) != self._owner:
            raise NoiseMisuse("A pool of noise belongs to the process and the thread that opened it; open another.")
        pool = self._pools.get(key, np.zeros(0, dtype=np.int64))
        if len(pool) < size:
            pool = np.concatenate([pool, self._fetch(key, size)])
        self._pools.pop(key, None)
        self._pools[key] = pool[size:]  # as the newest
        return pool[:size]

    def _fetch(self, key: tuple[str, float], size: int) -> Integers:
        if len(self._pools) > _MOST_POOLS:  # scales that depend on released numbers are not asked for again
            oldest = next(iter(self._pools))
            del self._pools[oldest]
            self._fetched.pop(oldest, None)  # absent if nothing was fetched
        count = max(size, min(_LARGEST_POOL, 2 * self._fetched[key]))
        self._fetched[key] += count
        kind, scale = key
        return self.source.gaussian(scale, count) if kind == "gaussian" else self.source.laplace(scale, count)


class BranchingNoise:
    """One path through all outcomes of a mechanism's draws; `choices` holds the branch taken at every draw."""

    private = False

    def __init__(self, choices: list[int], masses: Callable[[float], Masses]) -> None:
        self.choices, self.masses = choices, masses
        self.branches: list[int] = []  # how many there were at each draw
        self.probability = 1.0

    def laplace(self, scale: float, size: int) -> Integers:
        masses = self.masses(scale)
        values, weights = list(masses), list(masses.values())
        return np.array([values[self._branch(weights)] for _ in range(size)], dtype=np.int64)

    def gaussian(self, stddev: float, size: int) -> Integers:
        return self.laplace(stddev, size)

    def coin(self, numerator: int, denominator: int) -> bool:
        return self._branch([1 - numerator / denominator, numerator / denominator]) == 1

    def below(self, bound: int, size: int) -> Integers:
        return np.array([self._branch([1 / bound] * bound) for _ in range(size)], dtype=np.int64)

    def _branch(self, weights: list[float]) -> int:
        depth = len(self.branches)
        if depth == len(self.choices):
            self.choices.append(0)
        self.branches.append(len(weights))
        self.probability *= weights[self.choices[depth]]
        return self.choices[depth]


def exact_law(mechanism: Callable[[Noise], Hashable], masses: Callable[[float], Masses]) -> Law:
    """{output: probability} of the code itself: it runs once for every outcome of its draws.

    `masses(scale)` is the distribution of the noise; mass that it leaves out is left out of the law.
    """
    found: dict[Hashable, list[float]] = defaultdict(list)
    choices: list[int] = []
    while True:
        noise = BranchingNoise(choices, masses)
        found[mechanism(noise)].append(noise.probability)
        while choices and choices[-1] + 1 == noise.branches[len(choices) - 1]:
            choices.pop()
        if not choices:
            return {outcome: math.fsum(parts) for outcome, parts in found.items()}
        choices[-1] += 1


@dataclass
class ZeroNoise:
    """Draws zeros and heads, chooses the best, and records (kind, scale, size) of everything asked for."""

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


@dataclass
class ConstantNoise(ZeroNoise):
    """Gaussian and uniform draws are the numbers given; with `once` only the first draw, and zeros after it."""

    draw: int = 0
    uniform: int = 0
    once: bool = False

    def gaussian(self, stddev: float, size: int) -> Integers:
        return super().gaussian(stddev, size) + (0 if self.once and len(self.asked) > 1 else self.draw)

    def below(self, bound: int, size: int) -> Integers:
        return super().below(bound, size) + self.uniform
