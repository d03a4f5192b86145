"""Directions of the records from a released center, by which a program chooses the coordinates of the noise.

The direction u of a record is its offset from the center, divided by its length. Its length is at most 1, so the
sensitivity of a sum of directions is bounded. All arithmetic is in integers (P11).
Proof: proofs/statistics/directions.md.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Neighbors
from dimfree.data.blocks import Columns, Mask, Rows, float_squares, to_dense
from dimfree.kernel.rows.bases import Basis
from dimfree.kernel.rows.clip import BALL, squares, total_clipped
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Centered, some_rows
from dimfree.progress import during

LENGTH = 2**15  # the length of a direction, in steps
STEPS = 2**20  # grid steps to one unit of a released number
EVEN = 0.3  # the length to which a vector of squared coordinates is clipped
UNIT = LENGTH**2  # steps to the outer product of a direction with itself
DIAGONAL, CROSS = 29, 41  # 41² < 2·29²: so weighted, half the matrix is no longer than 29 times the whole of it
# of A, in its Frobenius norm (P12)
OUTER_SENSITIVITY = {Neighbors.ADD_REMOVE: 1.0, Neighbors.REPLACE_ONE: math.sqrt(2) * (1 + 1e-15)}
_FINE = 17  # bits of the largest coordinate of an offset: more than a direction keeps of it
_EXACT = 53
_SHORTER = 1 - 2.0**-40  # covers the rounding of a root, a quotient and a product


@dataclass(frozen=True)
class DirectionCenter(Centered):
    """The public center and scale that directions are taken from."""

    scale: Floats

    def directions(self, rows: Rows) -> Floats:
        """Return the direction of every row in whole steps, of length at most LENGTH; zeros for a row at the center."""
        with np.errstate(all="ignore"):  # a warning could reveal records
            offsets = to_dense(rows) - self.center
            offsets *= 1 / self.scale
            offsets[~np.isfinite(offsets).all(axis=1)] = 0.0  # overflow: no direction
            return unit_steps(offsets)


def unit_steps(offsets: Floats) -> Floats:
    """Round finite rows toward zero to whole numbers of length at most LENGTH, one row at a time.
    Rows are first rounded to integers whose squares add up without rounding, so no order of summation matters."""
    bits = min(_FINE, (_EXACT - (offsets.shape[1] - 1).bit_length()) // 2)
    exponents = np.frexp(np.abs(offsets).max(axis=1, initial=0.0))[1]
    whole = np.rint(np.ldexp(offsets, (bits - exponents)[:, None]))
    lengths = np.sqrt(float_squares(whole))
    factors = np.divide(LENGTH * _SHORTER, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return np.trunc(whole * factors[:, None])


@during("directions of the records")
def total_directions(
    space: Space,
    origin: DirectionCenter,
    basis: Basis | None,
    among: Mask | None = None,
    *,
    norm_alone: bool = False,
) -> Integers:
    """Return three exact sums over the directions u of all valid records (`among`: of these). Private.
    Σ k·u∘u in steps of EVEN / BALL, k = min(1, 0.3/|u∘u|₂); Σ k, in 1/STEPS; Σ |T u|₁/√D, in 1/STEPS, T the public
    basis, if any. With `norm_alone` the others stay zero."""
    of_rows = partial(_sums_of, origin.before(space.units), basis, norm_alone)
    return space.sum_over(of_rows, space.dimension + 2, among)


def _sums_of(origin: DirectionCenter, basis: Basis | None, norm_alone: bool, rows: Rows) -> Integers:
    total = np.zeros(rows.shape[1] + 2, dtype=np.int64)
    for some in some_rows(rows):
        directions = origin.directions(some)
        if not norm_alone:
            total[:-2] += total_clipped(directions, EVEN, _square)
            total[-2] += _weights(directions).sum()
        total[-1] += 0 if basis is None else _l1_norms(directions, basis).sum()
    return total


def _weights(directions: Floats) -> Integers:
    """Return k of each direction in 1/STEPS, at most 1; it is 1 for a zero direction."""
    lengths = np.sqrt(squares(directions, EVEN / BALL, _square))
    shares = np.minimum(np.divide(BALL, lengths, out=np.ones_like(lengths), where=lengths > 0), 1.0)
    return np.floor(shares * STEPS).astype(np.int64)


def _l1_norms(directions: Floats, basis: Basis) -> Integers:
    """Return |T u|₁/√D of each direction in 1/STEPS, at most 1: sums of integers, exact in any order."""
    with np.errstate(all="ignore"):  # a warning or error could reveal records
        sums = np.abs(np.trunc(basis.rotate(directions))).sum(axis=1)
        shares = np.floor(sums * (STEPS / (math.sqrt(basis.width) * LENGTH)))
    return np.nan_to_num(np.minimum(shares, STEPS), copy=False).astype(np.int64)  # NaN in axes that overflow


def _square(values: Floats, columns: Columns, step: float) -> Floats:
    return values * values * (1 / (float(LENGTH) ** 2 * step))


def whole_length(vector: Integers) -> int:
    """Return the Euclidean length of a vector of whole numbers, rounded down: computed exactly."""

    def dot(a: Integers, b: Integers) -> int:
        """Return Σ a·b without overflow, for factors below 2^26: 256 products at a time."""
        products = a * b
        return sum(np.add.reduceat(products, np.arange(0, len(products), 256)).tolist())

    sizes = np.abs(vector).ravel()
    cut = [(shift, (sizes >> shift) & (2**26 - 1)) for shift in (0, 26, 52)]
    limbs = [(shift, limb) for shift, limb in cut if limb.any()]
    return math.isqrt(sum(dot(a, b) << (i + j) for i, a in limbs for j, b in limbs))


@during("directions of the records")
def outer_sum(space: Space, origin: DirectionCenter, among: Mask | None = None) -> Integers:
    """Return A = Σ u·uᵀ in whole steps, of all valid records (`among`: of these). Private; exact in any order."""
    size = space.dimension
    flat = space.sum_over(partial(_outer_of, origin.before(space.units)), size * size, among, tiles=False)
    return flat.reshape(size, size)


def _outer_of(origin: DirectionCenter, rows: Rows) -> Integers:
    """Sum products of whole numbers below 2^15 without rounding: only 2^23 rows could leave the exact floats."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for some in some_rows(rows):
        directions = origin.directions(some)
        total += directions.T @ directions
    return total.astype(np.int64).ravel()
