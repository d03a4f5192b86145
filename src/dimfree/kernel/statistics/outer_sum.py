"""The sum of the outer products of the records' directions: how correlated the coordinates are (P11, P12).

Two releases of one exact matrix A = Σ u·uᵀ: the length of its part off the diagonal, and, where that pays, the matrix
itself with symmetric noise. Proof: proofs/statistics/directions.md.
"""

import math
from functools import partial

import numpy as np

from dimfree._types import Integers
from dimfree.accounting.budget import Neighbours
from dimfree.data.blocks import Mask, Rows
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.unit_vectors import LENGTH, Lookout, some_rows
from dimfree.progress import during

UNIT = LENGTH**2  # steps to the outer product of a direction with itself
DIAGONAL, BESIDE = 29, 41  # 41² < 2·29²: so weighted, half the matrix is no longer than 29 times the whole of it
OUTER_SENSITIVITY = {
    Neighbours.ADD_REMOVE: 1.0,
    Neighbours.REPLACE_ONE: math.sqrt(2) * (1 + 1e-15),
}  # of A, in its Frobenius norm (P12)


@during("directions of the records")
def outer_sum(space: Space, lookout: Lookout, among: Mask | None = None) -> Integers:
    """A in whole steps, (d, d), of all valid records or of those `among`. Private; Exact, in any order of blocks."""
    size = space.dimension
    flat = space.summed(partial(_outer_of, lookout.before(space.units)), size * size, among, tiles=False)
    return flat.reshape(size, size)


def _outer_of(lookout: Lookout, rows: Rows) -> Integers:
    """Products of whole numbers below 2^15 add up without rounding: 2^23 rows would be needed to leave the floats."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for some in some_rows(rows):
        directions = lookout.directions(some)
        total += directions.T @ directions
    return total.astype(np.int64).ravel()
