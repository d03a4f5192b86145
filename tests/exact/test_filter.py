"""P17: Gaussian releases chosen by those before are no worse than one Gaussian, if their precisions surely sum to P.

Laws of two releases, the second chosen by the first: exact integrals. Then the code's own filter, in fractions.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanisms.kept import space_of

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_gaussian
from dimfree.accounting.discrete import MOST_RELEASES
from dimfree.accounting.events import Costs, charged_gaussian, counted_records
from dimfree.accounting.precision import hockey_stick
from dimfree.noise import SeededNoise
from dimfree.paper.charged import Measured
from dimfree.programs.columns.state import ColumnState
from dimfree.programs.learn.state import StageSetting

ADD = Neighbours.ADD_REMOVE
LEVELS = np.linspace(-3, 6, 37)
GRID = np.linspace(-12, 14, 6001)
FIRST = 0.6  # mu of the first release
SLACK = 3e-5  # of the sum that stands for the integral


def divergence(second, level, *, forward=True):
    """H of both outputs at e^level, where the second release has mu = second(first output)."""
    mean, loss = (FIRST, 1.0) if forward else (0.0, -1.0)
    density = np.exp(-((GRID - mean) ** 2) / 2) / math.sqrt(2 * math.pi)
    loss = loss * (FIRST * GRID - FIRST**2 / 2)
    mus = second(GRID)
    rest = np.empty_like(GRID)
    for mu in np.unique(mus):
        rest[mus == mu] = hockey_stick(float(mu), level - loss[mus == mu])
    return float((density * rest).sum() * (GRID[1] - GRID[0]))


def exceeds(second, precision):
    """By how much, at the worst level and in the worse direction, two releases exceed one of this precision."""
    whole = hockey_stick(math.sqrt(precision), LEVELS)
    return max(
        divergence(second, float(level), forward=forward) - float(one)
        for level, one in zip(LEVELS, whole, strict=True)
        for forward in (True, False)
    )


rules = st.lists(st.floats(0, 1), min_size=1, max_size=6)


@given(rules, st.floats(0.1, 1.5))
@settings(max_examples=25, deadline=None)
def test_any_rule_within_the_precision_costs_no_more_than_one_release(shares, rest):
    """`shares` of what is left, by the interval in which the first output lies."""
    edges = np.linspace(-2, 3, len(shares) - 1) if len(shares) > 1 else np.array([])

    def second(y):
        return np.sqrt(np.array(shares)[np.searchsorted(edges, y)] * rest**2)

    assert exceeds(second, FIRST**2 + rest**2) <= SLACK


def test_who_spends_everything_on_every_path_spends_exactly_one_release():
    assert abs(exceeds(lambda y: np.full_like(y, 0.8), FIRST**2 + 0.8**2)) <= SLACK


TWINS = {
    "the average for what is sure": (lambda y: np.where(y > FIRST, math.sqrt(2) * 0.8, 0.0), FIRST**2 + 0.8**2),
    "more where an output is large": (lambda y: np.where(y > 2.0, 2.4, 0.8), FIRST**2 + 0.8**2),
    "a refund for an output that tells little": (lambda y: np.where(np.abs(y) < 1, 1.0, 0.8), FIRST**2 + 0.8**2),
}


@pytest.mark.parametrize("name", TWINS)
def test_a_filter_that_is_wrong_on_some_path_is_caught(name):
    assert exceeds(*TWINS[name]) > 20 * SLACK


# the filter of the columns route


def at_start(mu):
    setting = StageSetting(space_of(np.zeros((2, 3))), 2.0, ADD, SeededNoise(0))
    return ColumnState.at_start(setting, mu, relative=True)


def released(mu):
    return Measured(mu, charged_gaussian(2.0**20, mu, 1, 1.0, "audit"))


def precision_of(events):
    return sum((Fraction(event.mu) ** 2 for event in events), Fraction(0))


@given(st.floats(1e-3, 20), st.lists(st.floats(1e-9, 3), min_size=1, max_size=60))
@settings(deadline=None)
def test_precisions_sum_to_at_most_p_whatever_is_asked_for(mu, shares):
    state = at_start(mu)
    for share in shares:
        if state.left > 0:
            state, _ = state.release(share, released)
    assert precision_of(state.events) < Fraction(mu) ** 2
    if sum(shares) > 1 + 1e-9:
        assert precision_of(state.events) > Fraction(mu) ** 2 * Fraction(1 - 1e-8)


def test_a_thousand_parts_and_the_rest_stay_below_p():
    """Rounding of many small differences, and what is left as a share of P."""
    state = at_start(0.25)
    for _ in range(MOST_RELEASES - 2):
        state, _ = state.release(0.9 / MOST_RELEASES, released)
    state, _ = state.release(state.left / state.precision, released)
    assert Fraction(0.25) ** 2 * Fraction(1 - 1e-8) < precision_of(state.events) < Fraction(0.25) ** 2


@pytest.mark.parametrize("paid", [0.5, 0.999])
def test_a_state_that_pays_less_than_it_took_is_refused_by_the_ledger(paid):
    """The twin that pays an average share: the run would be refused before anything leaves."""
    plan = calibrate_gaussian(Budget(1.0, 1e-6), private_count=True)
    ledger = Costs(Budget(1.0, 1e-6), ADD, (counted_records(plan.count_stddev),), plan.menu, 0)
    state = at_start(plan.untested.mu)
    for _ in range(20):
        before = state.left
        state, _ = state.release(0.1, released)
        state = replace(state, left=before - paid * (before - state.left))
    with pytest.raises(ValueError, match="exceed"):
        replace(ledger, after=state.events)
