"""Counts, totals, searches, histograms and sparse vectors, each with the noise of its charge.

Proofs: proofs/paper/kernel.md, stable_histogram.md, sparse_vector.md.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from dimfree._types import Floats, Integers
from dimfree._validate import check_between, check_count, check_finite, check_integers, check_probability
from dimfree.accounting.events import COUNT_STEPS, SEARCH_STEPS, Gaussian, charge_gaussian
from dimfree.accounting.losses import Approximate, Loss, Pure
from dimfree.errors import InvalidParameterError, raise_alone
from dimfree.kernel import Released
from dimfree.noise import Noise, check_noise

Value = TypeVar("Value")
Cost = TypeVar("Cost", bound=Loss)
Cell = TypeVar("Cell", bound=Hashable)


@dataclass(frozen=True)
class Priced(Generic[Value, Cost]):
    """A released value and its cost, if that is not a Gaussian: then `dimfree.kernel.Released`."""

    value: Value
    event: Cost


def laplace_count(count: int, epsilon: float, *, noise: Noise) -> Priced[int, Pure]:
    """Release a number of records with (epsilon, 0) under add-remove."""
    drawn = int(noise.laplace(1 / epsilon * (1 + 1e-15), 1)[0])
    return Priced(count + drawn, Pure("number of records", epsilon))


def total_event(sensitivity: float, mu: float, purpose: str) -> Gaussian:
    """Return the charge of `noisy_total`; rounding adds one step of sensitivity."""
    return charge_gaussian(sensitivity * COUNT_STEPS + 1, mu, 1, 1 / COUNT_STEPS, purpose)


def noisy_total(total: Fraction, sensitivity: float, mu: float, purpose: str, *, noise: Noise) -> Released[float]:
    """Release a total, rounded to the grid, with Gaussian noise."""
    event = total_event(sensitivity, mu, purpose)
    return Released((int(total * COUNT_STEPS) + int(noise.gaussian(event.stddev, 1)[0])) / COUNT_STEPS, event)


def queries(cells: int) -> int:
    """Return the number of noisy counts of a bisection of this number of cells."""
    return max(1, math.ceil(math.log2(max(cells, 2))))


def search_event(cells: int, mu: float, purpose: str) -> Gaussian:
    """Return the charge of `noisy_search`: one event of as many dimensions as there are queries."""
    return charge_gaussian(SEARCH_STEPS * math.sqrt(queries(cells)), mu, queries(cells), 1 / SEARCH_STEPS, purpose)


def noisy_search(
    excess: Callable[[float], int], grid: Floats, mu: float, purpose: str, *, noise: Noise
) -> Released[float]:
    """Release the upper end of the cell where `excess` (in 1/SEARCH_STEPS, growing, sensitivity one) turns positive."""
    event = search_event(len(grid) - 1, mu, purpose)
    low, high = 0, len(grid) - 1
    while high - low > 1:  # at most `event.dimension` times
        middle = (low + high) // 2
        positive = excess(float(grid[middle])) + int(noise.gaussian(event.stddev, 1)[0]) >= 0
        low, high = (low, middle) if positive else (middle, high)
    return Released(float(grid[high]), event)


# ---- a histogram over cells that are not listed beforehand (M4)


def laplace_scale(epsilon: float) -> float:
    """2/epsilon, rounded up: one item changes two counts by one."""
    return 2 / epsilon * (1 + 1e-15)


def publishing_threshold(epsilon: float, delta: float) -> int:
    """Return the smallest count that is published: the first t with P(noise >= t - 1) <= delta, rounded up."""
    scale = laplace_scale(epsilon)
    needed = scale * (-math.log(delta) - math.log1p(math.exp(-1 / scale)))
    return 1 + max(0, math.ceil(needed * (1 + 1e-12) + 1e-9))


def stable_histogram(
    cells: Sequence[Cell], epsilon: float, delta: float, *, noise: Noise, purpose: str = "stable histogram"
) -> Priced[dict[Cell, int], Approximate]:
    """Release noisy counts of the cells with many items, the largest first.

    Guarantee: (epsilon, delta) when one item is replaced, added or removed.
    Proof: proofs/paper/stable_histogram.md (M4).

    Parameters
    ----------
    cells : sequence of hashable
        The cell of each item. Cells that compare equal must have the same `repr`, whatever the other items are: in a
        column of a frame one entry may turn every 1 into 1.0 or "1". Convert each entry to text or a number first.
    epsilon, delta : float
        The cost: epsilon from 1e-9 to 1e9, delta in (0, 1).
    noise : Noise
        `SystemNoise()`, or `SeededNoise(seed)` in a test.
    purpose : str
        The name of the cost.

    Returns
    -------
    Priced
        `value`: a dict from published cell to noisy count, in the order of counts, then of names. `event`: the cost.

    Examples
    --------
    >>> from dimfree.testing import SeededNoise
    >>> from dimfree.paper import stable_histogram
    >>> found = stable_histogram(["a"] * 90 + ["b"], 1.0, 1e-6, noise=SeededNoise(0))
    >>> list(found.value)
    ['a']
    """
    event = Approximate(purpose, check_between("epsilon", epsilon, 1e-9, 1e9), check_probability("delta", delta))
    least = publishing_threshold(event.epsilon, event.delta)
    try:
        counts = Counter(cells)
    except Exception:  # noqa: BLE001 - it may quote a cell
        raise_alone(InvalidParameterError("`cells` must be a list with one hashable cell for each item."))
    drawn = check_noise(noise, "laplace").laplace(laplace_scale(event.epsilon), len(counts))
    noisy = [(cell, count + int(z)) for (cell, count), z in zip(counts.items(), drawn, strict=True)]
    published = [each for each in noisy if each[1] >= least]
    return Priced(dict(sorted(published, key=lambda each: (-each[1], repr(each[0])))), event)  # items' order is private


def heaviest_cell(
    cells: Sequence[Cell], epsilon: float, delta: float, *, noise: Noise, purpose: str = "heaviest cell"
) -> Priced[Cell | None, Approximate]:
    """Release the cell with the largest published count; cost, parameters and errors as for `stable_histogram`.

    Returns
    -------
    Priced
        `value`: the cell, or None if no cell was published. `event`: the cost.
    """
    found = stable_histogram(cells, epsilon, delta, noise=noise, purpose=purpose)
    return Priced(next(iter(found.value), None), found.event)


# ---- which counts reach a threshold: the sparse vector technique, with corrected constants (docs/internals/errata.md)


def sparse_scale(most: int, epsilon: float, delta: float) -> float:
    """Return s: sqrt(32k·ln(1/delta))/epsilon (Dwork–Roth), or 2k/epsilon if their composition does not cover it.

    With e = 2/s the k stretches are together k·e-private, and (k·e·tanh(e/2) + e·sqrt(2k·ln(1/delta)), delta)-private.
    """
    log = -math.log(delta)
    scale = math.sqrt(32 * most * log) / epsilon * (1 + 1e-12)
    each = 2 / scale
    advanced = most * each * math.tanh(each / 2) + each * math.sqrt(2 * most * log)
    if min(most * each, advanced * (1 + 1e-12)) > epsilon:
        return 2 * most / epsilon * (1 + 1e-12)
    return scale


def sparse_vector(
    queries: Integers,
    threshold: float,
    most: int,
    epsilon: float,
    delta: float,
    *,
    noise: Noise,
    purpose: str = "sparse vector",
) -> Priced[list[int], Approximate]:
    """Release the positions of the first `most` counts that are at least `threshold` after noise, in order.

    Noise of scale s on the threshold, *redrawn after every positive answer*, and of scale 2s on every count.
    Guarantee: (epsilon, delta), if no count changes by more than one between neighbors, in either direction.
    Proof: proofs/paper/sparse_vector.md.

    Parameters
    ----------
    queries : array of int64
        The counts, in the order of the queries. Private.
    threshold : float
        Public; rounded up to a whole number.
    most : int
        The maximal number of returned positions, at least 1.
    epsilon, delta : float
        The cost: epsilon from 1e-9 to 1e9, delta in (0, 1).
    noise : Noise
        `SystemNoise()`, or `SeededNoise(seed)` in a test.
    purpose : str
        The name of the cost.

    Returns
    -------
    Priced
        `value`: the list of positions. `event`: the cost.

    Examples
    --------
    >>> import numpy as np
    >>> from dimfree.testing import SeededNoise
    >>> from dimfree.paper import sparse_vector
    >>> sparse_vector(np.array([0, 5000, 0, 9000]), 2000, 2, 1.0, 1e-6, noise=SeededNoise(0)).value
    [1, 3]
    """
    event = Approximate(purpose, check_between("epsilon", epsilon, 1e-9, 1e9), check_probability("delta", delta))
    bar = math.ceil(check_finite("threshold", threshold))  # counts and noise are integers
    scale = sparse_scale(check_count("most", most), event.epsilon, event.delta)
    check_noise(noise, "laplace")
    counts = check_integers("queries", queries).tolist()
    found: list[int] = []
    lifted = bar + int(noise.laplace(scale, 1)[0])
    for place, (count, drawn) in enumerate(zip(counts, noise.laplace(2 * scale, len(counts)).tolist(), strict=True)):
        if count + drawn >= lifted:
            found.append(place)
            if len(found) == most:
                break
            lifted = bar + int(noise.laplace(scale, 1)[0])  # redrawn after a positive answer
    return Priced(found, event)
