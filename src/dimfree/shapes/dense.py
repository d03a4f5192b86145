"""Dense: any positive definite covariance matrix."""

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dimfree import _validate
from dimfree._types import Floats
from dimfree.kernel.rows.exact_product import SlicedMatrix
from dimfree.shapes.base import Rescaling, Shape, fourth_root


class Dense(Shape):
    """Any publicly known, positive definite covariance, through its symmetric eigendecomposition.

    Parameters
    ----------
    covariance : array_like of shape (d, d)
        Symmetric matrix. Its smallest eigenvalue must be positive beyond rounding.

    Examples
    --------
    >>> from dimfree import Dense
    >>> Dense([[2.0, 1.0], [1.0, 2.0]]).dimension
    2
    """

    covariance: Floats

    def __init__(self, covariance: ArrayLike) -> None:
        super().__init__(
            covariance=_validate.check_array("covariance", covariance, "square", "positive", "symmetric", rank=2)
        )
        _validate.require_array("covariance", self._eigen[0], "definite")

    @property
    def dimension(self) -> int:
        return len(self.covariance)

    @cached_property
    def _exponent(self) -> int:
        """A multiple of 4, so that 2**exponent has an exact fourth root; the matrix over it has entries up to 16."""
        return int(np.frexp(np.diagonal(self.covariance).max())[1]) // 4 * 4

    @cached_property
    def _eigen(self) -> tuple[Floats, Floats]:
        """Eigenvalues over 2**exponent, ascending, and eigenvectors: scaled, so that squares stay in range."""
        scaled = np.ldexp(self.covariance, -self._exponent)
        values, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
        return values, vectors

    @cached_property
    def _inverse_fourth_root(self) -> SlicedMatrix:
        values, vectors = self._eigen
        half = vectors / np.sqrt(fourth_root(values))
        return SlicedMatrix(np.ldexp(half @ half.T, -self._exponent // 4))

    def _rescaling(self) -> Rescaling:
        return self._inverse_fourth_root.product

    def _restored(self, vector: Floats) -> Floats:
        values, vectors = self._eigen
        return np.ldexp((vector @ vectors * fourth_root(values)) @ vectors.T, self._exponent // 4)

    def _root_diagonal(self, dimension: int) -> Floats:
        values, vectors = self._eigen
        return np.ldexp(vectors**2 @ np.sqrt(values), self._exponent // 2)

    def _spectrum(self, dimension: int) -> Floats:
        return np.ldexp(np.sqrt(self._eigen[0][::-1]), self._exponent // 2)

    def _covariance_diagonal(self, dimension: int) -> Floats:
        return np.diagonal(self.covariance).copy()
