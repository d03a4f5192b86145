"""A basis in a release: the same bits for every kind of table, a gain for smooth rows, refusals before any charge."""

import numpy as np
import pytest

import dimfree
from dimfree.errors import InvalidParameterError
from dimfree.noise import SeededNoise

WIDTH = 12
BUDGET = {"epsilon": 4.0, "delta": 1e-6}
WALKS = np.random.default_rng(42).normal(size=(700, WIDTH)).cumsum(axis=1) + 3


def released(X, basis):
    found = dimfree.release_mean(X, **BUDGET, basis=basis, noise=SeededNoise(5))
    assert not found.refused
    return found


def test_what_smooth_rows_gain(rng):
    """And that the mean is back in the coordinates of the table."""
    X = rng.normal(size=(1500, 64)).cumsum(axis=1) + 3
    plain, turned = (released(X, basis) for basis in (None, "dct"))
    assert np.linalg.norm(turned.noise_stddev) < 0.7 * np.linalg.norm(plain.noise_stddev)
    assert np.linalg.norm(turned.mean - X.mean(axis=0)) < 5 * np.linalg.norm(turned.noise_stddev)


class Untouched(SeededNoise):
    """Noise that may not be drawn."""

    def gaussian(self, stddev, size):
        raise AssertionError("noise was drawn")


@pytest.mark.parametrize(
    "options",
    [
        {"basis": "dtc"},
        {"basis": np.eye(3)},
        {"basis": np.ones((WIDTH, WIDTH))},
        {"basis": "dct", "covariance": np.ones(WIDTH)},
    ],
)
def test_what_cannot_be_used_is_told_before_anything_is_spent(options):
    with pytest.raises(InvalidParameterError, match="basis"):
        dimfree.release_mean(WALKS, **BUDGET, **options, noise=Untouched(0))
