"""The Walsh–Hadamard transform: every coordinate is a sum of all columns with signs; spikes are spread over all.

Its length is a power of two, so records are padded with zeros: D is the next power of two from d on. Sums, differences
and products act entry by entry, so the bits of a rotated record depend on that record alone. Proof:
proofs/geometry/bases.md.
"""

import math

import numpy as np

from dimfree._types import Floats
from dimfree.geometry.bases.basis import Basis

_CELLS = 2**17  # entries of a working block: two of them stay in a core's cache


class Rounds(Basis):
    """Rounds of one public factor a coordinate, then the transform; `factors` (rounds, D) are of modulus 1/√D."""

    def __init__(self, dimension: int, factors: Floats) -> None:
        self.dimension, self.width = dimension, factors.shape[1]
        self._factors = factors

    @property
    def padding(self) -> int:
        """How many columns of zeros a record is given: D - d. `restored` drops them again."""
        return self.width - self.dimension

    def rotated(self, rows: Floats) -> Floats:
        found = np.empty((len(rows), self.width))
        step = max(1, _CELLS // self.width)
        with np.errstate(all="ignore"):  # a warning could reveal records
            for start in range(0, len(rows), step):
                found[start : start + step] = self._mixed(rows[start : start + step])
        return found

    def restored(self, vector: Floats) -> Floats:
        """What is padding is dropped."""
        for factors in self._factors[::-1]:
            vector = transformed(vector[:, None].copy())[:, 0] * factors
        return vector[: self.dimension]

    def _mixed(self, rows: Floats) -> Floats:
        columns = np.zeros((self.width, len(rows)))
        columns[: self.dimension] = rows.T
        for factors in self._factors:
            columns *= factors[:, None]
            columns = transformed(columns)
        return columns.T


class Hadamard(Rounds):
    """Orthonormal, in natural order, any d: padded with zeros to the next power of two, so D may be nearly 2 d.

    Each of the D coordinates is a place where noise is added and a variance is learned; from d = 2^k + 1 on other bases
    (dct, haar), which pad nothing, have up to half as many.
    """

    name = "hadamard"

    def __init__(self, dimension: int) -> None:
        width = padded_width(dimension)
        super().__init__(dimension, np.full((1, width), 1 / math.sqrt(width)))

    def diagonal(self, variances: Floats) -> Floats:
        """Every T_ki² is 1/D: all coordinates have the mean of the variances."""
        return np.full(self.dimension, variances.sum() / self.width)


def padded_width(dimension: int) -> int:
    """The next power of two, itself included."""
    return 1 << (dimension - 1).bit_length()


def transformed(columns: Floats) -> Floats:
    """The (unnormed) Walsh–Hadamard transform of each column; overwrites its argument."""
    other, size = np.empty_like(columns), columns.size
    half = columns.shape[1]
    while 2 * half <= size:  # pairs of `half` entries: sum and difference
        pairs, mixed = columns.reshape(-1, 2, half), other.reshape(-1, 2, half)
        np.add(pairs[:, 0], pairs[:, 1], out=mixed[:, 0])
        np.subtract(pairs[:, 0], pairs[:, 1], out=mixed[:, 1])
        columns, other, half = other, columns, 2 * half
    return columns
