"""Rotated rows in pieces: blocks, tiles, threads and places change no bit, and sparse rows are never all dense."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sparse
from streams import needs

import dimfree.kernel.rows.space as space_module
from dimfree.comparison.baselines.rotation import Rotation
from dimfree.data.blocks import densely
from dimfree.data.records import as_records, open_records
from dimfree.kernel.rows.bases import Cosine, Given, Haar, Hadamard
from dimfree.kernel.rows.space import Space
from dimfree.shapes import Dense, Diagonal, Isotropic

WIDTH = 6
TURN = np.linalg.qr(np.random.default_rng(3).normal(size=(WIDTH, WIDTH)))[0]
BASES = {
    "dct": Cosine(WIDTH),
    "haar": Haar(WIDTH),
    "hadamard": Hadamard(WIDTH),
    "given": Given(TURN, WIDTH),
    "random rotation": Rotation(WIDTH),
}
CUTS = [(30, 4, 2**31, 2), (60, 18, 0, 3), (24, 1, 0, 2)]


def shapes(width):
    return [Diagonal(np.geomspace(1, 1e-30, width)), Dense(np.diag(np.arange(1.0, width + 1)) + 0.5)]


def column(place, rows):
    return densely(rows)[:, place].copy()


def columns(space, among=None):
    return np.stack([space.listed(partial(column, place), among) for place in range(space.dimension)], axis=1)


def one_by_one(basis, shape, rows):
    """What every record becomes by itself."""
    largest = np.finfo(float).max
    with np.errstate(all="ignore"):
        turned = [np.nan_to_num(basis.rotated(row[None]), nan=0.0, posinf=largest, neginf=-largest) for row in rows]
    return np.concatenate([shape.rescale(row) for row in turned])


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("cut", CUTS)
def test_rotated_rows_are_the_valid_rows_one_by_one(pieces, table, name, cut):
    pieces(*cut)
    basis, valid = BASES[name], np.isfinite(table).all(axis=1)
    for shape in shapes(basis.width):
        expected = np.zeros((len(table), basis.width))
        expected[valid] = one_by_one(basis, shape, table[valid])
        for form in (np.asarray, sparse.csr_array):
            space = Space(open_records(form(table), on_missing="drop"), shape, basis)
            assert (space.dimension, space.units) == (basis.width, None)
            assert columns(space).tobytes() == expected.tobytes()
            among = np.arange(len(table)) % 3 == 0
            assert columns(space, among).tobytes() == expected[among].tobytes()
            sampled = np.arange(len(table)) % 4 == 1
            found = np.concatenate([densely(rows) for rows in space.valid_blocks(sampled)])
            assert found.tobytes() == expected[sampled & valid].tobytes()


@pytest.mark.parametrize("name", BASES)
def test_partitions_of_a_dask_array_are_rotated_alike(table, name):
    dask, da = needs("dask"), needs("dask.array")
    basis, here = BASES[name], as_records(table)
    apart = as_records(da.from_array(table, chunks=(17, 2)))
    with dask.config.set(scheduler="threads"):
        found = columns(Space(apart, Isotropic(2.0), basis))
    assert found.tobytes() == columns(Space(here, Isotropic(2.0), basis)).tobytes()


@pytest.mark.parametrize("kept", [0, 2**31], ids=["made anew", "kept"])
@pytest.mark.parametrize("verb", ["summed", "valid_blocks"])
def test_the_input_is_never_all_dense(monkeypatch, kept, verb):
    """Beyond the rotated rows, which are kept up to a stated size and else made anew, memory holds blocks only."""
    monkeypatch.setattr(space_module, "KEPT_BYTES", kept)
    count, width = 40_000, 256
    stored = (np.ones(count), (np.arange(count), np.arange(count) % width))
    records = open_records(sparse.csr_array(stored, shape=(count, width)))
    dense = 8 * count * width
    tracemalloc.start()
    try:
        space = Space(records, Isotropic(1.0), Cosine(width))
        seen = space.summed(total_of_ones, 1)[0] if verb == "summed" else sum(map(len, space.valid_blocks()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert seen == count
    assert records.is_sparse
    assert peak < (dense if kept else 0) + dense / 2


def test_the_partner_sees_a_dense_copy():
    """The measure would notice one."""
    count, width = 40_000, 256
    table = sparse.csr_array((np.ones(count), (np.arange(count), np.arange(count) % width)), shape=(count, width))
    tracemalloc.start()
    try:
        Cosine(width).rotated(table.toarray())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak > 1.5 * 8 * count * width


def total_of_ones(rows):
    return np.array([len(rows)])
