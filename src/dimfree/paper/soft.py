"""The soft core: deterministic weights, no stability test (P2, P3). Add/remove only.

Proof: proofs/paper/soft.md.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dimfree.kernel.statistics.stable import weights

TOTAL_SENSITIVITY = 2.0  # |W - W'| < 2 (P3)
MEAN_SENSITIVITY = 4.0  # times radius / W: total variation below 2, distances at most twice the radius (P2, P3)
SMALLEST_TOTAL = 2.0  # at or below it the release is refused: then W, W' > 0 is not certain


def soft_weights(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """clip(2·c_j/n - 1, 0, 1), as integers with common denominator `len(counts)` (up to a factor)."""
    return weights(counts, Fraction(1, 2), Fraction(1))


def total_weight(soft: NDArray[np.int64]) -> Fraction:
    """W = Σ w_j as an exact fraction; a record that is a friend of all has weight one."""
    n = len(soft)
    full = int(Fraction(n, 2) * Fraction(n, 2).denominator)  # what `weights` gives to a full weight
    return Fraction(int(soft.sum()), full) if n else Fraction(0)
