"""The stable core: a statistic of sensitivity 1, and the weighted mean of integer records behind its test.

Letters: n = number of records, c_j = friends of record j (itself included); a < b: the friend shares at which the
weight starts and is full; B = `budget` of the statistic: B - 2 unstable records are tolerated. Everything before the
noise is integer arithmetic. Proof: proofs/statistics/stable.md (P4, P5, P5', M7, M8).
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Integers
from dimfree.accounting.budget import Neighbors
from dimfree.accounting.events import Gaussian, charge_gaussian, refining_bits
from dimfree.data.blocks import IntegerRows, pick_row, subtract_rows, to_dense, width
from dimfree.kernel.statistics.friends import RADIUS
from dimfree.threads import cores, in_order

THOUSANDTHS = 1000  # b is a public multiple of 1/1000
_CELLS = 2**20  # entries of a block, of which every thread has some
_SAFE = 2**62


def stability(counts: Integers, full_share: Fraction, budget: int, neighbors: Neighbors) -> int:
    """Return T = min{k >= 0 : #{j : c_j < b·n + s·k} + k >= B}, exactly; its sensitivity is 1.
    The slope s is b under add-remove (P13), 1 under replace-one (P4)."""
    rise = full_share if neighbors is Neighbors.ADD_REMOVE else Fraction(1)  # P13
    full, scale = full_share * len(counts), full_share.denominator  # all thresholds are multiples of 1/scale
    shortfall = np.sort(counts * scale)
    for k in range(budget):
        unstable = int(np.searchsorted(shortfall, int((full + k * rise) * scale), side="left"))
        if unstable + k >= budget:  # P4, l.1
            return k
    return budget


def cap_by_count(statistic: int, count: int, floor: int) -> int:
    """Return T* = min(T, max(0, n - n_0)), also of sensitivity 1; T* >= 2 twice implies n >= n_0 + 3 (P5')."""
    return min(statistic, max(0, count - floor))


def start_share(count: int, neighbors: Neighbors) -> Fraction:
    """Return a: one half, and half a record more under replace-one: two weighted records share a friend (P5)."""
    return Fraction(1, 2) if neighbors is Neighbors.ADD_REMOVE else Fraction(count + 1, 2 * count)


def weights(counts: Integers, start: Fraction, full_share: Fraction) -> Integers:
    """Return clip(c_j - a·n, 0, (b - a)·n) times the common denominator: integers, so no rounding in the sums."""
    low, high = start * len(counts), full_share * len(counts)
    scale = low.denominator * high.denominator
    raw = counts * scale - int(low * scale)
    return np.clip(raw, 0, int((high - low) * scale))


def core_sensitivity(count: int, full_share: Fraction, budget: int, neighbors: Neighbors) -> float:
    """Return the sensitivity of the weighted mean if both neighbors have T >= 2, in units of the radius (P5).

    `count` is a lower bound on the larger size under add-remove (the bound falls with n), the size under replace-one.
    """
    n, b, a = float(count), float(full_share), float(start_share(count, neighbors))
    changed = (budget - 2) / ((b - a) * n)
    if neighbors is Neighbors.ADD_REMOVE:
        rest = n - budget + 1
        own = 1 + (1 - b) * n / rest
        others = b * changed * min(2.0, 1 + (1 - a) * n / rest)
    else:
        rest = n - budget + 2
        own = 2.0
        others = changed * min(2.0, 1 + ((1 - a) * n + 1) / rest)
    return (own + others) / (n - budget + 2) * (1 + 1e-12)  # covers the dozen roundings above: b - a > 1/20


def admissible(count: int, full_share: Fraction, budget: int, neighbors: Neighbors) -> bool:
    """Return whether P5 holds; else the release is refused, publicly."""
    if budget < 2 or not start_share(max(count, 1), neighbors) + Fraction(1, 20) < full_share <= 1:
        return False
    return count >= 2 * (budget - 1) if neighbors is Neighbors.ADD_REMOVE else count > budget


def mean_event(sensitivity: float, mu: float, dimension: int, step: float, purpose: str) -> tuple[Gaussian, int]:
    """Return the cost of a mean of this sensitivity (in record steps), and the extra bits of its noise grid.
    Rounding to the grid adds one step per coordinate: sqrt(d) to the L2 sensitivity (M8)."""
    bits = refining_bits(sensitivity, mu)
    steps = sensitivity * 2**bits * (1 + 1e-15) + math.sqrt(dimension)
    return charge_gaussian(steps, mu, dimension, step / 2**bits, purpose), bits


def round_mean(values: IntegerRows, weights: Integers, bits: int) -> NDArray[np.object_]:
    """Return round(2^bits · Σ w_j x_j / Σ w_j) as Python integers; zero if nothing has weight.
    Offsets from one weighted record keep the sums small; the result does not depend on which one."""
    weighted = np.flatnonzero(weights)
    total = int(weights.sum())
    if not len(weighted):
        return np.zeros(values.shape[1], dtype=object)
    origin = pick_row(values, weighted)
    sums = _weigh_offsets(values, weights, weighted, origin)
    rounded = (sums * 2 ** (bits + 1) + total) // (2 * total)
    return to_dense(origin)[0].astype(object) * 2**bits + rounded


def _weigh_offsets(
    values: IntegerRows, weights: Integers, weighted: Integers, origin: IntegerRows
) -> NDArray[np.object_]:
    """Return Σ w_j (x_j - origin) by 64-bit sums over blocks that cannot overflow, else as Python integers.
    A dense block is a view of every row in it, so that memory use does not depend on how many have weight."""
    largest = int(weights.max()) * 2 * RADIUS
    rows = max(1, min(_CELLS // width(values), _SAFE // largest))
    fits = len(weighted) * largest < _SAFE
    dense = isinstance(values, np.ndarray)

    def sum_over(start: int) -> NDArray[Any]:
        block = slice(start, start + rows) if dense else weighted[start : start + rows]
        part: NDArray[Any] = weights[block] @ subtract_rows(values[block], origin)
        return part if fits else part.astype(object)

    total: NDArray[Any] = np.zeros(values.shape[1], dtype=np.int64 if fits else object)
    for part in in_order(sum_over, range(0, len(values) if dense else len(weighted), rows), cores() if dense else 1):
        total = total + part
    return total.astype(object)
