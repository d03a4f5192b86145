"""The friend radius of a known spectrum: a public, reproducible simulation that describes honest records."""

import numpy as np
import pytest
from scipy.stats import poisson

from dimfree.programs.choose import friend_radius
from dimfree.programs.choose.friend_radius import friend_radii, tolerated_losers

SPECTRA = {
    "one direction": np.array([2.0]),
    "flat": np.ones(500),
    "steep": 1.0 / np.arange(1, 301) ** 2,
    "long tail": np.concatenate([np.full(10, 5.0), np.full(990, 0.1)]),
}
every_spectrum = pytest.mark.parametrize("spectrum", SPECTRA.values(), ids=SPECTRA.keys())


@every_spectrum
def test_distances_have_the_moments_of_the_model(spectrum):
    """|y - y'|² is a sum of 2·λ·χ²: mean 2·Σλ, variance 8·Σλ²; the simulation and its seed are fixed."""
    squared = friend_radii(spectrum).squared
    assert squared.mean() == pytest.approx(2 * spectrum.sum(), rel=0.06)
    assert squared.var() == pytest.approx(8 * (spectrum**2).sum(), rel=0.2)


@every_spectrum
def test_the_simulation_is_reproducible(spectrum):
    first = friend_radii(spectrum)
    friend_radius._simulate.cache_clear()
    assert np.array_equal(first.squared, friend_radii(spectrum).squared)


def test_views_are_sorted():
    radii = friend_radii(SPECTRA["steep"])
    assert (np.diff(radii.squared, axis=1) >= 0).all()
    assert all((np.diff(radii._at_rank(rank)[0]) >= 0).all() for rank in (0, 700, 1023))


@every_spectrum
def test_the_radius_grows_with_what_is_asked(spectrum):
    radii = friend_radii(spectrum)
    by_share = [radii.radius(share, 5.0, 500) for share in (0.5, 0.7, 0.9, 0.97)]
    by_losers = [radii.radius(0.8, losers, 500) for losers in (100.0, 30.0, 10.0, 1.0, 0.01)]
    assert by_share == sorted(by_share)
    assert by_losers == sorted(by_losers)
    assert by_share[0] < by_share[-1]
    assert by_losers[0] < by_losers[-1]


@every_spectrum
def test_the_radius_scales_with_the_spectrum(spectrum):
    assert friend_radii(4 * spectrum).radius(0.8, 3.0, 400) == 2 * friend_radii(spectrum).radius(0.8, 3.0, 400)


@every_spectrum
@pytest.mark.parametrize(("share", "losers"), [(0.7, 20.0), (0.9, 20.0), (0.8, 1.0)])
def test_honest_records_have_the_friends_they_were_promised(spectrum, share, losers, rng):
    """400 honest records: not many more lack friends than expected (three times, and six more, is no accident)."""
    count = 400
    records = rng.normal(size=(count, len(spectrum))) * np.sqrt(spectrum)
    reach = friend_radii(spectrum).radius(share, losers, count) ** 2
    squares = (records**2).sum(axis=1)
    friends = (squares[:, None] + squares - 2 * records @ records.T <= reach).sum(axis=1)
    assert (friends < share * count).sum() <= 3 * losers + 6


@pytest.mark.parametrize(("allowed", "failure"), [(0, 0.0025), (1, 0.0025), (8, 0.01), (128, 1e-6)])
def test_tolerated_losers_is_the_largest(allowed, failure):
    found = tolerated_losers(allowed, failure)
    assert poisson.sf(allowed, found) <= failure * (1 + 1e-9)
    assert poisson.sf(allowed, 1.01 * found) > failure


def test_the_typical_radius_is_a_quantile():
    radii = friend_radii(SPECTRA["steep"])
    assert (radii.squared <= radii.typical(0.8) ** 2).mean() == pytest.approx(0.8, abs=1e-3)
