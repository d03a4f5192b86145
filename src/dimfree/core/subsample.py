"""Data-independent subsample of the records for the quadratic core; which records are in it is private (P8).

Under add/remove every record has its own coin, so one more record changes the sample by at most itself. (A sample of
fixed size would drop another record for it, which is a replacement.) No amplification by subsampling is claimed.
Proof: proofs/core/subsample.md.
"""

import numpy as np
from numpy.typing import NDArray

from dimfree.noise import Noise

_COIN = 2**32
_KEY = 2**62


def poisson_sample(count: int, rate: float, noise: Noise) -> NDArray[np.bool_]:
    """Add/remove: each record with probability `rate` (a public number), independently."""
    return noise.below(_COIN, count) < int(rate * _COIN)


def fixed_sample(count: int, size: int, noise: Noise) -> NDArray[np.bool_]:
    """Replace-one: `size` positions out of a public number, without replacement."""
    first, second = noise.below(_KEY, count), noise.below(_KEY, count)  # the second breaks ties of the first
    order = np.lexsort((second, first))
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[order[:size]] = True
    return chosen
