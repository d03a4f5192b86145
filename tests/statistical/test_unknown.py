"""With nothing known: the stated noise is the truth within ten per cent, and honest tables are rarely refused."""

import numpy as np
import pytest
from flat_options import with_options
from scipy.stats import binom, chi2
from stats import sampling

from dimfree import SeededNoise, release_mean

FALSE_ALARM = 1e-6
RELEASES, RECORDS, DIMENSION = 20, 2000, 50
BAND = 0.1  # of the stated noise; the rest is what clipping does to a table (docs/how_it_works.md)
PASS = 0.99
SPECTRA = {
    "flat": np.ones(40),
    "decay": 1 / np.arange(1, 41) ** 0.5,
    "steep": 1 / np.arange(1, 41),
    "spiked": np.concatenate([[10.0, 10.0], np.ones(38)]),
    "low rank": np.concatenate([np.ones(4), np.full(36, 1e-3)]),
}


def relative_errors(seed, relation, stddev):
    """(release - mean of its table)/stated, for fresh tables and fresh noise. A refusal says nothing about noise."""
    found = []
    for index in range(RELEASES):
        rows = np.random.default_rng([seed, index]).normal(size=(RECORDS, DIMENSION)) * stddev + 5.0
        noise = SeededNoise(1000 * seed + index)
        options = {"epsilon": 4.0, "delta": 1e-6, "neighbours": relation, "core_sample": 500}
        release = release_mean(rows, **with_options(noise=noise, **options))
        if not release.refused:
            found.append((release.mean - rows.mean(axis=0)) / release.noise_stddev)
    assert len(found) > 0.8 * RELEASES
    return np.array(found)


def noise_fits(errors, factor, false_alarm):
    """Whether `factor` times what was stated, give or take the band, may be the standard deviation of the errors."""
    freedom, total = errors.size, float((errors**2).sum()) / factor**2
    low, high = chi2.ppf(false_alarm / 2, freedom), chi2.isf(false_alarm / 2, freedom)
    return low * (1 - BAND) ** 2 <= total <= high * (1 + BAND) ** 2


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@sampling(FALSE_ALARM)
def test_the_stated_noise_is_the_truth(seed, relation):
    errors = relative_errors(seed, relation, np.linspace(3, 0.3, DIMENSION))
    assert noise_fits(errors, 1.0, FALSE_ALARM)
    assert not noise_fits(errors, 0.7, FALSE_ALARM)
    assert not noise_fits(errors, 1.35, FALSE_ALARM)


def refusals(seed, draws, epsilon, rows_of):
    tables = ((index, rows_of(np.random.default_rng([seed, index]))) for index in range(draws))
    noise = {"epsilon": epsilon, "delta": 1e-6}
    return sum(release_mean(rows, noise=SeededNoise(100 * seed + index), **noise).refused for index, rows in tables)


def refused_too_often(refused, draws, false_alarm):
    """More refusals than a pass probability of PASS explains."""
    return refused > binom.isf(false_alarm, draws, 1 - PASS)


@sampling(FALSE_ALARM)
def test_honest_tables_pass_and_wild_ones_do_not(seed):
    def honest(rng):
        return rng.normal(size=(500, 20)) * np.linspace(3, 0.3, 20)

    def wild(rng):
        return rng.normal(size=(500, 20)) * 10 ** rng.uniform(-5, 5, size=(500, 1))

    assert not refused_too_often(refusals(seed, 30, 2.0, honest), 30, FALSE_ALARM)
    assert refused_too_often(refusals(seed, 8, 2.0, wild), 8, FALSE_ALARM)


@pytest.mark.slow
@pytest.mark.parametrize("stddev", SPECTRA.values(), ids=SPECTRA.keys())
@sampling(FALSE_ALARM)
def test_five_hundred_honest_records_pass(seed, stddev):
    def honest(rng):
        return rng.normal(size=(500, len(stddev))) * stddev + rng.normal(size=len(stddev))

    assert not refused_too_often(refusals(seed, 100, 1.0, honest), 100, FALSE_ALARM)
