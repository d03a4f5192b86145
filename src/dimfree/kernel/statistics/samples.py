"""Data-independent samples of the records; which records are in one is private (P8, P16).

Under add/remove every record has its own coin, so one more record changes the sample by at most itself. (A sample of
fixed size would drop another record for it, which is a replacement.) No amplification by subsampling is claimed.
Proof: proofs/kernel.md.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dimfree.noise import Noise

_COIN = 2**32
_KEY = 2**62


def poisson_samples(count: int, rates: Sequence[float], noise: Noise) -> list[NDArray[np.bool_]]:
    """Add-remove: each record with each public rate, by the same coins: samples lie within each other (P16)."""
    coins = noise.below(_COIN, count)
    return [coins < int(rate * _COIN) for rate in rates]


def fixed_samples(count: int, sizes: Sequence[int], noise: Noise) -> list[NDArray[np.bool_]]:
    """Replace-one: so many positions, by the same order of all: samples lie within each other."""
    first, second = noise.below(_KEY, count), noise.below(_KEY, count)  # the second breaks ties of the first
    place = np.empty(count, dtype=np.int64)
    place[np.lexsort((second, first))] = np.arange(count)
    return [place < size for size in sizes]
