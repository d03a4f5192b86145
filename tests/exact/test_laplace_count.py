"""The Laplace count and its lower bound (M6): the law of the code, enumerated, against its claims."""

import math

import pytest
from exact.divergence import ScriptedNoise, hockey_stick, laplace_masses, laplace_tail

from dimfree.accounting.losses import Pure
from dimfree.paper.mechanisms import laplace_count

REACH = 400


def asked_scale(epsilon):
    noise = ScriptedNoise([0])
    assert laplace_count(7, epsilon, noise=noise).event == Pure("number of records", epsilon)
    ((scale, size),) = noise.asked
    assert size == 1
    return scale


def law(count, epsilon, shrink=1.0):
    """{output: probability}: the code on every draw, weighed by the scale that it asked for."""
    masses = laplace_masses(asked_scale(epsilon) * shrink, REACH)
    return {laplace_count(count, epsilon, noise=ScriptedNoise([z])).value: mass for z, mass in masses.items()}


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize(("fewer", "more"), [(0, 1), (41, 42)])
def test_the_claim_is_kept_and_attained(epsilon, fewer, more):
    here, there = law(more, epsilon), law(fewer, epsilon)
    left_out = math.exp(-REACH * epsilon) * (1 + math.exp(epsilon))
    for one, other in ((here, there), (there, here)):
        assert hockey_stick(one, other, epsilon) <= left_out + 1e-12
        assert hockey_stick(one, other, 0.9 * epsilon) > 1e-3 * epsilon


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_half_the_scale_is_caught(epsilon):
    assert hockey_stick(law(4, epsilon, 0.5), law(3, epsilon, 0.5), epsilon) > 0.05


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1 / 3, 7.0])
def test_the_scale_is_rounded_up(epsilon):
    assert 1 / epsilon < asked_scale(epsilon) <= 1 / epsilon * (1 + 1e-14)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("failure", [1e-9, 1e-3, 0.3])
def test_the_lower_bound_fails_as_seldom_as_stated(epsilon, failure):
    """n̂ - ⌈t·ln(1/(δ(1 + q)))⌉ + 1 exceeds n iff the noise reaches the bracket; one step less would fail too often."""
    scale = 1 / epsilon
    bracket = max(0, math.ceil(scale * -math.log(failure * (1 + math.exp(-epsilon)))))
    assert laplace_tail(scale, bracket) <= failure * (1 + 1e-12)
    if bracket:
        assert laplace_tail(scale, bracket - 1) > failure
