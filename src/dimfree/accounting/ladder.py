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
_TABLE = 2**14  # rises that are tabled, evenly in their logarithm: read off to a millionth
_SPARSE, _ENDS = 16, 8  # the search among ladders looks at every so-manieth pair of rungs, and at some at either end


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
    return _profile_among(ladder, mu, x, np.arange(2, ladder.length))


def _profile_among(ladder: Ladder, mu: float, x: ArrayLike, lower: NDArray[np.int64]) -> Floats:
    """D*(x) with the neighbouring statistics (k, k + 1) for k in `lower`; of equal pairs (K, K) is the worst."""
    x = np.atleast_1d(np.asarray(x, dtype=np.float64))[:, None]
    p, refusal = ladder.probabilities(), ladder.complements()
    here, there = _neighbouring(p, lower)
    both_stable = here * hockey_stick(mu, x - np.log(here / there))
    here, there = _neighbouring(refusal, lower)
    refused = np.maximum(0.0, here - np.exp(np.minimum(x, 700)) * there)
    unstable = p[2] + (1 - p[2]) * -np.expm1(np.minimum(x, 0))
    return np.maximum((both_stable + refused * (1 + 1e-12)).max(axis=1), unstable[:, 0]) * (1 + 1e-12)


def _neighbouring(values: Floats, lower: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Values at (k, k') for k = k' = K, k = k' + 1 and k = k' - 1, the smaller of them in `lower`."""
    low, high, last = values[lower], values[lower + 1], values[-1:]
    return np.concatenate([last, high, low]), np.concatenate([last, low, high])


@lru_cache(maxsize=256)
def shortest_ladder(epsilon: float, delta: float, mu_before: float, mu_after: float, failure: float) -> Ladder | None:
    """The shortest ladder reaching 1 - failure that is (epsilon, delta)-private together with mu_before and mu_after.

    A heuristic search: privacy rests only on the check in `_accepted` (P9). None if no ladder was found.
    """
    level = epsilon - _refusal_loss(mu_before, delta)
    if level <= 0:
        return None
    start = epsilon * _START
    lowest = float(hockey_stick(mu_after, start))
    if lowest >= delta:
        return None
    masses = np.exp(np.linspace(math.log(max(lowest * 1.0001, delta * 1e-6)), math.log(delta), _LANES))
    heights = _heights(start, mu_after, -math.log(masses[0]))
    lanes = [lane for mass in masses if (lane := _lane(mass, heights, level, failure)) is not None]
    return _accepted(lanes, epsilon, delta, mu_before, mu_after)


@lru_cache(maxsize=256)
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


def _heights(start: float, mu: float, top: float) -> Floats:
    """ln(p_k / p_2) for k = 2, 3, …, up to `top`, each as large as passing allows at loss `start`.

    The largest q allowed after p has q·h_mu(start - rise) = p_2 with rise = ln(q/p). So the rise follows from ln(p/p_2)
    alone, whatever p_2 is: it is read off a table of ln(p/p_2) at given rises.
    """
    rises = np.geomspace(np.logaddexp(0.0, start), start * 1e-5, _TABLE)
    table = -rises - np.log(np.maximum(hockey_stick(mu, start - rises), 1e-300))  # rising: from 0 or below
    heights = [0.0]
    while heights[-1] < top and len(heights) < _MOST_STEPS:
        heights.append(heights[-1] + float(np.interp(heights[-1], table, rises)))
    return np.array(heights)


def _lane(mass: float, heights: Floats, level: float, failure: float) -> Floats | None:
    """The rungs that begin at p_2 = mass, up to the first that reaches 1 - failure; None if there are too many.

    At first passing limits the rungs, at last a refusal does: 1 - p falls by the factor e^-level from rung to rung.
    """
    p = mass * np.exp(heights[heights < -math.log(mass)])
    limited = np.flatnonzero(p[1:] > 1 - (1 - p[:-1]) * math.exp(-level))
    p = p[: limited[0] + 1] if len(limited) else p
    steps = max(math.log((1 - p[-1]) / failure) / level, 0.0)
    if len(p) + steps > _MOST_STEPS:
        return None
    refusals = (1 - p[-1]) * np.exp(-level * np.arange(1, math.ceil(steps) + 2))
    lane = np.concatenate([[mass, mass], p, 1 - np.maximum(refusals, failure / 8)])  # never 0: it would show
    return lane[: max(int(np.argmax(lane >= 1 - failure)), 2) + 1]


def _floored(lane: Floats) -> Ladder:
    return Ladder(tuple(int(p * DENOMINATOR) for p in lane.tolist()))


def _accepted(lanes: list[Floats], epsilon: float, delta: float, mu_before: float, mu_after: float) -> Ladder | None:
    """The shortest lane that the accounting accepts; a larger mass gives a shorter ladder and a larger delta.

    The search looks at a few pairs of rungs; what it finds is accepted only with all of them.
    """

    def spent(ladder: Ladder, every: int) -> float:
        lower = np.arange(2, ladder.length)
        lower = lower[(lower % every == 0) | (lower > ladder.length - _ENDS) | (lower < _ENDS)]
        return total_delta(epsilon, mu_before, partial(_profile_among, ladder, mu_after, lower=lower), COARSE)

    low, high = -1, len(lanes)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if spent(_floored(lanes[middle]), _SPARSE) <= delta else (low, middle)
    while low >= 0 and spent(_floored(lanes[low]), 1) > delta:
        low -= 1
    return _floored(lanes[low]) if low >= 0 else None
