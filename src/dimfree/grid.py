"""Records as integers: rescaled and rounded one by one, so that predicate, weights and sums are exact.

The step is the public friend radius times 2^-20. A map of one record at a time is free of charge (privacy is that of
the mapped records); a coordinate too large for the grid is held at its edge. Proof: proofs/core/friends.md.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree.space import Mask, Space

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


def on_grid(space: Space, radius: float, sampled: Mask | None = None) -> IntegerRecords:
    """Every (sampled) record rounded to steps of radius / RADIUS; invalid records are only counted."""
    size = space.count if sampled is None else int(sampled.sum())
    values = np.empty((size, space.dimension), dtype=np.int64)
    start = kept = 0
    for rows, valid in space.blocks():
        chosen = valid if sampled is None else valid & sampled[start : start + len(rows)]
        rounded = to_steps(rows if chosen.all() else rows[chosen], radius / RADIUS)
        values[kept : kept + len(rounded)] = rounded
        start, kept = start + len(rows), kept + len(rounded)
    return IntegerRecords(values[:kept], size - kept)


def to_steps(rows: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    """Rounded to whole steps, elementwise, and held within the edge."""
    with np.errstate(all="ignore"):  # a warning or error would speak of records
        steps = np.rint(rows / step)
    steps = np.nan_to_num(steps, copy=False, nan=0.0, posinf=EDGE, neginf=-EDGE)
    return np.clip(steps, -EDGE, EDGE, out=steps).astype(np.int64)
