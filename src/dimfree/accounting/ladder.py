"""The stability bit: pass with probability p_T, T the stability statistic; only this bit is released (P6).

Letters: p_k = probability of passing at T = k, kept as an integer multiple of 2^-64; K = the length of the ladder,
after which it is constant; mu = precision released on the pass branch; x = a privacy loss.
Proof: proofs/accounting/ladder.md.
"""

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._types import Floats
from dimfree.accounting.precision import hockey_stick
from dimfree.accounting.profile import COARSE, total_delta

DENOMINATOR = 2**64
_START = 1.015  # the level x_0 at which the ladder is built, times epsilon: the best of a search over 0.94 … 1.06
_LANES = 40  # candidates for its failure mass delta_0
_MOST_STEPS = 4000


@dataclass(frozen=True)
class Ladder:
    """Pass probabilities for T = 0, 1, …, K, in units of 2^-64."""

    rungs: tuple[int, ...]

    def __post_init__(self) -> None:
        rising = all(low <= high for low, high in pairwise(self.rungs))
        if len(self.rungs) < 3 or not rising or not self.rungs[2] > 0 or self.rungs[-1] > DENOMINATOR:
            raise ValueError("A ladder has at least three rungs, rising, the third above 0, within the denominator.")

    @property
    def length(self) -> int:
        return len(self.rungs) - 1

    def numerator(self, statistic: int) -> int:
        return self.rungs[min(statistic, self.length)]

    def probabilities(self) -> Floats:
        return np.array([rung / DENOMINATOR for rung in self.rungs])

    def complements(self) -> Floats:
        """1 - p_k, from the integers, so that nothing cancels."""
        return np.array([(DENOMINATOR - rung) / DENOMINATOR for rung in self.rungs])


def tested_profile(ladder: Ladder, mu: float, x: ArrayLike) -> Floats:
    """D*(x): the profile of the bit followed by mu on pass, whatever the neighbouring statistics are (P6, P9)."""
    x = np.atleast_1d(np.asarray(x, dtype=np.float64))[:, None]
    p, refusal = ladder.probabilities()[2:], ladder.complements()[2:]
    here, there = _neighbouring(p)
    both_stable = here * hockey_stick(mu, x - np.log(here / there))
    here, there = _neighbouring(refusal)
    refused = np.maximum(0.0, here - np.exp(np.minimum(x, 700)) * there)
    unstable = p[0] + (1 - p[0]) * -np.expm1(np.minimum(x, 0))
    return np.maximum((both_stable + refused * (1 + 1e-12)).max(axis=1), unstable[:, 0]) * (1 + 1e-12)


def _neighbouring(values: Floats) -> tuple[Floats, Floats]:
    """Values at (k, k') for k = k', k = k' + 1 and k = k' - 1."""
    return np.concatenate([values, values[1:], values[:-1]]), np.concatenate([values, values[:-1], values[1:]])


@lru_cache(maxsize=256)
def shortest_ladder(epsilon: float, delta: float, mu_before: float, mu_after: float, failure: float) -> Ladder | None:
    """The shortest ladder reaching 1 - failure that is (epsilon, delta)-private together with mu_before and mu_after.

    A heuristic search: privacy rests only on the check in `_accepted` (P9). None if no ladder was found.
    """
    level = epsilon - _refusal_loss(mu_before, delta)
    if level <= 0:
        return None
    lanes = _climb(epsilon * _START, level, mu_after, delta, failure)
    return _accepted(lanes, epsilon, delta, mu_before, mu_after)


def _refusal_loss(mu_before: float, delta: float) -> float:
    """The y with h_{mu_before}(y) = delta / 100: the loss that earlier releases may add to that of a refusal."""
    if mu_before == 0:
        return 0.0
    low, high = 0.0, 1.0
    while hockey_stick(mu_before, high) > delta / 100:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if hockey_stick(mu_before, middle) > delta / 100 else (low, middle)
    return high


def _climb(start: float, level: float, mu: float, delta: float, failure: float) -> list[Ladder]:
    """Ladders built greedily at loss `start`, one for each candidate failure mass, smallest mass first.

    Candidates that take twice as many steps as the middle one are given up.
    """
    lowest = float(hockey_stick(mu, start))
    if lowest >= delta:
        return []
    mass = np.exp(np.linspace(math.log(max(lowest * 1.0001, delta * 1e-6)), math.log(delta), _LANES))
    rungs, rise = [mass, mass, mass], np.full_like(mass, np.inf)
    most = _MOST_STEPS
    while len(rungs) < most + 3:
        rise = _rise(rungs[-1], rise, mass, start, level, mu)
        rungs.append(np.minimum(rungs[-1] * np.exp(rise), 1 - (1 - rungs[-1]) * math.exp(-level)))
        if rungs[-1][0] >= 1 - failure and (rungs[-1] >= 1 - failure).all():
            break
        if most == _MOST_STEPS and rungs[-1][_LANES // 2] >= 1 - failure:
            most = min(most, 2 * len(rungs))
    return [ladder for lane in np.array(rungs).T if (ladder := _cut(lane, failure)) is not None]


def _rise(p: Floats, before: Floats, mass: Floats, start: float, level: float, mu: float) -> Floats:
    """ln(q/p) for the largest q allowed after p, by bisection on every lane at once; the lower end is kept.

    Rises change slowly from rung to rung, so the search starts near the last one.
    """

    def fits(rise: Floats) -> NDArray[np.bool_]:
        return p * np.exp(rise) * hockey_stick(mu, start - rise) <= mass

    ceiling = np.log((1 - (1 - p) * math.exp(-level)) / p)
    high = np.minimum(1.25 * before, ceiling)
    high = np.where(fits(high), ceiling, high)
    low = np.where(fits(high / 2), high / 2, 0.0)
    for _ in range(16):
        middle = (low + high) / 2
        good = fits(middle)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return low


def _cut(lane: NDArray[np.float64], failure: float) -> Ladder | None:
    """The lane up to the first rung that reaches 1 - failure, floored to 2^-64."""
    reached = np.flatnonzero(lane >= 1 - failure)
    if not len(reached):
        return None
    return Ladder(tuple(int(p * DENOMINATOR) for p in lane[: max(int(reached[0]), 2) + 1]))


def _accepted(lanes: list[Ladder], epsilon: float, delta: float, mu_before: float, mu_after: float) -> Ladder | None:
    """The shortest lane that the accounting accepts; a larger mass gives a shorter ladder and a larger delta."""
    low, high = -1, len(lanes)
    while high - low > 1:
        middle = (low + high) // 2
        ladder = lanes[middle]
        spent = total_delta(epsilon, mu_before, partial(tested_profile, ladder, mu_after), COARSE)
        low, high = (middle, high) if spent <= delta else (low, middle)
    return lanes[low] if low >= 0 else None
