"""The space in which records are compared, clipped and summed: rescaled rows, block by block, always the same bits."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dimfree.exact_product import saturate
from dimfree.records import Records
from dimfree.rows import Rows, SparseRows
from dimfree.shape import Diagonal, Isotropic, Shape

_KEPT_BYTES = 2**31  # rescaled rows are kept in memory up to this size, else rescaled anew on every pass

Mask = NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Space:
    """Private: the records, rescaled by a public shape."""

    records: Records
    shape: Shape
    _kept: list[tuple[Rows, Mask]] = field(default_factory=list)

    @property
    def dimension(self) -> int:
        return self.records.dimension

    @property
    def count(self) -> int:
        return self.records.count

    def blocks(self) -> Iterator[tuple[Rows, Mask]]:
        """Consecutive blocks of rescaled rows, each with the mask of its valid rows."""
        if self._bytes() > _KEPT_BYTES:
            yield from self._rescaled()
        else:
            if not self._kept:
                self._kept.extend(self._rescaled())
            yield from self._kept

    def valid_blocks(self, sampled: Mask | None = None) -> Iterator[Rows]:
        """The valid rows alone, among the sampled ones: an invalid record adds nothing to any sum."""
        start = 0
        for rows, valid in self.blocks():
            chosen = valid if sampled is None else valid & sampled[start : start + len(rows)]
            start += len(rows)
            yield rows if chosen.all() else rows[chosen]

    def _rescaled(self) -> Iterator[tuple[Rows, Mask]]:
        if self._stays_sparse():
            yield from self._rescaled_entries()
        else:
            for rows, valid in self.records.blocks():
                rescaled = self.shape.rescale(rows)
                rescaled.setflags(write=False)
                yield rescaled, valid

    def _rescaled_entries(self) -> Iterator[tuple[SparseRows, Mask]]:
        """Entry by entry the same quotients as in `Shape.rescale`; zero stays zero."""
        divisors = self.shape.restore(np.ones(self.dimension))
        if (divisors == 1).all():
            yield from self.records.sparse_blocks()  # no second copy of the entries
            return
        for rows, valid in self.records.sparse_blocks():
            with np.errstate(all="ignore"):  # a warning or error would speak of records
                rescaled = saturate(rows.values / divisors[rows.columns])
            yield rows.with_values(rescaled), valid

    def _stays_sparse(self) -> bool:
        """Whether the records are sparse and rescaling acts on each coordinate by itself."""
        return self.records.is_sparse and isinstance(self.shape, Diagonal | Isotropic)

    def _bytes(self) -> int:
        entries = self.records.stored if self._stays_sparse() else self.count * self.dimension
        return 8 * entries
