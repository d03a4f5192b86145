"""Rows in pieces: the bounds of blocks and pieces, what is kept and the number of threads change no bit."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from scipy import sparse

import dimfree.kernel.rows.space as space_module
from dimfree.data.blocks import to_dense
from dimfree.data.records import open_records
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Ball, sum_clipped
from dimfree.shapes import DenseCovariance, DiagonalCovariance, IsotropicCovariance

VARIANCES = np.array([0.3, 1.0, 4.0, 1e-30, 25.0, 0.5])
SHAPES = {
    "diagonal": DiagonalCovariance(VARIANCES),
    "ones": IsotropicCovariance(1.0),
    "dense": DenseCovariance(np.diag([1.0, 2, 3, 4, 5, 6]) + 0.5),
}


CUTS = [(2**19, 2**16, 2**31, 1), (8, 4, 2**31, 2), (40, 12, 0, 1), (28, 8, 0, 3), (1, 1, 0, 2), (300, 1, 2**31, 2)]


def column(place, rows):
    return to_dense(rows)[:, place].copy()


def columns(space, among=None):
    """What the verb `listed` hands out, column by column."""
    return np.stack([space.map_records(partial(column, place), among) for place in range(space.dimension)], axis=1)


def total_of_ones(rows):
    return np.array([len(rows)])


def thousandths(rows):
    return np.trunc(np.clip(to_dense(rows), -1e6, 1e6) * 1000).sum(axis=0).astype(np.int64)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_pieces_are_the_valid_rows_one_by_one(pieces, table, shape, cut, form):
    pieces(*cut)
    space = Space(open_records(form(table), missing="complete-case"), SHAPES[shape])
    valid = np.isfinite(table).all(axis=1)
    rescaled = np.concatenate([SHAPES[shape].rescale(row[None]) for row in table[valid]])
    handed_out = np.zeros_like(table)
    handed_out[valid] = rescaled if space.units is None else table[valid]
    assert (space.units is None) == (shape == "dense")
    assert columns(space).tobytes() == handed_out.tobytes()
    assert space.sum_over(total_of_ones, 1).tolist() == [valid.sum()]
    for tiles in (True, False):
        assert space.sum_over(thousandths, 6, tiles=tiles).tolist() == thousandths(handed_out[valid]).tolist()
    among = np.arange(len(table)) % 3 == 0
    assert columns(space, among).tobytes() == handed_out[among].tobytes()
    sampled = np.arange(len(table)) % 4 == 1
    found = np.concatenate([to_dense(rows) for rows in space.valid_blocks(sampled)])
    assert found.tobytes() == rescaled[sampled[valid]].tobytes()


def test_sparse_rows_that_a_shape_mixes_are_never_all_dense(monkeypatch):
    monkeypatch.setattr(space_module, "KEPT_BYTES", 0)
    count, width = 40_000, 200
    entries = (np.ones(count), (np.arange(count), np.arange(count) % width))
    space = Space(open_records(sparse.csr_array(entries, shape=(count, width))), DenseCovariance(np.eye(width)))
    tracemalloc.start()
    try:
        assert space.sum_over(total_of_ones, 1).tolist() == [count]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < count * width * 8 / 2


def test_an_invalid_row_takes_no_memory(monkeypatch):
    """The valid rows beside it are copied, into space that is taken in any case."""
    monkeypatch.setenv("DIMFREE_THREADS", "1")
    table, taken = np.ones((60_000, 20)), []
    for entry in (1.0, 1.0, np.nan):  # the first pass of a process takes memory of its own
        table[30_000, 3] = entry
        space = Space(open_records(table, missing="complete-case"), IsotropicCovariance(1.0))
        tracemalloc.start()
        try:
            space.sum_over(total_of_ones, 1)
            taken.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert abs(taken[2] - taken[1]) < 10_000


def test_a_table_seen_to_be_valid_is_not_looked_at_again_and_a_neutral_one_is(rng, monkeypatch):
    looks = []
    monkeypatch.setattr(
        space_module, "are_finite", lambda rows: looks.append(len(rows)) or np.isfinite(rows).all(axis=1)
    )
    table, ball = rng.normal(size=(50, 3)), Ball(np.zeros(3), 1.0, 2.0)
    checked, neutral = (
        Space(open_records(table, missing=rule), IsotropicCovariance(1.0)) for rule in ("raise", "complete-case")
    )
    total = sum_clipped(checked, ball)
    assert looks == []
    assert sum_clipped(neutral, ball).tolist() == total.tolist()
    assert looks == [50]


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_pass_that_breaks_off_leaves_no_part_of_the_records(monkeypatch, error):
    monkeypatch.setattr(space_module, "_BLOCK_ENTRIES", 24)
    rows, ball = np.random.default_rng(0).normal(size=(40, 6)), Ball(np.zeros(6), 1.0, 10.0)
    broken, whole = (Space(open_records(rows), SHAPES["dense"]) for _ in range(2))
    rescale, calls = Space._rescale, []

    def break_off(self, some):
        calls.append(some)
        if len(calls) == 2:
            raise error
        return rescale(self, some)

    monkeypatch.setattr(Space, "_rescale", break_off)
    with pytest.raises(error):
        sum_clipped(broken, ball)
    assert (sum_clipped(broken, ball) == sum_clipped(whole, ball)).all()
