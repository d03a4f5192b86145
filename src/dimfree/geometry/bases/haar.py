"""The Haar wavelets over the order of the columns: records with steps and plateaus have few large coordinates in it.

Level by level neighbours a, b become (a + b)/√2 and (a - b)/√2; the sums go on to the next level, with an odd last
entry as it is. Each number is one correctly rounded operation on two of the same row, whatever the batch.
Proof: proofs/geometry/bases.md.
"""

import math

import numpy as np

from dimfree._types import Floats
from dimfree.geometry.bases.basis import Basis

_HALF_ROOT = math.sqrt(0.5)
_CELLS = 2**16  # entries of a working block: it and its sums stay in a core's cache


class Haar(Basis):
    """Orthonormal, any d. Coordinate 0 is what is left of the sums; then come differences, coarse ones first."""

    name = "haar"

    def __init__(self, dimension: int) -> None:
        self.dimension = self.width = dimension

    def rotated(self, rows: Floats) -> Floats:
        found = np.empty((len(rows), self.width))
        step = max(1, _CELLS // self.width)
        with np.errstate(all="ignore"):  # a warning could reveal records
            for start in range(0, len(rows), step):
                _analysed(rows[start : start + step], found[start : start + step])
        return found

    def restored(self, vector: Floats) -> Floats:
        """From the coarsest level to the finest."""
        sums = vector[:1]
        for size in _sizes(self.width)[::-1]:
            pairs = size // 2
            differences = vector[size - pairs : size]
            finer = np.empty(size)
            finer[: 2 * pairs : 2] = (sums[:pairs] + differences) * _HALF_ROOT
            finer[1 : 2 * pairs : 2] = (sums[:pairs] - differences) * _HALF_ROOT
            finer[2 * pairs :] = sums[pairs:]
            sums = finer
        return sums.copy()

    def diagonal(self, variances: Floats) -> Floats:
        """Sum and difference are independent at every level, so both neighbours have half of each one's variance."""
        found = variances[:1]
        for size in _sizes(self.width)[::-1]:
            pairs = size // 2
            halves = (found[:pairs] + variances[size - pairs : size]) / 2
            found = np.concatenate([np.repeat(halves, 2), found[pairs:]])
        return found.copy()


def _analysed(rows: Floats, found: Floats) -> None:
    for size in _sizes(rows.shape[1]):
        pairs = size // 2
        left, right = rows[:, : 2 * pairs : 2], rows[:, 1 : 2 * pairs : 2]
        differences, sums = found[:, size - pairs : size], np.empty((len(rows), size - pairs))
        np.multiply(np.subtract(left, right, out=differences), _HALF_ROOT, out=differences)
        np.multiply(np.add(left, right, out=sums[:, :pairs]), _HALF_ROOT, out=sums[:, :pairs])
        sums[:, pairs:] = rows[:, 2 * pairs :]
        rows = sums
    found[:, :1] = rows


def _sizes(dimension: int) -> list[int]:
    """How many entries each level starts from, while there are two to compare."""
    sizes = []
    while dimension > 1:
        sizes.append(dimension)
        dimension -= dimension // 2
    return sizes
