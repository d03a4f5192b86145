"""Clip records to a ball in integers: one at a time, toward zero, with a norm that cannot exceed the radius.

A clipped record is an integer vector of norm at most BALL steps, a function of that record alone; sums of them are
exact in any order. Of a sparse table only the stored entries are read, and one row of zeros for all the others.
Proof: proofs/rows/clip.md (P8).
"""

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.data.blocks import ALL, Columns, Entrywise, Rows, SparseRows, float_squares
from dimfree.data.gpu import rows as device_clip
from dimfree.data.gpu.rows import DeviceRows

BALL = 2**20  # the clipping radius, in steps
MAX_RADII = 4  # coordinates are clipped to ±MAX_RADII radii first; such a record is clipped anyway
_CAP = MAX_RADII * BALL
_HALF = 22  # bits of a square of at most _CAP, halved
_EXACT = 2.0**52  # sums of integer squares up to here are exact in float64, in any order
_CELLS = 2**20
_LONG = 2**11  # entries added at a time: starting to add costs as much as adding a few hundred


def keep_values(values: Floats, columns: Columns, step: float) -> Floats:
    """Map every entry to itself, in steps."""
    with np.errstate(all="ignore"):  # a warning or error could reveal records
        return values * (1 / np.float64(step))


def total_clipped(rows: Rows, radius: float, entrywise: Entrywise = keep_values, inner: int = 0) -> Integers:
    """Sum all rows, mapped entry by entry, then clipped, in steps of radius / BALL.

    With `inner`, in steps below BALL, only the part of each clipped row beyond that length: at most BALL - inner steps.
    """
    if isinstance(rows, SparseRows):
        return _sparse_total(rows, *_sparse_steps(rows, radius / BALL, entrywise), inner)
    if isinstance(rows, DeviceRows):
        return device_clip.total(rows, radius / BALL, entrywise, (inner, BALL), _CAP)
    return _column_sums(_shorten(*_steps_and_squares(entrywise(rows, ALL, radius / BALL)), inner))


def norms(rows: Rows, largest: float, entrywise: Entrywise = keep_values) -> Floats:
    """Return norms of the mapped rows on a grid of `largest` / BALL; a function of each row alone, not of its batch."""
    return np.sqrt(squares(rows, largest / BALL, entrywise)) * (largest / BALL)


def squares(rows: Rows, step: float, entrywise: Entrywise = keep_values) -> Floats:
    """Return squared norms of the mapped rows, in whole steps: the float nearest to the integer."""
    if isinstance(rows, SparseRows):
        return _sparse_squares(rows, *_sparse_steps(rows, step, entrywise))
    if isinstance(rows, DeviceRows):
        return device_clip.squares(rows, step, entrywise, _CAP)
    return _steps_and_squares(entrywise(rows, ALL, step))[1]


def _shorten(steps: Floats, squares: Floats, inner: int = 0) -> Floats:
    """Shorten the rows outside the ball, in place; with `inner` rows within it become zero, all others shorter."""
    outside = np.flatnonzero(squares > float(inner or BALL) ** 2)
    some = steps[outside]
    some *= _shrinkage(squares[outside], inner)[:, None]
    steps[outside] = np.trunc(some, out=some)
    if inner:
        steps[squares <= float(inner) ** 2] = 0.0
    return steps


def _column_sums(steps: Floats) -> Integers:
    """Sum columns of whole numbers, exact in any order: short rows are summed several at a time, end to end."""
    count, width = steps.shape
    together = max(1, _LONG // max(1, width))
    whole = count - count % together
    sums = steps[:whole].reshape(-1, together * width).sum(axis=0).reshape(together, width).sum(axis=0)
    return (sums + steps[whole:].sum(axis=0)).astype(np.int64)


def _shrinkage(squares: Floats, inner: int = 0) -> Floats:
    """Return the part of each length that is left; the margin covers the rounding of root, quotient and product."""
    lengths = np.sqrt(squares)
    return (np.minimum(lengths, BALL) - inner) / lengths * (1 - 2.0**-40)


def exact_squares(steps: Floats) -> Floats:
    """Return squared norms of rows of whole numbers: exact up to 2^52, rounded (still a function of the row) above."""
    squares = float_squares(steps)
    large = squares > _EXACT
    if large.any():
        whole = steps[large].astype(np.int64) ** 2
        high, low = (whole >> _HALF).sum(axis=1), (whole & (2**_HALF - 1)).sum(axis=1)  # halves cannot overflow
        squares[large] = high * 2.0**_HALF + low
    return squares


def _steps_and_squares(steps: Floats) -> tuple[Floats, Floats]:
    """Return `whole_steps` and their `exact_squares`. Overwrites its argument.
    A float sum of squares up to _CAP² has no larger square in it: such a row needs no clipping, every entry is a
    number, and the sum is exact. Only the other rows are processed further."""
    with np.errstate(all="ignore"):  # a warning or error could reveal records
        squares = float_squares(np.rint(steps, out=steps))
    wild = np.flatnonzero(~(squares <= float(_CAP) ** 2))
    if len(wild):
        steps[wild] = _clip_steps(steps[wild])
        squares[wild] = exact_squares(steps[wild])
    return steps, squares


def whole_steps(steps: Floats) -> Floats:
    """Return the nearest whole numbers, clipped to the cap; NaN becomes zero. Overwrites its argument."""
    with np.errstate(all="ignore"):
        return _clip_steps(np.rint(steps, out=steps))


def _clip_steps(steps: Floats) -> Floats:
    """Clip entries to the cap and set NaN to zero, in place."""
    np.clip(steps, -_CAP, _CAP, out=steps)
    steps[np.isnan(steps)] = 0.0
    return steps


def _sparse_steps(rows: SparseRows, step: float, entrywise: Entrywise) -> tuple[Floats, Floats]:
    """Return in whole steps the stored entries, and `base`, the image of zero in each column."""
    base = whole_steps(entrywise(np.zeros(rows.shape[1]), ALL, step))
    return whole_steps(entrywise(rows.values, rows.columns, step)), base


def _sparse_squares(rows: SparseRows, values: Floats, base: Floats) -> Floats:
    """Return the squares of `base` plus the differences of the stored entries; in halves, to avoid overflow."""
    of_base = base.astype(np.int64) ** 2
    gained = values.astype(np.int64) ** 2 - of_base[rows.columns]
    high = (of_base >> _HALF).sum() + rows.sum_rows(gained >> _HALF)
    low = (of_base & (2**_HALF - 1)).sum() + rows.sum_rows(gained & (2**_HALF - 1))
    return np.asarray(high * 2.0**_HALF + low)


def _sparse_total(rows: SparseRows, values: Floats, base: Floats, inner: int) -> Integers:
    """Sum `base` for every row, shortened like the row, and the differences of the stored entries."""
    squares = _sparse_squares(rows, values, base)
    outside = squares > float(inner or BALL) ** 2
    shrink = np.full(len(rows), 0.0 if inner else 1.0)
    shrink[outside] = _shrinkage(squares[outside], inner)
    factors = rows.repeat_by_row(shrink)
    gained = np.trunc(values * factors) - np.trunc(base[rows.columns] * factors)
    total = np.bincount(rows.columns, gained, minlength=len(base)).astype(np.int64)
    inside = 0 if inner else len(rows) - int(outside.sum())
    return total + inside * base.astype(np.int64) + _shrunk_total(base, shrink[outside])


def _shrunk_total(base: Floats, shrink: Floats) -> Integers:
    """Return Σ trunc(base·h) over all h: once for every size of an entry, as trunc is odd."""
    sizes, which = np.unique(np.abs(base), return_inverse=True)
    total, chunk = np.zeros(len(sizes)), max(1, _CELLS // len(sizes))
    for start in range(0, len(shrink), chunk):
        total += np.trunc(sizes * shrink[start : start + chunk, None]).sum(axis=0)
    return (np.sign(base) * total[which]).astype(np.int64)
