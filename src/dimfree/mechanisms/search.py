"""A noisy binary search for the point of a public grid where a monotone count crosses its target (M5').

Proof: proofs/mechanisms/search.md.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dimfree.accounting.events import charged_gaussian
from dimfree.mechanisms import Measured
from dimfree.noise import Noise

STEPS = 2**20  # grid steps to one unit of the count


def queries(cells: int) -> int:
    """How many noisy counts a search over the given number of cells asks."""
    return max(1, math.ceil(math.log2(max(cells, 2))))


def count_stddev(cells: int, sensitivity: float, mu: float) -> float:
    """The standard deviation of one noisy count of the search."""
    return sensitivity * math.sqrt(queries(cells)) / mu


def noisy_search(
    excess: Callable[[float], int],
    grid: NDArray[np.float64],
    sensitivity: float,
    mu: float,
    purpose: str,
    *,
    noise: Noise,
) -> Measured[float]:
    """The upper end of the cell where `excess` (in 1/STEPS units, growing with its argument) turns positive.

    All queries together cost mu: one event of as many dimensions as there are queries. `sensitivity` in units.
    """
    asked = queries(len(grid) - 1)
    event = charged_gaussian(sensitivity * STEPS * math.sqrt(asked), mu, asked, 1 / STEPS, purpose)
    low, high = 0, len(grid) - 1
    while high - low > 1:  # at most `asked` times
        middle = (low + high) // 2
        positive = excess(float(grid[middle])) + int(noise.gaussian(event.stddev, 1)[0]) >= 0
        low, high = (low, middle) if positive else (middle, high)
    return Measured(float(grid[high]), event)


def geometric_grid(low: float, high: float, ratio: float) -> NDArray[np.float64]:
    """A public grid from `low` to at least `high`."""
    cells = max(1, math.ceil(math.log(high / low) / math.log(ratio)))
    return np.asarray(low * ratio ** np.arange(cells + 1), dtype=np.float64)
