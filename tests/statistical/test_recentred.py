"""What a recentred release says about its own noise is the truth: within ten per cent, at a false alarm of 1e-6."""

import numpy as np
import pytest
from flat_options import with_options
from scipy.stats import chi2
from stats import sampling

from dimfree import release_mean
from dimfree.noise import SeededNoise
from dimfree.shapes import Dense, Diagonal

FALSE_ALARM = 1e-6
RELEASES, RECORDS = 60, 8000  # so many that hardly anybody is clipped
SPECTRUM = np.concatenate([np.linspace(3.0, 1.0, 20), np.full(100, 0.5)])
DIMENSION = len(SPECTRUM)


def variance_fits(noise, stated, false_alarm):
    """Whether centred noise (releases, coordinates) has the stated standard deviations, by the chi-square law."""
    freedom = (len(noise) - 1) * noise.shape[1]
    total = (((noise - noise.mean(axis=0)) / stated) ** 2).sum()
    return chi2.ppf(false_alarm / 2, freedom) <= total <= chi2.isf(false_alarm / 2, freedom)


def releases(seed, shape, rows, options):
    """Releases of one table, each with its own noise. A refusal says nothing about noise and is left out."""
    budget = {"epsilon": 16.0, "delta": 1e-6, "core_sample": 1000}
    noises = [SeededNoise(1000 * seed + index) for index in range(RELEASES)]
    found = [release_mean(rows, **with_options(shape=shape, noise=noise, **budget, **options)) for noise in noises]
    passed = [release for release in found if not release.refused]
    assert len(passed) > 0.8 * RELEASES
    assert all(release.parameters["stages"] > 0 for release in passed), "nothing was recentred"
    return passed


def table(seed, shape):
    draws = np.random.default_rng(seed + 7).normal(size=(RECORDS, DIMENSION))
    return shape.restore(shape.restore(draws)) + 5.0


def rotated(seed):
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(DIMENSION, DIMENSION)))
    covariance = rotation * SPECTRUM**2 @ rotation.T
    return Dense((covariance + covariance.T) / 2)


CASES = {
    "radii searched": (lambda seed: Diagonal(SPECTRUM**2), {}),
    "replace-one": (lambda seed: Diagonal(SPECTRUM**2), {"neighbours": "replace-one", "tails": "gaussian"}),
    "a rotated shape": (rotated, {"tails": "gaussian"}),
}
QUICK = ("radii searched", "replace-one")


@pytest.mark.parametrize("case", [*QUICK, pytest.param("a rotated shape", marks=pytest.mark.slow)])
@sampling(FALSE_ALARM)
def test_the_stated_noise_is_the_truth(seed, case):
    """Coordinate by coordinate as stated; and all together after rescaling, where they are independent."""
    shape_of, options = CASES[case]
    shape = shape_of(seed)
    rows = table(seed, shape)
    passed = releases(seed, shape, rows, options)
    errors = np.array([release.mean - rows.mean(axis=0) for release in passed])
    stated = np.array([release.noise_stddev for release in passed])
    own = FALSE_ALARM / 2 / DIMENSION
    assert all(variance_fits((errors / stated)[:, [j]], 1.0, own) for j in range(DIMENSION))
    white = shape.rescale(errors) / (stated / np.sqrt(shape.root_diagonal(DIMENSION)))
    assert variance_fits(white, 1.0, FALSE_ALARM / 2)
    assert not variance_fits(white, 0.9, FALSE_ALARM / 2)
    assert not variance_fits(white, 1.1, FALSE_ALARM / 2)
