"""A basis in every kind of release: one release to the last bit, one default, one sentence where it cannot be used."""

import inspect
import json

import numpy as np
import opendp.prelude as dp
import pytest
import scipy.sparse as sparse
from flat_options import with_options
from sklearn.base import clone
from streams import needs

import dimfree
from dimfree.errors import InvalidParameter
from dimfree.interop.opendp import make_private_mean
from dimfree.kernel.rows.bases import Haar
from dimfree.noise import SeededNoise

WIDTH = 12
BUDGET = {"epsilon": 4.0, "delta": 1e-6}
TURN = np.linalg.qr(np.random.default_rng(3).normal(size=(WIDTH, WIDTH)))[0]
BASES = {"dct": "dct", "haar": "haar", "hadamard": "hadamard", "given": TURN, "sparse": sparse.csr_array(TURN)}


@pytest.fixture(scope="module")
def walks():
    """Each row a walk over its columns, with a start that many share."""
    return np.random.default_rng(42).normal(size=(700, WIDTH)).cumsum(axis=1) + 3


def released(X, **options):
    found = dimfree.release_mean(X, **BUDGET, **options, noise=SeededNoise(5))
    assert not found.refused
    return json.loads(found.to_json())


@pytest.mark.parametrize("name", ["dct", "hadamard", "given"])
def test_the_kind_of_table_does_not_show(walks, name):
    dask, da = needs("dask"), needs("dask.array")
    rows = np.where(walks > 4, walks, 0.0)
    expected = released(rows, basis=BASES[name])
    assert released(sparse.csr_array(rows), basis=BASES[name]) == expected
    with dask.config.set(scheduler="threads"):
        assert released(da.from_array(rows, chunks=(150, 5)), basis=BASES[name]) == expected


def test_what_smooth_rows_gain(rng):
    """And that the mean is back in the coordinates of the table."""
    X = rng.normal(size=(1500, 64)).cumsum(axis=1) + 3
    plain, turned = (dimfree.release_mean(X, **BUDGET, basis=basis, noise=SeededNoise(5)) for basis in (None, "dct"))
    assert np.linalg.norm(turned.noise_stddev) < 0.7 * np.linalg.norm(plain.noise_stddev)
    assert np.linalg.norm(turned.mean - X.mean(axis=0)) < 5 * np.linalg.norm(turned.noise_stddev)


def test_padding_does_not_show_in_what_is_released(walks):
    """Twelve columns, sixteen coordinates."""
    found = dimfree.release_mean(walks, **BUDGET, basis="hadamard", noise=SeededNoise(5))
    assert (found.dimension, found.mean.shape, found.noise_stddev.shape) == (WIDTH, (WIDTH,), (WIDTH,))
    assert np.linalg.norm(found.mean - walks.mean(axis=0)) < 5 * np.linalg.norm(found.noise_stddev)


@pytest.mark.parametrize("name", ["haar", "sparse"])
def test_the_estimator_gives_the_same_release(walks, name):
    estimator = dimfree.PrivateMean(**BUDGET, basis=BASES[name], noise=SeededNoise(5))
    assert json.loads(clone(estimator).fit(walks).release_.to_json()) == released(walks, basis=BASES[name])


def test_every_kind_of_release_has_the_default_of_release_mean():
    default = inspect.signature(dimfree.release_mean).parameters["basis"].default
    for noise in (dimfree.PrivateMean, make_private_mean):
        assert inspect.signature(noise).parameters["basis"].default is default


@pytest.fixture
def domain():
    dp.enable_features("contrib", "honest-but-curious")
    return dp.numpy.array2_domain(T=float, num_columns=WIDTH), dp.symmetric_distance()


@pytest.mark.parametrize("basis", ["dct", TURN, Haar(WIDTH)], ids=["dct", "given", "own class"])
def test_a_measurement_takes_a_basis(domain, basis):
    assert make_private_mean(*domain, 1.0, 1e-6, basis=basis).map(1) == (1.0, 1e-6)


BAD = {
    "a name": ({"basis": "dtc"}, "'dct', 'hadamard', 'haar'"),
    "a width": ({"basis": np.eye(3)}, r"shape \(12, 12\)"),
    "not orthonormal": ({"basis": np.ones((WIDTH, WIDTH))}, "orthonormal"),
    "a known covariance": ({"basis": "dct", "covariance": np.ones(WIDTH)}, "basis to be left out"),
    "the paper's shape": ({"basis": "haar", "shape": "paper"}, "basis to be left out"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_used_is_told_before_anything_is_spent(walks, domain, case):
    options, words = BAD[case]
    noise = Untouched(0)
    with pytest.raises(InvalidParameter, match=words):
        dimfree.release_mean(walks, **with_options(**BUDGET, **options, noise=noise))
    with pytest.raises(InvalidParameter, match=words):
        dimfree.PrivateMean(**BUDGET, **options, noise=noise).fit(walks)
    with pytest.raises(InvalidParameter, match=words):
        make_private_mean(*domain, 1.0, 1e-6, **options)


class Untouched(SeededNoise):
    """Noise that may not be drawn."""

    def gaussian(self, stddev, size):
        raise AssertionError("noise was drawn")


def test_a_frame_of_axes_whose_columns_are_named_otherwise_is_refused():
    pandas = pytest.importorskip("pandas")
    names = ["a", "b", "c"]
    table = pandas.DataFrame(np.random.default_rng(5).normal(size=(50, 3)), columns=names)
    axes = pandas.DataFrame(np.eye(3), columns=names[::-1])
    with pytest.raises(InvalidParameter, match="basis"):
        dimfree.release_mean(table, epsilon=1, delta=1e-6, basis=axes, noise=SeededNoise(1))
    named_alike = pandas.DataFrame(np.eye(3), columns=names)
    assert dimfree.release_mean(table, epsilon=1, delta=1e-6, basis=named_alike, noise=SeededNoise(1)).dimension == 3


def test_a_misspelt_shape_is_said_before_a_basis_that_does_not_go_with_it():
    with pytest.raises(InvalidParameter, match="papr"):
        dimfree.release_mean(np.zeros((5, 2)), epsilon=1, delta=1e-6, shape="papr", basis="dct", noise=SeededNoise(1))
