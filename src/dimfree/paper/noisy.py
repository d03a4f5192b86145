"""Gaussian releases of the paper's algorithms: each has the noise that its charge states."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.accounting.events import COUNT_STEPS, SEARCH_STEPS, charged_gaussian, counted_records
from dimfree.data.blocks import IntegerRows
from dimfree.kernel.statistics.weighted_mean import mean_event, rounded_mean
from dimfree.noise import Noise
from dimfree.paper.charged import Measured


def noisy_count(count: int, stddev: float, *, noise: Noise) -> Measured[float]:
    """The number of records plus Gaussian noise; sensitivity one record, exactly on the grid (P5')."""
    event = counted_records(stddev)
    return Measured((count * COUNT_STEPS + int(noise.gaussian(event.stddev, 1)[0])) / COUNT_STEPS, event)


def noisy_total(total: Fraction, sensitivity: float, mu: float, purpose: str, *, noise: Noise) -> Measured[float]:
    """A total rounded to the grid plus Gaussian noise of precision mu²; rounding adds one step of sensitivity."""
    event = charged_gaussian(sensitivity * COUNT_STEPS + 1, mu, 1, 1 / COUNT_STEPS, purpose)
    return Measured((int(total * COUNT_STEPS) + int(noise.gaussian(event.stddev, 1)[0])) / COUNT_STEPS, event)


def noisy_mean(
    values: IntegerRows, weights: Integers, sensitivity: float, mu: float, step: float, *, noise: Noise
) -> Measured[Floats]:
    """The weighted mean, where one record step is worth `step`; weighted records lie within twice the radius."""
    event, bits = mean_event(sensitivity, mu, values.shape[1], step, "mean")
    noisy = rounded_mean(values, weights, bits) + noise.gaussian(event.stddev, values.shape[1])
    return Measured(noisy.astype(np.float64) * event.step, event)


def queries(cells: int) -> int:
    """How many noisy counts a bisection of the given number of cells asks."""
    return max(1, math.ceil(math.log2(max(cells, 2))))


def noisy_search(
    excess: Callable[[float], int], grid: NDArray[np.float64], mu: float, purpose: str, *, noise: Noise
) -> Measured[float]:
    """The upper end of the cell where `excess` (in 1/SEARCH_STEPS units, growing) turns positive; one moves it by one.

    All queries together cost mu: one event of as many dimensions as there are queries.
    """
    asked = queries(len(grid) - 1)
    event = charged_gaussian(SEARCH_STEPS * math.sqrt(asked), mu, asked, 1 / SEARCH_STEPS, purpose)
    low, high = 0, len(grid) - 1
    while high - low > 1:  # at most `asked` times
        middle = (low + high) // 2
        positive = excess(float(grid[middle])) + int(noise.gaussian(event.stddev, 1)[0]) >= 0
        low, high = (low, middle) if positive else (middle, high)
    return Measured(float(grid[high]), event)
