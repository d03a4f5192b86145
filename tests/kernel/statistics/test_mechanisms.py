"""The bit and the rounded mean, exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recording import RecordingNoise
from scipy import sparse
from states import standing_session

from dimfree.accounting.events import Tested
from dimfree.accounting.ladder import DENOMINATOR, Ladder
from dimfree.data.blocks import SparseRows
from dimfree.kernel.statistics import stable as gaussian
from dimfree.kernel.statistics.friends import RADIUS
from dimfree.kernel.statistics.stable import mean_event, round_mean

# ---- the bit


LADDER = Ladder((5, 5, 5, 1000, 2**63, 2**64 - 1))


@pytest.mark.parametrize("statistic", [0, 1, 2, 3, 4, 5, 6, 10**6])
@pytest.mark.parametrize("heads", [True, False])
def test_the_bit_is_one_coin_with_the_rung_of_the_statistic(statistic, heads):
    noise = RecordingNoise(heads=heads)
    session = standing_session(np.zeros((1, 1)), noise=noise)[0]
    session._branch, noise.asked[:] = Tested(LADDER, 1.0, 1.0), []
    assert session._test(statistic) is heads
    assert noise.asked == [("coin", LADDER.rungs[min(statistic, 5)], DENOMINATOR)]


# ---- means


@given(st.floats(1e-6, 1e7), st.floats(1e-4, 10), st.integers(1, 10**6))
@settings(deadline=None)
def test_the_noise_of_a_mean_has_a_fine_grid_and_the_precision_asked_for(sensitivity, mu, dimension):
    event, bits = mean_event(sensitivity, mu, dimension, 0.5, "mean")
    assert event.stddev >= 2.0**24
    assert event.sensitivity >= sensitivity * 2**bits + math.sqrt(dimension)
    assert event.sensitivity <= (sensitivity * 2**bits + math.sqrt(dimension)) * (1 + 1e-14)
    assert event.mu <= mu * (1 + 1e-14)
    assert event.stddev * mu <= event.sensitivity * (1 + 1e-14)
    assert event.step == 0.5 / 2**bits
    assert (event.purpose, event.dimension) == ("mean", dimension)


values = st.integers(1, 4).flatmap(
    lambda d: st.lists(st.lists(st.integers(-(2**21), 2**21), min_size=d, max_size=d), min_size=1, max_size=6)
)
shifts = st.integers(-(2**60), 2**60)


def fractions_mean(rows, weights, bits):
    """round half up, by fractions"""
    total = sum(weights)
    means = [
        Fraction(sum(w * row[i] for w, row in zip(weights, rows, strict=True)), total) for i in range(len(rows[0]))
    ]
    return [math.floor(mean * 2**bits + Fraction(1, 2)) for mean in means]


@given(values, st.data(), st.integers(0, 40), shifts)
@settings(deadline=None)
def test_the_rounded_mean_is_the_rounded_mean(rows, data, bits, shift):
    """Also far from zero, where 64 bits would not hold the sums."""
    weights = data.draw(st.lists(st.integers(0, 10**9), min_size=len(rows), max_size=len(rows)).filter(any))
    moved = [[value + shift for value in row] for row in rows]
    table = np.array(moved, dtype=np.int64)
    for given_as in (table, SparseRows(sparse.csr_array(table))):
        assert round_mean(given_as, np.array(weights), bits).tolist() == fractions_mean(moved, weights, bits)


@pytest.mark.parametrize(("cells", "safe"), [(1, 2**62), (2**22, 2**24), (7, 2**40)])
def test_the_rounded_mean_does_not_depend_on_the_blocks(monkeypatch, rng, cells, safe):
    rows = rng.integers(-RADIUS, RADIUS, (50, 3))
    weights = rng.integers(0, 2, 50)
    expected = round_mean(rows, weights, 20).tolist()
    assert expected == fractions_mean(rows.tolist(), weights.tolist(), 20)
    monkeypatch.setattr(gaussian, "_CELLS", cells)
    monkeypatch.setattr(gaussian, "_SAFE", safe)
    assert round_mean(rows, weights, 20).tolist() == expected
    assert round_mean(SparseRows(sparse.csr_array(rows)), weights, 20).tolist() == expected


def test_large_weights_do_not_overflow():
    rows = np.array([[2**21], [0], [2**21]], dtype=np.int64)
    weights = np.full(3, 2**41, dtype=np.int64)  # weight times offset is 2^62
    assert round_mean(rows, weights, 10).tolist() == fractions_mean(rows.tolist(), weights.tolist(), 10)


def test_nothing_of_weight_has_the_mean_zero():
    assert round_mean(np.full((2, 3), 7), np.zeros(2, dtype=np.int64), 5).tolist() == [0, 0, 0]
    assert round_mean(np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.int64), 5).tolist() == [0, 0, 0]


def test_records_without_weight_do_not_count():
    far = np.array([[2**61], [10], [20], [-(2**61)]], dtype=np.int64)
    assert round_mean(far, np.array([0, 1, 1, 0]), 1).tolist() == [30]


@given(values, st.data(), st.integers(0, 3))
@settings(deadline=None)
def test_rounding_moves_neighbouring_means_by_at_most_root_d(rows, data, bits):
    """L2 distance on the grid is at most 2^bits times the true one plus sqrt(d): the charged sensitivity."""
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows)))
    other = data.draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows)))
    table = np.array(rows, dtype=np.int64)
    here, there = (round_mean(table, np.array(w), bits).astype(float) for w in (weights, other))
    true = np.average(table, axis=0, weights=weights) - np.average(table, axis=0, weights=other)
    assert np.linalg.norm(here - there) <= 2**bits * np.linalg.norm(true) + math.sqrt(table.shape[1]) + 1e-6
