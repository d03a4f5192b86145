"""LowRank: variances along a few directions, one variance in all others."""

import math
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from dimfree import _validate
from dimfree._types import Floats
from dimfree.kernel.rows.exact_product import SlicedMatrix, saturate
from dimfree.shapes.base import Rescaling, Shape, fourth_root


class LowRank(Shape):
    """Publicly known variances along k orthonormal directions, and one variance in all other directions.

    The covariance is ``basis diag(variances) basis^T + tail (I - basis basis^T)``. Rescaling a record costs O(d k).

    Parameters
    ----------
    basis : array_like of shape (d, k)
        Orthonormal columns, k <= d.
    variances : array_like of shape (k,)
        Variance along each column of `basis`, above 0.
    tail : float
        Variance in every direction perpendicular to `basis`, above 0.

    Examples
    --------
    >>> from dimfree import LowRank
    >>> LowRank([[1.0], [0.0], [0.0]], [9.0], tail=1.0).trace_root(3)
    5.0
    """

    basis: Floats
    variances: Floats
    tail: float

    def __init__(self, basis: ArrayLike, variances: ArrayLike, tail: float) -> None:
        directions = _validate.check_array("basis", basis, "tall", "orthonormal columns", rank=2)
        checked = _validate.check_variances("variances", variances)
        _validate.check_lengths("variances", checked.size, "column of basis", directions.shape[1])
        super().__init__(basis=directions, variances=checked, tail=_validate.check_positive("tail", tail))

    @property
    def dimension(self) -> int:
        return len(self.basis)

    @cached_property
    def _directions(self) -> Floats:
        """The basis, made orthonormal to rounding: an error of 1e-6 would be multiplied by (variance/tail)^{1/4}."""
        q, r = np.linalg.qr(self.basis)
        return q * np.sign(np.diagonal(r))

    @cached_property
    def _into(self) -> SlicedMatrix:
        return SlicedMatrix(self._directions)

    @cached_property
    def _out_of(self) -> SlicedMatrix:
        return SlicedMatrix(self._directions.T)

    def _rescaling(self) -> Rescaling:
        inside, outside = 1 / fourth_root(self.variances), 1 / math.sqrt(math.sqrt(self.tail))
        return partial(_corrected, self._into, self._out_of, inside - outside, outside)

    def _restored(self, vector: Floats) -> Floats:
        inside, outside = fourth_root(self.variances), math.sqrt(math.sqrt(self.tail))
        return vector * outside + (vector @ self._directions * (inside - outside)) @ self._directions.T

    def _root_diagonal(self, dimension: int) -> Floats:
        squares = self._directions**2
        remainder = np.maximum(1 - squares.sum(axis=1), 0)
        return squares @ np.sqrt(self.variances) + remainder * math.sqrt(self.tail)

    def _spectrum(self, dimension: int) -> Floats:
        rest = np.full(dimension - self.variances.size, math.sqrt(self.tail))
        return np.sort(np.concatenate([np.sqrt(self.variances), rest]))[::-1].copy()

    def _covariance_diagonal(self, dimension: int) -> Floats:
        squares = self._directions**2
        return squares @ self.variances + np.maximum(1 - squares.sum(axis=1), 0) * self.tail

    def __repr__(self) -> str:
        return f"LowRank(dimension={self.dimension}, rank={self.variances.size}, tail={self.tail!r})"


def _corrected(into: SlicedMatrix, out_of: SlicedMatrix, more: Floats, rest: float, rows: Floats) -> Floats:
    """All coordinates times `rest`, plus the part along the directions times `more`."""
    correction = out_of.product(saturate(into.product(rows) * more))
    return saturate(rows * rest) + correction
