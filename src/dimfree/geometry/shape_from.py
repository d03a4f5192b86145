"""A shape from public records of the same kind: Ledoit and Wolf's shrunk covariance, and the gain to expect of it.

Legend: x_j the n rows about their mean, d columns each, S = Σ x_j x_j' / n, mu = tr S / d, and delta in [0, 1] the
shrinkage. The shape is M = (1 - delta) S + delta mu I, to rounding that of sklearn.covariance.LedoitWolf. Where n <= d
it has one and the same variance, delta mu, in all directions that the rows do not span, and is found from the n × n
products of the rows: no matrix of d × d is ever written out.
"""

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_count
from dimfree.data.records import as_records
from dimfree.errors import InvalidParameter, InvalidRecords
from dimfree.geometry.shape import Dense, LowRank, Shape

FOLDS = 5  # parts of the public rows; each is left out of an estimate once, and tells the gain of that estimate
LEAST = FOLDS  # rows
MOST = 6000  # rows or columns, whichever are fewer: the side of the matrix that is decomposed
_ENOUGH = 1000  # rows of which a single part tells enough
_NEGLIGIBLE = 1e-8  # of the largest variance: directions below it come out of the products crooked, and join the tail


def shape_from(public_X: object, *, rank: int | None = None) -> Shape:
    """The shape of PUBLIC records, to be passed to `release_mean` as `shape=`; never of the records to be released.

    Guarantee: none for public_X, whose rows can be read off the shape. With public_X known to everybody beforehand, the
    promise of `release_mean` is untouched.

    `public_X` is a table as `release_mean` takes it, of other people with the same columns in the same order. The
    covariance is that of Ledoit and Wolf: `Dense` where there are more rows than columns, else `LowRank`. A column
    that is constant gets the variance that shrinkage gives to every direction. `rank` keeps so many of the strongest
    directions at most and one average variance for all others, which makes a release quicker.
    `shape.gain()` and `shape.rotated_gain()` tell how many times less noise to expect than with spherical noise, and
    than with the variances of the columns alone, in a release with scale="learn": found on a fifth of the public rows
    by an estimate from the others, five times (above 1000 rows once). With scale="known" the release also takes the
    size of the estimate at its word, and refuses records that are spread much wider.
    """
    strongest = None if rank is None else check_count("rank", rank)
    rows = _rows(public_X)
    return _fitted(rows, strongest).measured(*_gains(rows, strongest))


def _rows(public_X: object) -> Floats:
    """All rows less the first one: constant columns become zeros exactly, and nothing here depends on the origin."""
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
    _check_spread(float(np.abs(rows).max()))
    return rows


def _check_spread(widest: float) -> None:
    if widest == 0:
        raise InvalidRecords(f"The rows of public_X are all alike, so they show no spread. {_REMEDY}")
    if not 1e-60 < widest < 1e60:
        raise InvalidRecords("Expected public_X with differences between rows in (1e-60, 1e60): change the units.")


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
        return _dense((1 - delta) * products + floor * np.eye(dimension))
    values, vectors = np.linalg.eigh(products)
    kept = min(rank or count, int((values > _NEGLIGIBLE * values[-1]).sum()))
    others, along, ways = values[:-kept], values[-kept:], vectors[:, -kept:]
    tail = floor + (1 - delta) * max(float(others.sum()), 0.0) / (dimension - kept)
    if not tail > 4 * dimension * np.finfo(np.float64).eps * values[-1]:
        raise InvalidRecords(_FLAT)
    basis = x.T @ ways / np.sqrt(count * along) if wide else ways
    return LowRank(basis, (1 - delta) * along + floor, tail)


def _dense(covariance: Floats) -> Dense:
    try:
        return Dense(covariance)
    except InvalidParameter:
        raise InvalidRecords(_FLAT) from None


def _shrinkage(x: Floats, products: Floats) -> float:
    """How far one x x' is from S, over n, as a part of how far S is from mu I: in squares of all entries.

    Ledoit and Wolf (2004), Lemma 3.4. scikit-learn's ledoit_wolf_shrinkage is the same number from d × d products.
    """
    squares, size = np.vecdot(x, x), float(np.vdot(products, products))
    apart = (float(np.mean(squares**2)) - size) / len(x)
    spread = size - float(squares.mean()) ** 2 / x.shape[1]
    return 1.0 if apart >= spread else max(apart, 0.0) / spread


def _gains(rows: Floats, rank: int | None) -> tuple[float, float]:
    """Gain and rotated gain of estimates from four fifths of the rows, on the rest of them.

    The shape's own formulas are off by a half in either direction where rows are few; these by a tenth.
    """
    part = np.arange(len(rows)) % FOLDS
    squares = np.zeros(3)
    for left_out in range(FOLDS if len(rows) <= _ENOUGH else 1):
        others = rows[part != left_out]
        # About the mean of the others: that widens all directions alike, and a part may be a single row.
        squares += _noise_squares(_fitted(others, rank), rows[part == left_out] - others.mean(axis=0))
    own, spherical, diagonal = np.sqrt(squares)
    return float(spherical / own), float(diagonal / own)


def _noise_squares(shape: Shape, x: Floats) -> Floats:
    """Squared noise, up to one factor, on records of the covariance Σ of x: tr(M^{1/2}) tr(M^{-1/2} Σ), for M the
    shape, a multiple of the identity, and the diagonal of the shape."""
    dimension, variances = x.shape[1], np.square(x).sum(axis=0)
    roots = np.sqrt(shape.covariance_diagonal(dimension))
    own = shape.trace_root(dimension) * np.square(shape.rescale(x)).sum()
    return np.array([own, dimension * variances.sum(), roots.sum() * (variances / roots).sum()])


_REMEDY = "Pass more public records, or what you know of the spread as covariance= or shape=."
_FLAT = (
    "The rows of public_X lie in so few directions, or so evenly there, that shrinkage leaves others no variance. "
    + _REMEDY
)
