"""The stability bit: pass with probability p_T, T the stability statistic; only this bit is released (P6).

Letters: p_k = probability of passing at T = k, kept as an integer multiple of 2^-64; K = the length of the ladder,
after which it is constant; mu = precision released on the pass branch; x = a privacy loss.
Proof: proofs/accounting/ladder.md.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._types import Floats
from dimfree.accounting.precision import hockey_stick

DENOMINATOR = 2**64


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
        """Return 1 - p_k, from the integers, so that nothing cancels."""
        return np.array([(DENOMINATOR - rung) / DENOMINATOR for rung in self.rungs])


def ladder_profile(ladder: Ladder, mu: float, x: ArrayLike, lower: NDArray[np.int64] | None = None) -> Floats:
    """Return D*(x): the profile of the bit, then of mu if it passes, for any neighboring statistics (P6, P9).
    `lower`: only for neighboring statistics (k, k + 1) with k among these; of equal pairs (K, K) is the worst."""
    lower = np.arange(2, ladder.length) if lower is None else lower
    x = np.atleast_1d(np.asarray(x, dtype=np.float64))[:, None]
    p, refusal = ladder.probabilities(), ladder.complements()
    here, there = _neighboring(p, lower)
    both_stable = here * hockey_stick(mu, x - np.log(here / there))
    here, there = _neighboring(refusal, lower)
    refused = np.maximum(0.0, here - np.exp(np.minimum(x, 700)) * there)
    unstable = p[2] + (1 - p[2]) * -np.expm1(np.minimum(x, 0))
    return np.maximum((both_stable + refused * (1 + 1e-12)).max(axis=1), unstable[:, 0]) * (1 + 1e-12)


def _neighboring(values: Floats, lower: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the values at (k, k') for k = k' = K, k = k' + 1 and k = k' - 1, the smaller of them in `lower`."""
    low, high, last = values[lower], values[lower + 1], values[-1:]
    return np.concatenate([last, high, low]), np.concatenate([last, low, high])
