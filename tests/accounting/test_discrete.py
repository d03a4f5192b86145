"""The price of a discrete grid (M8): the formula, its shares of the budget, and that it is negligible."""

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dimfree.accounting.budget import Budget
from dimfree.accounting.calibrate import calibrate_bounded, remaining_mu
from dimfree.accounting.discrete import MAX_RELEASES, after_lifting, before_lifting, idealize, slack, tail_exponent
from dimfree.accounting.events import COUNT_STEPS, charge_gaussian, make_count
from dimfree.accounting.precision import largest_mu
from dimfree.kernel.statistics.stable import mean_event


def test_slack_is_the_formula_of_m8():
    stddev, sensitivity, d, delta = 20.0, 7.0, 5, 1e-6
    x = math.log(1000 * MAX_RELEASES / delta)
    radius = stddev * math.sqrt(d + 2 * math.sqrt(d * x) + 2 * x) + sensitivity
    got = slack(stddev, sensitivity, d, delta)
    assert got.ratio == pytest.approx(d / (8 * stddev**2))
    assert got.epsilon == pytest.approx(got.ratio + radius**2 / (8 * stddev**4))
    assert got.tail == pytest.approx(math.exp(-x))


def test_the_grid_term_counts_where_the_noise_is_as_small_as_a_step():
    """3 d e^{-2π²σ²}: 8e-9 per coordinate at stddev 1, too small to see beside the rest elsewhere."""
    one, many = slack(1.0, 1.0, 1, 1e-6), slack(1.0, 1.0, 10**9, 1e-6)
    assert one.epsilon > one.ratio
    assert many.epsilon - many.ratio > 10**9 * 3 * math.exp(-2 * math.pi**2)


@given(st.floats(1e-300, 0.5))
@settings(deadline=None)
def test_all_tails_together_stay_within_a_thousandth_of_delta(delta):
    assert MAX_RELEASES * math.exp(-tail_exponent(delta)) <= delta / 1000 * (1 + 1e-9)


def events_of_a_run(budget, dimension):
    """The coarsest releases of a run: a count, a total, a mean, each with all the precision there is."""
    mu = largest_mu(budget.epsilon, budget.delta)
    branch = calibrate_bounded(budget)
    return (
        make_count(1 / mu),
        charge_gaussian(2.0 * COUNT_STEPS + 1, branch.mu, 1, 1 / COUNT_STEPS, "total weight"),
        mean_event(1e-3 * 2**20, remaining_mu(branch), dimension, 1.0, "mean")[0],
    )


@pytest.mark.parametrize("dimension", [1, 10**5])
@pytest.mark.parametrize("delta", [1e-12, 1e-2])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_a_run_stays_below_a_millionth_of_epsilon(epsilon, delta, dimension):
    budget = Budget(epsilon, delta)
    losses = [slack(e.stddev, e.sensitivity, e.dimension, delta) for e in events_of_a_run(budget, dimension)]
    assert sum(loss.epsilon for loss in losses) < 1e-6 * epsilon
    ideal = idealize(epsilon, delta)[1]
    assert math.exp(sum(loss.ratio for loss in losses)) * ideal + sum(loss.tail for loss in losses) < delta


# ---- the paper's random filter (P1), and never the erratum

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


@given(st.floats(1e-6, 3))
@settings(deadline=None)
def test_a_filter_never_amplifies(epsilon):
    """A predicate that is always true keeps everybody: the printed 2(e^ε - 1)ε would promise less than ε."""
    assert after_lifting(epsilon, 1e-9)[0] >= epsilon
    assert after_lifting(epsilon, 1e-9)[1] >= 1e-9


@pytest.mark.parametrize("epsilon", [100.0, 1e3, 1e6])
def test_a_huge_epsilon_is_used_on_the_private_side(epsilon):
    inner, share = before_lifting(epsilon, 1e-6)
    lifted, spent = after_lifting(inner, share)
    assert 0 < lifted <= epsilon
    assert 0 < spent <= 1e-6
