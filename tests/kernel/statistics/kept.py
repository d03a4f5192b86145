"""Tables that are hard on the floats, and the places where rows can lie: whole numbers must be the same from all."""

import numpy as np
import pytest
from scipy import sparse

from dimfree.data import records as records_module
from dimfree.data.gpu.device import Place
from dimfree.data.records import as_records
from dimfree.kernel.rows import space as space_module
from dimfree.kernel.rows.space import Space
from dimfree.shapes import Diagonal

TABLES = 12
ODD = (0.0, -0.0, 5e-324, -1.7e308, 2.0**-60, np.nextafter(2.0**-60, 0), np.nextafter(2.0**90, 0), 1.0, -8.0)


def space_of(rows, width=None) -> Space:
    """Of rows; invalid ones are allowed."""
    table = np.array(rows, dtype=np.float64).reshape(len(rows), width or len(rows[0]))
    return placed(table)


def placed(table, place: Place | None = None) -> Space:
    return Space(as_records(table, on_missing="drop").on(place), Diagonal(np.ones(table.shape[1])))


def odd_table(seed: int) -> np.ndarray:
    """Entries of every magnitude, or ordinary ones; both ends of the floats; some invalid rows; perhaps no rows."""
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(0, 60)) if seed else 0, int(rng.integers(1, 6))
    exponents = rng.integers(-330, 300, size=shape) if seed % 2 else rng.integers(-3, 3, size=shape)
    table = rng.normal(size=shape) * 10.0 ** exponents.astype(float)
    chance = rng.random(shape)
    for place, value in enumerate(ODD):
        table[(chance > 0.04 * place) & (chance < 0.04 * (place + 1))] = value
    table[chance > 0.99] = np.nan
    table[(chance > 0.98) & (chance < 0.985)] = -np.inf
    return table


def bits_everywhere(table: np.ndarray, summed, monkeypatch) -> None:
    """Dense and sparse, with zeros stored and entries stored in parts, in any blocks and order, one row at a time, in
    PyTorch's tensors where it is installed: the same integers."""
    whole = summed(placed(table))
    assert whole.dtype == np.int64
    count, width = table.shape
    at = np.repeat(np.arange(count), width), np.tile(np.arange(width), count)
    stored = sparse.coo_array((table.ravel(), at), shape=table.shape)
    order = np.random.default_rng(1).permutation(count)
    for other in (sparse.csr_array(table), stored, sparse.csc_array(table), np.asfortranarray(table), table[order]):
        assert np.array_equal(summed(placed(other)), whole)
    assert np.array_equal(sum((summed(placed(table[k : k + 1])) for k in range(count)), np.zeros_like(whole)), whole)
    with monkeypatch.context() as small:
        work_in_blocks(small, 7)
        for other in (table, sparse.csr_array(table)):
            assert np.array_equal(summed(placed(other)), whole)
    _on_a_device(table, summed, whole)


def work_in_blocks(monkeypatch, entries: int) -> None:
    """Make whatever works block by block take so many entries at a time, on threads."""
    monkeypatch.setattr(space_module, "_BLOCK_ENTRIES", entries)
    monkeypatch.setattr(space_module, "_TILE_ENTRIES", max(1, entries // 2))
    monkeypatch.setattr(space_module, "_THREADED_BYTES", 0)
    monkeypatch.setattr(records_module, "_BLOCK_ENTRIES", entries)
    monkeypatch.setattr(records_module, "_SPARSE_BLOCK_ENTRIES", entries)


def _on_a_device(table: np.ndarray, summed, whole) -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        return
    assert np.array_equal(summed(placed(table, Place("cpu"))), whole)


def from_dask(table: np.ndarray, summed) -> np.ndarray:
    """From a Dask array in parts of a few rows, worked on where they lie."""
    dask = pytest.importorskip("dask.array", reason="Dask is not installed")
    return summed(placed(dask.from_array(table, chunks=(5, table.shape[1]))))
