"""Draws of noise have the distribution that was asked for; 30 % more or less would be noticed."""

import numpy as np
import pytest
from scipy.special import ndtr
from stats import distribution_fits, frequency_fits, sampling

from dimfree.noise import SeededNoise, SystemNoise

ALARM = 1e-6
DRAWS = 20_000
SMALL, LARGE = 2.5, 2.0**24  # grid steps: atoms matter, atoms do not


def gaussian_cdf(stddev):
    """The exact distribution function, summed over the atoms; for a large stddev the continuous one at half steps."""
    if stddev > 1000:
        return lambda values: ndtr((values + 0.5) / stddev)
    atoms = np.arange(-int(40 * stddev), int(40 * stddev) + 1)
    mass = np.exp(-(atoms**2) / (2 * stddev**2))
    summed = np.cumsum(mass / mass.sum())
    return lambda values: summed[np.clip(np.asarray(values) - atoms[0], 0, len(atoms) - 1)]


def laplace_cdf(scale):
    q = np.exp(-1 / scale)
    return lambda z: np.where(z >= 0, 1 - q ** (np.maximum(z, 0) + 1) / (1 + q), q ** -np.minimum(z, 0) / (1 + q))


def uniform_cdf(bound):
    return lambda values: np.clip((values + 1) / bound, 0, 1)


LAWS = [
    ("gaussian", SMALL, gaussian_cdf),
    ("gaussian", LARGE, gaussian_cdf),
    ("laplace", 0.8, laplace_cdf),
    ("laplace", 30.0, laplace_cdf),
    ("below", 7, uniform_cdf),
]


@pytest.fixture(params=["system", "seeded"])
def noise(request, seed):
    return SystemNoise() if request.param == "system" else SeededNoise(seed)


@sampling(ALARM)
@pytest.mark.parametrize(("method", "scale", "cdf"), LAWS)
def test_draws_have_the_scale_asked_for_and_no_other(noise, method, scale, cdf):
    drawn = getattr(noise, method)(scale, DRAWS)
    assert distribution_fits(drawn, cdf(scale), ALARM / 2)
    assert not distribution_fits(drawn, cdf(scale * 0.7), ALARM)
    assert not distribution_fits(drawn, cdf(scale * 1.3), ALARM)
    # neighbors in one vector: two values on one side of a cut, as often as if they were independent
    above = drawn > (3 if method == "below" else 0)
    share = float(1 - cdf(scale)(np.array([3 if method == "below" else 0]))[0])
    agree = int((above[::2] == above[1::2]).sum())
    assert frequency_fits(agree, DRAWS // 2, share**2 + (1 - share) ** 2, ALARM / 2)


@sampling(ALARM)
@pytest.mark.parametrize(("numerator", "denominator"), [(1, 2), (1, 50), (2**64 - 2**58, 2**64)])
def test_a_coin_has_the_probability_asked_for(noise, numerator, denominator):
    heads, chance = sum(noise.coin(numerator, denominator) for _ in range(5000)), numerator / denominator
    assert frequency_fits(heads, 5000, chance, ALARM)
    assert not frequency_fits(heads, 5000, chance * (0.2 if chance < 0.1 else 0.7), ALARM)
