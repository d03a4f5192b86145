"""A sparse table gives the release of its dense twin, to the last bit, and never becomes dense on the way."""

import tracemalloc

import numpy as np
import pytest
from flat_options import with_options
from scipy import sparse

from dimfree.noise import SeededNoise
from dimfree.release import release_mean
from dimfree.shapes import Dense, Diagonal, Isotropic

COUNT, DIMENSION = 900, 60
ADD, REPLACE = "add-remove", "replace-one"
both_relations = pytest.mark.parametrize("relation", [ADD, REPLACE])


@pytest.fixture
def table(rng):
    """Full, frequent and rare columns, negative entries, rows without any, a few wild ones."""
    present = rng.random((COUNT, DIMENSION)) < np.geomspace(1.0, 0.01, DIMENSION)
    X = present * rng.normal(2.0, 1.0, (COUNT, DIMENSION)) * np.geomspace(3, 0.3, DIMENSION)
    X[5:9] = 0.0
    X[10:20] *= 40.0
    return X


def twins(X, stored=None, **options):
    given = {"epsilon": 4.0, "delta": 1e-6, **options}
    stored = sparse.csr_matrix(X) if stored is None else stored
    return [release_mean(table, **with_options(noise=SeededNoise(11), **given)) for table in (stored, X)]


def assert_equal_twins(X, stored=None, *, refused=False, **options):
    found, expected = twins(X, stored, **options)
    assert expected.refused == refused, expected.refusal
    assert found.to_json() == expected.to_json()  # every number in full


@both_relations
def test_nothing_known(table, relation):
    assert_equal_twins(table, neighbours=relation)


@both_relations
def test_invalid_rows(table, relation):
    table[[3, 50, 51], [0, 7, 59]] = np.nan, np.inf, -np.inf
    assert_equal_twins(table, neighbours=relation, on_missing="drop")


@pytest.mark.parametrize("core_sample", [500, 700])
@both_relations
def test_a_sample_for_the_core(table, relation, core_sample):
    assert_equal_twins(np.concatenate([table, table + 0.0]), neighbours=relation, core_sample=core_sample)


SHAPES = {
    "isotropic": Isotropic(3.0),
    "diagonal": Diagonal(np.geomspace(9, 0.01, DIMENSION)),
    "dense": Dense(np.diag(np.geomspace(9, 0.01, DIMENSION))),
}
WAYS = [{}, {"scale": "learn"}, {"neighbours": REPLACE}]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(*way.values()))
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_known_shapes(table, shape, way):
    assert_equal_twins(table[20:], shape=shape, epsilon=8.0, **way)


def test_the_callers_matrix_is_left_alone(table):
    stored = sparse.csr_matrix(table)
    before = [part.copy() for part in (stored.data, stored.indices, stored.indptr)]
    release_mean(stored, epsilon=4.0, delta=1e-6, noise=SeededNoise(1))
    for part, copy in zip((stored.data, stored.indices, stored.indptr), before, strict=True):
        assert np.array_equal(part, copy)


def test_a_wide_sparse_table_never_becomes_dense(rng):
    """2000 people, 12 000 coordinates, one in 200 stored: 192 MB as a dense table, 1.4 MB as it is."""
    X = sparse.random_array((2000, 12_000), density=0.005, format="csr", rng=rng)
    tracemalloc.start()
    try:
        found = release_mean(X, epsilon=4.0, delta=1e-6, noise=SeededNoise(1))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert not found.refused
    assert peak < 100e6
