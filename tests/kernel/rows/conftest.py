"""Fixtures of the geometry: a table with invalid and huge rows, and a way to cut rows into small pieces."""

import numpy as np
import pytest

from dimfree.kernel.rows import space


@pytest.fixture
def table(rng) -> np.ndarray:
    """101 rows of six columns, partly zero. Row 50 is valid, and overflows when it is rotated or rescaled."""
    rows = np.where(rng.random((101, 6)) < 0.7, rng.normal(size=(101, 6)), 0.0)
    rows[::9, 1], rows[5], rows[50] = np.nan, np.inf, 1.7e308
    return rows


@pytest.fixture
def pieces(monkeypatch):
    """Called with the entries of a block and of a tile, the bytes kept and the threads: they hold for this test."""

    def cut(block: int, tile: int, kept: int, threads: int) -> None:
        for name, value in (("_BLOCK_ENTRIES", block), ("_TILE_ENTRIES", tile), ("KEPT_BYTES", kept)):
            monkeypatch.setattr(space, name, value)
        monkeypatch.setattr(space, "_THREADED_BYTES", 0)
        monkeypatch.setenv("DIMFREE_THREADS", str(threads))

    return cut
