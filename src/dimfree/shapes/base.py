"""`Covariance`: a public covariance matrix M, with M^{-1/4}, M^{1/4} and the trace of M^{1/2}.

A record x is rescaled to y = M^{-1/4} x, the mean of the y is released with isotropic noise, and the result is restored
by M^{1/4}. The noise then costs tr(M^{1/2}), whatever the dimension. No other module takes a fourth root of M.
"""

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dimfree import _validate
from dimfree._types import Floats
from dimfree.data.blocks import float_squares
from dimfree.shapes.exact_product import saturate

Rescaling: TypeAlias = Callable[[Floats], Floats]  # of finite rows, one at a time


class Covariance(ABC):
    """A publicly known covariance matrix M of the records, for `covariance=`. Frozen; make one with a method below.

    The noise of a release is proportional to tr(M^{1/2}): the closer M is to the covariance of the records, the smaller
    it is.

    Attributes
    ----------
    dimension : int or None
        Number of columns that it fits; None if any number fits.

    Notes
    -----
    Guarantee: `rescale` maps one record at a time, bit for bit: the other records, their number and order, threads and
    memory layout change nothing. Proof: proofs/rows/exact_product.md.
    """

    @staticmethod
    def diagonal(variances: ArrayLike) -> "Covariance":
        """Return the covariance of uncorrelated columns.

        Parameters
        ----------
        variances : array_like of shape (d,)
            Publicly known variance of each column, finite and above 0.

        Returns
        -------
        Covariance

        Raises
        ------
        InvalidParameterError
            If an entry is not a finite number above 0.

        Examples
        --------
        >>> from dimfree import Covariance
        >>> Covariance.diagonal([4.0, 1.0]).trace_root(2)
        3.0
        """
        from dimfree.shapes.kinds import DiagonalCovariance

        return DiagonalCovariance(variances)

    @staticmethod
    def isotropic(sd: float) -> "Covariance":
        """Return the covariance with the same SD in every direction, for any number of columns.

        Parameters
        ----------
        sd : float
            Publicly known standard deviation (SD) of a record in every direction, above 0.

        Returns
        -------
        Covariance

        Raises
        ------
        InvalidParameterError
            If `sd` is not a finite number above 0.

        Examples
        --------
        >>> from dimfree import Covariance
        >>> Covariance.isotropic(2.0).trace_root(3)
        6.0
        """
        from dimfree.shapes.kinds import IsotropicCovariance

        return IsotropicCovariance(sd)

    @staticmethod
    def dense(matrix: ArrayLike) -> "Covariance":
        """Return a covariance given as a matrix.

        Parameters
        ----------
        matrix : array_like of shape (d, d)
            Publicly known, symmetric, and positive definite beyond rounding.

        Returns
        -------
        Covariance

        Raises
        ------
        InvalidParameterError
            If the matrix is not square, symmetric, finite and positive definite.

        Examples
        --------
        >>> from dimfree import Covariance
        >>> Covariance.dense([[2.0, 1.0], [1.0, 2.0]]).dimension
        2
        """
        from dimfree.shapes.kinds import DenseCovariance

        return DenseCovariance(matrix)

    @staticmethod
    def low_rank(basis: ArrayLike, variances: ArrayLike, tail: float) -> "Covariance":
        """Return a covariance with a few large directions, and the same variance in all others.

        Parameters
        ----------
        basis : array_like of shape (d, r)
            Orthonormal columns: the directions, r <= d.
        variances : array_like of shape (r,)
            Publicly known variance along each direction, above 0.
        tail : float
            Publicly known variance in every direction perpendicular to them, above 0.

        Returns
        -------
        Covariance
            ``basis diag(variances) basis^T + tail (I - basis basis^T)``; rescaling a record costs O(d r).

        Raises
        ------
        InvalidParameterError
            If the columns are not orthonormal, or a variance is not a finite number above 0.

        Examples
        --------
        >>> from dimfree import Covariance
        >>> Covariance.low_rank([[1.0], [0.0], [0.0]], [9.0], tail=1.0).trace_root(3)
        5.0
        """
        from dimfree.shapes.kinds import LowRankCovariance

        return LowRankCovariance(basis, variances, tail)

    @staticmethod
    def from_public(public_X: object, *, rank: int | None = None) -> "Covariance":
        """Estimate the covariance of PUBLIC records of the same kind, by the shrinkage of Ledoit and Wolf.

        Never pass the records to be released: their values can be computed from the result.

        Parameters
        ----------
        public_X : array_like or table of shape (m, d)
            Public records about other people, with the columns of the private table.
        rank : int, optional
            Keep up to this number of directions, as `low_rank` does. By default all are kept.

        Returns
        -------
        Covariance
            Dense if m > d and `rank` is not given, else low rank. `gain` and `rotated_gain` are measured by
            cross-validation on the public records.

        Raises
        ------
        InvalidDataError
            If `public_X` has too few rows, too many rows and columns, missing values or no variance.
        """
        module = importlib.import_module("dimfree.shapes.from_public")  # it reads tables, which shapes do not
        found: Covariance = module.covariance_from_public(public_X, rank=rank)
        return found

    _measured: tuple[float, float] | None = None  # both gains, measured on records not used for the estimate

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)  # what defines the covariance; everything else is derived from it
        self.__dict__["_parts"] = tuple(parts)

    @property
    @abstractmethod
    def dimension(self) -> int | None:
        """The number of columns of the records it fits; None if any number fits."""

    @abstractmethod
    def _rescaling(self) -> Rescaling: ...

    @abstractmethod
    def _restore(self, vector: Floats) -> Floats: ...

    @abstractmethod
    def _root_diagonal(self, dimension: int) -> Floats: ...

    @abstractmethod
    def _spectrum(self, dimension: int) -> Floats: ...

    @abstractmethod
    def _covariance_diagonal(self, dimension: int) -> Floats: ...

    def rescale(self, rows: ArrayLike) -> Floats:
        """Apply M^{-1/4} to every row, as a new array.

        Parameters
        ----------
        rows : array_like of shape (n, d)
            Records.

        Returns
        -------
        ndarray of shape (n, d)
            Entries beyond the largest float become the largest float. A row with a non-finite entry becomes all NaN.
        """
        given = self._floats("rows", rows, [2])
        rescaled = self.rescaling()(given)
        rescaled[~np.isfinite(given).all(axis=1)] = np.nan
        return rescaled

    def rescaling(self) -> Rescaling:
        """Return a function that rescales finite rows of the right width and can be sent to other processes.

        It carries the factorization computed here. Another machine or another number of threads would factorize
        with different last bits, and the output would reveal which worker held a record.

        Returns
        -------
        callable
            From rows (n, d) to rescaled rows (n, d).
        """
        return partial(_saturate, self._rescaling())

    def restore(self, vector: ArrayLike) -> Floats:
        """Apply M^{1/4} to a vector that is already released, in plain floating point.

        Parameters
        ----------
        vector : array_like of shape (d,) or (k, d)
            One vector, or one per row.

        Returns
        -------
        ndarray
            Of the same shape.
        """
        given = self._floats("vector", vector, [1, 2])
        with np.errstate(all="ignore"):  # an error could quote entries
            return self._restore(given)

    def root_diagonal(self, dimension: int) -> Floats:
        """Return the diagonal of M^{1/2}, to which the noise variance of each column is proportional.

        Parameters
        ----------
        dimension : int
            Number of columns.

        Returns
        -------
        ndarray of shape (dimension,)
            Read-only.
        """
        return _read_only(self._root_diagonal(self._check(dimension)))

    def spectrum(self, dimension: int) -> Floats:
        """Return the eigenvalues of M^{1/2}, largest first.

        Parameters
        ----------
        dimension : int
            Number of columns.

        Returns
        -------
        ndarray of shape (dimension,)
            Read-only.
        """
        return _read_only(self._spectrum(self._check(dimension)))

    def covariance_diagonal(self, dimension: int) -> Floats:
        """Return the diagonal of M: the variance of each column.

        Parameters
        ----------
        dimension : int
            Number of columns.

        Returns
        -------
        ndarray of shape (dimension,)
            Read-only.
        """
        return _read_only(self._covariance_diagonal(self._check(dimension)))

    def trace_root(self, dimension: int) -> float:
        """Return the trace of M^{1/2}, to which the error of the noise is proportional.

        Parameters
        ----------
        dimension : int
            Number of columns.

        Returns
        -------
        float
        """
        return float(self.spectrum(dimension).sum())

    def gain(self, dimension: int | None = None) -> float:
        """Return how many times smaller the noise is than isotropic noise: sqrt(d tr M) / tr M^{1/2}.

        After `from_public` it is the ratio measured on rows that were not used for the estimate.

        Parameters
        ----------
        dimension : int, optional
            Number of columns. Only an isotropic covariance, which has no width of its own, needs it.

        Returns
        -------
        float
        """
        roots = self.spectrum(self._check(dimension))
        relative = roots / roots[0]  # squares of the roots themselves may leave the range of floats
        by_formula = math.sqrt(relative.size * float(relative @ relative)) / float(relative.sum())
        return self._measured[0] if self._measured else by_formula

    def rotated_gain(self, dimension: int | None = None) -> float:
        """Return how many times smaller the noise is than with the column variances alone: Σ sqrt(M_ii) / tr M^{1/2}.

        It is 1 for a diagonal covariance. After `from_public` it is the measured ratio; below 1, the column variances
        alone give less noise.

        Parameters
        ----------
        dimension : int, optional
            Number of columns. Only an isotropic covariance, which has no width of its own, needs it.

        Returns
        -------
        float
        """
        width = self._check(dimension)
        by_formula = float(np.sqrt(self.covariance_diagonal(width)).sum()) / self.trace_root(width)
        return self._measured[1] if self._measured else by_formula

    def with_measured_gains(self, gain: float, rotated_gain: float) -> Self:
        """Return the same covariance with measured gains in place of the formulas, which assume that M is exact.

        Parameters
        ----------
        gain, rotated_gain : float
            The values that the methods of the same names return from then on.

        Returns
        -------
        Covariance
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _measured=(gain, rotated_gain))
        return other

    def _check(self, dimension: int | None) -> int:
        width = _validate.check_count("dimension", self.dimension if dimension is None else dimension)
        self._check_width("dimension", width)
        return width

    def _floats(self, name: str, value: ArrayLike, ranks: Sequence[int]) -> Floats:
        """Read rows or vectors of its width as floats. They may be private: an error states their rank only."""
        given = _validate.as_array(name, value)
        _validate.check_rank(name, given.ndim, ranks)
        floats = _validate.as_floats(name, given)
        self._check_width(name, floats.shape[-1])
        return floats

    def _check_width(self, name: str, width: int) -> None:
        if self.dimension is not None:
            _validate.check_lengths(name, width, "column of the covariance", self.dimension)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(np.array_equal(getattr(self, part), getattr(other, part)) for part in self.__dict__["_parts"])

    def __hash__(self) -> int:
        parts = (getattr(self, part) + np.float64(0) for part in self.__dict__["_parts"])  # -0.0 becomes 0.0, its equal
        return hash((type(self), *(part.tobytes() for part in parts)))

    def __setattr__(self, *_: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; build a new one.")

    __delattr__ = __setattr__

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self  # frozen: a copy would only lose the read-only flags of its arrays

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...], dict[str, Any]]:
        parts = tuple(getattr(self, part) for part in self.__dict__["_parts"])
        return type(self), parts, {"_measured": self._measured}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dimension={self.dimension})"


def _read_only(values: Floats) -> Floats:
    values.setflags(write=False)
    return values


def _saturate(rescaling: Rescaling, rows: Floats) -> Floats:
    with np.errstate(all="ignore"):  # a warning, or an error under np.seterr, could reveal records
        rescaled = rescaling(rows)
        # Saturating changes infinities alone, and no sum of squares with one of them is finite.
        return rescaled if np.isfinite(float_squares(rescaled)).all() else saturate(rescaled)
