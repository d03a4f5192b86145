"""A public random rotation: every record's coordinates are mixed until no one of them is large.

Each round flips signs and applies the Walsh–Hadamard transform, in d·log d additions. Additions, subtractions and
products act entry by entry, so the bits of a rotated record depend on that record alone, whatever its batch.
Privacy asks no more of it: what follows looks at the rotated records only. Letters: d columns, D >= d a power of two.
Proof: proofs/baselines/huang_liang_yi.md.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dimfree.noise import public_simulation
from dimfree.rows import Floats
from dimfree.shape import Rescaling
from dimfree.space import Space

_SEED = 20210601
_ROUNDS = 3  # as in the authors' experiments
_CELLS = 2**17  # entries of a working block: two of them stay in a core's cache


class Rotation:
    """Orthogonal up to rounding; the same one for everybody."""

    def __init__(self, dimension: int) -> None:
        self.dimension, self.padded = dimension, 1 << (dimension - 1).bit_length()
        flips = public_simulation(_SEED).integers(0, 2, (_ROUNDS, self.padded))
        self._factors = (1.0 - 2.0 * flips) / math.sqrt(self.padded)

    def rotated(self, rows: Floats) -> Floats:
        """Rows of d columns as new rows of D columns."""
        found = np.empty((len(rows), self.padded))
        step = max(1, _CELLS // self.padded)
        with np.errstate(all="ignore"):  # a warning would speak of records
            for start in range(0, len(rows), step):
                found[start : start + step] = self._mixed(rows[start : start + step])
        return found

    def restored(self, vector: Floats) -> Floats:
        """Back from D numbers to d; what is padding is dropped."""
        for factors in self._factors[::-1]:
            vector = _transformed(vector[:, None].copy())[:, 0] * factors
        return vector[: self.dimension]

    def _mixed(self, rows: Floats) -> Floats:
        columns = np.zeros((self.padded, len(rows)))
        columns[: self.dimension] = rows.T
        for factors in self._factors:
            columns *= factors[:, None]
            columns = _transformed(columns)
        return columns.T


def _transformed(columns: Floats) -> Floats:
    """The Walsh–Hadamard transform of each column; overwrites its argument."""
    other, size = np.empty_like(columns), columns.size
    half = columns.shape[1]
    while 2 * half <= size:  # pairs of `half` entries: sum and difference
        pairs, mixed = columns.reshape(-1, 2, half), other.reshape(-1, 2, half)
        np.add(pairs[:, 0], pairs[:, 1], out=mixed[:, 0])
        np.subtract(pairs[:, 0], pairs[:, 1], out=mixed[:, 1])
        columns, other, half = other, columns, 2 * half
    return columns


@dataclass(frozen=True, repr=False, kw_only=True)
class RotatedSpace(Space):
    """Private: the records, rotated one by one."""

    rotation: Rotation

    @property
    def dimension(self) -> int:
        return self.rotation.padded

    @cached_property
    def units(self) -> None:
        """A rotation mixes the coordinates."""
        return None

    def _rescaling(self) -> Rescaling:
        return self.rotation.rotated
