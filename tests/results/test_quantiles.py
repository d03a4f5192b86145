"""Quantiles of Gaussian lengths against SciPy's chi-square, independent sums and simulation."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

from dimfree.results.quantiles import coordinate_quantile, length_quantile


@pytest.mark.parametrize("dimension", [1, 2, 10, 20_000])
@pytest.mark.parametrize("confidence", [0.01, 0.95, 1 - 1e-6])
def test_equal_variances_are_a_chi_square(dimension, confidence):
    found = length_quantile(np.full(dimension, 3.0), confidence)
    assert found**2 == pytest.approx(3 * chi2.ppf(confidence, dimension), rel=1e-6)


@pytest.mark.parametrize("confidence", [0.1, 0.9, 0.999])
def test_two_pairs_of_variances_are_a_sum_of_exponentials(confidence):
    """Q = a·χ²_2 + b·χ²_2 has P(Q > x) = (a e^{-x/2a} - b e^{-x/2b})/(a - b)."""
    a, b = 2.0, 0.3
    x = length_quantile(np.array([a, a, b, b]), confidence) ** 2
    assert (a * np.exp(-x / (2 * a)) - b * np.exp(-x / (2 * b))) / (a - b) == pytest.approx(1 - confidence, rel=1e-6)


def test_a_steep_spectrum_against_simulation(seed):
    variances = 1 / np.arange(1, 301) ** 2.0
    lengths = np.sqrt((np.random.default_rng(seed).normal(size=(20_000, 300)) ** 2) @ variances)
    inside = (lengths <= length_quantile(variances, 0.9)).mean()
    assert abs(inside - 0.9) < 5 * np.sqrt(0.09 / 20_000)
    assert not abs((lengths <= 0.9 * length_quantile(variances, 0.9)).mean() - 0.9) < 5 * np.sqrt(0.09 / 20_000)


def test_negligible_variances_change_nothing_and_scale_is_equivariant():
    base = length_quantile(np.array([1.0, 0.5]), 0.95)
    assert length_quantile(np.array([1.0, 0.5, 1e-18, 0.0]), 0.95) == pytest.approx(base, rel=1e-7)
    assert length_quantile(np.array([4.0, 2.0]) * 1e-12, 0.95) == pytest.approx(2e-6 * base, rel=1e-7)


def test_many_coordinates_at_once():
    assert coordinate_quantile(0.95) == pytest.approx(norm.ppf(0.975))
    reach = coordinate_quantile(0.95, 1000)
    assert (2 * norm.cdf(reach) - 1) ** 1000 == pytest.approx(0.95)
