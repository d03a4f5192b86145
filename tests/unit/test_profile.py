"""Gaussians followed by a profile (P9): an upper bound, tight, with its tails."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from dimfree.accounting.precision import hockey_stick, largest_mu
from dimfree.accounting.profile import COARSE, FINE, total_delta

EDGE = 8.5


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-6), (0.1, 1e-9), (1, 1e-6), (4, 1e-9), (20, 1e-10), (1, 0.1)])
@pytest.mark.parametrize("share", [0.02, 0.125, 0.25])
def test_gaussians_compose_by_precision_up_to_the_chords(epsilon, delta, share):
    mu = largest_mu(epsilon, delta)
    before, after = mu * share, mu * math.sqrt(1 - share**2)
    true = float(hockey_stick(mu, epsilon))
    fine = total_delta(epsilon, before, partial(hockey_stick, after), FINE)
    coarse = total_delta(epsilon, before, partial(hockey_stick, after), COARSE)
    assert true <= fine <= true * 1.001 + 2e-13
    assert fine <= coarse + 1e-16
    assert coarse <= true * 1.012 + 2e-13


@given(st.floats(0.01, 20), st.floats(0.01, 3), st.floats(0.01, 3), st.integers(2, 400))
@settings(deadline=None)
def test_any_number_of_chords_is_on_the_private_side(epsilon, before, after, chords):
    true = float(hockey_stick(math.hypot(before, after), epsilon))
    assert total_delta(epsilon, before, partial(hockey_stick, after), chords) >= true * (1 - 1e-10)


@given(st.floats(0.05, 10), st.floats(0.05, 10), st.floats(0.02, 2), st.floats(0.02, 2))
@settings(deadline=None)
def test_more_epsilon_costs_less_delta(epsilon, other, before, after):
    low, high = sorted((epsilon, other))
    profile = partial(hockey_stick, after)
    assert total_delta(high, before, profile) <= total_delta(low, before, profile) * (1 + 1e-3) + 1e-12


@given(st.floats(0.05, 10), st.floats(0.02, 2), st.floats(0.02, 2), st.floats(0.02, 2))
@settings(deadline=None)
def test_more_before_costs_more_delta(epsilon, before, other, after):
    low, high = sorted((before, other))
    profile = partial(hockey_stick, after)
    assert total_delta(epsilon, low, profile) <= total_delta(epsilon, high, profile) * (1 + 1e-3) + 1e-12


def test_nothing_before_is_the_profile_itself():
    profile = partial(hockey_stick, 0.5)
    assert total_delta(1.0, 0.0, profile) == float(hockey_stick(0.5, 1.0))
    assert total_delta(1.0, 1e-6, profile) == pytest.approx(float(hockey_stick(0.5, 1.0)), rel=1e-3)


def test_nothing_after_is_the_gaussian_itself():
    got = total_delta(1.0, 0.5, partial(hockey_stick, 0.0))
    assert float(hockey_stick(0.5, 1.0)) <= got <= float(hockey_stick(0.5, 1.0)) * 1.01


@pytest.mark.parametrize("constant", [0.0, 1e-9, 0.3, 1.0])
def test_a_failure_that_nothing_can_hide_is_charged_in_full(constant):
    got = total_delta(1.0, 0.3, lambda x: np.full_like(x, constant))
    assert constant <= got <= constant + 2e-13


def test_an_integral_by_other_means():
    """A convex profile with a kink, which no Gaussian has: p + (1 - p)(1 - e^x)+ behind a noisy count."""
    p, mu, epsilon = 0.01, 0.7, 0.4

    def profile(x):
        return p + (1 - p) * -np.expm1(np.minimum(x, 0.0))

    def weighted(t):
        return norm.pdf(t) * float(profile(epsilon - mu**2 / 2 - mu * t))

    true = quad(weighted, -12, 12, points=[(epsilon - mu**2 / 2) / mu], limit=300)[0]
    assert true <= total_delta(epsilon, mu, profile) <= true * 1.002


def test_the_upper_tail_of_the_loss_is_charged():
    """A profile that is 1 beyond the last chord and 0 before it: only the tail term can see it."""
    mu, epsilon = 0.5, 1.0
    edge = epsilon - (mu**2 / 2 + mu * EDGE)

    def cliff(x):
        return np.where(x < edge - 1e-9, 1.0, 0.0)

    assert total_delta(epsilon, mu, cliff) >= ndtr(-EDGE)


def test_the_lower_tail_of_the_loss_is_charged():
    """A constant failure has its mass below the first chord too."""
    chords_only = 1 - 2 * ndtr(-EDGE)
    assert total_delta(1.0, 0.5, lambda x: np.ones_like(x)) >= chords_only + ndtr(-EDGE)


@pytest.mark.parametrize("epsilon", [100.0, 800.0, 1e4])
def test_a_huge_epsilon_overflows_nothing(epsilon):
    mu = largest_mu(epsilon, 1e-6)
    got = total_delta(epsilon, mu / 8, partial(hockey_stick, mu * math.sqrt(1 - 1 / 64)))
    assert 0.999e-6 <= got <= 1.05e-6
