"""What a release says of its columns' spread is true: no garbage is called precise, and log_stddev is honest."""

import numpy as np
import pytest
from benchmarks.accuracy.ordinary_worlds import HELD_OUT, SETTLED, TABLES
from sklearn.datasets import load_breast_cancer

from dimfree import Options, release_mean
from dimfree.results.mean_table import LOST, PRECISE, ROUGH, UNLEARNED, MeanTable, count_noisy_columns, verdicts
from dimfree.testing import SeededNoise


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer().data


@pytest.mark.parametrize("epsilon", [2.0, 8.0])
@pytest.mark.parametrize("seed", range(4))
def test_no_column_with_more_noise_than_spread_is_called_usable(cancer, epsilon, seed):
    """Thirty columns from 0.003 to 570 wide. It was '30 of 30 usable', with noise of up to 300 standard deviations."""
    release = release_mean(cancer, epsilon=epsilon, delta=1e-6, noise=SeededNoise(seed))
    truth, found = release.noise_stddev / cancer.std(axis=0), verdicts(release)
    assert (truth > 1).sum() >= 10  # otherwise this tests little
    assert (truth[found == PRECISE] <= 0.1).all()
    assert (truth[found == ROUGH] <= 1).all()
    assert np.isin(found, (PRECISE, ROUGH)).any()
    assert (found == UNLEARNED).sum() + (found == LOST).sum() >= (truth > 1).sum()
    reading = MeanTable(release, 0.95)
    assert reading.line == count_noisy_columns([release])
    assert reading.line.startswith(f"Noise is below 10% of the SD in {(found == PRECISE).sum()} of 30 columns")
    assert (
        epsilon > 2 or np.isinf(release.estimated_variances.log_stddev).any()
    )  # error bars of unlearned columns are finite
    low, high = release.confidence_interval(0.95, simultaneous=True)
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()
    assert (release.confidence_box(0.95).high >= release.confidence_interval(0.95, target="sample")[1]).all()
    assert np.isfinite(release.confidence_ball(0.95).radius)


def found_in(half):
    """(ln σ̂ - ln σ, log_stddev, noise over true SD, verdict) of every column that varies, over all releases."""
    found = []
    for place, table in enumerate(each for each in TABLES.values() if each.half == half):
        for seed, epsilon in ((0, 2.0), (1, 4.0)):
            rows = table.make(np.random.default_rng([42, place, seed]))
            options = Options(window=(1e-6, 1e9)) if rows.std(axis=0).max() > 1e5 else Options()
            release = release_mean(rows, epsilon=epsilon, delta=1e-6, noise=SeededNoise(seed), options=options)
            if not release.refused:
                varies, truth = np.ptp(rows, axis=0) > 0, rows.std(axis=0)
                with np.errstate(divide="ignore"):
                    error = 0.5 * np.log(release.estimated_variances.variances) - np.log(truth)
                    over = release.noise_stddev / truth
                found.append(
                    np.array([error, release.estimated_variances.log_stddev, over, verdicts(release)])[:, varies]
                )
    return np.concatenate(found, axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("half", [SETTLED, HELD_OUT])
def test_log_stddev_is_honest(half):
    error, log_stddev, over, verdict = found_in(half)
    learned = np.isfinite(log_stddev)
    assert learned.sum() > 200  # it does not say "not learned" of everything
    assert (np.abs(error) <= 2 * log_stddev).mean() >= 0.93
    assert (np.abs(error[learned]) <= 2 * log_stddev[learned]).mean() >= 0.93
    assert (over[verdict == PRECISE] <= 0.1).mean() >= 0.99
    assert (over[verdict == ROUGH] <= 1).mean() >= 0.99
