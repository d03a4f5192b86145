"""Records as integers: rescaled and rounded one by one, so that predicate, weights and sums are exact.

The step is the public friend radius times 2^-20. A map of one record at a time is free of charge (privacy is that of
the mapped records); a coordinate too large for the grid is held at its edge. Proof: proofs/core/friends.md.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree.records import Records
from dimfree.shape import Shape

RADIUS = 2**20  # the friend radius, in steps
EDGE = 2.0**61  # coordinates are held within ±EDGE: differences fit 64 bits


@dataclass(frozen=True, repr=False)
class IntegerRecords:
    """Private: the valid records in grid steps, and how many records are invalid."""

    values: NDArray[np.int64]
    invalid: int

    @property
    def count(self) -> int:
        return len(self.values) + self.invalid


def on_grid(records: Records, shape: Shape, radius: float) -> IntegerRecords:
    """Every record rescaled by the shape and rounded to steps of radius / RADIUS; invalid records are only counted."""
    step = radius / RADIUS
    values = np.empty((records.count, records.dimension), dtype=np.int64)
    kept = 0
    for rows, valid in records.blocks():
        rounded = _round(shape.rescale(rows), step)[valid]
        values[kept : kept + len(rounded)] = rounded
        kept += len(rounded)
    return IntegerRecords(values[:kept], records.count - kept)


def _round(rows: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.rint(rows / step)
    steps = np.nan_to_num(steps, copy=False, nan=0.0, posinf=EDGE, neginf=-EDGE)
    return np.clip(steps, -EDGE, EDGE, out=steps).astype(np.int64)
