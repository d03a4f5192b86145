"""The benchmark of covariance-aware estimators: the simulated peer does what its paper says, verdicts follow."""

import math

import numpy as np
import pytest
from benchmarks.accuracy import covariance
from benchmarks.accuracy.covariance_peer import (
    Constants,
    estimate,
    gaussian_threshold,
    least_records,
    stable_covariance,
    stable_mean,
)
from benchmarks.accuracy.resolving import MET, MISSED, OPEN
from benchmarks.record import read_numbers

from dimfree.accounting.precision import largest_mu

N, D = 2000, 4
THRESHOLD = gaussian_threshold(N, D, 1.0, 1e-6)
GIVEN = Constants.printed(N, THRESHOLD, 1.0, 1e-6)


@pytest.fixture(name="X")
def records():
    return np.random.default_rng(1).normal(size=(N, D))


def test_printed_constants():
    assert (GIVEN.k, GIVEN.references) == (98, 588 + math.ceil(18 * math.log(16 * N * 1e6)))
    assert GIVEN.noise == pytest.approx(math.sqrt(810 * THRESHOLD * math.log(12e6)) / N)
    assert GIVEN.least == 20 * 98 * THRESHOLD


def test_the_covariance_is_that_of_the_records_and_outliers_are_peeled(X):
    found, score = stable_covariance(X, THRESHOLD, GIVEN.k)
    assert score == 0
    assert found == pytest.approx(np.eye(D), abs=0.15)
    X[:5] = 1e3
    peeled, score = stable_covariance(X, THRESHOLD, GIVEN.k)
    assert 1 <= score <= 6
    assert peeled == pytest.approx(np.eye(D), abs=0.15)


def test_the_mean_leaves_far_records_out(X):
    rng = np.random.default_rng(2)
    mean, score = stable_mean(X, np.eye(D), THRESHOLD, GIVEN, rng)
    assert score == 0
    assert mean == pytest.approx(X.mean(axis=0))
    far = X.copy()
    far[:3] = 1e9  # so few records leave the upper rungs wide
    mean, score = stable_mean(far, np.eye(D), THRESHOLD, GIVEN, np.random.default_rng(2))
    assert 3 <= score <= 6  # one more for each of them among the references
    assert mean == pytest.approx(X[3:].mean(axis=0))


def test_it_goes_with_every_affine_map(X):
    A, b = np.random.default_rng(3).normal(size=(D, D)), np.arange(D) * 100.0
    here, there = (estimate(table, 1.0, 1e-6, np.random.default_rng(4), favourable=True) for table in (X, X @ A.T + b))
    moved = A @ (here - X.mean(axis=0))
    lengths = [np.linalg.norm(np.linalg.solve(A, offset)) for offset in (moved, there - A @ X.mean(axis=0) - b)]
    assert lengths[0] == pytest.approx(lengths[1], rel=0.1)  # the noise is turned, its length in the norm is not


def test_the_favourable_noise_is_the_diameter_over_n(X):
    drawn = [estimate(X, 1.0, 1e-6, np.random.default_rng(seed), favourable=True) for seed in range(12)]
    spread = np.sqrt(np.mean((np.array(drawn) - X.mean(axis=0)) ** 2))
    assert spread == pytest.approx(math.sqrt(2 * THRESHOLD) / N / largest_mu(1.0, 1e-6), rel=0.4)  # 48 numbers


def test_as_printed_it_refuses_below_its_least_number_of_records(X):
    assert estimate(X, 1.0, 1e-6, np.random.default_rng(1), favourable=False) is None
    assert least_records(10, 1.0, 1e-6) > 100_000
    assert least_records(10, 8.0, 1e-6) < least_records(10, 1.0, 1e-6)


@pytest.mark.parametrize(("ours", "theirs", "state"), [(1.0, 2.0, MET), (2.0, 1.0, MISSED), (1.0, 1.0, OPEN)])
def test_the_nearest_is_named_where_the_draws_resolve_it(ours, theirs, state):
    added = {covariance.TOTAL: [9.0] * 6, covariance.RELATIVE: [ours] * 6, covariance.PRINTED: [None] * 6}
    cell = {"name": "a", "draws": 6, "added": {**added, covariance.FAVOURABLE: [theirs] * 6}}
    assert covariance.verdicts([cell])[0]["state"] == state


def test_a_cell_is_measured_and_written(tmp_path, monkeypatch):
    small = covariance.CovarianceCell("σ = 1/i, turned", 800, 3, 1)
    monkeypatch.setattr(covariance, "cells", lambda draws: [small])
    covariance.main(["--out", str(tmp_path)])
    (done,) = read_numbers(tmp_path / "covariance.json.gz")["cells"]
    assert done["errors"][covariance.PRINTED] == [None]
    assert all(0 < done["errors"][name][0] < 2 for name in done["errors"] if name != covariance.PRINTED)
    assert "| σ = 1/i, turned | 800 | 3 | 1 |" in (tmp_path / "covariance.md").read_text()
