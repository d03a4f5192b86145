"""Shapes: a public covariance M as its verbs, M^{-1/4}, M^{1/4} and the trace of M^{1/2}.

A record x is rescaled to y = M^{-1/4} x, the mean is released in y-space with spherical noise and restored by M^{1/4};
the noise then costs tr(M^{1/2}) and does not see the dimension. Nobody else takes a fourth root.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dimfree import _validate
from dimfree._types import Floats
from dimfree.geometry.exact_product import SlicedMatrix, saturate

Rescaling: TypeAlias = Callable[[Floats], Floats]  # of finite rows, each by itself


def _fourth_root(values: Floats) -> Floats:
    return np.sqrt(np.sqrt(values))  # a root twice never leaves the range of floats


def _floats(name: str, value: ArrayLike, ranks: Sequence[int]) -> Floats:
    """Rows or vectors, of which an error tells the rank alone."""
    given = _validate.as_array(name, value)
    _validate.check_rank(name, given.ndim, ranks)
    return _validate.as_floats(name, given)


def _read_only(values: Floats) -> Floats:
    values.setflags(write=False)
    return values


def _saturated(rescaling: Rescaling, rows: Floats) -> Floats:
    with np.errstate(all="ignore"):  # a warning, or an error under np.seterr, would speak of records
        rescaled = rescaling(rows)
        # Saturating changes infinities alone, and no sum of squares with one of them is finite.
        return rescaled if np.isfinite(np.vecdot(rescaled, rescaled)).all() else saturate(rescaled)


def _divided(units: Floats | np.float64, rows: Floats) -> Floats:
    return rows / units


def _corrected(into: SlicedMatrix, out_of: SlicedMatrix, more: Floats, rest: float, rows: Floats) -> Floats:
    """All coordinates times `rest`, and so much `more` along the directions."""
    correction = out_of.product(saturate(into.product(rows) * more))
    return saturate(rows * rest) + correction


class Shape(ABC):
    """A symmetric positive definite matrix M, public, frozen.

    Guarantee: `rescale` maps one record at a time, bit for bit: the other records, their number and order, threads and
    memory layout change nothing. Proof: proofs/geometry/exact_product.md.
    """

    _measured: tuple[float, float] | None = None  # both gains, found on records that had no part in the shape

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)  # what defines the shape; everything else is derived from it
        self.__dict__["_parts"] = tuple(parts)

    @property
    @abstractmethod
    def dimension(self) -> int | None:
        """The width of the records it fits; None: any."""

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
        """M^{-1/4} applied to every row (n, d), as a new array.

        Entries past the largest float saturate; a row with a non-finite entry comes out as NaN throughout.
        """
        given = _floats("rows", rows, [2])
        self._check_width("rows", given.shape[-1])
        rescaled = self.rescaling()(given)
        rescaled[~np.isfinite(given).all(axis=1)] = np.nan
        return rescaled

    def rescaling(self) -> Rescaling:
        """`rescale` of rows (n, d) known to be finite and to fit, for wherever they lie.

        It takes along what was derived from the shape here: another machine, or another number of threads, would
        factorise with other last bits, and a record would be told by who rescaled it.
        """
        return partial(_saturated, self._rescaling())

    def restore(self, vector: ArrayLike) -> Floats:
        """M^{1/4} vector, in plain floats: for what is already released."""
        given = _floats("vector", vector, [1, 2])
        self._check_width("vector", given.shape[-1])
        with np.errstate(all="ignore"):  # an error would speak of entries
            return self._restored(given)

    def root_diagonal(self, dimension: int) -> Floats:
        """The diagonal of M^{1/2}: the noise variance per coordinate is proportional to it."""
        return _read_only(self._root_diagonal(self._check(dimension)))

    def spectrum(self, dimension: int) -> Floats:
        """The eigenvalues of M^{1/2}, largest first."""
        return _read_only(self._spectrum(self._check(dimension)))

    def covariance_diagonal(self, dimension: int) -> Floats:
        """The diagonal of M: the variance of each coordinate."""
        return _read_only(self._covariance_diagonal(self._check(dimension)))

    def trace_root(self, dimension: int) -> float:
        """The trace of M^{1/2}: what the noise costs."""
        return float(self.spectrum(dimension).sum())

    def gain(self, dimension: int | None = None) -> float:
        """How many times less noise than spherical noise adds to records of covariance M: sqrt(d tr M) / tr M^{1/2}.

        A shape by `shape_from` tells what it found on rows that had no part in it instead. An `Isotropic` shape has no
        `dimension` of its own.
        """
        roots = self.spectrum(self._width(dimension))
        relative = roots / roots[0]  # squares of the roots themselves may leave the range of floats
        by_formula = math.sqrt(relative.size * float(relative @ relative)) / float(relative.sum())
        return self._measured[0] if self._measured else by_formula

    def rotated_gain(self, dimension: int | None = None) -> float:
        """How many times less noise than the variances of the columns alone would give: Σ sqrt(M_ii) / tr M^{1/2}.

        One for a diagonal shape. Like `gain`, a shape by `shape_from` tells what it found; below one, the variances
        alone are the better knowledge.
        """
        width = self._width(dimension)
        by_formula = float(np.sqrt(self.covariance_diagonal(width)).sum()) / self.trace_root(width)
        return self._measured[1] if self._measured else by_formula

    def measured(self, gain: float, rotated_gain: float) -> Self:
        """The same shape, which tells these gains: the formulas take M for the truth, which an estimate is not."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _measured=(gain, rotated_gain))
        return other

    def _width(self, dimension: int | None) -> int:
        return _validate.check_count("dimension", self.dimension if dimension is None else dimension)

    def _check(self, dimension: int) -> int:
        width = _validate.check_count("dimension", dimension)
        self._check_width("dimension", width)
        return width

    def _check_width(self, name: str, width: int) -> None:
        if self.dimension is not None:
            _validate.check_width(name, width, self.dimension)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(np.array_equal(getattr(self, part), getattr(other, part)) for part in self.__dict__["_parts"])

    def __hash__(self) -> int:
        parts = (getattr(self, part) + np.float64(0) for part in self.__dict__["_parts"])  # -0.0 becomes 0.0, its equal
        return hash((type(self), *(part.tobytes() for part in parts)))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; build a new one.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; build a new one.")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self  # frozen: a copy would only lose the read-only flags of its arrays

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...], dict[str, Any]]:
        parts = tuple(getattr(self, part) for part in self.__dict__["_parts"])
        return type(self), parts, {"_measured": self._measured}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dimension={self.dimension})"


class Isotropic(Shape):
    """Covariance scale**2 * I, in any dimension."""

    scale: float

    def __init__(self, scale: float) -> None:
        super().__init__(scale=_validate.check_positive("scale", scale))

    @property
    def dimension(self) -> None:
        return None

    def _rescaling(self) -> Rescaling:
        return partial(_divided, np.float64(math.sqrt(self.scale)))

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


class Diagonal(Shape):
    """Covariance diag(variances): independent coordinates, one variance each."""

    variances: Floats

    def __init__(self, variances: ArrayLike) -> None:
        super().__init__(variances=_validate.check_variances("variances", variances))

    @property
    def dimension(self) -> int:
        return self.variances.size

    @cached_property
    def _fourth_roots(self) -> Floats:
        return _read_only(_fourth_root(self.variances))

    def _rescaling(self) -> Rescaling:
        return partial(_divided, self._fourth_roots)

    def _restored(self, vector: Floats) -> Floats:
        return vector * self._fourth_roots

    def _root_diagonal(self, dimension: int) -> Floats:
        return np.sqrt(self.variances)

    def _spectrum(self, dimension: int) -> Floats:
        return np.sort(np.sqrt(self.variances))[::-1].copy()

    def _covariance_diagonal(self, dimension: int) -> Floats:
        return self.variances.copy()


class Dense(Shape):
    """Any positive definite covariance (d, d), through its symmetric eigendecomposition."""

    covariance: Floats

    def __init__(self, covariance: ArrayLike) -> None:
        super().__init__(covariance=_validate.check_symmetric("covariance", covariance))
        _validate.check_definite("covariance", self._eigen[0])

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
    """Variances along k orthonormal directions, one tail variance in all others; O(d k) a record.

    Covariance: basis diag(variances) basis^T + tail (I - basis basis^T).
    """

    basis: Floats
    variances: Floats
    tail: float

    def __init__(self, basis: ArrayLike, variances: ArrayLike, tail: float) -> None:
        directions = _validate.check_orthonormal("basis", basis)
        along = _validate.check_variances("variances", variances)
        _validate.check_lengths("variances", along.size, "column of basis", directions.shape[1])
        super().__init__(basis=directions, variances=along, tail=_validate.check_positive("tail", tail))

    @property
    def dimension(self) -> int:
        return len(self.basis)

    @cached_property
    def _directions(self) -> Floats:
        """The basis, orthonormal to the last bits: what is off by 1e-6 would come back times (variance/tail)^{1/4}."""
        q, r = np.linalg.qr(self.basis)
        return q * np.sign(np.diagonal(r))

    @cached_property
    def _into(self) -> SlicedMatrix:
        return SlicedMatrix(self._directions)

    @cached_property
    def _out_of(self) -> SlicedMatrix:
        return SlicedMatrix(self._directions.T)

    def _rescaling(self) -> Rescaling:
        along, rest = 1 / _fourth_root(self.variances), 1 / math.sqrt(math.sqrt(self.tail))
        return partial(_corrected, self._into, self._out_of, along - rest, rest)

    def _restored(self, vector: Floats) -> Floats:
        along, rest = _fourth_root(self.variances), math.sqrt(math.sqrt(self.tail))
        return vector * rest + (vector @ self._directions * (along - rest)) @ self._directions.T

    def _root_diagonal(self, dimension: int) -> Floats:
        squares = self._directions**2
        outside = np.maximum(1 - squares.sum(axis=1), 0)
        return squares @ np.sqrt(self.variances) + outside * math.sqrt(self.tail)

    def _spectrum(self, dimension: int) -> Floats:
        rest = np.full(dimension - self.variances.size, math.sqrt(self.tail))
        return np.sort(np.concatenate([np.sqrt(self.variances), rest]))[::-1].copy()

    def _covariance_diagonal(self, dimension: int) -> Floats:
        squares = self._directions**2
        return squares @ self.variances + np.maximum(1 - squares.sum(axis=1), 0) * self.tail

    def __repr__(self) -> str:
        return f"LowRank(dimension={self.dimension}, rank={self.variances.size}, tail={self.tail!r})"


def as_shape(covariance: ArrayLike | None, shape: Shape | str | None, dimension: int) -> Shape:
    """The shape that exactly one of covariance= (variances or a matrix) and shape= stands for, fitting the records."""
    _validate.check_exactly_one(covariance, shape)
    chosen = _from_covariance(covariance, dimension) if shape is None else shape
    if not isinstance(chosen, Shape):
        raise _validate.reject_shape("shape", shape)
    if chosen.dimension is not None:
        _validate.check_dimension("covariance" if shape is None else "shape", chosen.dimension, dimension)
    return chosen


def _from_covariance(covariance: Any, dimension: int) -> Shape:
    rank = _rank(covariance)
    if rank == 0 and dimension == 1 and not isinstance(covariance, Shape | str):
        return Diagonal([covariance])
    if rank not in (1, 2):
        raise _validate.reject_covariance(covariance, dimension)
    return Diagonal(_validate.check_variances("covariance", covariance)) if rank == 1 else Dense(covariance)


def _rank(value: Any) -> int:
    try:
        return np.ndim(value)
    except Exception:  # noqa: BLE001 - it may quote an entry
        return 1  # lists of different lengths, say: the check of the entries tells
