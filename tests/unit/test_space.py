"""Rows in pieces: the bounds of blocks and pieces, what is kept and the number of threads change no bit."""

import numpy as np
import pytest
from scipy import sparse

import dimfree.space as space_module
from dimfree import release_mean
from dimfree.noise import SeededNoise
from dimfree.records import open_records
from dimfree.rows import densely
from dimfree.shape import Dense, Diagonal, Isotropic
from dimfree.space import Space

VARIANCES = np.array([0.3, 1.0, 4.0, 1e-30])
SHAPES = {"diagonal": Diagonal(VARIANCES), "ones": Isotropic(1.0), "dense": Dense(np.diag([1.0, 2, 3, 4]) + 0.5)}


@pytest.fixture
def table(rng):
    rows = np.where(rng.random((101, 4)) < 0.7, rng.normal(size=(101, 4)), 0.0)
    rows[::9, 1], rows[5], rows[50, 3] = np.nan, np.inf, 1.7e308  # the last is valid, and overflows when rescaled
    return rows


def pieces(monkeypatch, block, tile, kept, threads):
    for name, value in (("_BLOCK_ENTRIES", block), ("_TILE_ENTRIES", tile), ("_KEPT_BYTES", kept)):
        monkeypatch.setattr(space_module, name, value)
    monkeypatch.setattr(space_module, "_THREADED_BYTES", 0)
    monkeypatch.setenv("DIMFREE_THREADS", str(threads))


CUTS = [(2**19, 2**16, 2**31, 1), (8, 4, 2**31, 2), (40, 12, 0, 1), (28, 8, 0, 3), (1, 1, 0, 2)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_pieces_are_the_valid_rows_rescaled_one_by_one(monkeypatch, table, shape, cut, form):
    pieces(monkeypatch, *cut)
    space = Space(open_records(form(table), on_invalid="neutral"), SHAPES[shape])
    valid = np.isfinite(table).all(axis=1)
    expected = np.concatenate([SHAPES[shape].rescale(row[None]) for row in table[valid]])
    assert np.concatenate(list(space.each(densely))).tobytes() == expected.tobytes()
    among = np.arange(valid.sum()) % 3 == 0
    assert np.concatenate(list(space.each(densely, among))).tobytes() == expected[among].tobytes()
    sampled = np.arange(len(table)) % 4 == 1
    found = np.concatenate([densely(rows) for rows in space.valid_blocks(sampled)])
    assert found.tobytes() == expected[sampled[valid]].tobytes()


def test_nobody_is_asked_for_nothing(monkeypatch, table):
    pieces(monkeypatch, 8, 4, 0, 2)
    space = Space(open_records(table, on_invalid="neutral"), Isotropic(1.0))
    nobody = np.zeros(int(np.isfinite(table).all(axis=1).sum()), dtype=bool)
    assert list(space.each(densely, nobody)) == []
    assert list(Space(open_records(table[:0]), Isotropic(1.0)).each(densely)) == []


@pytest.mark.parametrize("options", [{}, {"covariance": [1.0, 0.5, 0.25, 0.1]}], ids=["auto", "known"])
def test_a_release_does_not_know_in_which_pieces_it_was_computed(monkeypatch, rng, options):
    X = rng.normal(size=(6000, 4)) * np.sqrt([1.0, 0.5, 0.25, 0.1]) + 3

    def release():
        return release_mean(X, epsilon=1.0, delta=1e-6, noise=SeededNoise(7), **options)

    expected = release()
    assert not expected.refused
    for cut in ((4000, 800, 0, 1), (3000, 1000, 0, 2), (5000, 900, 2**31, 3)):
        pieces(monkeypatch, *cut)
        assert release().mean.tobytes() == expected.mean.tobytes()
