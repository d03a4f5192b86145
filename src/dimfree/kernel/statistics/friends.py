"""The predicate of friends: two records whose rounded rows are at most the radius apart, decided in integers.

Records are rounded one by one to whole steps, the public radius times 2^-20. A record with a coordinate too large for
the grid counts like an invalid one: its only friend is itself. (Clipped to the edge, far records would seem to agree.)
Pairs are decided one by one, or by exact products of many rows: integers of norm at most NEAR about a common center
have products whose every partial sum is an integer below 2^53, exact in any order, on any number of threads.
Proof: proofs/statistics/friends.md.
"""

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.data.blocks import IntegerRows, Mask, Rows, SparseRows, minus
from dimfree.data.gpu.rows import DeviceRows, here, namespace
from dimfree.threads import cores, in_order

RADIUS = 2**20  # the friend radius, in steps
EDGE = 2.0**61  # in steps: a record with a coordinate there or beyond is off the grid; differences fit 64 bits
NEAR = 2**25  # norm about the center, in steps, below which float64 products are exact: 4·NEAR² <= 2^53
_CELLS = 2**16  # entries of rows that are rounded to steps at a time
_TILE = 2**18  # the same for a whole table, by threads


def are_on_grid(largest: Floats, step: float) -> Mask:
    """Which records the grid of this step reaches, by the largest absolute value of each."""
    return largest < EDGE * step


def rows_to_steps(rows: Rows, step: float) -> IntegerRows:
    """Rows in whole steps; zero stays zero, so sparse rows stay sparse."""
    if isinstance(rows, DeviceRows):
        return rows.to_steps(step, EDGE)
    return rows.with_values(to_steps(rows.values, step)) if isinstance(rows, SparseRows) else to_steps(rows, step)


def to_steps(rows: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    """Rounded to whole steps, elementwise, and held within the edge."""
    with np.errstate(all="ignore"):  # a warning or error could reveal records
        steps = rows / step
        np.clip(np.rint(steps, out=steps), -EDGE, EDGE, out=steps)
    steps[np.isnan(steps)] = 0.0
    return steps.astype(np.int64)


def overwritten(rows: Floats, kept: Mask, step: float) -> Integers:
    """The rows kept, in whole steps, in place of the first of them: there is no second table."""
    values, chunk, filled = rows.view(np.int64), max(1, _TILE // rows.shape[1]), 0
    parts = [slice(start, start + chunk) for start in range(0, len(rows), chunk)]

    def overwrite(part: slice) -> None:
        values[part] = to_steps(rows[part], step)

    list(in_order(overwrite, parts, cores()))
    for part in [] if kept.all() else parts:  # those after one that is left out move up
        some = values[part][kept[part]]
        values[filled : filled + len(some)] = some
        filled += len(some)
    return values[: int(kept.sum())]


def partners_are_friends(left: Rows, right: Rows, step: float) -> Mask:
    """The predicate of `friends`, for each row of the one and its partner in the other, all on the grid."""
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
        return within_radius(minus(rows_to_steps(left, step), rows_to_steps(right, step)))
    apart = _in_steps(left, step, _in_steps(right, step))
    return np.asarray(np.einsum("ij,ij->i", apart, apart) <= float(RADIUS) ** 2)


def by_products(table: Floats, about: Floats, rows: slice, columns: slice, step: float) -> tuple[Mask, Mask]:
    """Of the pairs of a tile: which have two records near the center, and which of those are friends, by products."""
    centre = _in_steps(about, step)
    products = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
    left_squares, right_squares = np.zeros(products.shape[0]), np.zeros(products.shape[1])
    across = max(1, _CELLS // max(products.shape))
    for start in range(0, len(centre), across):
        block = slice(start, start + across)
        left = _in_steps(table[rows, block], step, centre[block])
        right = left if rows == columns else _in_steps(table[columns, block], step, centre[block])
        products += left @ right.T
        left_squares += np.einsum("ij,ij->i", left, left)
        right_squares += np.einsum("ij,ij->i", right, right)
    near = (left_squares <= NEAR**2 * (1 - 1e-6))[:, None] & (right_squares <= NEAR**2 * (1 - 1e-6))
    products *= 2
    products -= left_squares[:, None]
    return near, products >= right_squares - float(RADIUS) ** 2


def _in_steps(rows: Floats, step: float, origin: Floats | float = 0.0) -> Floats:
    """Rows in whole steps about whole steps, as floats: exact up to 2^53, and at least that beyond."""
    steps = rows / step
    np.rint(steps, out=steps)
    steps -= origin
    return steps


def within_radius(offsets: IntegerRows) -> Mask:
    """|offset|² <= RADIUS² for whole-number rows, in any dimension. Differences that are too far already are cut to
    RADIUS + 1; float64 adds the squares exactly up to 2^53 and stays above RADIUS² = 2^40 once it is there."""
    if isinstance(offsets, SparseRows):
        return np.asarray(offsets.sums(_near(offsets.values) ** 2) <= float(RADIUS) ** 2)
    if isinstance(offsets, DeviceRows):
        far = offsets.tensor.abs().clamp_(max=RADIUS + 1).to(namespace(offsets.tensor).float64)
        return here(far.square_().sum(1) <= float(RADIUS) ** 2)
    near = _near(offsets)
    return np.einsum("ij,ij->i", near, near) <= float(RADIUS) ** 2


def _near(offsets: Integers) -> Floats:
    return np.minimum(np.abs(offsets), RADIUS + 1).astype(np.float64)
