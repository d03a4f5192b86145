"""What the paper's random filter costs: the constants of P1, and never the erratum."""

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dimfree.accounting.discrete import after_lifting, before_lifting

epsilons = st.floats(1e-3, 20)
deltas = st.floats(1e-13, 0.1)


@given(epsilons, deltas)
@settings(deadline=None)
def test_lifting_what_it_left_is_at_most_the_budget(epsilon, delta):
    lifted, spent = after_lifting(*before_lifting(epsilon, delta))
    assert epsilon * (1 - 3e-12) <= lifted <= epsilon
    assert delta * (1 - 3e-12) <= spent <= delta


@given(epsilons, deltas)
@settings(deadline=None)
def test_the_budget_is_kept_with_fifty_digits(epsilon, delta):
    """(2c, (e^2c - 1)/c δ) with c = e^ε - 1, evaluated exactly at the floats that the mechanism gets."""
    inner, share = before_lifting(epsilon, delta)
    with mpmath.workdps(50):
        c = mpmath.expm1(mpmath.mpf(inner))
        assert 2 * c <= epsilon
        assert mpmath.expm1(2 * c) / c * mpmath.mpf(share) <= delta


def test_known_values():
    inner, share = before_lifting(2.0, 1e-6)
    assert inner == pytest.approx(math.log(2), rel=1e-14)
    assert share == pytest.approx(1e-6 / math.expm1(2), rel=1e-13)
    assert after_lifting(math.log(2), 1e-6) == pytest.approx((2.0, math.expm1(2) * 1e-6))


@given(st.floats(1e-6, 3))
@settings(deadline=None)
def test_a_filter_never_amplifies(epsilon):
    """A predicate that is always true keeps everybody: the printed 2(e^ε - 1)ε would promise less than ε."""
    assert after_lifting(epsilon, 1e-9)[0] >= epsilon
    assert after_lifting(epsilon, 1e-9)[1] >= 1e-9


def test_the_printed_constant_would_amplify():
    assert 2 * math.expm1(0.2) * 0.2 < 0.2 <= after_lifting(0.2, 1e-9)[0]


@pytest.mark.parametrize("epsilon", [100.0, 1e3, 1e6])
def test_a_huge_epsilon_is_used_on_the_private_side(epsilon):
    inner, share = before_lifting(epsilon, 1e-6)
    lifted, spent = after_lifting(inner, share)
    assert 0 < lifted <= epsilon
    assert 0 < spent <= 1e-6
