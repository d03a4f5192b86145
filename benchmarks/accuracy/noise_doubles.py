"""Noise doubles that show one part of a release by itself. Never private.

Noise off: what a release then misses of the sample mean is bias. Bit probed: its exact probability, no coin flipped.
"""

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dimfree import SeededNoise


class SilentNoise(SeededNoise):
    """Zeros for every Gaussian and Laplace, the true best for every choice; coins and samples stay seeded."""

    def gaussian(self, stddev: float, size: int) -> NDArray[np.int64]:
        return np.zeros(size, dtype=np.int64)

    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        return np.zeros(size, dtype=np.int64)


class BitReached(Exception):
    """Ends a release at its bit."""

    def __init__(self, probability: float) -> None:
        super().__init__(probability)
        self.probability = probability


class ProbedBit(SeededNoise):
    """Seeded up to the first coin, which in an estimator with a stability test is its bit; then BitReached."""

    def coin(self, numerator: int, denominator: int) -> NoReturn:
        raise BitReached(numerator / denominator)
