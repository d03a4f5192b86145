"""A histogram over cells that are not listed beforehand: only counts that are large after noise are published (M4).

Every occupied cell gets discrete Laplace noise of scale 2/epsilon and is published if the sum reaches a threshold. A
cell with a single item is published with probability P(noise >= threshold - 1), which is the delta.
Proof: proofs/paper/stable_histogram.md.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeVar

from dimfree._validate import check_between, check_probability
from dimfree.accounting.losses import Approximate
from dimfree.errors import InvalidParameter, raise_alone
from dimfree.noise import Noise, check_noise
from dimfree.paper.noisy import Priced

Cell = TypeVar("Cell", bound=Hashable)


def laplace_scale(epsilon: float) -> float:
    """2/epsilon, rounded up: one item moves two counts by one."""
    return 2 / epsilon * (1 + 1e-15)


def publishing_threshold(epsilon: float, delta: float) -> int:
    """The smallest count that is published: the first t with P(noise >= t - 1) <= delta, rounded up."""
    scale = laplace_scale(epsilon)
    needed = scale * (-math.log(delta) - math.log1p(math.exp(-1 / scale)))
    return 1 + max(0, math.ceil(needed * (1 + 1e-12) + 1e-9))


def stable_histogram(
    cells: Sequence[Cell], epsilon: float, delta: float, *, noise: Noise, purpose: str = "stable histogram"
) -> Priced[dict[Cell, int], Approximate]:
    """Noisy counts of the cells with many items, the largest first.

    Guarantee: (epsilon, delta) when one item is replaced, added or removed.
    Proof: proofs/paper/stable_histogram.md (M4).

    Parameters
    ----------
    cells : sequence of hashable
        The cell of each item. Cells that compare equal must have the same `repr`, whatever the other items are: in a
        column of a frame one entry may turn every 1 into 1.0 or "1". Turn each entry into text or a number of your own.
    epsilon, delta : float
        The cost: epsilon from 1e-9 to 1e9, delta in (0, 1).
    noise : Noise
        `SystemNoise()`, or `SeededNoise(seed)` in a test.
    purpose : str
        Named in the cost.

    Returns
    -------
    Priced
        `value`: a dict from published cell to noisy count, in the order of counts, then of names. `event`: the cost.

    Raises
    ------
    InvalidParameter
        If a number is out of range or a cell cannot be hashed. No cell is quoted.

    Examples
    --------
    >>> from dimfree import SeededNoise
    >>> from dimfree.paper import stable_histogram
    >>> found = stable_histogram(["a"] * 90 + ["b"], 1.0, 1e-6, noise=SeededNoise(0))
    >>> list(found.value)
    ['a']
    """
    event = Approximate(purpose, check_between("epsilon", epsilon, 1e-9, 1e9), check_probability("delta", delta))
    least = publishing_threshold(event.epsilon, event.delta)
    counts = _counted(cells)
    drawn = check_noise(noise, "laplace").laplace(laplace_scale(event.epsilon), len(counts))
    noisy = {cell: count + int(z) for (cell, count), z in zip(counts.items(), drawn, strict=True)}
    return Priced(_in_public_order({cell: count for cell, count in noisy.items() if count >= least}), event)


def _counted(cells: Sequence[Cell]) -> Counter[Cell]:
    try:
        return Counter(cells)
    except Exception:  # noqa: BLE001 - it may quote a cell
        raise_alone(InvalidParameter("Expected cells to be a list with one cell, that can be hashed, for each item."))


def heaviest_cell(
    cells: Sequence[Cell], epsilon: float, delta: float, *, noise: Noise, purpose: str = "heaviest cell"
) -> Priced[Cell | None, Approximate]:
    """The cell with the largest published count; the cost is that of `stable_histogram`.

    Parameters
    ----------
    cells, epsilon, delta, noise, purpose
        As in `stable_histogram`.

    Returns
    -------
    Priced
        `value`: the cell, or None if no cell was published. `event`: the cost.

    Raises
    ------
    InvalidParameter
        As in `stable_histogram`.
    """
    found = stable_histogram(cells, epsilon, delta, noise=noise, purpose=purpose)
    return Priced(next(iter(found.value), None), found.event)


def _in_public_order(published: dict[Cell, int]) -> dict[Cell, int]:
    """By count, then by name: the order of the items is private."""
    return dict(sorted(published.items(), key=lambda pair: (-pair[1], repr(pair[0]))))
