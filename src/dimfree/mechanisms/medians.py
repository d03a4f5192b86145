"""The medians of all columns at once, by a noisy bisection of a public range (M5').

One query at the middle m of a column's bracket asks for the balance #{x <= m} - #{x > m}, which one record moves by
one, and halves the bracket. A column whose bracket is narrow enough is not asked any more and costs nothing more.
Proof: proofs/mechanisms/medians.md.
"""

import math
from collections.abc import Callable, Iterable

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import CHANGED_RECORDS, Neighbours
from dimfree.accounting.events import charged_gaussian
from dimfree.data.blocks import Rows, SparseRows, densely
from dimfree.mechanisms import Measured
from dimfree.mechanisms.search import STEPS
from dimfree.noise import Noise

MOST_BISECTIONS = 60  # beyond, the ends of a bracket are the same float


def bisections(reach: float, widths: Floats) -> Integers:
    """How often [-reach, reach] is halved in each column until it is no wider than asked; at least once."""
    needed = np.ceil(np.log2(2 * reach / widths))
    return np.clip(needed, 1, MOST_BISECTIONS).astype(np.int64)


def noisy_medians(
    blocks: Callable[[], Iterable[Rows]],
    reach: float,
    widths: Floats,
    mu: float,
    relation: Neighbours,
    purpose: str,
    *,
    noise: Noise,
) -> Measured[Floats]:
    """The middle of a bracket about the median of every column, searched inside [-reach, reach].

    Guarantee: all queries together cost mu, one event of as many dimensions as there are answers.
    `blocks` hands out the valid rows anew at every call. Proof: proofs/mechanisms/medians.md.
    """
    halvings = bisections(reach, widths)
    answers = int(halvings.sum())
    moves = STEPS * CHANGED_RECORDS[relation] * math.sqrt(answers)
    event = charged_gaussian(moves, mu, answers, 1 / STEPS, purpose)
    low, high = np.full(len(widths), -reach), np.full(len(widths), reach)
    for asked in range(int(halvings.max())):
        middle, is_open = (low + high) / 2, halvings > asked
        noisy = balances(blocks(), middle)[is_open] * STEPS + noise.gaussian(event.stddev, int(is_open.sum()))
        is_left = np.zeros(len(widths), dtype=bool)
        is_left[is_open] = noisy >= 0
        low, high = np.where(is_open & ~is_left, middle, low), np.where(is_left, middle, high)
    return Measured((low + high) / 2, event)


def balances(blocks: Iterable[Rows], points: Floats) -> Integers:
    """#{x <= point} - #{x > point} in every column. Private."""
    total = np.zeros(len(points), dtype=np.int64)
    for rows in blocks:
        total += 2 * _at_most(rows, points) - len(rows)
    return total


def _at_most(rows: Rows, points: Floats) -> Integers:
    """How many entries of each column do not exceed its point; what a sparse row does not store is zero."""
    if not isinstance(rows, SparseRows):
        return np.count_nonzero(densely(rows) <= points, axis=0)
    stored = np.bincount(rows.columns, minlength=len(points))
    under = np.bincount(rows.columns[rows.values <= points[rows.columns]], minlength=len(points))
    return np.where(points >= 0, len(rows) - stored, 0) + under
