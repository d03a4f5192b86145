"""The closed set of shapes: `Diagonal`, `Isotropic`, `Dense`, `LowRank`; and the one that parameters describe."""

import math
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dimfree import _validate
from dimfree._types import Floats
from dimfree.shapes.base import Rescaling, Shape
from dimfree.shapes.exact_product import SlicedMatrix, saturate


def _fourth_root(values: Floats) -> Floats:
    return np.sqrt(np.sqrt(values))  # a root twice never leaves the range of floats


def _divided(units: Floats | np.float64, rows: Floats) -> Floats:
    return rows / units


class _Uncorrelated(Shape):
    """No correlation: one standard deviation for each column, or one for all."""

    @property
    def _stddevs(self) -> Floats | np.float64:
        raise NotImplementedError

    def _rescaling(self) -> Rescaling:
        return partial(_divided, np.sqrt(self._stddevs))

    def _restored(self, vector: Floats) -> Floats:
        return vector * np.sqrt(self._stddevs)

    def _root_diagonal(self, dimension: int) -> Floats:
        return np.full(dimension, self._stddevs)

    def _spectrum(self, dimension: int) -> Floats:
        return np.sort(np.full(dimension, self._stddevs))[::-1].copy()


class Diagonal(_Uncorrelated):
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
    def _stddevs(self) -> Floats:
        return np.sqrt(self.variances)

    def _covariance_diagonal(self, dimension: int) -> Floats:
        return self.variances.copy()


class Isotropic(_Uncorrelated):
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

    @property
    def _stddevs(self) -> np.float64:
        return np.float64(self.scale)

    def _covariance_diagonal(self, dimension: int) -> Floats:
        return np.full(dimension, self.scale**2)

    def __repr__(self) -> str:
        return f"Isotropic(scale={self.scale!r})"


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
        checked = _validate.check_array("covariance", covariance, "square", "positive", "symmetric", rank=2)
        super().__init__(covariance=checked)
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
        half = vectors / np.sqrt(_fourth_root(values))
        return SlicedMatrix(np.ldexp(half @ half.T, -self._exponent // 4))

    def _rescaling(self) -> Rescaling:
        return self._inverse_fourth_root.product

    def _restored(self, vector: Floats) -> Floats:
        values, vectors = self._eigen
        return np.ldexp((vector @ vectors * _fourth_root(values)) @ vectors.T, self._exponent // 4)

    def _root_diagonal(self, dimension: int) -> Floats:
        values, vectors = self._eigen
        return np.ldexp(vectors**2 @ np.sqrt(values), self._exponent // 2)

    def _spectrum(self, dimension: int) -> Floats:
        return np.ldexp(np.sqrt(self._eigen[0][::-1]), self._exponent // 2)

    def _covariance_diagonal(self, dimension: int) -> Floats:
        return np.diagonal(self.covariance).copy()


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
    def _products(self) -> tuple[SlicedMatrix, SlicedMatrix]:
        return SlicedMatrix(self._directions), SlicedMatrix(self._directions.T)

    def _rescaling(self) -> Rescaling:
        inside, outside = 1 / _fourth_root(self.variances), 1 / math.sqrt(math.sqrt(self.tail))
        return partial(_corrected, *self._products, inside - outside, outside)

    def _restored(self, vector: Floats) -> Floats:
        inside, outside = _fourth_root(self.variances), math.sqrt(math.sqrt(self.tail))
        return vector * outside + (vector @ self._directions * (inside - outside)) @ self._directions.T

    def _root_diagonal(self, dimension: int) -> Floats:
        squares = self._directions**2
        return squares @ np.sqrt(self.variances) + np.maximum(1 - squares.sum(axis=1), 0) * math.sqrt(self.tail)

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


def as_shape(covariance: ArrayLike | None, shape: Shape | str | None, dimension: int) -> Shape:
    """The shape given by exactly one of covariance= (variances or a matrix) and shape=; it must fit the records."""
    _validate.check_exactly_one(covariance, shape)
    chosen = _from_covariance(covariance, dimension) if shape is None else shape
    # A subclass would bring code of its own to records.
    if not isinstance(chosen, Shape) or type(chosen) not in (Diagonal, Isotropic, Dense, LowRank):
        raise _validate.reject_shape("shape", shape)
    if chosen.dimension is not None:
        _validate.check_lengths("covariance" if shape is None else "shape", chosen.dimension, "column", dimension)
    return chosen


def _from_covariance(covariance: Any, dimension: int) -> Shape:
    try:
        rank = np.ndim(covariance)
    except Exception:  # noqa: BLE001 - it may quote an entry
        rank = 1  # for example lists of different lengths: the check of the entries raises the error
    if rank == 0 and dimension == 1 and not isinstance(covariance, Shape | str):
        return Diagonal([covariance])
    if rank not in (1, 2):
        raise _validate.reject_covariance(covariance, dimension)
    return Diagonal(_validate.check_variances("covariance", covariance)) if rank == 1 else Dense(covariance)
