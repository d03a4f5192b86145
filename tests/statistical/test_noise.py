"""Draws of noise have the distribution that was asked for; 30 % more or less would be noticed."""

import numpy as np
import pytest
from scipy.special import ndtr
from stats import distribution_fits, frequency_fits, sampling

from dimfree.noise import SeededNoise, SystemNoise

ALARM = 1e-6
DRAWS = 20_000
SMALL, LARGE = 2.5, 2.0**24  # grid steps: atoms matter, atoms do not


def discrete_gaussian_cdf(stddev: float):
    """The exact distribution function, summed over the atoms; for a large stddev the continuous one at half steps."""
    if stddev > 1000:
        return lambda values: ndtr((values + 0.5) / stddev)
    atoms = np.arange(-int(40 * stddev), int(40 * stddev) + 1)
    mass = np.exp(-(atoms**2) / (2 * stddev**2))
    summed = np.cumsum(mass / mass.sum())
    return lambda values: summed[np.clip(np.asarray(values) - atoms[0], 0, len(atoms) - 1)]


@pytest.fixture(scope="module")
def drawn():
    noise = SystemNoise()
    return {stddev: noise.gaussian(stddev, DRAWS) for stddev in (SMALL, LARGE)}


@sampling(ALARM)
@pytest.mark.parametrize("stddev", [SMALL, LARGE])
def test_system_gaussian_has_the_scale_asked_for(drawn, stddev):
    assert distribution_fits(drawn[stddev], discrete_gaussian_cdf(stddev), ALARM)


@sampling(ALARM)
@pytest.mark.parametrize("factor", [0.7, 1.3])
@pytest.mark.parametrize("stddev", [SMALL, LARGE])
def test_system_gaussian_of_another_scale_is_rejected(drawn, stddev, factor):
    assert not distribution_fits(drawn[stddev], discrete_gaussian_cdf(stddev * factor), ALARM)


@sampling(ALARM)
def test_values_of_one_draw_are_uncorrelated(drawn):
    """Neighbours in one vector: the signs agree half of the time."""
    signs = drawn[LARGE] > 0
    assert frequency_fits(int((signs[::2] == signs[1::2]).sum()), DRAWS // 2, 0.5, ALARM)


@sampling(ALARM)
@pytest.mark.parametrize(("numerator", "denominator"), [(1, 2), (1, 50), (2**64 - 2**58, 2**64)])
def test_system_coin_has_the_probability_asked_for(numerator, denominator):
    noise, tosses = SystemNoise(), 5000
    heads = sum(noise.coin(numerator, denominator) for _ in range(tosses))
    assert frequency_fits(heads, tosses, numerator / denominator, ALARM)


@sampling(ALARM)
def test_a_biased_coin_is_rejected():
    noise = SystemNoise()
    heads = sum(noise.coin(1, 2) for _ in range(5000))
    assert not frequency_fits(heads, 5000, 0.5 * 0.7, ALARM)
    assert not frequency_fits(heads, 5000, 0.5 * 1.3, ALARM)


@sampling(ALARM)
def test_system_uniform_is_uniform():
    draws = SystemNoise().below(7, 5000)
    assert distribution_fits(draws, lambda values: np.clip((values + 1) / 7, 0, 1), ALARM)


@sampling(ALARM)
def test_a_uniform_on_another_range_is_rejected():
    draws = SystemNoise().below(7, 5000)
    assert not distribution_fits(draws, lambda values: np.clip((values + 1) / 10, 0, 1), ALARM)


@sampling(ALARM)
@pytest.mark.parametrize("stddev", [SMALL, LARGE])
def test_seeded_gaussian_has_the_scale_asked_for(seed, stddev):
    draws = SeededNoise(seed).gaussian(stddev, DRAWS)
    assert distribution_fits(draws, lambda values: ndtr((values + 0.5) / stddev), ALARM)


@sampling(ALARM)
@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_seeded_gaussian_of_another_scale_is_rejected(seed, factor):
    draws = SeededNoise(seed).gaussian(LARGE, DRAWS)
    assert not distribution_fits(draws, discrete_gaussian_cdf(LARGE * factor), ALARM)


@sampling(ALARM)
@pytest.mark.parametrize(("numerator", "denominator"), [(1, 2), (1, 50), (2**64 - 2**58, 2**64)])
def test_seeded_coin_has_the_probability_asked_for(seed, numerator, denominator):
    noise = SeededNoise(seed)
    heads = sum(noise.coin(numerator, denominator) for _ in range(5000))
    assert frequency_fits(heads, 5000, numerator / denominator, ALARM)


@sampling(ALARM)
def test_seeded_uniform_is_uniform(seed):
    draws = SeededNoise(seed).below(7, 5000)
    assert distribution_fits(draws, lambda values: np.clip((values + 1) / 7, 0, 1), ALARM)
