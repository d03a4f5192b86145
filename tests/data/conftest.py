"""Fixtures of the tests of sources: one table that many of them release, and files that count as large."""

import numpy as np
import pytest

from dimfree.data import read

ROWS = 1500


@pytest.fixture(scope="session")
def table() -> np.ndarray:
    """Four columns, unlike in spread and center. Read-only: no source may write to the caller's array."""
    rows = np.random.default_rng(42).standard_normal((ROWS, 4)) * [1, 2, 0.5, 1] + [3, -1, 0, 100]
    rows.setflags(write=False)
    return rows


@pytest.fixture
def streaming(monkeypatch):
    """Every file counts as large, and is read in blocks."""
    monkeypatch.setattr(read, "LARGE", 0)
