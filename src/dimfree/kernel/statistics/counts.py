"""How many records there are (P3), and how many entries are missing: in all columns, and in each of them (P22).

For a space that is read entry by entry (`Space.by_entry`): an entry that is not a finite number is missing. A record
has at most as many missing entries as there are columns. In each column it counts by the vector of its missing entries,
a one for each, drawn in to a norm: few are missing in most records, so that this is far less noisy than the number of
entries that are there. Proof: proofs/statistics/counts.md.
"""

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.data.blocks import Columns, Rows, SparseRows
from dimfree.data.gpu.rows import DeviceRows, namespace
from dimfree.kernel.rows.clip import clipped_total


def number_of(rows: Rows) -> Integers:
    return np.array([len(rows)], dtype=np.int64)


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
