"""How many entries are missing: in all columns together, and in each of them (P22).

For a space that is read entry by entry (`Space.by_entry`): an entry that is not a finite number is missing. A record
has at most as many missing entries as there are columns. In each column it counts by the vector of its missing entries,
a one for each, drawn in to a norm: few are missing in most records, so that this is far less noisy than the number of
entries that are there. Proof: proofs/mechanisms/missing.md.
"""

from functools import partial

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import charged_gaussian, refining_bits
from dimfree.data.blocks import Columns, Rows, SparseRows
from dimfree.data.gpu.rows import DeviceRows, namespace
from dimfree.geometry.clip import BALL, clipped_total
from dimfree.geometry.space import Space
from dimfree.mechanisms import Measured
from dimfree.mechanisms.scores import MOVES
from dimfree.noise import Noise


def noisy_missing(space: Space, mu: float, *, noise: Noise) -> Measured[float]:
    """The number of missing entries, over the number of columns: in records, with Gaussian noise.

    Guarantee: a record has between 0 and d missing entries, so that it moves their number by at most d, an exchange
    of records too (P22).
    """
    d, total = space.dimension, int(space.summed(number_missing, 1)[0])
    bits = refining_bits(d, mu)
    event = charged_gaussian(d * 2**bits, mu, 1, 1 / d / 2**bits, "missing entries")  # P22
    return Measured((total * 2**bits + int(noise.gaussian(event.stddev, 1)[0])) * event.step, event)


def noisy_missing_counts(
    space: Space, norm: float, mu: float, relation: Neighbours, *, noise: Noise
) -> Measured[Floats]:
    """How many records miss an entry, in each column, with Gaussian noise.

    A record with more than norm² missing entries counts less in each. Guarantee: non-negative vectors of at most this
    norm, so sensitivity `norm`, and √2 times that under replace-one (P22).
    """
    total = space.summed(partial(clipped_missing, norm), space.dimension)
    moves = BALL * MOVES[relation] * (1 + 1e-15)  # P22
    bits = refining_bits(moves, mu)
    event = charged_gaussian(moves * 2**bits, mu, len(total), norm / BALL / 2**bits, "missing entries of the columns")
    return Measured((total * 2**bits + noise.gaussian(event.stddev, len(total))) * event.step, event)


def number_missing(rows: Rows) -> Integers:
    if isinstance(rows, DeviceRows):
        return np.array([int(rows.tensor.isnan().sum())], dtype=np.int64)
    values = rows.values if isinstance(rows, SparseRows) else rows
    return np.array([np.count_nonzero(np.isnan(values))], dtype=np.int64)


def clipped_missing(norm: float, rows: Rows) -> Integers:
    return clipped_total(rows, norm, _ones_where_missing)


def _ones_where_missing(values: Floats, columns: Columns, step: float) -> Floats:
    """1 for a missing entry, 0 for any other, in steps; one entry at a time."""
    xp = namespace(values)
    return xp.where(xp.isnan(values), xp.full_like(values, 1 / step), xp.zeros_like(values))
