"""The predicate of friends: two records whose rounded rows are at most the radius apart, decided in integers.

Records are rounded one by one to whole steps, the public radius times 2^-20. A record with a coordinate too large for
the grid counts like an invalid one: its only friend is itself. (Clipped to the edge, far records would seem to agree.)
Pairs are decided one by one, or by exact products of many rows: integers of norm at most NEAR about a common center
have products whose every partial sum is an integer below 2^53, exact in any order, on any number of threads.
Inner products in floats are taken about a center, tile by tile: any gives the same result; a near one is faster.
Proof: proofs/statistics/friends.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.data.blocks import IntegerRows, Mask, Rows, SparseRows, Table, subtract_rows, to_dense
from dimfree.data.extras import sparse
from dimfree.data.gpu.rows import DeviceRows, Tensor, copy_to_device_of, fetch_array, namespace, parts
from dimfree.threads import cores, in_order

RADIUS = 2**20  # the friend radius, in steps
EDGE = 2.0**61  # in steps: a record with a coordinate there or beyond is off the grid; differences fit 64 bits
NEAR = 2**25  # norm about the center, in steps, below which float64 products are exact: 4·NEAR² <= 2^53
_STEP_CELLS = 2**16  # entries of rows that are rounded to steps at a time
_TILE = 2**18  # the same for a whole table, by threads
_CELLS = 2**20  # entries of a working block; every thread has some
_FEW_CELLS = 2**18  # the same, where a pass over them follows at once
_CROWDED = 16  # a column stored by more than one row in so many is multiplied as a dense one
_CENTER_SAMPLE = 129
_TRIED = 128  # rows and columns of a trial product
SMALL = 2**24  # multiplications: so few are done in a few milliseconds, on one thread
_UNTHREADED = 2**18  # multiplications that OpenBLAS does without its threads; these, once woken, wait busily for 50 ms


def are_on_grid(largest: Floats, step: float) -> Mask:
    """Return which records are on the grid of this step, by the largest absolute value of each."""
    return largest < EDGE * step


def rows_to_steps(rows: Rows, step: float) -> IntegerRows:
    """Round rows to whole steps; zero stays zero, so sparse rows stay sparse."""
    if isinstance(rows, DeviceRows):
        return rows.to_steps(step, EDGE)
    return rows.with_values(to_steps(rows.values, step)) if isinstance(rows, SparseRows) else to_steps(rows, step)


def to_steps(rows: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    """Round to whole steps, elementwise, and clip to the edge."""
    with np.errstate(all="ignore"):  # a warning or error could reveal records
        steps = rows / step
        np.clip(np.rint(steps, out=steps), -EDGE, EDGE, out=steps)
    steps[np.isnan(steps)] = 0.0
    return steps.astype(np.int64)


def overwrite_with_steps(rows: Floats, kept: Mask, step: float) -> Integers:
    """Write the rows kept, in whole steps, over the first rows: no second table is needed."""
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
    """Decide for each row and its partner in the other table, all on the grid, whether they are friends."""
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
        return within_radius(subtract_rows(rows_to_steps(left, step), rows_to_steps(right, step)))
    apart = _in_steps(left, step, _in_steps(right, step))
    return np.asarray(np.einsum("ij,ij->i", apart, apart) <= float(RADIUS) ** 2)


def by_products(table: Floats, about: Floats, rows: slice, columns: slice, step: float) -> tuple[Mask, Mask]:
    """Return which pairs of a tile have two records near the center, and which of those are friends, by products."""
    center = _in_steps(about, step)
    products = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
    left_squares, right_squares = np.zeros(products.shape[0]), np.zeros(products.shape[1])
    across = max(1, _STEP_CELLS // max(products.shape))
    for start in range(0, len(center), across):
        block = slice(start, start + across)
        left = _in_steps(table[rows, block], step, center[block])
        right = left if rows == columns else _in_steps(table[columns, block], step, center[block])
        products += left @ right.T
        left_squares += np.einsum("ij,ij->i", left, left)
        right_squares += np.einsum("ij,ij->i", right, right)
    near = (left_squares <= NEAR**2 * (1 - 1e-6))[:, None] & (right_squares <= NEAR**2 * (1 - 1e-6))
    products *= 2
    products -= left_squares[:, None]
    return near, products >= right_squares - float(RADIUS) ** 2


def _in_steps(rows: Floats, step: float, origin: Floats | float = 0.0) -> Floats:
    """Return rows in whole steps minus whole steps, as floats: exact up to 2^53, and at least that beyond."""
    steps = rows / step
    np.rint(steps, out=steps)
    steps -= origin
    return steps


def within_radius(offsets: IntegerRows) -> Mask:
    """Return |offset|² <= RADIUS² for whole-number rows, in any dimension.

    Larger differences are cut to RADIUS + 1; float64 sums squares exactly up to 2^53, and stays above RADIUS² = 2^40.
    """
    if isinstance(offsets, SparseRows):
        return np.asarray(offsets.sum_rows(_near(offsets.values) ** 2) <= float(RADIUS) ** 2)
    if isinstance(offsets, DeviceRows):
        far = offsets.tensor.abs().clamp_(max=RADIUS + 1).to(namespace(offsets.tensor).float64)
        return fetch_array(far.square_().sum(1) <= float(RADIUS) ** 2)
    near = _near(offsets)
    return np.einsum("ij,ij->i", near, near) <= float(RADIUS) ** 2


def _near(offsets: Integers) -> Floats:
    return np.minimum(np.abs(offsets), RADIUS + 1).astype(np.float64)


def about(records: Table, center: Table) -> "Offsets":
    """Return the records minus a center, a table of one row."""
    if isinstance(records, SparseRows):
        return SparseOffsets.of(subtract_rows(records, center))
    if isinstance(records, DeviceRows):
        return DeviceOffsets(
            (records - DeviceRows(copy_to_device_of(records.tensor, to_dense(center)))).floats().tensor
        )
    return DenseOffsets(records, to_dense(center)[0])


def middle(records: Table) -> Table:
    """Return a center that most records are near, if there is one: the coordinatewise median of some records."""
    some = slice(None, None, max(1, len(records) // _CENTER_SAMPLE))
    if not isinstance(records, SparseRows):
        return _median(to_dense(records[some]))
    stored = np.bincount(records.columns, minlength=records.shape[1])
    filled = np.flatnonzero(2 * stored > len(records))  # zero elsewhere: subtracting it adds few entries
    values = _median(records[some][:, filled].toarray())[0]
    return SparseRows(sparse.csr_array((values, filled, [0, len(filled)]), shape=(1, records.shape[1])))


def _median(sample: NDArray[Any]) -> NDArray[Any]:
    """Return the median as a table of one row, of zeros if there is no row."""
    place = len(sample) // 2
    return np.sort(sample, axis=0)[place : place + 1].sum(axis=0, keepdims=True)


@dataclass(frozen=True, repr=False)
class DenseOffsets:
    """Private: offsets are formed block by block, never all at once."""

    records: NDArray[Any]
    center: NDArray[Any]

    def squares(self) -> Floats:
        rows = max(1, _FEW_CELLS // len(self.center))

        def of_some(start: int) -> Floats:
            offsets = self._offsets(slice(start, start + rows), slice(None))
            return np.asarray(np.einsum("ij,ij->i", offsets, offsets))

        return np.concatenate([np.zeros(0), *in_order(of_some, range(0, len(self.records), rows), cores())])

    def products(self, rows: Integers, columns: Integers) -> Floats:
        """Sum inner products over blocks of coordinates."""
        total = np.zeros((len(rows), len(columns)))
        width = max(1, _CELLS // max(len(rows), len(columns)))
        for start in range(0, len(self.center), width):
            block = slice(start, start + width)
            left = self._offsets(rows, block)
            right = left if np.array_equal(rows, columns) else self._offsets(columns, block)
            total += product(left, right)
        return total

    def in_32_bits(
        self, block: slice, factors: Floats, threads: int, memory: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return some coordinates of all records, each record times its factor, in the given memory."""
        width = len(self.center[block])
        part = memory[: len(self.records) * width].reshape(-1, width)

        def fill(some: slice) -> None:
            np.multiply(self._offsets(some, block), factors[some, None], out=part[some], casting="unsafe")

        rows = max(1, _FEW_CELLS // part.shape[1])
        list(in_order(fill, [slice(start, start + rows) for start in range(0, len(part), rows)], threads))
        return part

    def _offsets(self, rows: Integers | slice, block: slice) -> Floats:
        """Subtract in the records' own type, and store as floats, without an array in between."""
        some = self.records[rows if isinstance(rows, slice) else as_slice(rows), block]
        offsets = np.empty(some.shape)
        kind = np.result_type(self.records, self.center)
        return np.subtract(some, self.center[block], out=offsets, dtype=kind, casting="unsafe")


def product(left: Floats, right: Floats) -> Floats:
    """Return left @ right.T, a small one in pieces that need no threads."""
    rows = max(1, _UNTHREADED // max(right.size, 1))
    if rows >= len(left) or len(left) * right.size > SMALL:
        return left @ right.T
    found = np.empty((len(left), len(right)))
    for start in range(0, len(left), rows):
        np.matmul(left[start : start + rows], right.T, out=found[start : start + rows])
    return found


@cache
def float32_is_whole(multiply: Callable[[Any, Any], Any] = np.matmul) -> bool:
    """Return whether products in 32 bits keep all 24 bits of a number here: a library may shorten them for speed.
    Tested on products of 24 bits: of two numbers of 12 bits, and of 24 bits and one. Every entry has one term. The
    first shows the loss of a product, the others the loss of a number."""
    places, one = np.arange(_TRIED), np.ones(_TRIED)
    long = 2.0**23 + 1 + 65498 * places  # odd, of 24 bits: two parts of 11 bits do not hold them
    trials = [(2049 + 2 * places, 4095 - 2 * places), (long, one), (one, long)]
    left, right = np.zeros((2, _TRIED, _TRIED), dtype=np.float32)
    for of_left, of_right in trials:
        left[places, places], right[places, places] = of_left, of_right
        if not np.array_equal(multiply(left, right.T), np.diag(of_left * of_right)):
            return False
    return True


def as_slice(rows: Integers) -> Integers | slice:
    """Return the same rows; consecutive ones by their bounds, so that they are not copied."""
    if len(rows) == 1 or (len(rows) and (np.diff(rows) == 1).all()):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


@dataclass(frozen=True, repr=False)
class SparseOffsets:
    """Private: offsets split by column into those that many rows store and the others."""

    crowded: Any  # SciPy's csr_array of floats
    others: Any
    sums: Floats

    @classmethod
    def of(cls, offsets: SparseRows) -> "SparseOffsets":
        entries = offsets.with_values(offsets.values.astype(np.float64))
        stored = np.bincount(offsets.columns, minlength=offsets.shape[1])
        crowded = stored * _CROWDED > len(offsets)
        apart = (entries.matrix[:, np.flatnonzero(which)] for which in (crowded, ~crowded))
        return cls(next(apart), next(apart), entries.sum_rows(entries.values**2))

    def squares(self) -> Floats:
        return self.sums

    def products(self, rows: Integers, columns: Integers) -> Floats:
        total = (self.others[rows] @ self.others[columns].T).toarray()
        left, right = self.crowded[rows], self.crowded[columns]
        width = max(1, _CELLS // max(len(rows), len(columns)))
        for start in range(0, self.crowded.shape[1], width):
            block = slice(start, start + width)
            total += left[:, block].toarray() @ right[:, block].toarray().T
        return np.asarray(total)


@dataclass(frozen=True, repr=False)
class DeviceOffsets:
    """Private: a tensor of float64, all at once. `distances` covers the float error of any order."""

    tensor: Tensor

    def squares(self) -> Floats:
        torch, rows = namespace(self.tensor), DeviceRows(self.tensor)
        found = [self.tensor[part].square().sum(1) for part in parts(rows)]
        return fetch_array(torch.cat([*found, torch.zeros(0, dtype=torch.float64, device=self.tensor.device)]))

    def products(self, rows: Integers, columns: Integers) -> Tensor:
        left, right = (DeviceRows(self.tensor)[which].tensor for which in (rows, columns))
        return left @ right.T


Offsets = DenseOffsets | SparseOffsets | DeviceOffsets  # private; records are named by their position among these
