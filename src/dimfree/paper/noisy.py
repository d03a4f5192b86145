"""Counts, totals, means and searches of the paper's algorithms: each has the noise of the event that is charged.

Proof: proofs/paper/kernel.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.accounting.events import COUNT_STEPS, SEARCH_STEPS, Gaussian, charged_gaussian
from dimfree.accounting.losses import Loss, Pure
from dimfree.data.blocks import IntegerRows
from dimfree.kernel import Released
from dimfree.kernel.statistics.stable import rounded_mean
from dimfree.noise import Noise

Value = TypeVar("Value")
Cost = TypeVar("Cost", bound=Loss)


@dataclass(frozen=True)
class Priced(Generic[Value, Cost]):
    """A released value and its cost, if that is not a Gaussian: then `dimfree.kernel.Released`."""

    value: Value
    event: Cost


def noisy_count(count: int, event: Gaussian, *, noise: Noise) -> Released[float]:
    """The number of records plus Gaussian noise; sensitivity one record, exactly on the grid (P5')."""
    return Released((count * COUNT_STEPS + int(noise.gaussian(event.stddev, 1)[0])) / COUNT_STEPS, event)


def total_event(sensitivity: float, mu: float, purpose: str) -> Gaussian:
    """The charge of `noisy_total`; rounding adds one step of sensitivity."""
    return charged_gaussian(sensitivity * COUNT_STEPS + 1, mu, 1, 1 / COUNT_STEPS, purpose)


def noisy_total(total: Fraction, sensitivity: float, mu: float, purpose: str, *, noise: Noise) -> Released[float]:
    """A total rounded to the grid plus Gaussian noise."""
    event = total_event(sensitivity, mu, purpose)
    return Released((int(total * COUNT_STEPS) + int(noise.gaussian(event.stddev, 1)[0])) / COUNT_STEPS, event)


def noisy_mean(values: IntegerRows, weights: Integers, event: Gaussian, bits: int, *, noise: Noise) -> Released[Floats]:
    """The weighted mean; weighted records lie within twice the radius. `event`, `bits`: of `mean_event`."""
    noisy = rounded_mean(values, weights, bits) + noise.gaussian(event.stddev, event.dimension)
    return Released(noisy.astype(np.float64) * event.step, event)


def queries(cells: int) -> int:
    """How many noisy counts a bisection of the given number of cells asks."""
    return max(1, math.ceil(math.log2(max(cells, 2))))


def search_event(cells: int, mu: float, purpose: str) -> Gaussian:
    """The charge of `noisy_search`: one event of as many dimensions as there are queries."""
    return charged_gaussian(SEARCH_STEPS * math.sqrt(queries(cells)), mu, queries(cells), 1 / SEARCH_STEPS, purpose)


def noisy_search(
    excess: Callable[[float], int], grid: NDArray[np.float64], mu: float, purpose: str, *, noise: Noise
) -> Released[float]:
    """The upper end of the cell where `excess` (in 1/SEARCH_STEPS units, growing) turns positive; one moves it by one.

    All queries together cost mu.
    """
    event = search_event(len(grid) - 1, mu, purpose)
    low, high = 0, len(grid) - 1
    while high - low > 1:  # at most `event.dimension` times
        middle = (low + high) // 2
        positive = excess(float(grid[middle])) + int(noise.gaussian(event.stddev, 1)[0]) >= 0
        low, high = (low, middle) if positive else (middle, high)
    return Released(float(grid[high]), event)


def laplace_count(count: int, epsilon: float, *, noise: Noise) -> Priced[int, Pure]:
    """Add/remove: n̂ with (epsilon, 0); one record moves the count by one."""
    drawn = int(noise.laplace(1 / epsilon * (1 + 1e-15), 1)[0])
    return Priced(count + drawn, Pure("number of records", epsilon))


def laplace_stddev(epsilon: float) -> float:
    """Of the noise, rounded up."""
    return math.sqrt(2) / epsilon
