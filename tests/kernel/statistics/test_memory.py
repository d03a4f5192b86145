"""One record does not decide whether the memory suffices: neighbors have the same peak over a whole release."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sparse

from dimfree import Options, release_mean
from dimfree.accounting.budget import Neighbors
from dimfree.data.records import as_records
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Ball, votes
from dimfree.programs.choose.core import Size
from dimfree.shapes import IsotropicCovariance
from dimfree.testing import SeededNoise

COUNT, COLUMNS = 1500, 400  # several tiles of the table of distances, and a band of doubt that a far record could widen
ESTIMATORS = {
    "auto": {"basis": None},
    "scale": {"covariance": np.ones(COLUMNS), "options": Options(scale="learn")},
}


def neighbors():
    """The same table with one record exchanged for an extreme one."""
    table = np.random.default_rng(0).normal(size=(COUNT, COLUMNS))
    alone = np.zeros(COLUMNS)
    for far in (0.0, 2e13, 1e300):
        alone[0] = far
        yield np.concatenate([table[:7], alone[None], table[8:]])
    yield np.concatenate([table[:7], np.full((1, COLUMNS), np.nan), table[8:]])
    yield table


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_peak_of_a_release_does_not_tell_of_a_record(monkeypatch, name):
    monkeypatch.setenv("DIMFREE_THREADS", "1")
    options = {"epsilon": 4.0, "delta": 1e-6, "neighbors": "replace-one", "missing": "complete-case"} | ESTIMATORS[name]
    peaks = []
    release_mean(next(neighbors()), noise=SeededNoise(1), **options)  # fills the caches of public simulations
    for table in neighbors():
        tracemalloc.start()
        try:
            assert not release_mean(table, noise=SeededNoise(1), **options).refused
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert max(peaks) - min(peaks) < 2**16  # of 20 to 40 MiB
    assert max(peaks) > 2**24


@pytest.mark.parametrize("rate", [1.0, 0.1])
@pytest.mark.parametrize("count", [500, 40_000])
def test_buffers_have_space_for_the_records_that_there_will_be(count, rate):
    """A public number out of the released count: seven deviations of its noise, and of the coins."""
    size, draws = Size(float(count), 25.0, int(rate * count)), np.random.default_rng(1)
    looked_at = draws.binomial(np.rint(count + 25.0 * draws.normal(size=10_000)).astype(int), rate)
    assert looked_at.max() <= size.capacity(rate) < 1.6 * rate * count + 200
    assert size.relation is Neighbors.ADD_REMOVE
    assert Size(count, None, 300).capacity(300 / count) == 300


@pytest.mark.parametrize("center", [0.0, 1.0])  # zeros are near, or far in every column
def test_votes_of_sparse_rows_take_no_dense_table(center):
    """2^14 rows of 2^10 columns, which are 128 MiB when dense."""
    space = Space(as_records(sparse.eye_array(2**14, 2**10, format="csr") * 8.0), IsotropicCovariance(1.0))
    tracemalloc.start()
    try:
        found = votes(space, Ball(np.full(2**10, center), 1.0, 1.0), np.array([0.5, 2.0]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**25
    assert found.sum() == (2**14 if center else 2**10)
