"""A shell sum shows whether records may be clipped inside the bulk; the radius and the intervals follow it."""

from dataclasses import replace

import numpy as np
import pytest
from sessions import standing_view

from dimfree import SeededNoise, release_mean
from dimfree.kernel import Ball
from dimfree.programs.choose.stages import shell_share
from dimfree.programs.learn.radius import median_length, noisy_lengths, verified_radius
from dimfree.programs.learn.state import StageSetting
from dimfree.programs.learn.tail import Tail

COUNT, DIMENSION = 3000, 300


def long_rows(seed, shift=0.0):
    """Rows of very different lengths; `shift`: the long ones all lie on one side."""
    rng = np.random.default_rng(seed)
    stretch = np.exp(0.7 * rng.normal(size=(COUNT, 1)))
    return stretch * (rng.normal(size=(COUNT, DIMENSION)) + shift * (stretch > 2))


def found_in(rows, seed, sampling=0.0):
    setting = StageSetting(standing_view(rows, noise=SeededNoise(seed)), float(COUNT))
    lengths = np.linalg.norm(rows, axis=1)
    expected = Ball(np.zeros(DIMENSION), 1.0, float(np.sqrt((lengths**2).mean())))
    tail = Tail.fitted(noisy_lengths(setting, expected, DIMENSION, 0.1).value, DIMENSION, expected.radius)
    ball = Ball(np.zeros(DIMENSION), 1.0, float(np.quantile(lengths, 0.98)))
    found = verified_radius(setting, ball, tail, np.ones(DIMENSION), 0.12, 0.5, sampling)
    return tail, ball, found, np.median(lengths)


def test_symmetric_rows_are_clipped_inside_the_bulk(seed):
    tail, ball, found, median = found_in(long_rows(seed), seed)
    assert median_length(tail) == pytest.approx(median, rel=0.15)
    radius, bias = found
    assert radius < 0.6 * ball.radius
    assert bias < 1.2


def test_rows_that_are_long_on_one_side_are_clipped_less(seed):
    symmetric, found = (found_in(long_rows(seed, shift), seed)[2] for shift in (0.0, 1.0))
    assert found[0] > 1.2 * symmetric[0]


def test_nothing_is_charged_where_little_can_be_saved(seed):
    rows = np.random.default_rng(seed).normal(size=(COUNT, DIMENSION))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)  # all of one length
    assert found_in(rows, seed)[2] is None
    assert found_in(long_rows(seed), seed, sampling=1e12)[2] is None  # the noise is far below the sampling error


def test_a_median_at_the_center_ends_in_no_refusal(seed):
    """The kernel refuses a shell that begins at nearly nothing; the budget would be spent."""
    rows = long_rows(seed)
    setting = StageSetting(standing_view(rows, noise=SeededNoise(seed)), float(COUNT))
    tail, ball, *_ = found_in(rows, seed)
    near = replace(tail, knots=tail.knots * 1e-6)
    assert 0 < verified_radius(setting, ball, near, np.ones(DIMENSION), 0.12, 0.5, 0.0)[0] <= ball.radius


@pytest.mark.parametrize(("weights", "share"), [(np.ones(400), 0.05), (np.ones(30), 0.0), (np.eye(400)[0], 0.0)])
def test_few_directions_tell_no_bias_from_noise(weights, share):
    assert shell_share(weights) == pytest.approx(share)


@pytest.mark.parametrize("known", [False, True])
def test_intervals_cover_what_a_release_clipped_inside_the_bulk(known):
    """Rows of a Student law, skewed: the error falls by a third, and intervals of the sample mean cover."""
    rng = np.random.default_rng(5)
    sd = np.arange(1, DIMENSION + 1) ** -0.5
    rows = sd * rng.normal(size=(COUNT, DIMENSION)) / np.sqrt(rng.chisquare(4, size=(COUNT, 1)) / 4)
    rows += 0.05 * sd * rng.exponential(size=(COUNT, 1)) ** 2
    given = {"covariance": 2 * sd**2} if known else {"objective": "total"}
    release = release_mean(rows, epsilon=1.0, delta=1e-6, noise=SeededNoise(3), **given)
    assert "shell of the ball" in {event.purpose for event in release.ledger.after}
    low, high = release.confidence_interval(target="sample")
    assert np.mean((low <= rows.mean(axis=0)) & (rows.mean(axis=0) <= high)) >= 0.93
