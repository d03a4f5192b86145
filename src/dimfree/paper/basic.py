"""The paper's BasicFilter: keep record j with probability clip(2·c_j/n - 1, 0, 1) (Algorithm 1, line 2).

Add/remove only.
Proof: proofs/paper/averaging.md (P1).
"""

import numpy as np
from numpy.typing import NDArray

from dimfree.noise import Noise

COUNT_SENSITIVITY = 1.0  # of the number kept, on friendly neighbors
MEAN_SENSITIVITY = 2.0  # times radius / kept: friendly records lie within twice the radius
SMALLEST_TOTAL = 2.0  # at or below it the release is refused: then C, C' > 0 is not certain


def keep(counts: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
    """0/1 for every record, by exact integer coins: uniform below n against 2·c_j - n."""
    n = len(counts)
    coins = noise.below(n, n) if n else np.zeros(0, dtype=np.int64)
    return (coins < 2 * counts - n).astype(np.int64)
