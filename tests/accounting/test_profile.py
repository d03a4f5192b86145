"""Gaussians followed by a profile (P9): an upper bound, tight, with its tails."""

import math
from functools import cache, partial

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from dimfree.accounting import events, ladder
from dimfree.accounting import precision as profile_module
from dimfree.accounting.calibrate import shortest_ladder
from dimfree.accounting.precision import COARSE, FINE, after_gaussians, hockey_stick, largest_mu, total_delta

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


@pytest.mark.parametrize("epsilon", [100.0, 800.0, 1e4])
def test_a_huge_epsilon_overflows_nothing(epsilon):
    mu = largest_mu(epsilon, 1e-6)
    got = total_delta(epsilon, mu / 8, partial(hockey_stick, mu * math.sqrt(1 - 1 / 64)))
    assert 0.999e-6 <= got <= 1.05e-6


# A branch that begins with Gaussians of its own


def integrated(mu, profile, x):
    """E[D(x - L)] by quadrature, L ~ N(mu²/2, mu²)."""

    def weighted(t):
        return norm.pdf(t) * float(profile(np.array([x - mu**2 / 2 - mu * t]))[0])

    parts = [quad(weighted, low, low + 1, epsabs=1e-14, limit=200)[0] for low in range(-9, 9)]
    return sum(parts)


@cache
def branch_of(epsilon, delta=1e-6):
    """Searches with a tenth of the precision, a ladder, and the rest after it."""
    full = largest_mu(epsilon, delta) / 1.15
    search_mu, mu = full * math.sqrt(0.1), full * math.sqrt(0.88)
    rungs = shortest_ladder(epsilon, delta, full * math.sqrt(0.12), mu, 0.0035)
    return events.Tested(rungs, mu, search_mu)


def behind(branch):
    return partial(ladder.ladder_profile, branch.ladder, branch.mu)


@pytest.mark.parametrize("mu", [0.05, 0.4, 1.5])
@pytest.mark.parametrize("after", [0.1, 0.9])
@pytest.mark.parametrize("level", [-1.0, 0.3, 2.0])
def test_gaussians_before_a_gaussian_are_one_gaussian(mu, after, level):
    """At levels as far apart as those that an earlier count asks for."""
    levels = level + 0.4 * mu * np.linspace(-8.5, 8.5, 9)
    got = after_gaussians(mu, partial(hockey_stick, after), levels)
    true = hockey_stick(math.hypot(mu, after), levels)
    assert (got >= true * (1 - 1e-9)).all()
    assert (got <= true * 1.03 + 3e-13).all()


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_searching_branch_is_not_below_its_integral(epsilon):
    branch = branch_of(epsilon)
    levels = epsilon * np.array([0.7, 0.9, 1.0, 1.1])
    inner = behind(branch)
    for level, got in zip(levels, branch.profile(levels), strict=True):
        true = integrated(branch.search_mu, inner, float(level))
        assert true <= got * (1 + 1e-9)
        assert got <= true * 1.01 + 1e-12


@given(st.floats(0.02, 2), st.floats(0.02, 2), st.integers(2, 400), st.floats(-4, 8))
@settings(deadline=None)
def test_any_number_of_chords_after_gaussians_is_on_the_private_side(mu, after, chords, level):
    got = after_gaussians(mu, partial(hockey_stick, after), np.array([level, level + 1]), chords)
    assert (got >= hockey_stick(math.hypot(mu, after), np.array([level, level + 1])) * (1 - 1e-9)).all()


def without_tails(mu, profile, x):
    """A twin: the chords alone."""
    edge, center = profile_module._EDGE, mu**2 / 2
    highest, lowest = float(x.max()) - center + edge * mu, float(x.min()) - center - edge * mu
    below, above = ndtr((x - highest - center) / mu), ndtr(-(x - lowest - center) / mu)
    return after_gaussians(mu, profile, x) - below * profile(np.array([highest]))[0] - above


def test_both_tails_are_charged_and_the_twin_without_them_is_caught(monkeypatch):
    """With chords over two deviations only, what lies beyond weighs some per cent."""
    monkeypatch.setattr(profile_module, "_EDGE", 2.0)
    mu, after, levels = 0.5, 1.2, np.array([0.0, 0.2, 0.4])
    true = hockey_stick(math.hypot(mu, after), levels)
    assert (after_gaussians(mu, partial(hockey_stick, after), levels) >= true).all()
    assert (without_tails(mu, partial(hockey_stick, after), levels) < 0.99 * true).all()


def test_a_failure_that_nothing_can_hide_survives_the_searches(monkeypatch):
    for edge in (2.0, EDGE):
        monkeypatch.setattr(profile_module, "_EDGE", edge)
        got = after_gaussians(0.5, np.ones_like, np.array([0.0, 1.0]))
        assert (got >= 1).all()
        assert (got <= 1 + 2 * ndtr(-edge) + 3e-13).all()


def in_many_digits(mu, profile, x):
    """The same nodes and the same values of the profile as the code, summed in 50 digits."""
    with mpmath.workdps(50):
        center, clipping, wide = mu**2 / 2, EDGE * mu, mpmath.mpf(mu)
        y = np.linspace(float(x.max()) - center + clipping, float(x.min()) - center - clipping, FINE + 1)
        d = [mpmath.mpf(float(value)) for value in profile(y) + profile_module._PROFILE_ROUNDING]
        levels = [mpmath.mpf(float(value)) for value in y]
        a = [mpmath.exp(level) for level in levels]
        sums = []
        for level in map(float, x):
            t = [(level - node - wide**2 / 2) / wide for node in levels]
            here, there = [mpmath.ncdf(v) for v in t], [mpmath.ncdf(v + wide) for v in t]
            total = here[0] * d[0] + mpmath.ncdf(-t[-1])
            for i in range(FINE):
                mass, shifted = here[i + 1] - here[i], there[i + 1] - there[i]
                slope = (d[i + 1] - d[i]) / (a[i + 1] - a[i])
                total += d[i] * mass + slope * (mpmath.exp(level) * shifted - a[i] * mass)
            sums.append(total)
        return sums


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-12), (10.0, 1e-6), (50.0, 1e-12), (100.0, 1e-6), (80.0, 0.1)])
def test_rounding_never_takes_away_what_is_added_for_it(epsilon, delta):
    branch = branch_of(epsilon, delta)
    count_mu = largest_mu(epsilon, delta) / 8
    levels = epsilon - count_mu * np.linspace(8.5, -8.5, 3)
    inner = behind(branch)
    got = after_gaussians(branch.search_mu, inner, levels)
    exact = in_many_digits(branch.search_mu, inner, levels)
    errors = [float(mpmath.mpf(float(g)) - e) for g, e in zip(got, exact, strict=True)]
    assert min(errors) > -0.05 * profile_module._PROFILE_ROUNDING
    assert max(error / g for error, g in zip(errors, got, strict=True)) < 1e-9
