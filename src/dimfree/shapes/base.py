"""Shape: a public covariance M. It applies M^{-1/4} and M^{1/4} and knows the trace of M^{1/2}.

A record x is rescaled to y = M^{-1/4} x, the mean of the y is released with spherical noise, and the result is restored
by M^{1/4}. The noise then costs tr(M^{1/2}), whatever the dimension. No other module takes a fourth root of M.
"""

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

Rescaling: TypeAlias = Callable[[Floats], Floats]  # of finite rows, each by itself


class Shape(ABC):
    """A symmetric positive definite matrix M, public, frozen.

    Guarantee: `rescale` maps one record at a time, bit for bit: the other records, their number and order, threads and
    memory layout change nothing. Proof: proofs/rows/exact_product.md.
    """

    _measured: tuple[float, float] | None = None  # both gains, measured on records not used for the shape

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)  # what defines the shape; everything else is derived from it
        self.__dict__["_parts"] = tuple(parts)

    @property
    @abstractmethod
    def dimension(self) -> int | None:
        """Number of columns of the records it fits; None if any number fits."""

    @abstractmethod
    def _rescaling(self) -> Rescaling: ...

    @abstractmethod
    def _restored(self, vector: Floats) -> Floats: ...

    @abstractmethod
    def _root_diagonal(self, dimension: int) -> Floats: ...

    @abstractmethod
    def _spectrum(self, dimension: int) -> Floats: ...

    @abstractmethod
    def _covariance_diagonal(self, dimension: int) -> Floats: ...

    def rescale(self, rows: ArrayLike) -> Floats:
        """M^{-1/4} applied to every row, as a new array.

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
        """A function that rescales finite rows (n, d) of the right width, to be sent to other processes.

        It carries the factorisation computed here. Another machine or another number of threads would factorise
        with different last bits, and the output would reveal which worker held a record.

        Returns
        -------
        callable
            From rows (n, d) to rescaled rows (n, d).
        """
        return partial(_saturated, self._rescaling())

    def restore(self, vector: ArrayLike) -> Floats:
        """M^{1/4} applied to a vector that is already released. Plain floating point.

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
            return self._restored(given)

    def root_diagonal(self, dimension: int) -> Floats:
        """The diagonal of M^{1/2}. The noise variance of each column is proportional to it.

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
        """The eigenvalues of M^{1/2}, largest first.

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
        """The diagonal of M: the variance of each column.

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
        """The trace of M^{1/2}. The error that the noise adds is proportional to it.

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
        """How many times smaller the noise is than spherical noise on the same records: sqrt(d tr M) / tr M^{1/2}.

        A shape made by `shape_from` returns the ratio measured on rows that were not used to estimate the shape.

        Parameters
        ----------
        dimension : int, optional
            Number of columns. Only an `Isotropic` shape, which has no width of its own, needs it.

        Returns
        -------
        float
        """
        roots = self.spectrum(self._check(dimension))
        relative = roots / roots[0]  # squares of the roots themselves may leave the range of floats
        by_formula = math.sqrt(relative.size * float(relative @ relative)) / float(relative.sum())
        return self._measured[0] if self._measured else by_formula

    def rotated_gain(self, dimension: int | None = None) -> float:
        """How many times smaller the noise is than with the column variances alone: Σ sqrt(M_ii) / tr M^{1/2}.

        It is 1 for a diagonal shape. A shape made by `shape_from` returns the measured ratio; below 1, the column
        variances alone give less noise.

        Parameters
        ----------
        dimension : int, optional
            Number of columns. Only an `Isotropic` shape, which has no width of its own, needs it.

        Returns
        -------
        float
        """
        width = self._check(dimension)
        by_formula = float(np.sqrt(self.covariance_diagonal(width)).sum()) / self.trace_root(width)
        return self._measured[1] if self._measured else by_formula

    def measured(self, gain: float, rotated_gain: float) -> Self:
        """The same shape, with these measured gains in place of the formulas, which assume that M is exact.

        Parameters
        ----------
        gain, rotated_gain : float
            What the methods of the same names return from then on.

        Returns
        -------
        Shape
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _measured=(gain, rotated_gain))
        return other

    def _check(self, dimension: int | None) -> int:
        width = _validate.check_count("dimension", self.dimension if dimension is None else dimension)
        self._check_width("dimension", width)
        return width

    def _floats(self, name: str, value: ArrayLike, ranks: Sequence[int]) -> Floats:
        """Rows or vectors of its width as floats. They may be private: an error states their rank only."""
        given = _validate.as_array(name, value)
        _validate.check_rank(name, given.ndim, ranks)
        floats = _validate.as_floats(name, given)
        self._check_width(name, floats.shape[-1])
        return floats

    def _check_width(self, name: str, width: int) -> None:
        if self.dimension is not None:
            _validate.check_lengths(name, width, "column of the shape", self.dimension)

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


def _saturated(rescaling: Rescaling, rows: Floats) -> Floats:
    with np.errstate(all="ignore"):  # a warning, or an error under np.seterr, could reveal records
        rescaled = rescaling(rows)
        # Saturating changes infinities alone, and no sum of squares with one of them is finite.
        return rescaled if np.isfinite(float_squares(rescaled)).all() else saturate(rescaled)
