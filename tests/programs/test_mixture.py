"""Posteriors by EM: the same bits as one plain pass over all rows, wherever its blocks end."""

import numpy as np
import pytest

from dimfree.programs.learn import shrinkage
from dimfree.programs.learn.shrinkage import posterior


def plain(density, start, steps, pseudo):
    weights = start
    for _ in range(steps):
        joint = density * weights / (density @ weights)[:, None]
        weights = (np.einsum("ij->j", joint) + pseudo * start) / (len(density) + pseudo)
    joint = density * weights
    return joint / joint.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("rows", [1, 2, 31, 3000])
@pytest.mark.parametrize("atoms", [2, 3, 9, 65])
@pytest.mark.parametrize("pseudo", [0.0, 2.0])
def test_the_same_bits_wherever_blocks_end(rows, atoms, pseudo, rng, monkeypatch):
    density, start = np.exp(-30 * rng.random((rows, atoms))), np.full(atoms, 1 / atoms)
    expected = plain(density, start, 12, pseudo)
    for block in (1, 7 * atoms, 2**16):
        monkeypatch.setattr(shrinkage, "_BLOCK", block)
        assert np.array_equal(posterior(density, start, 12, pseudo), expected)


def test_weights_follow_the_rows(rng):
    """A quarter of the rows lies at the second atom: so says the fitted prior, in the average posterior."""
    density = np.where(rng.random(4000)[:, None] < 0.25, [[0.01, 1.0]], [[1.0, 0.01]])
    share = posterior(density, np.array([0.5, 0.5]), 50).mean(axis=0)
    assert share[1] == pytest.approx((density[:, 1] == 1).mean(), abs=0.01)
