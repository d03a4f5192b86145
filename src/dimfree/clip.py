"""Clipping to a ball in integers: record by record, toward zero, with a norm that cannot exceed the radius.

A clipped record is an integer vector of norm at most BALL steps, a function of that record alone; sums of them are
exact in any order. Proof: proofs/clip.md (P8).
"""

import numpy as np
from numpy.typing import NDArray

BALL = 2**20  # the clipping radius, in steps
_CAP = 2**22  # coordinates are held within ±_CAP first; such a record is clipped anyway
_HALF = 22  # bits of a square of at most _CAP, halved
_EXACT = 2.0**52  # sums of integer squares up to here are exact in float64, in any order

Floats = NDArray[np.float64]


def to_ball(rows: Floats, radius: float) -> Floats:
    """Every row in steps of radius / BALL, as whole numbers of norm at most BALL."""
    steps = _whole_steps(rows, radius / BALL)
    squares = exact_squares(steps)
    outside = squares > float(BALL) ** 2
    shrink = BALL / np.sqrt(squares[outside]) * (1 - 2.0**-40)  # the margin covers the rounding of root and product
    steps[outside] = np.trunc(steps[outside] * shrink[:, None])
    return steps


def norms(rows: Floats, largest: float) -> Floats:
    """Norms of the rows measured on a grid of `largest` / BALL; a function of each row alone, not of its batch."""
    return np.sqrt(exact_squares(_whole_steps(rows, largest / BALL))) * (largest / BALL)


def exact_squares(steps: Floats) -> Floats:
    """Squared norms of rows of whole numbers: exact up to 2^52, rounded (still a function of the row) above."""
    squares = np.einsum("ij,ij->i", steps, steps)
    large = squares > _EXACT
    if large.any():
        whole = steps[large].astype(np.int64) ** 2
        high, low = (whole >> _HALF).sum(axis=1), (whole & (2**_HALF - 1)).sum(axis=1)  # halves: no overflow
        squares[large] = high * 2.0**_HALF + low
    return squares


def _whole_steps(rows: Floats, step: float) -> Floats:
    with np.errstate(all="ignore"):  # a warning or error would speak of records
        steps = np.rint(rows / step)
    np.nan_to_num(steps, copy=False, nan=0.0, posinf=_CAP, neginf=-_CAP)
    return np.clip(steps, -_CAP, _CAP, out=steps)
