"""A sparse table gives the release of its dense twin, to the last bit, and never becomes dense on the way."""

import tracemalloc

import numpy as np
import pytest
from routes import with_options
from scipy import sparse

from dimfree.noise import SeededNoise
from dimfree.release import release_mean
from dimfree.shapes import DenseCovariance, DiagonalCovariance, IsotropicCovariance

COUNT, DIMENSION = 900, 60
VARIANCES = np.geomspace(9, 0.01, DIMENSION)
SHAPES = {
    "isotropic": IsotropicCovariance(3.0),
    "diagonal": DiagonalCovariance(VARIANCES),
    "dense": DenseCovariance(np.diag(VARIANCES)),
}
WAYS = {"auto": {}, "invalid rows": {"missing": "complete-case"}, "a small core": {"core_sample": 500}}
WAYS |= {name: {"covariance": shape, "epsilon": 8.0} for name, shape in SHAPES.items()}
WAYS |= {f"{name}, learned scale": {**WAYS[name], "scale": "learn"} for name in SHAPES}


@pytest.fixture
def table(rng):
    """Full, frequent and rare columns, negative entries, rows without any, a few wild ones."""
    present = rng.random((COUNT, DIMENSION)) < np.geomspace(1.0, 0.01, DIMENSION)
    X = present * rng.normal(2.0, 1.0, (COUNT, DIMENSION)) * np.geomspace(3, 0.3, DIMENSION)
    X[5:9] = 0.0
    X[10:20] *= 40.0
    return X


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("way", WAYS)
def test_a_release_is_that_of_the_dense_twin(table, way, relation):
    if way == "invalid rows":
        table[[3, 50, 51], [0, 7, 59]] = np.nan, np.inf, -np.inf
    if way == "a small core":
        table = np.concatenate([table, table])
    if "covariance" in WAYS[way]:
        table = table[20:]
    given = {"epsilon": 4.0, "delta": 1e-6, "neighbors": relation, **WAYS[way]}
    stored = sparse.csr_matrix(table)
    before = [part.copy() for part in (stored.data, stored.indices, stored.indptr)]
    found, wanted = (release_mean(X, **with_options(noise=SeededNoise(11), **given)) for X in (stored, table))
    assert not wanted.refused
    assert found.to_json() == wanted.to_json()  # every number in full
    for part, copy in zip((stored.data, stored.indices, stored.indptr), before, strict=True):
        np.testing.assert_array_equal(part, copy)


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
