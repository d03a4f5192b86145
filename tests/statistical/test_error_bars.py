"""Error bars cover what they promise, on simulated releases; a shrunken bar does not."""

import numpy as np
import pytest
from flat_options import with_options
from scipy.stats import binom
from stats import sampling

from dimfree import InvalidParameter, SeededNoise, release_mean

COUNT, WIDE = 3000, 6
STDDEVS = np.array([3.0, 2.0, 1.0, 1.0, 0.5, 0.1])
OPTIONS = {"covariance": STDDEVS**2, "outliers": 0.0, "tails": "gaussian", "core_sample": 600}


def released(table, seed):
    return release_mean(table, **with_options(epsilon=8.0, delta=1e-6, noise=SeededNoise(seed), **OPTIONS))


@pytest.fixture(scope="module", params=[150, pytest.param(1000, marks=pytest.mark.slow)])
def releases(request):
    """Releases of fresh Gaussian tables, each with the population mean."""
    rng = np.random.default_rng(42)
    tables = (rng.normal(size=(COUNT, WIDE)) * STDDEVS + 5.0 for _ in range(request.param))
    found = [released(table, seed) for seed, table in enumerate(tables)]
    return [(release, np.full(WIDE, 5.0)) for release in found if not release.refused]


def covers(hits, trials, confidence, false_alarm):
    return min(binom.cdf(hits, trials, confidence), binom.sf(hits - 1, trials, confidence)) > false_alarm / 2


@sampling(1e-6)
def test_the_radius_covers_the_noise():
    """Many releases of one table differ by their noise alone."""
    table = np.random.default_rng(42).normal(size=(COUNT, WIDE)) * STDDEVS + 5.0
    found = [release for seed in range(100) if not (release := released(table, seed)).refused]
    middle = np.mean([release.mean for release in found], axis=0)
    lengths = np.array([np.linalg.norm(release.mean - middle) for release in found])
    for confidence in (0.5, 0.9):
        radii = np.array([release.error_radius(confidence, target="sample") for release in found])
        assert covers((lengths <= radii).sum(), len(found), confidence, 5e-7)
        assert not covers((lengths <= 0.6 * radii).sum(), len(found), confidence, 5e-7)


@sampling(1e-6)
def test_the_radius_covers_the_population_mean(releases):
    radii = [r.error_radius(0.9) for r, _ in releases]
    hits = sum(np.linalg.norm(r.mean - mean) <= radius for (r, mean), radius in zip(releases, radii, strict=True))
    assert covers(hits, len(releases), 0.9, 1e-6)


@sampling(1e-6)
def test_intervals_cover_each_coordinate_and_all_at_once(releases):
    for simultaneous in (False, True):
        hits, alone = 0, 0
        for release, mean in releases:
            low, high = release.confidence_interval(0.9, simultaneous=simultaneous)
            inside = (low <= mean) & (mean <= high)
            hits, alone = hits + inside.all(), alone + inside[0]
        counted = hits if simultaneous else alone
        assert covers(counted, len(releases), 0.9, 5e-7)
        other = hits if not simultaneous else alone
        assert abs(other - counted) > 0.05 * len(releases)  # one coordinate is not all of them


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1, 2, "high", float("nan")])
def test_a_confidence_outside_the_unit_interval_is_an_error(releases, confidence):
    with pytest.raises(InvalidParameter, match="level"):
        releases[0][0].error_radius(confidence, target="sample")
    with pytest.raises(InvalidParameter, match="level"):
        releases[0][0].confidence_interval(confidence, target="sample")
