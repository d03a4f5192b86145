"""Noisy bisections of public ranges: the medians of all columns at once, and the point where a count turns positive."""

import math
from collections.abc import Callable

import numpy as np

from benchmarks.peers.gaussians import Gaussians
from benchmarks.peers.sums import blocks
from dimfree._types import Floats

_MOST_HALVINGS = 60  # beyond, the ends of a bracket are the same float


def medians(X: Floats, clipping: float, widths: Floats, noise: Gaussians, mu: float) -> Floats:
    """The middle of a bracket about the median of every column inside [-reach, reach], of the given width.

    A query is #{x <= m} - #{x > m} at the middle of the bracket: one record moves it by one. A column whose bracket is
    narrow enough costs nothing more.
    """
    halvings = np.clip(np.ceil(np.log2(2 * clipping / widths)), 1, _MOST_HALVINGS)
    each = mu / math.sqrt(halvings.sum())  # of one query
    low, high = np.full(len(widths), -clipping), np.full(len(widths), clipping)
    for asked in range(int(halvings.max())):
        middle, is_open = (low + high) / 2, halvings > asked
        balance = sum(
            (2 * np.count_nonzero(rows <= middle, axis=0) - len(rows) for rows in blocks(X)), np.zeros(len(low))
        )
        size = int(is_open.sum())
        noisy = noise.release(balance[is_open], noise.changed * math.sqrt(size), each * math.sqrt(size))
        is_left = np.zeros(len(low), dtype=bool)
        is_left[is_open] = noisy >= 0
        low, high = np.where(is_open & ~is_left, middle, low), np.where(is_left, middle, high)
    return (low + high) / 2


def queries(cells: int) -> int:
    """How many noisy counts a bisection of so many cells asks."""
    return max(1, math.ceil(math.log2(max(cells, 2))))


def crossing(excess: Callable[[float], float], grid: Floats, moves: float, noise: Gaussians, mu: float) -> float:
    """The upper end of the cell where `excess`, which grows, turns positive; one record moves it by `moves`."""
    each = mu / math.sqrt(queries(len(grid) - 1))
    low, high = 0, len(grid) - 1
    while high - low > 1:
        middle = (low + high) // 2
        is_positive = noise.release(excess(float(grid[middle])), moves, each) >= 0
        low, high = (low, middle) if is_positive else (middle, high)
    return float(grid[high])
