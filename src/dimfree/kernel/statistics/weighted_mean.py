"""The weighted mean of integer records, rounded to a fine grid, plus discrete Gaussian noise (M7, M8).

Everything before the noise is integer arithmetic; the output is a function of the noisy integer alone.
Proof: proofs/statistics/stable.md.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Integers
from dimfree.accounting.events import Gaussian, charged_gaussian, refining_bits
from dimfree.data.blocks import IntegerRows, densely, minus, one_row, width
from dimfree.kernel.rows.grid import RADIUS
from dimfree.threads import cores, in_order

_CELLS = 2**20  # entries of a block, of which every thread has some
_SAFE = 2**62


def mean_event(sensitivity: float, mu: float, dimension: int, step: float, purpose: str) -> tuple[Gaussian, int]:
    """The cost of a mean of the given sensitivity (in record steps), and the number of extra bits of its noise grid.

    Rounding to the grid adds one step per coordinate: sqrt(d) to the L2 sensitivity (M8).
    """
    bits = refining_bits(sensitivity, mu)
    steps = sensitivity * 2**bits * (1 + 1e-15) + math.sqrt(dimension)
    return charged_gaussian(steps, mu, dimension, step / 2**bits, purpose), bits


def rounded_mean(values: IntegerRows, weights: Integers, bits: int) -> NDArray[np.object_]:
    """round(2^bits · Σ w_j x_j / Σ w_j) as Python integers; zero if nothing has weight.

    Offsets from one weighted record keep the sums small; the result does not depend on which one.
    """
    weighted = np.flatnonzero(weights)
    total = int(weights.sum())
    if not len(weighted):
        return np.zeros(values.shape[1], dtype=object)
    origin = one_row(values, weighted)
    sums = _weighted_offsets(values, weights, weighted, origin)
    rounded = (sums * 2 ** (bits + 1) + total) // (2 * total)
    return densely(origin)[0].astype(object) * 2**bits + rounded


def _weighted_offsets(
    values: IntegerRows, weights: Integers, weighted: Integers, origin: IntegerRows
) -> NDArray[np.object_]:
    """Σ w_j (x_j - origin): 64-bit sums over blocks small enough not to overflow, else added up as Python integers.

    A dense block is every row in it, a view: so memory use does not depend on how many have weight.
    """
    largest = int(weights.max()) * 2 * RADIUS
    rows = max(1, min(_CELLS // width(values), _SAFE // largest))
    fits = len(weighted) * largest < _SAFE
    dense = isinstance(values, np.ndarray)

    def summed(start: int) -> NDArray[Any]:
        block = slice(start, start + rows) if dense else weighted[start : start + rows]
        part: NDArray[Any] = weights[block] @ minus(values[block], origin)
        return part if fits else part.astype(object)

    total: NDArray[Any] = np.zeros(values.shape[1], dtype=np.int64 if fits else object)
    for part in in_order(summed, range(0, len(values) if dense else len(weighted), rows), cores() if dense else 1):
        total = total + part
    return total.astype(object)
