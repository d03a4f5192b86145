"""What a release states beyond its mean: the error model, the estimated variances and the clipping."""

import sys
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree._validate import check_between, check_flag, check_positive, require
from dimfree.results.codec import (
    Declared,
    check_fields,
    check_flags,
    declare_field,
    declare_numbers,
    declare_part,
    declare_value,
    freeze_numbers,
)
from dimfree.shapes import DiagonalCovariance


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ErrorModel(Declared):
    """What intervals need beyond noise_stddev; all of it is public. Principal variances share one set of directions.

    `records` is a lower bound on the sample size, with the confidence of the release; None: sampling is not modeled.
    For the population mean, the variances are multiplied by `widening`, and any two columns have this `correlation`:
    both come from the released distances of the records. `present` is the share of records with a value, per column;
    None: all of them. `without_interval` marks the columns without an interval, because records may lie beyond the
    measured range; None: no such column. `clipping_bias` bounds the likely clipping bias in noise SDs, all columns
    together; intervals allow for it as for that much more noise. `hidden` is the same bound per column, in its units;
    the interval of a column then allows for it as for one more noise SD; None: unknown per column. `unmeasured`: some
    records may lie beyond the measured range, and are clipped at its edge.
    """

    noise_principal: Floats | None = field(default=None, metadata=declare_numbers())  # None: that of the columns
    record_stddev: Floats | None = field(default=None, metadata=declare_numbers())
    record_principal: Floats | None = field(default=None, metadata=declare_numbers())
    records: float | None = field(default=None, metadata=declare_value(check_positive))
    widening: float = field(
        default=1.0, metadata=declare_value(partial(check_between, least=1.0, most=sys.float_info.max))
    )
    correlation: float = field(default=0.0, metadata=declare_value(partial(check_between, least=0.0, most=1.0)))
    present: Floats | None = field(default=None, metadata=declare_numbers(above=0.0, most=1.0, late=True))
    without_interval: NDArray[np.bool_] | None = field(default=None, metadata=declare_field(check_flags, late=True))
    clipping_bias: float = field(default=0.0, metadata=declare_value(partial(check_between, least=0.0, most=1e100)))
    unmeasured: bool = field(default=False, metadata=declare_value(check_flag, late=True))
    hidden: Floats | None = field(default=None, metadata=declare_numbers(least=0.0, late=True))

    @property
    def covers_population(self) -> bool:
        """Whether sampling is modeled, so that the population mean has intervals."""
        return self.record_stddev is not None and self.records is not None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EstimatedDirections(Declared):
    """Privately estimated principal directions of the records. They were charged, so they are public.

    With u the direction of a record from a released center, in columns divided by `scale`, the directions are the
    leading eigenvectors of ``Σ u uᵀ - n diag(scale²) / Σ scale²``: the excess over uncorrelated columns.

    Attributes
    ----------
    vectors : ndarray of shape (r, d)
        Orthonormal rows, strongest first, in columns divided by `scale`.
    shares : ndarray of shape (r,)
        Estimates of the mean of (u·row)² over the records.
    angles : ndarray of shape (r,)
        In radians: an upper bound, with 95% confidence for each row separately, on the angle between the row and the
        span of the leading directions of the exact matrix that are at least a quarter as strong. π/2: no bound is
        known. The error of the center is allowed for, as far as the released mean shows it; a row that consists mostly
        of that error is left out. Sampling error is not covered.
    scale : ndarray of shape (d,)
        The divisor of each column.
    """

    vectors: Floats = field(metadata=declare_numbers())
    shares: Floats = field(metadata=declare_numbers(least=0.0, most=1.0))
    angles: Floats = field(metadata=declare_numbers(least=0.0, most=np.pi / 2))
    scale: Floats = field(metadata=declare_numbers(above=0.0))

    def _checked(self, dimension: int) -> dict[str, Any]:
        count = len(self.shares)
        vectors = freeze_numbers("vectors", np.ravel(self.vectors), count * dimension).reshape(count, dimension)
        is_basis = count and np.abs(vectors @ vectors.T - np.eye(count)).max() <= 1e-6
        require(is_basis, "`vectors` must have orthonormal rows.")
        sizes = {"shares": count, "angles": count, "scale": dimension}
        checks = {name: self.__dataclass_fields__[name].metadata["check"] for name in sizes}
        return {"vectors": vectors} | {n: checks[n](n, getattr(self, n), size) for n, size in sizes.items()}

    def __len__(self) -> int:
        return len(self.shares)

    def __repr__(self) -> str:
        return f"<EstimatedDirections: {len(self)} in {len(self.scale)} columns>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EstimatedVariances(Declared):
    """Privately estimated variances and their uncertainty. They were charged, so they are public.

    Attributes
    ----------
    variances : ndarray of shape (d,)
        The variances that determine the noise covariance.
    log_stddev : ndarray of shape (d,)
        Standard error of the natural logarithm of each column's SD: 0.1 means about 10%. Infinite (null in JSON) if
        the SD was not estimated: the released score does not exceed its noise, so only an upper bound is known.
    directions : EstimatedDirections or None
        The directions, if the basis of the noise was privately estimated.
    log_above : ndarray of shape (d,) or None
        The same as `log_stddev` for the upper side only, always finite. None: equal to log_stddev.
    """

    variances: Floats = field(metadata=declare_numbers(above=0.0))
    log_stddev: Floats = field(metadata=declare_numbers(least=0.0, unknown=True))
    directions: EstimatedDirections | None = field(default=None, metadata=declare_part(EstimatedDirections, late=True))
    log_above: Floats | None = field(default=None, metadata=declare_numbers(least=0.0, late=True))

    @property
    def learned(self) -> NDArray[np.bool_]:
        """Whether the SD of each column was estimated."""
        return np.isfinite(self.log_stddev)

    def sd_bounds(self) -> tuple[Floats, Floats]:
        """Return bounds on the standard deviation of each column.

        Returns
        -------
        low, high : ndarray of shape (d,)
            Each pair holds with about 95% confidence. low is 0 if the SD was not estimated.
        """
        stddev = np.sqrt(self.variances)
        above = self.log_stddev if self.log_above is None else self.log_above
        return stddev * np.exp(-2 * self.log_stddev), stddev * np.exp(2 * above)

    def diagonal(self) -> DiagonalCovariance:
        """Return these variances as `covariance=` for a later release about other records.

        Returns
        -------
        Covariance
        """
        return DiagonalCovariance(self.variances)

    def _checked(self, dimension: int) -> dict[str, Any]:
        whole = replace(self, log_above=self.log_stddev) if self.log_above is None else self
        return check_fields(whole, dimension)

    def __repr__(self) -> str:
        return f"<EstimatedVariances: {int(self.learned.sum())} of {len(self.variances)} columns>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Clipping(Declared):
    """Where a release clips: each record farther than `radius` from `center` is moved to that distance.

    Distances are Euclidean, in columns divided by `scale` (standardized). Before that, each column is clipped at
    `column_bound` from the center. A private mean needs such a limit, and a private method cannot rule out records
    beyond it. All fields were released or follow from released values.

    Attributes
    ----------
    radius : float
        The clipping radius, as a standardized distance.
    center : ndarray of shape (d,)
        The center, in the units of the columns.
    scale : ndarray of shape (d,)
        The divisor of each column.
    max_clipped : float or None
        Up to this many records may be clipped, by the released length histogram (about 97.5% confidence). If this is a
        large share of the records, the mean of the raw records may lie outside the intervals for target="sample",
        which are for the mean of the clipped records. None: unknown.
    column_bound : float or None
        The clipping bound of each column, divided by its `scale`. None: four radii.
    """

    radius: float = field(metadata=declare_value(check_positive))
    center: Floats = field(metadata=declare_numbers())
    scale: Floats = field(metadata=declare_numbers(above=0.0))
    max_clipped: float | None = field(default=None, metadata=declare_value(check_positive))
    column_bound: float | None = field(default=None, metadata=declare_value(check_positive, late=True))

    @property
    def column_radii(self) -> Floats:
        """The largest unclipped distance in one column if all others are at the center, in the column's units."""
        return (self.radius if self.column_bound is None else min(self.radius, self.column_bound)) * self.scale

    def statement(self, typical: float | None = None) -> str:
        """Return in sentences which records are clipped.

        Parameters
        ----------
        typical : float, optional
            The standardized distance of a typical record.

        Returns
        -------
        str
        """
        lies = "" if typical is None else f"; a typical record lies at {typical:.3g}"
        many = "" if self.max_clipped is None else f": up to about {self.max_clipped:.2g} are possible"
        sentences = (
            f"Clipping: records farther than {self.radius:.3g} (standardized distance) from the center are clipped"
            f"{lies}.",
            "" if self.column_bound is None else f"Before that, each column is clipped at {self.column_bound:.3g}.",
            f"A private method cannot rule out such records{many}.",
        )
        return " ".join(filter(None, sentences))

    def __repr__(self) -> str:
        return f"<Clipping: radius {self.radius:.4g} in {len(self.scale)} standardized columns>"
