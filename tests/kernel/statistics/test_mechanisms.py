"""Mechanisms: the value without noise, the scale asked for, and the charged event, exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flat_options import with_options
from hypothesis import given, settings
from hypothesis import strategies as st
from recording import RecordingNoise
from scipy import sparse

from dimfree import release_mean
from dimfree.accounting.events import COUNT_STEPS, Gaussian
from dimfree.accounting.ladder import DENOMINATOR, Ladder
from dimfree.data.blocks import SparseRows
from dimfree.kernel.rows.grid import RADIUS
from dimfree.kernel.statistics import bit
from dimfree.kernel.statistics import weighted_mean as gaussian
from dimfree.kernel.statistics.bit import passes
from dimfree.kernel.statistics.count import noisy_count, noisy_total
from dimfree.kernel.statistics.weighted_mean import mean_event, noisy_mean, rounded_mean
from dimfree.options import Options

STEPS = 2**14


# ---- counts


@pytest.mark.parametrize("records", [0, 1, 1000, 10**9])
def test_a_count_is_exact_on_its_grid(records):
    noise = RecordingNoise()
    measured = noisy_count(records, 33.3, noise=noise)
    assert measured.value == records
    assert noise.asked == [("gaussian", 33.3 * STEPS, 1)]
    assert measured.event == Gaussian("number of records", STEPS, 33.3 * STEPS, 1, 1 / STEPS)
    assert measured.event.mu == pytest.approx(1 / 33.3, rel=1e-14)


def test_noise_reaches_the_count_in_grid_steps():
    noise = RecordingNoise()
    noise.gaussian = lambda stddev, size: np.array([-STEPS // 2])
    assert noisy_count(10, 1.0, noise=noise).value == 9.5


@given(st.fractions(0, 10**6), st.floats(0.5, 4), st.floats(1e-3, 3))
@settings(deadline=None)
def test_a_total_is_rounded_down_and_its_noise_covers_the_rounding(total, sensitivity, mu):
    noise = RecordingNoise()
    measured = noisy_total(total, sensitivity, mu, "total weight", noise=noise)
    assert total - Fraction(1, STEPS) < Fraction(measured.value) <= total
    ((kind, stddev, size),) = noise.asked
    assert (kind, size) == ("gaussian", 1)
    assert stddev == measured.event.stddev >= (sensitivity * STEPS + 1) / mu
    assert measured.event.sensitivity == sensitivity * STEPS + 1
    assert measured.event.mu <= mu * (1 + 1e-14)


@given(st.fractions(0, 1000, max_denominator=10**6), st.fractions(0, 2, max_denominator=10**6))
@settings(deadline=None)
def test_rounded_totals_of_neighbours_differ_by_at_most_the_charged_steps(total, move):
    def released(value):
        return noisy_total(value, float(move), 1.0, "total", noise=RecordingNoise())

    apart = abs(released(total + move).value - released(total).value) * STEPS
    assert apart <= released(total).event.sensitivity * (1 + 1e-12)


# ---- the bit


LADDER = Ladder((5, 5, 5, 1000, 2**63, 2**64 - 1))


@pytest.mark.parametrize("statistic", [0, 1, 2, 3, 4, 5, 6, 10**6])
@pytest.mark.parametrize("heads", [True, False])
def test_the_bit_is_one_coin_with_the_rung_of_the_statistic(statistic, heads):
    noise = RecordingNoise(heads=heads)
    assert passes(statistic, LADDER, noise=noise) is heads
    assert noise.asked == [("coin", LADDER.rungs[min(statistic, 5)], DENOMINATOR)]
    assert bit.DENOMINATOR == DENOMINATOR


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
        assert rounded_mean(given_as, np.array(weights), bits).tolist() == fractions_mean(moved, weights, bits)


@pytest.mark.parametrize(("cells", "safe"), [(1, 2**62), (2**22, 2**24), (7, 2**40)])
def test_the_rounded_mean_does_not_depend_on_the_blocks(monkeypatch, rng, cells, safe):
    rows = rng.integers(-RADIUS, RADIUS, (50, 3))
    weights = rng.integers(0, 2, 50)
    expected = rounded_mean(rows, weights, 20).tolist()
    assert expected == fractions_mean(rows.tolist(), weights.tolist(), 20)
    monkeypatch.setattr(gaussian, "_CELLS", cells)
    monkeypatch.setattr(gaussian, "_SAFE", safe)
    assert rounded_mean(rows, weights, 20).tolist() == expected
    assert rounded_mean(SparseRows(sparse.csr_array(rows)), weights, 20).tolist() == expected


def test_large_weights_do_not_overflow():
    rows = np.array([[2**21], [0], [2**21]], dtype=np.int64)
    weights = np.full(3, 2**41, dtype=np.int64)  # weight times offset is 2^62
    assert rounded_mean(rows, weights, 10).tolist() == fractions_mean(rows.tolist(), weights.tolist(), 10)


def test_nothing_of_weight_has_the_mean_zero():
    assert rounded_mean(np.full((2, 3), 7), np.zeros(2, dtype=np.int64), 5).tolist() == [0, 0, 0]
    assert rounded_mean(np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.int64), 5).tolist() == [0, 0, 0]


def test_records_without_weight_do_not_count():
    far = np.array([[2**61], [10], [20], [-(2**61)]], dtype=np.int64)
    assert rounded_mean(far, np.array([0, 1, 1, 0]), 1).tolist() == [30]


@given(values, st.data(), st.integers(0, 3))
@settings(deadline=None)
def test_rounding_moves_neighbouring_means_by_at_most_root_d(rows, data, bits):
    """L2 distance on the grid is at most 2^bits times the true one plus sqrt(d): the charged sensitivity."""
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows)))
    other = data.draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows)))
    table = np.array(rows, dtype=np.int64)
    here, there = (rounded_mean(table, np.array(w), bits).astype(float) for w in (weights, other))
    true = np.average(table, axis=0, weights=weights) - np.average(table, axis=0, weights=other)
    assert np.linalg.norm(here - there) <= 2**bits * np.linalg.norm(true) + math.sqrt(table.shape[1]) + 1e-6


def test_a_mean_asks_for_its_charged_noise_once(rng):
    rows = rng.integers(-RADIUS, RADIUS, (20, 5))
    weights = np.ones(20, dtype=np.int64)
    noise = RecordingNoise()
    measured = noisy_mean(rows, weights, 1234.5, 0.2, 3.0 / RADIUS, noise=noise)
    event, _ = mean_event(1234.5, 0.2, 5, 3.0 / RADIUS, "mean")
    assert measured.event == event
    assert noise.asked == [("gaussian", event.stddev, 5)]
    assert measured.value == pytest.approx(rows.mean(axis=0) * 3.0 / RADIUS, abs=event.step)


def test_noise_reaches_the_mean_in_grid_steps():
    noise = RecordingNoise()
    noise.gaussian = lambda stddev, size: np.arange(size)
    rows = np.zeros((2, 3), dtype=np.int64)
    measured = noisy_mean(rows, np.ones(2, dtype=np.int64), 10.0, 0.5, 1.0, noise=noise)
    assert measured.value.tolist() == [k * measured.event.step for k in range(3)]


def test_the_input_is_left_alone(rng):
    rows, weights = rng.integers(-9, 9, (6, 2)), rng.integers(0, 3, 6)
    before = rows.copy(), weights.copy()
    noisy_mean(rows, weights, 1.0, 1.0, 1.0, noise=RecordingNoise())
    assert np.array_equal(rows, before[0])
    assert np.array_equal(weights, before[1])


# ---- a release asks for exactly the noise that its ledger charges


def gaussians_asked(noise):
    return [(scale, size) for kind, scale, size in noise.asked if kind == "gaussian"]


def charged(ledger):
    return [(event.stddev, event.dimension) for event in (*ledger.before, *ledger.after)]


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ({"core": "stable", "stages": 0}, "stable"),
        ({"core": "stable", "stages": 0, "neighbours": "replace-one"}, "stable"),
        ({"core": "soft"}, "soft"),
        ({"core": "basic"}, "basic"),
    ],
)
def test_a_release_draws_what_its_ledger_charges(rng, options, method):
    noise = RecordingNoise()
    X = rng.normal(size=(400, 3))
    release = release_mean(X, **with_options(epsilon=4.0, delta=1e-6, covariance=np.ones(3), noise=noise, **options))
    assert release.method == method
    assert not release.refused
    assert gaussians_asked(noise) == charged(release.ledger)
    assert release.ledger.delta() <= 1e-6
    assert release.guarantee.private is False
    limit = release.ledger.menu[release.ledger.chosen].mu
    assert math.hypot(*(event.mu for event in release.ledger.after)) <= limit * (1 + 1e-12)


def test_a_failed_bit_releases_nothing_after_it(rng):
    noise = RecordingNoise(heads=False)
    X = rng.normal(size=(400, 3))
    release = release_mean(
        X, epsilon=4.0, delta=1e-6, covariance=np.ones(3), noise=noise, options=Options(core="stable", stages=0)
    )
    assert release.refused
    assert [kind for kind, *_ in noise.asked] == ["gaussian", "coin"]
    assert gaussians_asked(noise) == charged(release.ledger)
    assert release.ledger.after == ()


def test_the_count_grid_is_that_of_the_mathematics():
    assert COUNT_STEPS == STEPS
