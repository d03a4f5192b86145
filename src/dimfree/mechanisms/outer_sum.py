"""The sum of the outer products of the records' directions: how correlated the coordinates are (P11, P12).

Two releases of one exact matrix A = Σ u·uᵀ: the length of its part off the diagonal, and, where that pays, the matrix
itself with symmetric noise. Proof: proofs/mechanisms/outer_sum.md.
"""

import math
from functools import partial

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import charged_gaussian
from dimfree.data.blocks import Mask, Rows
from dimfree.data.progress import during
from dimfree.geometry.space import Space
from dimfree.mechanisms import Measured
from dimfree.mechanisms.directions import LENGTH, STEPS, Lookout, noisy_number, some_rows, whole_length
from dimfree.noise import Noise

UNIT = LENGTH**2  # steps to the outer product of a direction with itself
DIAGONAL, BESIDE = 29, 41  # 41² < 2·29²: so weighted, half the matrix is no longer than 29 times the whole of it
MOVES = {
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


def noisy_togetherness(outer: Integers, mu: float, relation: Neighbours, *, noise: Noise) -> Measured[float]:
    """|A - diag A|_F: near √n if coordinates are uncorrelated, near n if all records lie on one oblique line.

    Sensitivity 1 [√2]: leaving the diagonal out shortens a difference of two sums (P11).
    """
    beside = outer.copy()
    np.fill_diagonal(beside, 0)
    moves = math.ceil(STEPS * MOVES[relation])
    value = whole_length(beside) * STEPS // UNIT
    return noisy_number(value, moves, 1 / STEPS, mu, "togetherness of the coordinates", noise=noise)


@during("basis")
def noisy_outer_sum(outer: Integers, mu: float, relation: Neighbours, *, noise: Noise) -> Measured[Floats]:
    """A with symmetric Gaussian noise: variance s² on the diagonal, about s²/2 off it (P12).

    Released is the half matrix (29·A_ii, 41·A_ij), i < j, with equal noise in all its entries.
    """
    size = len(outer)
    moves = math.ceil(DIAGONAL * UNIT * MOVES[relation])
    event = charged_gaussian(moves, mu, size * (size + 1) // 2, 1 / (DIAGONAL * UNIT), "basis")
    drawn = noise.gaussian(event.stddev, event.dimension)
    noisy, start = np.zeros((size, size)), 0
    for row in range(size):
        noisy[row, row:] = _with_noise(outer[row, row:], drawn[start : start + size - row])
        start += size - row
    return Measured((noisy + np.triu(noisy, 1).T) / UNIT, event)


def _with_noise(half_row: Integers, drawn: Integers) -> Floats:
    """In units of A's steps: whole numbers with noise, divided by their weights."""
    weights = np.full(len(half_row), BESIDE)
    weights[0] = DIAGONAL
    return (half_row * weights + drawn) / weights
