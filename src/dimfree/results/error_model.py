"""ErrorModel, LearnedShape and LearnedDirections: what a release tells beyond its mean. Public values only."""

import math
import sys
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import as_array, check_between, check_count, check_flag, check_kind, check_positive
from dimfree.errors import InvalidParameter
from dimfree.shapes import Diagonal


def frozen_numbers(name: str, value: object, dimension: int) -> NDArray[np.float64]:
    """A read-only copy over immutable bytes: not even setflags makes it writable."""
    array = as_array(name, value)
    if array.shape != (dimension,) or array.dtype.kind not in "iuf":
        raise InvalidParameter(f"Expected {name} to hold {dimension} numbers, one for each coordinate.")
    with np.errstate(all="ignore"):
        array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise InvalidParameter(f"Expected {name} to be finite.")
    return np.frombuffer(array.tobytes(), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ErrorModel:
    """What error bars need beyond noise_stddev. Public. Principal variances share one (unstated) set of directions.

    `records` is a lower bound on the number of records, with the confidence of the release; None: sampling is not
    modelled. About the population, the variances of the records are multiplied by `widening`, and any two of their
    coordinates are taken to have this `correlation`: what the lengths of the records tell beyond learned variances.
    `present` is the share of the records that have an entry, of each column; None: all of them. `one_value` tells the
    columns without an interval, because records may lie farther out than was measured; None: no such column.
    `clipping` is how far records drawn in to the reach have likely moved the mean from that of the records as they are,
    at most, in standard deviations of the noise, all coordinates together; error bars allow for it like for that much
    more noise. `unmeasured`: some records may lie farther out than was measured; they count at the edge of what was.
    """

    noise_principal: NDArray[np.float64] | None = None  # None: the coordinates are principal
    record_stddev: NDArray[np.float64] | None = None
    record_principal: NDArray[np.float64] | None = None
    records: float | None = None
    widening: float = 1.0
    correlation: float = 0.0
    present: NDArray[np.float64] | None = None
    one_value: NDArray[np.bool_] | None = None
    clipping: float = 0.0
    unmeasured: bool = False

    @property
    def covers_population(self) -> bool:
        """Whether sampling is modelled, so that there are intervals for the population mean."""
        return self.record_stddev is not None and self.records is not None

    def frozen(self, dimension: int) -> "ErrorModel":
        """A checked, read-only copy for records of this many columns."""

        def checked(array: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
            return None if array is None else frozen_numbers("the error model", array, dimension)

        return ErrorModel(
            noise_principal=checked(self.noise_principal),
            record_stddev=checked(self.record_stddev),
            record_principal=checked(self.record_principal),
            records=None if self.records is None else check_positive("records", self.records),
            widening=check_between("widening", self.widening, 1.0, sys.float_info.max),
            correlation=check_between("correlation", self.correlation, 0.0, 1.0),
            present=_frozen_shares(self.present, dimension),
            one_value=_frozen_flags(self.one_value, dimension),
            clipping=check_between("clipping", self.clipping, 0.0, 1e100),
            unmeasured=check_flag("unmeasured", self.unmeasured),
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "ErrorModel":
        """The model that `to_dict` wrote."""
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        present = {} if self.present is None else {"present": self.present.tolist()}
        one_value = {} if self.one_value is None else {"one_value": self.one_value.tolist()}
        return {
            "noise_principal": None if self.noise_principal is None else self.noise_principal.tolist(),
            "record_stddev": None if self.record_stddev is None else self.record_stddev.tolist(),
            "record_principal": None if self.record_principal is None else self.record_principal.tolist(),
            "records": self.records,
            "widening": self.widening,
            "correlation": self.correlation,
            "clipping": self.clipping,
            **present,
            **one_value,
            **({"unmeasured": True} if self.unmeasured else {}),
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnedDirections:
    """Principal directions of the records, learned privately. They are paid for, so they are public.

    With u the direction of a record from a released centre, in columns divided by `scale`, they are the leading
    eigenvectors of ``Σ u uᵀ - n diag(scale²) / Σ scale²``: of what these records show beyond uncorrelated columns.

    Attributes
    ----------
    vectors : ndarray of shape (r, d)
        Orthonormal rows, the strongest first, in columns divided by `scale`.
    shares : ndarray of shape (r,)
        Estimates of the mean of (u·row)² over the records.
    angles : ndarray of shape (r,)
        In radians: a bound, with 95 % confidence for each row by itself, on how far the noise has turned the row away
        from the span of those leading directions of the exact matrix that are at least a quarter as strong. π/2:
        nothing is known. The error of the centre is allowed for, as far as the released mean tells it, and a row that
        consists mostly of that error is left out. Sampling is not covered: other records would have other leading
        directions.
    scale : ndarray of shape (d,)
        What each column is divided by.
    """

    vectors: NDArray[np.float64]
    shares: NDArray[np.float64]
    angles: NDArray[np.float64]
    scale: NDArray[np.float64]

    def frozen(self, dimension: int) -> "LearnedDirections":
        """A checked, read-only copy.

        Parameters
        ----------
        dimension : int
            Number of columns of the records.

        Returns
        -------
        LearnedDirections
        """
        dimension = check_count("dimension", dimension)
        count = len(self.shares)
        vectors = frozen_numbers("directions", np.ravel(self.vectors), count * dimension).reshape(count, dimension)
        shares, angles = frozen_numbers("shares", self.shares, count), frozen_numbers("angles", self.angles, count)
        scale = frozen_numbers("the scale of directions", self.scale, dimension)
        if not count or not (scale > 0).all() or not ((shares >= 0) & (shares <= 1)).all():
            raise InvalidParameter("Expected directions with shares between 0 and 1 and a scale above 0.")
        if (
            not ((angles >= 0) & (angles <= np.pi / 2)).all()
            or np.abs(vectors @ vectors.T - np.eye(count)).max() > 1e-6
        ):
            raise InvalidParameter("Expected orthonormal directions with angles between 0 and a right one.")
        return LearnedDirections(vectors, shares, angles, scale)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON.

        Returns
        -------
        dict
        """
        parts = {"vectors": self.vectors, "shares": self.shares, "angles": self.angles, "scale": self.scale}
        return {name: part.tolist() for name, part in parts.items()}

    def __len__(self) -> int:
        return len(self.shares)

    def __repr__(self) -> str:
        return f"<LearnedDirections: {len(self)} of {len(self.scale)} coordinates>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnedShape:
    """Variances learned privately on the way to a mean, and their uncertainty. They are paid for, so they are public.

    Attributes
    ----------
    variances : ndarray of shape (d,)
        The variances that shaped the noise.
    log_stddev : ndarray of shape (d,)
        Standard deviation of the natural logarithm of each column's standard deviation: 0.1 means about 10 %. Infinite
        (null in JSON) where the spread was not learned: the released score is not larger than its noise, so the
        variance may be far too large, and only an upper bound is known.
    directions : LearnedDirections or None
        Where the noise was shaped in a learned basis.
    log_above : ndarray of shape (d,) or None
        The same as `log_stddev` for the upper side only, always finite. None: as log_stddev.
    """

    variances: NDArray[np.float64]
    log_stddev: NDArray[np.float64]
    directions: LearnedDirections | None = None
    log_above: NDArray[np.float64] | None = None

    @property
    def learned(self) -> NDArray[np.bool_]:
        """Whether the spread of each column was learned."""
        return np.isfinite(self.log_stddev)

    def stddev_bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bounds on the standard deviation of each column.

        Returns
        -------
        low, high : ndarray of shape (d,)
            Each pair holds with about 95 % confidence. low is 0 where the spread was not learned.
        """
        stddev = np.sqrt(self.variances)
        above = self.log_stddev if self.log_above is None else self.log_above
        return stddev * np.exp(-2 * self.log_stddev), stddev * np.exp(2 * above)

    def diagonal(self) -> Diagonal:
        """These variances as `shape=` for a later release about other records.

        Returns
        -------
        Diagonal
        """
        return Diagonal(self.variances)

    def frozen(self, dimension: int) -> "LearnedShape":
        """A checked, read-only copy.

        Parameters
        ----------
        dimension : int
            Number of columns of the records.

        Returns
        -------
        LearnedShape
        """
        dimension = check_count("dimension", dimension)
        variances = frozen_numbers("learned variances", self.variances, dimension)
        log_stddev = _frozen_uncertainty(self.log_stddev, dimension)
        above = log_stddev if self.log_above is None else self.log_above
        log_above = frozen_numbers("log_above", above, dimension)
        if not (variances > 0).all() or not (log_stddev >= 0).all() or not (log_above >= 0).all():
            raise InvalidParameter("Expected learned variances above 0, log_stddev and log_above of at least 0.")
        directions = None if self.directions is None else self.directions.frozen(dimension)
        return LearnedShape(variances, log_stddev, directions, log_above)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON.

        Returns
        -------
        dict
        """
        numbers: dict[str, Any] = {"variances": self.variances.tolist()}
        numbers["log_stddev"] = [each if math.isfinite(each) else None for each in self.log_stddev.tolist()]
        if self.log_above is not None:
            numbers["log_above"] = self.log_above.tolist()
        return numbers if self.directions is None else numbers | {"directions": self.directions.to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "LearnedShape":
        """The shape that `to_dict` wrote.

        Parameters
        ----------
        data : dict
            As from `to_dict`.

        Returns
        -------
        LearnedShape

        Raises
        ------
        InvalidParameter
            If an entry is missing or unknown.
        """
        if not {"variances", "log_stddev"} <= set(check_kind("data", data, dict)) <= {f.name for f in fields(cls)}:
            raise InvalidParameter("Expected exactly the entries of a learned shape.")
        directions = data.get("directions")
        log_stddev = [math.inf if each is None else each for each in data["log_stddev"]]
        found = {"directions": None if directions is None else LearnedDirections(**directions)}
        return cls(**data | found | {"log_stddev": np.array(log_stddev)})

    def __repr__(self) -> str:
        known = f"{int(self.learned.sum())} of {len(self.variances)} coordinates learned"
        return f"<LearnedShape: variances and log_stddev, {known}>"


def _frozen_shares(value: NDArray[np.float64] | None, dimension: int) -> NDArray[np.float64] | None:
    """Checked shares of present entries, above 0 so that records may be divided by them."""
    if value is None:
        return None
    shares = frozen_numbers("present", value, dimension)
    if not ((shares > 0) & (shares <= 1)).all():
        raise InvalidParameter("Expected shares of present entries above 0 and at most 1.")
    return shares


def _frozen_flags(value: NDArray[np.bool_] | None, dimension: int) -> NDArray[np.bool_] | None:
    """A read-only copy of one flag for each column."""
    if value is None:
        return None
    flags = as_array("one_value", value)
    if flags.shape != (dimension,) or flags.dtype != np.bool_:
        raise InvalidParameter(f"Expected one_value to hold {dimension} flags, one for each coordinate.")
    return np.frombuffer(flags.tobytes(), dtype=np.bool_)


def _frozen_uncertainty(value: NDArray[np.float64], dimension: int) -> NDArray[np.float64]:
    """Like `frozen_numbers`, but infinity is allowed: it means not learned."""
    array = np.array(value)
    unknown = array == np.inf if array.dtype.kind == "f" else np.zeros(array.shape, bool)
    frozen_numbers("log_stddev", np.where(unknown, 0, array), dimension)
    return np.frombuffer(array.astype(np.float64).tobytes(), dtype=np.float64)
