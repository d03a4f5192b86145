"""However a column reads, the number of looks is bounded: at most as many releases as the discrete noise is charged
for (P17)."""

import numpy as np

from dimfree import SeededNoise, release_mean
from dimfree.accounting.discrete import MOST_RELEASES
from dimfree.estimators.columns import opening
from dimfree.estimators.columns.reading import Places


def undecided(shares, noise):
    """A reading that stays in doubt for ever, and never comes nearer."""
    one = np.ones(len(shares))
    return Places(10 * one, one, 2 * one, one, one)


def test_a_column_that_stays_in_doubt_ends_the_looks(monkeypatch):
    monkeypatch.setattr(opening, "read_places", undecided)
    table = np.zeros((400, 3000))
    table[:, 0] = 5 + np.random.default_rng(0).normal(size=400)
    release = release_mean(table, epsilon=100.0, delta=1e-2, objective="relative", noise=SeededNoise(0))
    assert not release.refused
    assert len(release.ledger.after) < MOST_RELEASES
