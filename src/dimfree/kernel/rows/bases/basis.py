"""A public change of coordinates: what may be done with it, record by record and with what is released.

Notation: T = the map of a record x to T x, from d to D >= d coordinates; its columns are orthonormal, so T' T = I.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from dimfree._types import Floats

KEPT_BYTES = 2**31  # of rotated rows: as many as the space keeps between two passes
_CELLS = 2**20  # entries of a block of rotated unit vectors


class Basis(ABC):
    """A public change of coordinates. Never learned from records outside the mechanisms; picklable.

    Guarantee: `rotated` maps one record at a time, bit for bit: its batch, its place in it, threads and memory layout
    change nothing. Proof: proofs/rows/bases.md. That its columns are orthonormal is needed for accuracy only.
    """

    name: str  # as a release says it
    dimension: int  # d: the width of the records
    width: int  # D: the width of rotated records

    @abstractmethod
    def rotated(self, rows: Floats) -> Floats:
        """T x for every finite row x of (n, d), as new rows of (n, D); what overflows is infinite or no number."""

    @abstractmethod
    def restored(self, vector: Floats) -> Floats:
        """T' y: back from D numbers to d, in plain floats: for what is already released."""

    def diagonal(self, variances: Floats) -> Floats:
        """The variances (d,) of a restored vector whose D coordinates are independent with the given variances.

        Σ_k v_k·T_ki², from the rotated unit vectors: as much work as d records, for a basis that knows no better way.
        """
        return np.concatenate([self.rotated(units) ** 2 @ variances for units in unit_rows(self.dimension)])

    def moved(self, vector: Floats) -> Floats:
        """T v of a public vector."""
        return self.rotated(np.asarray(vector, dtype=np.float64)[None])[0]

    def moved_variances(self, variances: Floats) -> Floats:
        """The variances (D,) of T v for a v whose coordinates have the given variances: of equal ones, if T is an
        isometry, those of a rotation; LearnedAxes knows better."""
        return np.full(self.width, float(variances.sum()) / self.width)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dimension={self.dimension})"


def unit_rows(dimension: int) -> Iterator[Floats]:
    """All unit vectors of so many dimensions as rows, a block of them at a time."""
    step = max(1, _CELLS // dimension)
    for start in range(0, dimension, step):
        count = min(step, dimension - start)
        yield np.eye(count, dimension, start)
