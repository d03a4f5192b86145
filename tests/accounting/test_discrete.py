"""The price of a discrete grid (M8): the formula, its shares of the budget, and that it is negligible."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dimfree.accounting.budget import Budget
from dimfree.accounting.calibrate import calibrate_bounded, remaining_mu
from dimfree.accounting.discrete import MOST_RELEASES, idealised, slack, tail_exponent
from dimfree.accounting.events import COUNT_STEPS, charged_gaussian, counted_records
from dimfree.accounting.precision import largest_mu
from dimfree.kernel.statistics.stable import mean_event


def test_slack_is_the_formula_of_m8():
    stddev, sensitivity, d, delta = 20.0, 7.0, 5, 1e-6
    x = math.log(1000 * MOST_RELEASES / delta)
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
    assert MOST_RELEASES * math.exp(-tail_exponent(delta)) <= delta / 1000 * (1 + 1e-9)


def events_of_a_run(budget, dimension):
    """The coarsest releases of a run: a count, a total, a mean, each with all the precision there is."""
    mu = largest_mu(budget.epsilon, budget.delta)
    branch = calibrate_bounded(budget)
    return (
        counted_records(1 / mu),
        charged_gaussian(2.0 * COUNT_STEPS + 1, branch.mu, 1, 1 / COUNT_STEPS, "total weight"),
        mean_event(1e-3 * 2**20, remaining_mu(branch), dimension, 1.0, "mean")[0],
    )


@pytest.mark.parametrize("dimension", [1, 10**5])
@pytest.mark.parametrize("delta", [1e-12, 1e-2])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_a_run_stays_below_a_millionth_of_epsilon(epsilon, delta, dimension):
    budget = Budget(epsilon, delta)
    losses = [slack(e.stddev, e.sensitivity, e.dimension, delta) for e in events_of_a_run(budget, dimension)]
    assert sum(loss.epsilon for loss in losses) < 1e-6 * epsilon
    ideal = idealised(epsilon, delta)[1]
    assert math.exp(sum(loss.ratio for loss in losses)) * ideal + sum(loss.tail for loss in losses) < delta
