"""Sums over records with missing entries: the same whole numbers wherever the rows lie."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from kernel.statistics.kept import TABLES, bits_everywhere, from_dask, odd_table, placed

from dimfree.kernel.statistics.clipped_sum import Ball, clipped_sum
from dimfree.kernel.statistics.length_histogram import length_counts
from dimfree.kernel.statistics.missing import clipped_missing, number_missing
from dimfree.kernel.statistics.scores import Scoring, total_scores
from dimfree.kernel.statistics.soft_histogram import Magnitudes, Offsets, soft_histograms


def ball(space):
    return Ball(np.linspace(-1, 1, space.dimension), np.linspace(0.5, 2, space.dimension), 1.5)


def histograms(space):
    offsets = Offsets(np.linspace(-1, 1, space.dimension), np.full(space.dimension, 0.7))
    every = np.arange(space.dimension)
    return np.concatenate([soft_histograms(space, cells, every).ravel() for cells in (Magnitudes(), offsets)])


SUMS = {
    "number": lambda space: space.summed(number_missing, 1),
    "counts": lambda space: space.summed(partial(clipped_missing, 1.3), space.dimension),
    "histograms": histograms,
    "clipped sum": lambda space: clipped_sum(space, ball(space)),
    "scores": lambda space: total_scores(space, Scoring(ball(space).centre, ball(space).scale, 2.0), 0.7),
    "lengths": lambda space: length_counts(space, ball(space), np.array([0.3, 1.0, 3.0])),
}


def by_entry(summed):
    return lambda space: summed(replace(space, by_entry=True))


@pytest.mark.parametrize("summed", SUMS.values(), ids=SUMS.keys())
@pytest.mark.parametrize("seed", range(0, TABLES, 3))
def test_the_same_whole_numbers_from_everywhere(seed, summed, monkeypatch):
    table = odd_table(seed)
    table[np.random.default_rng(seed).random(table.shape) < 0.2] = np.nan
    bits_everywhere(table, by_entry(summed), monkeypatch)
    if len(table):
        assert np.array_equal(from_dask(table, by_entry(summed)), by_entry(summed)(placed(table)))


def test_every_entry_counts_for_its_column_alone(rng):
    """The histogram of a column is that of its finite entries, whatever the other columns miss."""
    table = rng.normal(size=(40, 3))
    table[rng.random(table.shape) < 0.3] = np.inf
    whole = soft_histograms(replace(placed(table), by_entry=True), Magnitudes(), np.arange(3))
    for column in range(3):
        own = table[np.isfinite(table[:, column]), column][:, None]
        assert np.array_equal(soft_histograms(placed(own), Magnitudes(), np.arange(1))[0], whole[column])
