"""Public changes of coordinates, one record at a time, undone in the release: matrices and learned axes.

Notation: T = the map of a record x to T x, from d to D >= d coordinates; its columns are orthonormal, so T' T = I.
Rows are multiplied by products that map each of them separately, bit for bit. Proof: proofs/rows/bases.md.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree.shapes.exact_product import SlicedMatrix

KEPT_BYTES = 2**31  # of rotated rows that the space keeps between two passes
_CELLS = 2**20  # entries of a block of rotated unit vectors
_EQUAL = 1e-9  # numbers that differ by less than this share count as equal


class Basis(ABC):
    """A public change of coordinates. Never learned from records outside the mechanisms; picklable.
    Guarantee: `rotate` maps one record at a time, bit for bit: its batch, its place in it, threads and memory layout
    change nothing. Proof: proofs/rows/bases.md. Orthonormal columns matter for accuracy only."""

    name: str  # in a release
    dimension: int  # d: the width of the records
    width: int  # D: the width of rotated records

    @abstractmethod
    def rotate(self, rows: Floats) -> Floats:
        """Return T x for every finite row x of (n, d), as new rows of (n, D); overflow gives infinity or NaN."""

    @abstractmethod
    def restore_answer(self, vector: Floats) -> Floats:
        """Return T' y: from D numbers back to d, in plain floats, for released vectors."""

    def diagonal(self, variances: Floats) -> Floats:
        """Return the variances (d,) of a restored vector whose D coordinates are independent with these variances.
        Σ_k v_k·T_ki², from the rotated unit vectors: as much work as d records, unless a basis overrides it."""
        return np.concatenate([self.rotate(units) ** 2 @ variances for units in identity_rows(self.dimension)])

    def move_vector(self, vector: Floats) -> Floats:
        """Return T v of a public vector."""
        return self.rotate(np.asarray(vector, dtype=np.float64)[None])[0]

    def move_variances(self, variances: Floats) -> Floats:
        """Return the variances (D,) of T v for a v whose coordinates have the given variances.
        They are those of a rotation of equal variances, if T is an isometry; LearnedAxes overrides this."""
        return np.full(self.width, float(variances.sum()) / self.width)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dimension={self.dimension})"


def identity_rows(dimension: int) -> Iterator[Floats]:
    """Yield the rows of the identity matrix, a block of them at a time."""
    step = max(1, _CELLS // dimension)
    for start in range(0, dimension, step):
        count = min(step, dimension - start)
        yield np.eye(count, dimension, start)


class Given(Basis):
    """A (d, d) matrix with orthonormal rows, pickled unchanged: another machine would compute other last bits."""

    name = "given"

    def __init__(self, matrix: Floats) -> None:
        self.matrix = np.array(matrix, dtype=np.float64)
        self.matrix.setflags(write=False)
        self.dimension = self.width = len(self.matrix)
        self.rotate(np.zeros((1, self.dimension)))  # slices the matrix now, before several threads do

    def rotate(self, rows: Floats) -> Floats:
        return self._sliced.product(rows)

    def restore_answer(self, vector: Floats) -> Floats:
        return vector @ self.matrix

    def diagonal(self, variances: Floats) -> Floats:
        return variances @ self.matrix**2

    @cached_property
    def _sliced(self) -> SlicedMatrix:
        """The sliced matrix, cut without rounding, so that it is the same on every machine."""
        return SlicedMatrix(self.matrix.T)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_sliced"}


class LearnedAxes(Basis):
    """Axes learned from released directions: z = weights ∘ (Qᵀ y, the rest of H y), y = x/scale: O(d·r) a record.
    Notation: Q = the given directions, (d, r), orthonormal; H = I - V·K·Vᵀ with V = Q + E·U, E the first r unit
    vectors, U·P = the top of Q (polar), K = (I + P)⁻¹: a reflection that takes Q to -E·U (Schreiber and Parlett). So
    all but the first r coordinates of H·y are those along a complement of Q. The weights are the average weight of a
    coordinate in the original space; T is not orthonormal."""

    name = "learned"

    def __init__(self, directions: Floats, scale: Floats, weights: Floats) -> None:
        directions, scale, weights = (np.array(each, dtype=np.float64) for each in (directions, scale, weights))
        self.dimension = self.width = len(scale)
        self._count = directions.shape[1]
        self._scale, self._weights = scale, weights
        left, values, right = np.linalg.svd(directions[: self._count])
        turn, polar = left @ right, (right.T * values) @ right  # U, P
        self._directions, self._turn = directions, turn
        self._mirror = directions.copy()
        self._mirror[: self._count] += turn
        self._pressed = self._mirror @ np.linalg.inv(np.eye(self._count) + polar)
        self._into = SlicedMatrix(np.concatenate([directions, self._pressed], axis=1))
        self._complement = SlicedMatrix(directions[self._count :].T)

    def rotate(self, rows: Floats) -> Floats:
        with np.errstate(all="ignore"):  # a warning could reveal records
            scaled = rows * (1 / self._scale)
            along = self._into.product(scaled)
            rest = scaled[:, self._count :] - self._complement.product(along[:, self._count :])
            return np.concatenate([along[:, : self._count], rest], axis=1) * self._weights

    def restore_answer(self, vector: Floats) -> Floats:
        unweighted = vector / self._weights
        turned = unweighted.copy()
        turned[..., : self._count] = -(unweighted[..., : self._count] @ self._turn.T)
        return (turned - (turned @ self._mirror) @ self._pressed.T) * self._scale

    def diagonal(self, variances: Floats) -> Floats:
        return np.asarray(variances @ self.restore_answer(np.eye(self.width)) ** 2)

    def move_variances(self, variances: Floats) -> Floats:
        """Return the variances of z for an x whose coordinates are independent with the given variances."""
        return np.asarray(variances @ self.rotate(np.eye(self.dimension)) ** 2)

    def has_parts_of(self, width: int) -> bool:
        """Return whether every array has one number, or one row, for each coordinate: none broadcasts over rows."""
        parts = (self._scale, self._weights, *self._directions.T)
        return all(part.shape == (width,) for part in parts)

    @property
    def isometric(self) -> bool:
        """Whether lengths are kept: every scale and every weight is the same number."""
        both = np.concatenate([self._scale, self._weights])
        return bool(np.ptp(both) <= _EQUAL * both.max())
