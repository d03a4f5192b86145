"""Axes learned from released directions: some of them given, the others any that complete them.

A record is divided by a public scale first. Notation: Q = the given directions, (d, r), orthonormal; y = a scaled
record; H = I - V·K·Vᵀ with V = Q + E·U, E the first r unit vectors, U·P = the top of Q (polar), K = (I + P)⁻¹: a
reflection that takes Q to -E·U (Schreiber and Parlett), so all but the first r coordinates of H·y are those along a
complement of Q.
"""

import numpy as np

from dimfree._types import Floats
from dimfree.kernel.rows.bases.basis import Basis
from dimfree.kernel.rows.exact_product import SlicedMatrix

_EQUAL = 1e-9  # numbers that differ by less than this share count as equal


class LearnedAxes(Basis):
    """z = weights ∘ (Qᵀ y, the rest of H y), y = x/scale: O(d·r) a record.

    Not orthonormal: the weights say how much a coordinate counts in the original space, on average.
    """

    name = "learned"

    def __init__(self, directions: Floats, scale: Floats, weights: Floats) -> None:
        directions, scale, weights = (np.array(each, dtype=np.float64) for each in (directions, scale, weights))
        self.dimension = self.width = len(scale)
        self._count = directions.shape[1]
        self._scale, self._weights = scale, weights
        turn, polar = _polar(directions[: self._count])
        self._directions, self._turn = directions, turn
        self._mirror = directions.copy()
        self._mirror[: self._count] += turn
        self._pressed = self._mirror @ np.linalg.inv(np.eye(self._count) + polar)
        self._into = SlicedMatrix(np.concatenate([directions, self._pressed], axis=1))
        self._beside = SlicedMatrix(directions[self._count :].T)

    def rotated(self, rows: Floats) -> Floats:
        with np.errstate(all="ignore"):  # a warning could reveal records
            scaled = rows * (1 / self._scale)
            along = self._into.product(scaled)
            rest = scaled[:, self._count :] - self._beside.product(along[:, self._count :])
            return np.concatenate([along[:, : self._count], rest], axis=1) * self._weights

    def restored(self, vector: Floats) -> Floats:
        unweighted = vector / self._weights
        turned = unweighted.copy()
        turned[..., : self._count] = -(unweighted[..., : self._count] @ self._turn.T)
        return (turned - (turned @ self._mirror) @ self._pressed.T) * self._scale

    def diagonal(self, variances: Floats) -> Floats:
        return np.asarray(variances @ self.restored(np.eye(self.width)) ** 2)

    def moved_variances(self, variances: Floats) -> Floats:
        """The variances of z for an x whose coordinates are independent with the given variances."""
        return np.asarray(variances @ self.rotated(np.eye(self.dimension)) ** 2)

    def has_parts_of(self, width: int) -> bool:
        """Return whether every array has one number, or one row, for each coordinate: none broadcasts over rows."""
        parts = (self._scale, self._weights, *self._directions.T)
        return all(part.shape == (width,) for part in parts)

    @property
    def isometric(self) -> bool:
        """Whether lengths are kept: every scale and every weight is the same number."""
        both = np.concatenate([self._scale, self._weights])
        return bool(np.ptp(both) <= _EQUAL * both.max())


def _polar(top: Floats) -> tuple[Floats, Floats]:
    """(U, P) with top = U·P, U orthogonal and P positive semidefinite."""
    left, values, right = np.linalg.svd(top)
    return left @ right, (right.T * values) @ right
