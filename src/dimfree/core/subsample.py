"""Which records the quadratic core looks at when there are many: secret coins, independent of what a record says (P8).

Under add/remove every record has its own coin, so one more record changes the sample by at most itself. (A sample of
fixed size would make room for it by dropping another, which is a replacement.) No amplification is claimed.
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
    first, second = noise.below(_KEY, count), noise.below(_KEY, count)  # a tie would be settled by position
    order = np.lexsort((second, first))
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[order[:size]] = True
    return chosen
