"""What a release states of its own noise is the truth: within ten per cent, with and without prior knowledge."""

import numpy as np
import pytest
from routes import with_options
from scipy.stats import chi2
from stats import sampling

from dimfree import release_mean
from dimfree.noise import SeededNoise, SystemNoise
from dimfree.shapes import DenseCovariance, DiagonalCovariance, IsotropicCovariance

FALSE_ALARM = 1e-6


def scale_fits(errors, factor, false_alarm, band=0.0, *, centered=False):
    """Whether `factor`, give or take the band, may be the standard deviation of all errors, by the chi-square law.

    `centered`: about the mean of all releases, which are of one table and clip it alike.
    """
    freedom = errors.size - errors.shape[1] * centered
    total = float(((errors - errors.mean(axis=0) * centered) ** 2).sum())
    low, high = chi2.ppf(false_alarm / 2, freedom), chi2.isf(false_alarm / 2, freedom)
    return low * (factor * (1 - band)) ** 2 <= total <= high * (factor * (1 + band)) ** 2


def passed(rows_of, noises, **given):
    """The releases that are no refusals, which say nothing about noise, with the means of their tables."""
    found = []
    for index, noise in enumerate(noises):
        rows = rows_of(index)
        release = release_mean(rows, **with_options(noise=noise, delta=1e-6, **given))
        if not release.refused:
            found.append((release, rows.mean(axis=0)))
    assert len(found) > 0.5 * len(noises)
    return found


def errors_of(found):
    """(release less mean) / stated; one line for each release."""
    return np.array([(release.mean - mean) / release.noise_stddev for release, mean in found])


# ---- one stage behind the core: the released mean of records at the origin is the noise

WAYS = {"known": {}, "gaussian tails": {"tails": "gaussian"}, "replace-one": {"neighbors": "replace-one"}}


@sampling(FALSE_ALARM)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_of_the_system(way):
    origin = np.zeros((350, 40))
    errors = errors_of(
        passed(lambda _: origin, [SystemNoise()] * 15, epsilon=4.0, covariance=IsotropicCovariance(1.0), **way)
    )
    assert scale_fits(errors, 1.0, FALSE_ALARM)
    assert not scale_fits(errors, 0.7, FALSE_ALARM)
    assert not scale_fits(errors, 1.3, FALSE_ALARM)


# ---- recentered: many records, hardly any of which are clipped, and a known shape

SPECTRUM = np.concatenate([np.linspace(3.0, 1.0, 20), np.full(100, 0.5)])
DIMENSION = len(SPECTRUM)
KNOWN = {
    "radii searched": {},
    "replace-one": {"neighbors": "replace-one", "tails": "gaussian"},
    "a rotated shape": {"tails": "gaussian"},
}


def known_shape(case, seed):
    if case != "a rotated shape":
        return DiagonalCovariance(SPECTRUM**2)
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(DIMENSION, DIMENSION)))
    covariance = rotation * SPECTRUM**2 @ rotation.T
    return DenseCovariance((covariance + covariance.T) / 2)


@pytest.mark.parametrize("case", [*list(KNOWN)[:2], pytest.param("a rotated shape", marks=pytest.mark.slow)])
@sampling(FALSE_ALARM)
def test_of_recentered_releases(seed, case):
    """Coordinate by coordinate as stated; and all together after rescaling, where they are independent."""
    shape, count = known_shape(case, seed), 60
    rows = shape.restore(shape.restore(np.random.default_rng(seed + 7).normal(size=(8000, DIMENSION)))) + 5.0
    noises = [SeededNoise(1000 * seed + index) for index in range(count)]
    found = passed(lambda _: rows, noises, epsilon=16.0, core_sample=1000, covariance=shape, **KNOWN[case])
    assert all(release.parameters["stages"] > 0 for release, _ in found), "nothing was recentered"
    errors, own = errors_of(found), FALSE_ALARM / 2 / DIMENSION
    assert all(scale_fits(errors[:, [j]], 1.0, own, centered=True) for j in range(DIMENSION))
    stated = np.array([release.noise_stddev for release, _ in found])
    white = shape.rescale(errors * stated) / (stated / np.sqrt(shape.root_diagonal(DIMENSION)))
    assert scale_fits(white, 1.0, FALSE_ALARM / 2, centered=True)
    assert not scale_fits(white, 0.9, FALSE_ALARM / 2, centered=True)
    assert not scale_fits(white, 1.1, FALSE_ALARM / 2, centered=True)


# ---- nothing known: fresh tables; what clipping does to them is within the band (docs/explanation/how-it-works.md)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@sampling(FALSE_ALARM)
def test_without_prior_knowledge(seed, relation):
    def rows_of(index):
        return np.random.default_rng([seed, index]).normal(size=(2000, 50)) * np.linspace(3, 0.3, 50) + 5.0

    noises = [SeededNoise(1000 * seed + index) for index in range(20)]
    errors = errors_of(passed(rows_of, noises, epsilon=4.0, neighbors=relation, core_sample=500))
    assert scale_fits(errors, 1.0, FALSE_ALARM, 0.1)
    assert not scale_fits(errors, 0.7, FALSE_ALARM, 0.1)
    assert not scale_fits(errors, 1.35, FALSE_ALARM, 0.1)
