"""`covariance_from_public`: the shrunk covariance of public records by Ledoit and Wolf, and the expected gain.

Notation: x_j the n rows minus their mean, d columns each, S = Σ x_j x_j' / n, mu = tr S / d, delta in [0, 1] the
shrinkage. The covariance is M = (1 - delta) S + delta mu I, equal to sklearn.covariance.LedoitWolf up to rounding. If
n <= d it has one variance, delta mu, in all directions outside the span of the rows. It is then computed from the n × n
products of the rows, without any d × d matrix.
"""

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_count
from dimfree.data.records import as_records
from dimfree.errors import InvalidDataError, InvalidParameterError
from dimfree.shapes import Covariance, DenseCovariance, LowRankCovariance

FOLDS = 5  # parts of the public rows; the gain is measured on the part that an estimate leaves out
MIN_ROWS = FOLDS  # rows
MAX_SIZE = 6000  # rows or columns, the smaller number: size of the matrix that is decomposed
_ENOUGH = 1000  # rows above which one part is enough
_NEGLIGIBLE = 1e-8  # of the largest variance: smaller directions are inaccurate, and are averaged into the tail


def covariance_from_public(public_X: object, *, rank: int | None = None) -> Covariance:
    """Estimate the covariance of PUBLIC records; see `Covariance.from_public`.

    Guarantee: none for public_X, whose rows can be computed from the result. A constant column gets the variance that
    shrinkage gives to every direction. The gains apply to a release with scale="learn"; they are measured on a fifth of
    the public rows with an estimate from the others, five times (once above 1000 rows). With scale="known" the release
    also relies on the size of the estimate, and refuses records with a much larger SD.
    """
    strongest = None if rank is None else check_count("rank", rank)
    rows = _rows(public_X)
    return _fit_covariance(rows, strongest).with_measured_gains(*_gains(rows, strongest))


def _rows(public_X: object) -> Floats:
    """Return all rows minus the first one: constant columns become exact zeros, the origin has no effect."""
    records = as_records(public_X)
    count, dimension = records.count, records.dimension  # public here
    if count < MIN_ROWS:
        raise InvalidDataError(f"`public_X` must have at least {MIN_ROWS} rows. Find more public records.")
    if min(count, dimension) > MAX_SIZE:
        raise InvalidDataError(
            f"`public_X` must have at most {MAX_SIZE} rows or at most {MAX_SIZE} columns. "
            f"Pass up to {MAX_SIZE} of its rows, in random order."
        )
    blocks = list(records.blocks())
    if not all(valid.all() for _, valid in blocks):
        raise InvalidDataError(
            "`public_X` must hold finite numbers alone; it has NaN, infinite or missing values. Drop those rows, or "
            "fill the values in."
        )
    rows = np.concatenate([block for block, _ in blocks])
    with np.errstate(all="ignore"):
        rows -= rows[0].copy()
    widest = float(np.abs(rows).max())
    if widest == 0:
        raise InvalidDataError(f"The rows of `public_X` are all equal, so they have no variance. {_REMEDY}")
    if not 1e-60 < widest < 1e60:
        raise InvalidDataError("The differences between rows of `public_X` must be in (1e-60, 1e60). Change the units.")
    return rows


def _fit_covariance(rows: Floats, rank: int | None) -> Covariance:
    """Estimate (1 - delta) S + delta mu I; with `rank`, or with few rows, as directions and a tail."""
    x = rows - rows.mean(axis=0)
    count, dimension = x.shape
    wide = count <= dimension
    products = (x @ x.T if wide else x.T @ x) / count  # both have the eigenvalues of S, but for zeros
    trace, delta = float(np.trace(products)), _shrinkage(x, products)
    if trace == 0:
        raise InvalidDataError(f"Most rows of `public_X` are equal, so they show too little of the variance. {_REMEDY}")
    floor = delta * trace / dimension
    if not wide and (rank is None or rank >= dimension):
        try:
            return DenseCovariance((1 - delta) * products + floor * np.eye(dimension))
        except InvalidParameterError:
            raise InvalidDataError(_FLAT) from None
    values, vectors = np.linalg.eigh(products)
    kept = min(rank or count, int((values > _NEGLIGIBLE * values[-1]).sum()))
    others, largest, directions = values[:-kept], values[-kept:], vectors[:, -kept:]
    tail = floor + (1 - delta) * max(float(others.sum()), 0.0) / (dimension - kept)
    if not tail > 4 * dimension * np.finfo(np.float64).eps * values[-1]:
        raise InvalidDataError(_FLAT)
    basis = x.T @ directions / np.sqrt(count * largest) if wide else directions
    return LowRankCovariance(basis, (1 - delta) * largest + floor, tail)


def _shrinkage(x: Floats, products: Floats) -> float:
    """Return the distance of one x x' from S, over n, divided by the distance of S from mu I: squared Frobenius norms.

    Ledoit and Wolf (2004), Lemma 3.4. scikit-learn's ledoit_wolf_shrinkage is the same number from d × d products.
    """
    squares, size = np.vecdot(x, x), float(np.vdot(products, products))
    apart = (float(np.mean(squares**2)) - size) / len(x)
    dispersion = size - float(squares.mean()) ** 2 / x.shape[1]
    return 1.0 if apart >= dispersion else max(apart, 0.0) / dispersion


def _gains(rows: Floats, rank: int | None) -> tuple[float, float]:
    """Measure gain and rotated gain of estimates from four fifths of the rows on the others.

    With few rows the formulas of `Covariance` are wrong by half in either direction, these by a tenth.
    """
    part = np.arange(len(rows)) % FOLDS
    squares = np.zeros(3)
    for left_out in range(FOLDS if len(rows) <= _ENOUGH else 1):
        others = rows[part != left_out]
        # Minus the mean of the other rows: it widens all directions alike, and a part may be a single row.
        squares += _noise_squares(_fit_covariance(others, rank), rows[part == left_out] - others.mean(axis=0))
    own, isotropic, diagonal = np.sqrt(squares)
    return float(isotropic / own), float(diagonal / own)


def _noise_squares(covariance: Covariance, x: Floats) -> Floats:
    """Return the squared noise, up to a common factor: tr(M^{1/2}) tr(M^{-1/2} Σ), Σ the covariance of x.

    For M the estimate, a multiple of the identity, and the diagonal of the estimate.
    """
    dimension, variances = x.shape[1], np.square(x).sum(axis=0)
    roots = np.sqrt(covariance.covariance_diagonal(dimension))
    own = covariance.trace_root(dimension) * np.square(covariance.rescale(x)).sum()
    return np.array([own, dimension * variances.sum(), roots.sum() * (variances / roots).sum()])


_REMEDY = "Pass more public records, or prior knowledge of the variances as covariance=."
_FLAT = (
    "The rows of `public_X` span so few directions, or so evenly, that shrinkage leaves no variance in the others. "
    + _REMEDY
)
