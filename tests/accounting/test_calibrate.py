"""Calibrations return the private side: whatever branch a run takes, its ledger is at most the budget."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import (
    calibrate_bounded,
    calibrate_filtered,
    calibrate_gaussian,
    calibrate_private_count,
    calibrate_public_count,
    remaining_mu,
)
from dimfree.accounting.discrete import idealize
from dimfree.accounting.events import COUNT_STEPS, Bounded, Costs, Gaussian, charge_gaussian, make_count
from dimfree.accounting.precision import compose, largest_mu
from dimfree.kernel.statistics.stable import mean_event
from dimfree.paper.averaging import bound_distance

FAILURE = 0.005
DIMENSION = 10**5
SLOW = pytest.mark.slow
EXTREMES = [(epsilon, delta) for epsilon in (0.01, 0.1, 1.0, 4.0, 20.0) for delta in (1e-12, 1e-9, 1e-6, 1e-2)]
FAST = [(0.1, 1e-2), (1.0, 1e-12), (1.0, 1e-6), (1.0, 1e-2), (4.0, 1e-12), (4.0, 1e-6), (20.0, 1e-12), (20.0, 1e-2)]
ALL = [pytest.param(*pair, marks=() if pair in FAST else SLOW, id=f"{pair[0]}-{pair[1]}") for pair in EXTREMES]


def releases_of(branch):
    """What a run on this branch releases, spending all of its precision."""
    if isinstance(branch, Bounded):
        share = math.sqrt(0.3) * branch.mu
        total = charge_gaussian(2.0 * COUNT_STEPS + 1, share, 1, 1 / COUNT_STEPS, "total weight")
        return total, mean_event(1e3, remaining_mu(branch, total.mu), DIMENSION, 1.0, "mean")[0]
    return (mean_event(1e3, branch.mu, DIMENSION, 1.0, "mean")[0],)


def before_of(plan):
    return () if plan.count_stddev is None else (make_count(plan.count_stddev),)


def searches_of(branch):
    return () if not branch.search_mu else (Gaussian("search", 2.0**20, 2.0**20 / branch.search_mu, 8, 2.0**-20),)


def ledgers_of(budget, relation, plan, menus):
    """The ledger of every way that a run can go, a refusal included."""
    before = before_of(plan)
    for branches in menus:
        yield Costs(budget, relation, before, branches)
        for chosen, branch in enumerate(branches):
            yield Costs(budget, relation, before, branches, chosen, releases_of(branch), searches=searches_of(branch))


def assert_within(budget, ledgers):
    spent = [ledger.delta() for ledger in ledgers]
    assert spent
    assert all(0 <= delta <= budget.delta for delta in spent)
    return max(spent)


@pytest.mark.parametrize(("epsilon", "delta"), ALL)
def test_a_private_count_and_its_menu_fit_the_budget(epsilon, delta):
    budget = Budget(epsilon, delta)
    plan = calibrate_private_count(budget, FAILURE, untested=True)
    worst = assert_within(budget, ledgers_of(budget, Neighbors.ADD_REMOVE, plan, [plan.branches]))
    assert worst > 0.4 * delta  # nothing much is wasted
    assert plan.untested is not None


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (4.0, 1e-6), (20.0, 1e-9)])
@pytest.mark.parametrize("search_share", [0.0, 0.05])
def test_the_stable_core_alone_fits_the_budget(epsilon, delta, search_share):
    budget = Budget(epsilon, delta)
    plan = calibrate_private_count(budget, FAILURE, search_share=search_share)
    assert plan.untested is None
    assert len(plan.tested) >= 3
    assert_within(budget, ledgers_of(budget, Neighbors.ADD_REMOVE, plan, [plan.branches]))


@pytest.mark.parametrize(("epsilon", "delta"), ALL)
@pytest.mark.parametrize("search_share", [0.0, 0.05])
def test_every_branch_of_a_public_count_fits_the_budget(epsilon, delta, search_share):
    """The number of records is public and chooses, so one branch is charged alone."""
    budget = Budget(epsilon, delta)
    plan = calibrate_public_count(budget, FAILURE, search_share=search_share)
    assert plan.count_stddev is None
    assert all((branch.search_mu > 0) == (search_share > 0) for branch in plan.tested)
    menus = [(branch,) for branch in plan.tested]
    if menus:
        assert_within(budget, ledgers_of(budget, Neighbors.REPLACE_ONE, plan, menus))


@pytest.mark.parametrize(("epsilon", "delta"), [*EXTREMES, (100.0, 1e-6), (1000.0, 1e-6), (1.0, 1e-15), (1e-3, 0.3)])
def test_the_bounded_and_the_filtered_branch_fit_the_budget(epsilon, delta):
    budget = Budget(epsilon, delta)
    bounded, filtered = calibrate_bounded(budget), calibrate_filtered(budget)
    ledger = Costs(budget, Neighbors.ADD_REMOVE, (), (bounded,), 0, releases_of(bounded))
    assert 0.99 * delta <= ledger.delta() <= delta
    ledger = Costs(budget, Neighbors.ADD_REMOVE, (), (filtered,), 0, releases_of(filtered), filtered=True)
    assert 0 < ledger.delta() <= delta


def test_honest_data_pass_every_ladder():
    for failure in (0.05, 0.005):
        for branch in calibrate_private_count(Budget(4.0, 1e-6), failure, untested=True).tested:
            assert branch.ladder.probabilities()[-1] >= 1 - failure - 1e-15


@given(st.floats(1e-12, 0.1))
@settings(deadline=None)
def test_the_lower_bound_fails_as_seldom_as_charged(failure):
    """On a grid of 2^14 steps to a record, with the value rounded down: the noise must exceed the distance."""
    branch = Bounded(0.5, failure)
    stddev = 2.0**14  # the coarsest noise of a total
    fails = ndtr(-(bound_distance(branch) * stddev - 1) / stddev)
    assert fails * (1 + 1e-9) <= failure


@given(st.lists(st.floats(1e-6, 0.4), min_size=1, max_size=5))
@settings(deadline=None)
def test_what_remains_never_exceeds_the_branch(spent):
    branch = Bounded(1.0, 1e-9)
    left = remaining_mu(branch, *spent)
    assert compose([*spent, left]) <= 1.0
    assert compose([*spent, left]) >= 1 - 1e-11


@pytest.mark.parametrize("epsilon", [800.0, 1e4])
def test_a_huge_epsilon_is_still_accounted_for(epsilon):
    budget = Budget(epsilon, 1e-6)
    plan = calibrate_private_count(budget, FAILURE, untested=True)
    assert_within(budget, ledgers_of(budget, Neighbors.ADD_REMOVE, plan, [plan.branches]))


# ---- a branch without a test (P18): part of the maximum over the branches, gives way to tested ones

ROUGH, SEARCHED, SPLIT = 0.035, 0.07, (0.2, 0.3, 0.5)
DELTAS = (1e-12, 1e-11, 1e-9, 1e-6, 1e-3, 1e-2, 0.5)
EPSILONS = (1e-3, 0.01, 0.1, 1.0, 3.0, 4.0, 20.0, 100.0, 300.0)
BESIDE = [(0.1, 1e-2), (1.0, 1e-12), (1.0, 1e-6), (1.0, 1e-2), (4.0, 1e-9), (20.0, 1e-3), (100.0, 1e-2)]
LATE = [pytest.param(*pair, marks=pytest.mark.slow) for pair in [(0.1, 1e-6), (0.01, 1e-3)]]


def spent(budget, relation, plan, branches):
    """The ledger of a run that releases all that the branch without a test declares, in three parts."""
    parts = [
        charge_gaussian(2.0**24, math.sqrt(share * (1 - 1e-12)) * plan.untested.mu, 1, 1.0, "mean") for share in SPLIT
    ]
    return Costs(budget, relation, before_of(plan), branches, branches.index(plan.untested), tuple(parts))


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_gaussian_releases_alone_fit_the_budget(epsilon, delta):
    """The smallest delta too, where the rounding of the accountant is a tenth of it."""
    budget = Budget(epsilon, delta)
    for relation in Neighbors:
        plan = calibrate_gaussian(budget, private_count=relation is Neighbors.ADD_REMOVE)
        assert (plan.count_stddev is not None) == (relation is Neighbors.ADD_REMOVE)
        assert len(plan.branches) == 1
        assert 0.5 * delta <= spent(budget, relation, plan, plan.branches).delta() <= delta
        count_mu = 0.0 if plan.count_stddev is None else 1 / plan.count_stddev
        whole = largest_mu(*idealize(budget.usable_epsilon, delta))
        assert whole / 1.0051 <= compose((count_mu, plan.untested.mu)) <= whole * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [*BESIDE, *LATE])
def test_beside_tested_branches_the_whole_menu_fits_and_no_ladder_changes(epsilon, delta):
    """n̂ chooses, so all are charged together; the branch without a test is the one that gives way."""
    budget = Budget(epsilon, delta)
    plan = calibrate_private_count(budget, ROUGH, untested=True, search_share=SEARCHED)
    without = calibrate_private_count(budget, ROUGH, search_share=SEARCHED)
    assert plan.tested == without.tested
    assert replace(plan, untested=None) == without
    assert spent(budget, Neighbors.ADD_REMOVE, plan, plan.branches).delta() <= delta
    assert plan.untested.mu >= 0.94 * largest_mu(*idealize(budget.usable_epsilon, delta))


def test_under_replace_one_each_branch_fits_alone():
    """A public number chooses: what is charged is one branch, the same as if it is the only branch."""
    budget = Budget(1.0, 1e-6)
    plan = calibrate_public_count(budget, ROUGH, search_share=SEARCHED)
    assert plan.untested == calibrate_gaussian(budget, private_count=False).untested
    assert spent(budget, Neighbors.REPLACE_ONE, plan, (plan.untested,)).delta() <= 1e-6


def test_the_twin_that_prices_two_menus_apart_is_caught():
    """Tested branches and a branch of Gaussians alone, each tight behind the same count: together they cost more."""
    budget = Budget(1.0, 1e-6)
    tested = calibrate_private_count(budget, ROUGH, search_share=SEARCHED)
    alone = calibrate_gaussian(budget, private_count=True)
    before = (make_count(tested.count_stddev),)
    apart = [Costs(budget, Neighbors.ADD_REMOVE, before, plan.branches).delta() for plan in (tested, alone)]
    joint = Costs(budget, Neighbors.ADD_REMOVE, before, (*tested.branches, *alone.branches)).delta()
    assert max(apart) <= 1e-6 < joint
