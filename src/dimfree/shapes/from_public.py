"""shape_from: the shape of public records by Ledoit and Wolf's shrunk covariance, and the gain to expect of it.

Notation: x_j the n rows minus their mean, d columns each, S = Σ x_j x_j' / n, mu = tr S / d, delta in [0, 1] the
shrinkage. The shape is M = (1 - delta) S + delta mu I, equal to sklearn.covariance.LedoitWolf up to rounding. Where
n <= d it has one variance, delta mu, in all directions outside the span of the rows. It is then computed from the n × n
products of the rows, without any d × d matrix.
"""

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_count
from dimfree.data.records import as_records
from dimfree.errors import InvalidParameter, InvalidRecords
from dimfree.shapes import Dense, LowRank, Shape

FOLDS = 5  # parts of the public rows; the gain is measured on the part that an estimate leaves out
LEAST = FOLDS  # rows
MOST = 6000  # rows or columns, the smaller number: size of the matrix that is decomposed
_ENOUGH = 1000  # rows above which one part is enough
_NEGLIGIBLE = 1e-8  # of the largest variance: smaller directions are inaccurate, and are averaged into the tail


def shape_from(public_X: object, *, rank: int | None = None) -> Shape:
    """The shape of PUBLIC records, to be passed to `release_mean` as `shape=`.

    Never pass the records to be released. Guarantee: none for public_X, whose rows can be computed from the shape. If
    public_X is known to everybody beforehand, the guarantee of `release_mean` is unchanged.

    The covariance is that of Ledoit and Wolf. A constant column gets the variance that shrinkage gives to every
    direction.

    Parameters
    ----------
    public_X : table
        Anything that `release_mean` accepts, about other people, with the same columns in the same order.
    rank : int, optional
        Keep at most this many of the strongest directions, and one average variance for all others. The release is
        faster.

    Returns
    -------
    Dense or LowRank
        `Dense` where there are more rows than columns and no `rank`, else `LowRank`. Its methods `gain` and
        `rotated_gain` return how many times smaller the noise is than spherical noise, and than noise shaped by the
        column variances alone, in a release with scale="learn". They are measured on a fifth of the public rows with an
        estimate from the others, five times (once above 1000 rows). With scale="known" the release also relies on the
        size of the estimate, and refuses records that are spread much wider.

    Raises
    ------
    InvalidRecords
        If public_X has too few rows, too many rows and columns, non-finite entries or no spread.
    """
    strongest = None if rank is None else check_count("rank", rank)
    rows = _rows(public_X)
    return _fitted(rows, strongest).measured(*_gains(rows, strongest))


def _rows(public_X: object) -> Floats:
    """All rows minus the first one: constant columns become exact zeros, and nothing depends on the origin."""
    records = as_records(public_X)
    count, dimension = records.count, records.dimension  # public here
    if count < LEAST:
        raise InvalidRecords(f"Expected public_X with at least {LEAST} rows: find more public records.")
    if min(count, dimension) > MOST:
        raise InvalidRecords(
            f"Expected public_X with at most {MOST} rows or at most {MOST} columns: pass "
            f"{MOST} of its rows, in random order, or fewer."
        )
    blocks = list(records.blocks())
    if not all(valid.all() for _, valid in blocks):
        raise InvalidRecords(
            "public_X has an entry that is not a finite number (NaN, infinity or missing): drop such rows, or fill in "
            "what is missing."
        )
    rows = np.concatenate([block for block, _ in blocks])
    with np.errstate(all="ignore"):
        rows -= rows[0].copy()
    widest = float(np.abs(rows).max())
    if widest == 0:
        raise InvalidRecords(f"The rows of public_X are all alike, so they show no spread. {_REMEDY}")
    if not 1e-60 < widest < 1e60:
        raise InvalidRecords("Expected public_X with differences between rows in (1e-60, 1e60): change the units.")
    return rows


def _fitted(rows: Floats, rank: int | None) -> Shape:
    """(1 - delta) S + delta mu I; with `rank`, or where rows are few, as directions and a tail."""
    x = rows - rows.mean(axis=0)
    count, dimension = x.shape
    wide = count <= dimension
    products = (x @ x.T if wide else x.T @ x) / count  # both have the eigenvalues of S, but for zeros
    trace, delta = float(np.trace(products)), _shrinkage(x, products)
    if trace == 0:
        raise InvalidRecords(f"Most rows of public_X are all alike, so they show too little of the spread. {_REMEDY}")
    floor = delta * trace / dimension
    if not wide and (rank is None or rank >= dimension):
        try:
            return Dense((1 - delta) * products + floor * np.eye(dimension))
        except InvalidParameter:
            raise InvalidRecords(_FLAT) from None
    values, vectors = np.linalg.eigh(products)
    kept = min(rank or count, int((values > _NEGLIGIBLE * values[-1]).sum()))
    others, largest, directions = values[:-kept], values[-kept:], vectors[:, -kept:]
    tail = floor + (1 - delta) * max(float(others.sum()), 0.0) / (dimension - kept)
    if not tail > 4 * dimension * np.finfo(np.float64).eps * values[-1]:
        raise InvalidRecords(_FLAT)
    basis = x.T @ directions / np.sqrt(count * largest) if wide else directions
    return LowRank(basis, (1 - delta) * largest + floor, tail)


def _shrinkage(x: Floats, products: Floats) -> float:
    """The distance of one x x' from S, over n, divided by the distance of S from mu I: squared Frobenius norms.

    Ledoit and Wolf (2004), Lemma 3.4. scikit-learn's ledoit_wolf_shrinkage is the same number from d × d products.
    """
    squares, size = np.vecdot(x, x), float(np.vdot(products, products))
    apart = (float(np.mean(squares**2)) - size) / len(x)
    spread = size - float(squares.mean()) ** 2 / x.shape[1]
    return 1.0 if apart >= spread else max(apart, 0.0) / spread


def _gains(rows: Floats, rank: int | None) -> tuple[float, float]:
    """Gain and rotated gain of estimates from four fifths of the rows, measured on the others.

    With few rows the shape's own formulas are wrong by half in either direction, these by a tenth.
    """
    part = np.arange(len(rows)) % FOLDS
    squares = np.zeros(3)
    for left_out in range(FOLDS if len(rows) <= _ENOUGH else 1):
        others = rows[part != left_out]
        # Minus the mean of the other rows: it widens all directions alike, and a part may be a single row.
        squares += _noise_squares(_fitted(others, rank), rows[part == left_out] - others.mean(axis=0))
    own, spherical, diagonal = np.sqrt(squares)
    return float(spherical / own), float(diagonal / own)


def _noise_squares(shape: Shape, x: Floats) -> Floats:
    """Squared noise, up to a common factor, for records of covariance Σ (that of x): tr(M^{1/2}) tr(M^{-1/2} Σ).

    For M the shape, a multiple of the identity, and the diagonal of the shape.
    """
    dimension, variances = x.shape[1], np.square(x).sum(axis=0)
    roots = np.sqrt(shape.covariance_diagonal(dimension))
    own = shape.trace_root(dimension) * np.square(shape.rescale(x)).sum()
    return np.array([own, dimension * variances.sum(), roots.sum() * (variances / roots).sum()])


_REMEDY = "Pass more public records, or what you know of the spread as covariance= or shape=."
_FLAT = (
    "The rows of public_X lie in so few directions, or so evenly there, that shrinkage leaves others no variance. "
    + _REMEDY
)
