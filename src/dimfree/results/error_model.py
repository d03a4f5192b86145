"""What a release states beyond its mean: the model of its errors, learned variances, and where records are clipped."""

import sys
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree._validate import check_between, check_flag, check_positive, require
from dimfree.results.codec import Declared, checked_fields, declared, flags, frozen_numbers, numbers, part, single
from dimfree.shapes import Diagonal

NOT_EXCLUDED = "no private method can exclude such records"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ErrorModel(Declared):
    """What intervals need beyond noise_stddev. Public. Principal variances share one (unstated) set of directions.

    `records` is a lower bound on the number of records, with the confidence of the release; None: sampling is not
    modelled. About the population, the variances of the records are multiplied by `widening`, and any two of their
    coordinates are taken to have this `correlation`: what the lengths of the records show beyond learned variances.
    `present` is the share of the records that have an entry, of each column; None: all of them. `one_value` marks the
    columns without an interval, because records may lie farther out than was measured; None: no such column.
    `clipping` bounds how far clipping has likely moved the mean, in SDs of the noise, all coordinates together;
    intervals allow for it like for that much more noise. `hidden` is how far it may have moved each column, in its own
    units; the interval of a column then allows for that instead, like for one more SD; None: not known by column.
    `unmeasured`: some records may lie farther out than was measured; they count at the edge of what was.
    """

    noise_principal: Floats | None = field(default=None, metadata=numbers())  # None: the coordinates are principal
    record_stddev: Floats | None = field(default=None, metadata=numbers())
    record_principal: Floats | None = field(default=None, metadata=numbers())
    records: float | None = field(default=None, metadata=single(check_positive))
    widening: float = field(default=1.0, metadata=single(partial(check_between, least=1.0, most=sys.float_info.max)))
    correlation: float = field(default=0.0, metadata=single(partial(check_between, least=0.0, most=1.0)))
    present: Floats | None = field(default=None, metadata=numbers(above=0.0, most=1.0, late=True))
    one_value: NDArray[np.bool_] | None = field(default=None, metadata=declared(flags, late=True))
    clipping: float = field(default=0.0, metadata=single(partial(check_between, least=0.0, most=1e100)))
    unmeasured: bool = field(default=False, metadata=single(check_flag, late=True))
    hidden: Floats | None = field(default=None, metadata=numbers(least=0.0, late=True))

    @property
    def covers_population(self) -> bool:
        """Whether sampling is modelled, so that there are intervals for the population mean."""
        return self.record_stddev is not None and self.records is not None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnedDirections(Declared):
    """Principal directions of the records, learned privately: charged, so public.

    With u the direction of a record from a released center, in columns divided by `scale`, they are the leading
    eigenvectors of ``Σ u uᵀ - n diag(scale²) / Σ scale²``: of what these records show beyond uncorrelated columns.

    Attributes
    ----------
    vectors : ndarray of shape (r, d)
        Orthonormal rows, the strongest first, in columns divided by `scale`.
    shares : ndarray of shape (r,)
        Estimates of the mean of (u·row)² over the records.
    angles : ndarray of shape (r,)
        In radians: a bound, with 95 % confidence for each row separately, on how far the noise has turned the row away
        from the span of those leading directions of the exact matrix that are at least a quarter as strong. π/2:
        nothing is known. The error of the center is allowed for, as far as the released mean shows it; a row that
        consists mostly of that error is left out. Sampling is not covered.
    scale : ndarray of shape (d,)
        What each column is divided by.
    """

    vectors: Floats = field(metadata=numbers())
    shares: Floats = field(metadata=numbers(least=0.0, most=1.0))
    angles: Floats = field(metadata=numbers(least=0.0, most=np.pi / 2))
    scale: Floats = field(metadata=numbers(above=0.0))

    def _checked(self, dimension: int) -> dict[str, Any]:
        count = len(self.shares)
        vectors = frozen_numbers("vectors", np.ravel(self.vectors), count * dimension).reshape(count, dimension)
        is_basis = count and np.abs(vectors @ vectors.T - np.eye(count)).max() <= 1e-6
        require(is_basis, "Expected vectors to hold orthonormal rows.")
        sizes = {"shares": count, "angles": count, "scale": dimension}
        checks = {name: self.__dataclass_fields__[name].metadata["check"] for name in sizes}
        return {"vectors": vectors} | {n: checks[n](n, getattr(self, n), size) for n, size in sizes.items()}

    def __len__(self) -> int:
        return len(self.shares)

    def __repr__(self) -> str:
        return f"<LearnedDirections: {len(self)} of {len(self.scale)} coordinates>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnedShape(Declared):
    """Variances learned privately on the way to a mean, and their uncertainty: charged, so public.

    Attributes
    ----------
    variances : ndarray of shape (d,)
        The variances that shaped the noise.
    log_stddev : ndarray of shape (d,)
        Standard deviation of the natural logarithm of each column's SD: 0.1 means about 10 %. Infinite (null in JSON)
        where the SD was not learned: the released score is not larger than its noise, so only an upper bound is known.
    directions : LearnedDirections or None
        If the noise was shaped in a learned basis.
    log_above : ndarray of shape (d,) or None
        The same as `log_stddev` for the upper side only, always finite. None: as log_stddev.
    """

    variances: Floats = field(metadata=numbers(above=0.0))
    log_stddev: Floats = field(metadata=numbers(least=0.0, unknown=True))
    directions: LearnedDirections | None = field(default=None, metadata=part(LearnedDirections, late=True))
    log_above: Floats | None = field(default=None, metadata=numbers(least=0.0, late=True))

    @property
    def learned(self) -> NDArray[np.bool_]:
        """Whether the SD of each column was learned."""
        return np.isfinite(self.log_stddev)

    def stddev_bounds(self) -> tuple[Floats, Floats]:
        """Return bounds on the standard deviation of each column.

        Returns
        -------
        low, high : ndarray of shape (d,)
            Each pair holds with about 95 % confidence. low is 0 where the SD was not learned.
        """
        stddev = np.sqrt(self.variances)
        above = self.log_stddev if self.log_above is None else self.log_above
        return stddev * np.exp(-2 * self.log_stddev), stddev * np.exp(2 * above)

    def diagonal(self) -> Diagonal:
        """Return these variances as `shape=` for a later release about other records.

        Returns
        -------
        Diagonal
        """
        return Diagonal(self.variances)

    def _checked(self, dimension: int) -> dict[str, Any]:
        whole = replace(self, log_above=self.log_stddev) if self.log_above is None else self
        return checked_fields(whole, dimension)

    def __repr__(self) -> str:
        known = f"{int(self.learned.sum())} of {len(self.variances)} coordinates learned"
        return f"<LearnedShape: variances and log_stddev, {known}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reach(Declared):
    """What a release averages: these records, each farther than `radius` from `centre` clipped to it.

    Distances are Euclidean, in columns divided by `scale`; a column in which a record lies farther than `cap` from the
    center is first clipped there. No private method can average records without any limit, nor show that none lie
    beyond this one. All of it was released or follows from what was.

    Attributes
    ----------
    radius : float
        How far a record may lie from the center and count in full, in columns divided by `scale`.
    centre : ndarray of shape (d,)
        In the units of the records.
    scale : ndarray of shape (d,)
        What each column is divided by.
    beyond : float or None
        Up to so many records may lie farther than `radius` or `cap`, by the released histogram of lengths (about 97.5 %
        confidence). With few records it is a large share of them: then the mean of these records may well lie outside
        the intervals, which are about the mean of the clipped records. None: not known.
    cap : float or None
        How far from the center a record counts in any one column, divided by its `scale`. None: four radii.
    """

    radius: float = field(metadata=single(check_positive))
    centre: Floats = field(metadata=numbers())
    scale: Floats = field(metadata=numbers(above=0.0))
    beyond: float | None = field(default=None, metadata=single(check_positive))
    cap: float | None = field(default=None, metadata=single(check_positive, late=True))

    @property
    def columns(self) -> Floats:
        """How far from the center a record may lie in one column alone and count in full, in the column's units."""
        return (self.radius if self.cap is None else min(self.radius, self.cap)) * self.scale

    def statement(self) -> str:
        """Return which mean was estimated, as a phrase.

        Returns
        -------
        str
        """
        drawn_in = f"each farther than {self.radius:.3g} from the centre drawn in to {self.radius:.3g}"
        drawn_in += "" if self.cap is None else f", after every column by itself was held within {self.cap:.3g}"
        many = "" if self.beyond is None else f"these may be up to about {self.beyond:.2g}; "
        return f"the mean of these records, {drawn_in} ({many}{NOT_EXCLUDED})"

    def __repr__(self) -> str:
        return f"<Reach: radius {self.radius:.4g} in {len(self.scale)} scaled columns>"
