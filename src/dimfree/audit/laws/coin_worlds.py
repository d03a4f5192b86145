"""Tiny worlds of secret coins: the paper's filter, the Poisson sample, groups in slots.

Coins alone promise nothing; each is put before a count of what it leaves, with noise that is exactly private.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from dimfree.accounting.lifting import before_lifting
from dimfree.audit.laws.exact import World, laws
from dimfree.audit.laws.gaussian_worlds import no_noise
from dimfree.audit.noise_doubles import Law, exact_law
from dimfree.core import basic
from dimfree.core.friends import friend_counts
from dimfree.core.subsample import poisson_sample
from dimfree.geometry.grid import RADIUS
from dimfree.noise import Noise
from dimfree.paper.grouping import Layout, slots

Labels = tuple[int, ...]
Sampler = Callable[[int, Noise], NDArray[np.bool_]]
Grouping = Callable[[int, int, int, Noise], Layout]

RATE = 0.75  # of the sample; a whole number of 2^-32
GROUPS, GROUP = 2, 2


# ---- the paper's filter


def lifted(epsilon: float, delta: float) -> World:
    """The paper's coins before a counting mechanism that is private on friendly data at what P1 leaves (pure)."""
    return filtered_world(before_lifting(epsilon, 0.5)[0])


def filtered_world(inner: float, most: int = 4) -> World:
    """Tables of at most `most` records on a line, with every table that lacks one of them."""
    places = (0, RADIUS, -RADIUS, 2 * RADIUS)

    def law(table: Labels) -> Law:
        counts = friend_counts(np.array(table, dtype=np.int64).reshape(-1, 1))
        kept = exact_law(lambda noise: int(basic.keep(counts, noise).sum()), no_noise)
        return noisy_number(kept, inner, 0, most)

    tables = [table for size in range(1, most + 1) for table in combinations_with_replacement(sorted(places), size)]
    return laws(law, [(t, t[:j] + t[j + 1 :]) for t in tables for j in range(len(t))])


def noisy_number(numbers: Law, inner: float, least: int, most: int) -> Law:
    """A whole number plus two-sided geometric noise, held within least … most: tight at `inner`."""
    q = math.exp(-inner)
    found: Law = dict.fromkeys(range(least, most + 1), 0.0)
    for number, chance in numbers.items():
        for outcome in range(least, most + 1):
            edge = 1 / (1 + q) if outcome in (least, most) else (1 - q) / (1 + q)
            found[outcome] += chance * edge * q ** abs(outcome - number)  # type: ignore[operator]
    return found


# ---- the sample


@dataclass
class CoarseDoor:
    """Uniform draws below a bound, told only as far as the code can tell: on which side of `cut` of it they fall."""

    noise: Noise
    cut: float
    private: bool = False

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        edge = int(self.cut * bound)
        return np.array([0 if self.noise.coin(edge, bound) else bound - 1 for _ in range(size)], dtype=np.int64)


def sampled(epsilon: float, delta: float) -> World:
    """`poisson_sample` before a noisy sum of records that say -1 or 1; one more record."""
    return sampled_world(epsilon, lambda count, noise: poisson_sample(count, RATE, _coarse(noise)))


def _coarse(noise: Noise) -> Noise:
    return CoarseDoor(noise, RATE)  # type: ignore[return-value]


def sampled_world(epsilon: float, sampler: Sampler, most: int = 4) -> World:
    """Tables of at most `most` records and every table that lacks one of them."""

    def law(table: Labels) -> Law:
        said = np.array(table, dtype=np.int64)
        total = exact_law(lambda noise: int(said[sampler(len(said), noise)].sum()), no_noise)
        return noisy_number(total, epsilon, -most, most)

    tables = [table for size in range(1, most + 1) for table in combinations_with_replacement((-1, 1), size)]
    return laws(law, [(t, t[:j] + t[j + 1 :]) for t in tables for j in range(len(t))])


# ---- groups


@dataclass
class OrderDoor:
    """Keys in every order, equally likely; the second keys, which break ties that 2^62 values never have, are zero."""

    noise: Noise
    private: bool = False
    asked: int = 0

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        self.asked += 1
        if self.asked > 1:
            return np.zeros(size, dtype=np.int64)
        left = list(range(size))
        return np.array([left.pop(int(self.noise.below(len(left), 1)[0])) for _ in range(size)], dtype=np.int64)


def grouped(epsilon: float, delta: float) -> World:
    """`slots` before a noisy count of the groups whose members agree; one more record."""
    return grouped_world(epsilon, lambda count, groups, size, noise: slots(count, groups, size, _ordered(noise)))


def _ordered(noise: Noise) -> Noise:
    return OrderDoor(noise)  # type: ignore[return-value]


def grouped_world(epsilon: float, grouping: Grouping, most: int = 5) -> World:
    """Records with a label each, in an order: up to `most` of them, and the tables that lack one."""

    def law(table: Labels) -> Law:
        said = np.array([*table, -1])  # the last one is an empty slot

        def agreeing(noise: Noise) -> int:
            members = said[grouping(len(table), GROUPS, GROUP, noise)]
            return int(((members[:, 0] == members[:, 1]) & (members[:, 0] >= 0)).sum())

        return noisy_number(exact_law(agreeing, no_noise), epsilon, 0, GROUPS)

    tables: list[Labels] = [(0, 0, 1, 1, 2), (0, 0, 0, 1, 1), (0, 0, 0, 0, 1), (0, 1, 1, 2), (0, 0, 1), (0, 0)]
    return laws(law, [(t, t[:j] + t[j + 1 :]) for t in tables if len(t) <= most for j in range(len(t))])
