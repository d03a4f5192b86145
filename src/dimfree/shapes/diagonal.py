"""Diagonal and Isotropic: one variance per column, and the same variance in every direction."""

import math
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from dimfree import _validate
from dimfree._types import Floats
from dimfree.shapes.base import Rescaling, Shape, divided, fourth_root, read_only


class Diagonal(Shape):
    """The covariance diag(variances): one publicly known variance per column, no correlation.

    Parameters
    ----------
    variances : array_like of shape (d,)
        Variance of each column, finite and above 0.

    Examples
    --------
    >>> from dimfree import Diagonal
    >>> Diagonal([4.0, 1.0]).trace_root(2)
    3.0
    """

    variances: Floats

    def __init__(self, variances: ArrayLike) -> None:
        super().__init__(variances=_validate.check_variances("variances", variances))

    @property
    def dimension(self) -> int:
        return self.variances.size

    @cached_property
    def _fourth_roots(self) -> Floats:
        return read_only(fourth_root(self.variances))

    def _rescaling(self) -> Rescaling:
        return partial(divided, self._fourth_roots)

    def _restored(self, vector: Floats) -> Floats:
        return vector * self._fourth_roots

    def _root_diagonal(self, dimension: int) -> Floats:
        return np.sqrt(self.variances)

    def _spectrum(self, dimension: int) -> Floats:
        return np.sort(np.sqrt(self.variances))[::-1].copy()

    def _covariance_diagonal(self, dimension: int) -> Floats:
        return self.variances.copy()


class Isotropic(Shape):
    """The covariance scale**2 * I: the same spread in every direction, for records of any width.

    Parameters
    ----------
    scale : float
        Publicly known standard deviation of a record in every direction, above 0.

    Examples
    --------
    >>> from dimfree import Isotropic
    >>> Isotropic(2.0).trace_root(3)
    6.0
    """

    scale: float

    def __init__(self, scale: float) -> None:
        super().__init__(scale=_validate.check_positive("scale", scale))

    @property
    def dimension(self) -> None:
        return None

    def _rescaling(self) -> Rescaling:
        return partial(divided, np.float64(math.sqrt(self.scale)))

    def _restored(self, vector: Floats) -> Floats:
        return vector * math.sqrt(self.scale)

    def _root_diagonal(self, dimension: int) -> Floats:
        return np.full(dimension, self.scale)

    def _spectrum(self, dimension: int) -> Floats:
        return np.full(dimension, self.scale)

    def _covariance_diagonal(self, dimension: int) -> Floats:
        return np.full(dimension, self.scale**2)

    def __repr__(self) -> str:
        return f"Isotropic(scale={self.scale!r})"
