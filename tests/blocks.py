"""Blocks of a few rows, wherever the code works block by block: a matter of speed and memory, never of bits."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import dimfree.data.records
import dimfree.data.source
import dimfree.kernel.rows.space
import dimfree.kernel.statistics.clipped_sum
import dimfree.kernel.statistics.distances
import dimfree.kernel.statistics.friends
import dimfree.kernel.statistics.secret_ring
import dimfree.kernel.statistics.stable
import dimfree.paper.averaging
import dimfree.shapes.exact_product

STATISTICS = dimfree.kernel.statistics
IN_ROWS = ((dimfree.paper.averaging, "_ROWS"), (STATISTICS.distances, "_ROWS"))
IN_ENTRIES: tuple[tuple[Any, str], ...] = (
    (dimfree.data.records, "_BLOCK_ENTRIES"),
    (dimfree.data.source, "SPARSE_BLOCK_ENTRIES"),
    (dimfree.kernel.rows.space, "_BLOCK_ENTRIES"),
    (dimfree.kernel.rows.space, "_TILE_ENTRIES"),
    (dimfree.shapes.exact_product, "_BLOCK_ENTRIES"),
    (dimfree.paper.averaging, "_CELLS"),
    (STATISTICS.distances, "_CELLS"),
    (STATISTICS.friends, "_CELLS"),
    (STATISTICS.secret_ring, "_CELLS"),
    (STATISTICS.clipped_sum, "_CELLS"),
    (STATISTICS.stable, "_CELLS"),
)


@contextmanager
def blocks_of(rows: int, columns: int) -> Iterator[None]:
    """Work on so many rows at a time."""
    with pytest.MonkeyPatch.context() as patch:
        for where, name in IN_ROWS:
            patch.setattr(where, name, rows)
        for where, name in IN_ENTRIES:
            patch.setattr(where, name, rows * columns)
        yield
