"""The space in which records are compared, clipped and summed: rescaled rows, block by block, always the same bits."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dimfree.records import Records
from dimfree.shape import Shape

_KEPT_BYTES = 2**31  # rescaled rows are kept in memory up to this size, else rescaled anew on every pass

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Space:
    """Private: the records, rescaled by a public shape."""

    records: Records
    shape: Shape
    _kept: list[tuple[Floats, Mask]] = field(default_factory=list)

    @property
    def dimension(self) -> int:
        return self.records.dimension

    @property
    def count(self) -> int:
        return self.records.count

    def blocks(self) -> Iterator[tuple[Floats, Mask]]:
        """Consecutive blocks of rescaled rows, each with the mask of its valid rows."""
        if self.count * self.dimension * 8 > _KEPT_BYTES:
            yield from self._rescaled()
        else:
            if not self._kept:
                self._kept.extend(self._rescaled())
            yield from self._kept

    def valid_blocks(self) -> Iterator[Floats]:
        """The valid rows alone: an invalid record adds nothing to any sum."""
        for rows, valid in self.blocks():
            yield rows if valid.all() else rows[valid]

    def _rescaled(self) -> Iterator[tuple[Floats, Mask]]:
        for rows, valid in self.records.blocks():
            rescaled = self.shape.rescale(rows)
            rescaled.setflags(write=False)
            yield rescaled, valid
