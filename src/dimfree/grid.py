"""Records as integers: rescaled and rounded one by one, so that predicate, weights and sums are exact.

The step is the public friend radius times 2^-20. A map of one record at a time is free of charge (privacy is that of
the mapped records); a coordinate too large for the grid is held at its edge. Proof: proofs/core/friends.md.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree.device_rows import DeviceRows
from dimfree.rows import IntegerRows, Mask, Rows, SparseRows, stacked
from dimfree.sources.progress import during
from dimfree.space import Space

RADIUS = 2**20  # the friend radius, in steps
EDGE = 2.0**61  # coordinates are held within ±EDGE: differences fit 64 bits


@dataclass(frozen=True, repr=False)
class IntegerRecords:
    """Private: the valid records in grid steps, and how many records are invalid."""

    values: IntegerRows
    invalid: int

    @property
    def count(self) -> int:
        return len(self.values) + self.invalid


@during("the core's sample")
def on_grid(space: Space, radius: float, sampled: Mask | None = None) -> IntegerRecords:
    """Every (sampled) record rounded to steps of radius / RADIUS; invalid records are only counted."""
    size = space.count if sampled is None else int(sampled.sum())
    rounded = (rows_to_steps(rows, radius / RADIUS) for rows in space.valid_blocks(sampled))
    values = stacked(rounded, (size, space.dimension), np.int64)
    return IntegerRecords(values, size - len(values))


def rows_to_steps(rows: Rows, step: float) -> IntegerRows:
    """Rows in whole steps; zero stays zero, so sparse rows stay sparse."""
    if isinstance(rows, DeviceRows):
        return rows.to_steps(step, EDGE)
    return rows.with_values(to_steps(rows.values, step)) if isinstance(rows, SparseRows) else to_steps(rows, step)


def to_steps(rows: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    """Rounded to whole steps, elementwise, and held within the edge."""
    with np.errstate(all="ignore"):  # a warning or error would speak of records
        steps = rows / step
        np.clip(np.rint(steps, out=steps), -EDGE, EDGE, out=steps)
    steps[np.isnan(steps)] = 0.0
    return steps.astype(np.int64)
