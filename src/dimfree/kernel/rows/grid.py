"""Records as integers: rescaled and rounded one by one, so that predicate, weights and sums are exact.

The step is the public friend radius times 2^-20. A map of one record at a time is free of charge (privacy is that of
the mapped records). A record with a coordinate too large for the grid is treated like an invalid one: it is counted and
has no friend but itself. Held at the edge, strangers far away would seem to agree. Proof: proofs/statistics/friends.md.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.data.blocks import IntegerRows, Mask, Rows, SparseRows
from dimfree.data.gpu.rows import DeviceRows

RADIUS = 2**20  # the friend radius, in steps
EDGE = 2.0**61  # in steps: a record with a coordinate there or beyond is off the grid; differences fit 64 bits


@dataclass(frozen=True, repr=False)
class IntegerRecords:
    """Private: the valid records on the grid, in its steps, and how many others there are (invalid or off the grid)."""

    values: IntegerRows
    invalid: int

    @property
    def count(self) -> int:
        return len(self.values) + self.invalid


def are_on_grid(largest: Floats, step: float) -> Mask:
    """Which records the grid of this step reaches, by the largest absolute value of each."""
    return largest < EDGE * step


def rows_to_steps(rows: Rows, step: float) -> IntegerRows:
    """Rows in whole steps; zero stays zero, so sparse rows stay sparse."""
    if isinstance(rows, DeviceRows):
        return rows.to_steps(step, EDGE)
    return rows.with_values(to_steps(rows.values, step)) if isinstance(rows, SparseRows) else to_steps(rows, step)


def to_steps(rows: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    """Rounded to whole steps, elementwise, and held within the edge."""
    with np.errstate(all="ignore"):  # a warning or error could reveal records
        steps = rows / step
        np.clip(np.rint(steps, out=steps), -EDGE, EDGE, out=steps)
    steps[np.isnan(steps)] = 0.0
    return steps.astype(np.int64)
