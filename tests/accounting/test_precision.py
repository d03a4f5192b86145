"""Gaussian releases: one profile, composition by precision, and the largest precision of a budget."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from dimfree.accounting.precision import compose, hockey_stick, largest_mu

EPSILONS = (0.01, 0.1, 1.0, 4.0, 20.0)
DELTAS = (1e-12, 1e-9, 1e-6, 1e-2)
GRID = [(epsilon, delta) for epsilon in EPSILONS for delta in DELTAS]

mus = st.floats(1e-3, 30)


def exact(mu, x):
    """The profile with fifty digits, for the very floats that the code sees."""
    with mpmath.workdps(50):
        mu, x = mpmath.mpf(float(mu)), mpmath.mpf(float(x))
        return mpmath.ncdf(-x / mu + mu / 2) - mpmath.exp(x) * mpmath.ncdf(-x / mu - mu / 2)


@pytest.mark.parametrize(("mu", "x"), [(0.2, 0.5), (1.0, 0.0), (1.0, -1.0), (2.0, 3.0), (0.5, -0.3)])
def test_profile_is_the_integral_of_what_sticks_out(mu, x):
    sticks_out = quad(lambda y: max(0.0, norm.pdf(y - mu) - math.exp(x) * norm.pdf(y)), -15, 15, limit=500)[0]
    assert float(hockey_stick(mu, x)) == pytest.approx(sticks_out, abs=1e-9)


@given(mus, st.floats(-7.5, 7.5))
@settings(max_examples=200, deadline=None)
def test_profile_is_rounded_up_and_by_little(mu, distance):
    x = mu * distance + mu * mu / 2
    true = exact(mu, x)
    got = float(hockey_stick(mu, x))
    assert got >= true
    assert got <= true * (1 + mpmath.mpf("1e-9")) + mpmath.mpf("1e-13")


@given(st.floats(1e-5, 30), st.floats(-12, 25))
@settings(max_examples=300, deadline=None)
def test_profile_is_rounded_up_in_the_thinnest_tails(mu, distance):
    x = mu * distance + mu * mu / 2
    assert float(hockey_stick(mu, x)) >= exact(mu, x)


def test_rounding_the_arguments_matters():
    """Points where an allowance of 1e-14·(1 + |x|) of the first term came out too small."""
    for mu, distance in [(0.0025922843510660276, 6.051806285880492), (0.00025194679183339276, 5.996534114939074)]:
        x = mu * distance + mu * mu / 2
        assert float(hockey_stick(mu, x)) >= exact(mu, x)


@pytest.mark.parametrize("mu", [0.0, 1e-300, 1e-9, 1e-5, 1.0, 50.0, 1e4])
def test_profile_stays_a_probability_at_the_extremes(mu):
    with np.errstate(over="ignore" if mu in (1e-300, 1e4) else "raise", under="raise", invalid="raise"):
        got = hockey_stick(mu, np.array([-2000.0, -1.0, 0.0, 1.0, 2000.0, 1e5]))
    assert ((got >= 0) & (got <= 1)).all()
    assert got[0] == 1


def test_profile_without_a_release_is_that_of_nothing():
    x = np.array([-3.0, -1e-9, 0.0, 1e-9, 5.0])
    assert np.array_equal(hockey_stick(0.0, x), [-math.expm1(-3.0), -math.expm1(-1e-9), 0, 0, 0])


@given(st.lists(st.floats(1e-6, 10), min_size=1, max_size=30), st.randoms())
@settings(deadline=None)
def test_composition_is_rounded_up_and_forgets_the_order(parts, random):
    with mpmath.workdps(50):
        true = mpmath.sqrt(sum(mpmath.mpf(part) ** 2 for part in parts))
        assert compose(parts) >= true
        assert compose(parts) <= true * (1 + mpmath.mpf("1e-14"))
    shuffled = list(parts)
    random.shuffle(shuffled)
    assert compose(shuffled) == pytest.approx(compose(parts), rel=1e-14)


@pytest.mark.parametrize(("epsilon", "delta"), [*GRID, (1e-6, 0.5), (500.0, 1e-6), (0.001, 0.9)])
def test_largest_mu_is_private_and_sharp(epsilon, delta):
    mu = largest_mu(epsilon, delta)
    assert exact(mu, epsilon) <= delta
    assert exact(mu * (1 + 1e-7), epsilon) > delta
