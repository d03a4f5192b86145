"""A matrix product that is a map of one record at a time, bit for bit.

An ordinary batched product rounds differently with the batch, the position in it, the thread count and the processor,
so one person's record can move another's last bit. Here rows and columns are cut into short integer
slices whose products BLAS computes without any rounding, in whatever order it likes; all rounding happens afterwards,
entry by entry, in a fixed order. Proof: proofs/rows/exact_product.md.

Notation: d inner dimension · s bits of a slice · K slices · e, f exponents of a row, a column.
"""

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats

_SIGNIFICAND_BITS = 53  # integers up to 2**53 are exact in float64
_ACCURACY_BITS = 48  # 3 more than the guaranteed 45: what slicing and dropping may add up to
_MIN_EXPONENT = -900  # a smaller row is cut as if it reached 2**-900: every scale stays a normal number
_BLOCK_ENTRIES = 2**21  # entries of a block of rows: speed and memory only, never the result
LARGEST = float(np.finfo(np.float64).max)


def slice_plan(inner: int) -> tuple[int, int]:
    """Return bits s of a slice and number K of slices: inner * 2**s * 2**s <= 2**53 and s * K >= 48 + log2(inner)."""
    log_inner = max(inner - 1, 0).bit_length()
    bits = (_SIGNIFICAND_BITS - log_inner) // 2  # proof: E1, the exactness of every slice product
    if bits < 1:
        raise ValueError(f"Expected an inner dimension of at most 2**51, got {inner}.")
    return bits, -(-(_ACCURACY_BITS + log_inner) // bits)


def saturate(values: Floats) -> Floats:
    """Overwrite infinities by the largest finite number of their sign; NaN stays."""
    return np.clip(values, -LARGEST, LARGEST, out=values)


def _exponents(values: Floats, axis: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return, per line along the axis, e with |entries| < 2**e and whether the line is finite, in any order."""
    peak = np.maximum(values.max(axis=axis, initial=0.0), -values.min(axis=axis, initial=0.0))
    finite = np.isfinite(peak)
    exponent = np.frexp(np.where(finite, peak, 0.0))[1]
    return np.maximum(exponent, _MIN_EXPONENT).astype(np.int32), finite


def _next_slice(rest: Floats, bits: int) -> Floats:
    """Take the integer part of the rest; the remainder, in units of the next slice, replaces it. Exact, entrywise."""
    slice_ = np.rint(rest)
    rest -= slice_  # exact: proof, E2
    rest *= 2.0**bits
    return slice_


class SlicedMatrix:
    """A public matrix (d, k), cut once into slices; `product(rows)` then maps every row separately.

    Guarantee: row i of the product is a function of row i and the matrix, bit for bit: the other rows, their number and
    order, memory layout, BLAS blocking, threads and fused multiply-add change nothing. Proof:
    proofs/rows/exact_product.md.
    """

    def __init__(self, matrix: Floats) -> None:
        matrix = np.asarray(matrix, dtype=np.float64)
        self._exponent, finite = _exponents(matrix, axis=0)
        if not finite.all():
            raise ValueError("Expected a matrix of finite numbers.")
        self._inner, self._outer = matrix.shape
        self._bits, self._count = slice_plan(self._inner)
        rest = matrix * np.ldexp(1.0, self._bits - self._exponent)
        slices = [_next_slice(rest, self._bits) for _ in range(self._count)]
        self._slices = np.concatenate(slices, axis=1)  # (d, K k): the first K - i of them are one product

    def product(self, rows: Floats) -> Floats:
        """Return rows @ matrix, within 2**-45 * max|row| * sum|column| of the true value (both at least 2**-900).

        Results past the largest float saturate; a row with a non-finite entry comes out as NaN throughout.
        """
        rows = np.asarray(rows, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self._inner:
            raise ValueError(f"Expected rows of width {self._inner}, got an array of shape {rows.shape[1:]} per row.")
        result = np.empty((rows.shape[0], self._outer))
        step = max(1, _BLOCK_ENTRIES // max(self._inner, self._outer, 1))
        with np.errstate(all="ignore"):  # a warning, or an error under np.seterr, could reveal records
            for start in range(0, rows.shape[0], step):
                result[start : start + step] = self._block(rows[start : start + step])
        return result

    def _block(self, rows: Floats) -> Floats:
        exponent, finite = _exponents(rows, axis=1)
        if not finite.all():
            rows = np.where(finite[:, None], rows, 0.0)  # NaN and inf must not enter the shared products
        rest = rows * np.ldexp(1.0, self._bits - exponent)[:, None]
        total = self._combine(self._levels(rest))
        result = np.ldexp(total, (exponent - 2 * self._bits)[:, None] + self._exponent)
        result[~finite] = np.nan
        return saturate(result)

    def _levels(self, rest: Floats) -> list[Floats]:
        """Sum slice products of equal unit, largest unit first; those with i + j >= K are too small to matter."""
        levels: list[Floats] = []
        for i in range(self._count):
            width = (self._count - i) * self._outer
            exact = np.matmul(_next_slice(rest, self._bits), self._slices[:, :width])  # proof: E1, no rounding here
            parts = [exact[:, j * self._outer : (j + 1) * self._outer] for j in range(self._count - i)]
            if i == 0:
                levels = parts
                continue
            for j, part in enumerate(parts):
                levels[i + j] += part
        return levels

    def _combine(self, levels: list[Floats]) -> Floats:
        """Apply Horner's rule from the smallest unit up: entry by entry, in one fixed order."""
        total = levels[-1]
        for level in reversed(levels[:-1]):
            total *= 2.0**-self._bits
            total += level
        return total
