"""The four kinds of `Covariance`, and `as_covariance`, which reads the argument `covariance=`."""

import math
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dimfree import _validate
from dimfree._types import Floats
from dimfree.shapes.base import Covariance, Rescaling
from dimfree.shapes.exact_product import SlicedMatrix, saturate


def _fourth_root(values: Floats) -> Floats:
    return np.sqrt(np.sqrt(values))  # a root twice never leaves the range of floats


def _divide(units: Floats | np.float64, rows: Floats) -> Floats:
    return rows / units


class _Uncorrelated(Covariance):
    """A covariance without correlation: one standard deviation for each column, or one for all."""

    @property
    def _stddevs(self) -> Floats | np.float64:
        raise NotImplementedError

    def _rescaling(self) -> Rescaling:
        return partial(_divide, np.sqrt(self._stddevs))

    def _restore(self, vector: Floats) -> Floats:
        return vector * np.sqrt(self._stddevs)

    def _root_diagonal(self, dimension: int) -> Floats:
        return np.full(dimension, self._stddevs)

    def _spectrum(self, dimension: int) -> Floats:
        return np.sort(np.full(dimension, self._stddevs))[::-1].copy()


class DiagonalCovariance(_Uncorrelated):
    """The covariance diag(variances); see `Covariance.diagonal`."""

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


class IsotropicCovariance(_Uncorrelated):
    """The covariance scale**2 * I; see `Covariance.isotropic`."""

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
        return f"IsotropicCovariance(scale={self.scale!r})"


class DenseCovariance(Covariance):
    """Any positive definite covariance, through its symmetric eigendecomposition; see `Covariance.dense`."""

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
        """A multiple of 4, so that 2**exponent has an exact fourth root; the scaled matrix has entries up to 16."""
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

    def _restore(self, vector: Floats) -> Floats:
        values, vectors = self._eigen
        return np.ldexp((vector @ vectors * _fourth_root(values)) @ vectors.T, self._exponent // 4)

    def _root_diagonal(self, dimension: int) -> Floats:
        values, vectors = self._eigen
        return np.ldexp(vectors**2 @ np.sqrt(values), self._exponent // 2)

    def _spectrum(self, dimension: int) -> Floats:
        return np.ldexp(np.sqrt(self._eigen[0][::-1]), self._exponent // 2)

    def _covariance_diagonal(self, dimension: int) -> Floats:
        return np.diagonal(self.covariance).copy()


class LowRankCovariance(Covariance):
    """Variances along k directions and one variance in all others; see `Covariance.low_rank`."""

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
        return partial(_correct, *self._products, inside - outside, outside)

    def _restore(self, vector: Floats) -> Floats:
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
        return f"LowRankCovariance(dimension={self.dimension}, rank={self.variances.size}, tail={self.tail!r})"


def _correct(into: SlicedMatrix, out_of: SlicedMatrix, more: Floats, rest: float, rows: Floats) -> Floats:
    """Multiply all coordinates by `rest`, and add the part along the directions times `more`."""
    correction = out_of.product(saturate(into.product(rows) * more))
    return saturate(rows * rest) + correction


def as_covariance(covariance: ArrayLike | Covariance, dimension: int) -> Covariance:
    """Return the `Covariance` for `covariance=`: variances, a matrix or a Covariance; it must fit the records."""
    chosen = covariance if isinstance(covariance, Covariance) else _from_array(covariance, dimension)
    # A subclass would bring code of its own to records.
    if type(chosen) not in (DiagonalCovariance, IsotropicCovariance, DenseCovariance, LowRankCovariance):
        raise _validate.reject_known_covariance("covariance", covariance)
    if chosen.dimension is not None:
        _validate.check_lengths("covariance", chosen.dimension, "column", dimension)
    return chosen


def _from_array(covariance: Any, dimension: int) -> Covariance:
    try:
        rank = np.ndim(covariance)
    except Exception:  # noqa: BLE001 - it may quote an entry
        rank = 1  # for example lists of different lengths: the check of the entries raises the error
    if rank == 0 and dimension == 1 and not isinstance(covariance, Covariance | str):
        return DiagonalCovariance([covariance])
    if rank not in (1, 2):
        raise _validate.reject_covariance(covariance, dimension)
    if rank == 1:
        return DiagonalCovariance(_validate.check_variances("covariance", covariance))
    return DenseCovariance(covariance)
