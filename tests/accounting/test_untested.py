"""A branch without a test (P18): part of the maximum over the menu, gives way to tested ones, bound to its mu."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import (
    calibrate_gaussian,
    calibrate_private_count,
    calibrate_public_count,
)
from dimfree.accounting.discrete import MOST_RELEASES, idealised
from dimfree.accounting.events import Costs, Gaussian, OnlyGaussian, branches_profile, counted_records
from dimfree.accounting.precision import compose, hockey_stick, largest_mu

FAILURE, SEARCHED = 0.035, 0.07
DELTAS = (1e-12, 1e-11, 1e-9, 1e-6, 1e-3, 1e-2, 0.5)
EPSILONS = (1e-3, 0.01, 0.1, 1.0, 3.0, 4.0, 20.0, 100.0, 300.0)
BESIDE = [(0.1, 1e-2), (1.0, 1e-12), (1.0, 1e-6), (1.0, 1e-2), (4.0, 1e-9), (20.0, 1e-3), (100.0, 1e-2)]
SLOW = [pytest.param(*pair, marks=pytest.mark.slow) for pair in [(0.1, 1e-6), (0.01, 1e-3)]]


def gaussian(mu, purpose="mean"):
    return Gaussian(purpose, 2.0**24 * mu, 2.0**24, 1, 1e-9)


def spent(budget, relation, plan, menu):
    """The ledger of a run that releases all that the branch without a test declares, in three parts."""
    before = () if plan.count_stddev is None else (counted_records(plan.count_stddev),)
    parts = [gaussian(math.sqrt(share * (1 - 1e-12)) * plan.untested.mu) for share in (0.2, 0.3, 0.5)]
    return Costs(budget, relation, before, menu, menu.index(plan.untested), tuple(parts))


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_gaussian_releases_alone_fit_the_budget(epsilon, delta):
    """The smallest delta too, where the rounding of the accountant is a tenth of it."""
    budget = Budget(epsilon, delta)
    for relation in Neighbours:
        plan = calibrate_gaussian(budget, private_count=relation is Neighbours.ADD_REMOVE)
        assert (plan.count_stddev is not None) == (relation is Neighbours.ADD_REMOVE)
        assert len(plan.menu) == 1
        assert 0.5 * delta <= spent(budget, relation, plan, plan.menu).delta() <= delta
        count_mu = 0.0 if plan.count_stddev is None else 1 / plan.count_stddev
        whole = largest_mu(*idealised(budget.usable_epsilon, delta))
        assert whole / 1.0051 <= compose((count_mu, plan.untested.mu)) <= whole * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [*BESIDE, *SLOW])
def test_beside_tested_branches_the_whole_menu_fits_and_no_ladder_changes(epsilon, delta):
    """n̂ chooses, so all are charged together; the branch without a test is the one that gives way."""
    budget = Budget(epsilon, delta)
    plan = calibrate_private_count(budget, FAILURE, untested=True, search_share=SEARCHED)
    without = calibrate_private_count(budget, FAILURE, search_share=SEARCHED)
    assert plan.tested == without.tested
    assert replace(plan, untested=None) == without
    assert spent(budget, Neighbours.ADD_REMOVE, plan, plan.menu).delta() <= delta
    assert plan.untested.mu >= 0.94 * largest_mu(*idealised(budget.usable_epsilon, delta))


def test_under_replace_one_each_branch_fits_alone():
    """A public number chooses: what is charged is one branch, the same as where nothing else is on the menu."""
    budget = Budget(1.0, 1e-6)
    plan = calibrate_public_count(budget, FAILURE, search_share=SEARCHED)
    assert plan.untested == calibrate_gaussian(budget, private_count=False).untested
    assert spent(budget, Neighbours.REPLACE_ONE, plan, (plan.untested,)).delta() <= 1e-6


def test_the_twin_that_prices_two_menus_apart_is_caught():
    """Tested branches and a branch of Gaussians alone, each tight behind the same count: together they cost more."""
    budget = Budget(1.0, 1e-6)
    tested = calibrate_private_count(budget, FAILURE, search_share=SEARCHED)
    alone = calibrate_gaussian(budget, private_count=True)
    before = (counted_records(tested.count_stddev),)
    apart = [Costs(budget, Neighbours.ADD_REMOVE, before, plan.menu).delta() for plan in (tested, alone)]
    joint = Costs(budget, Neighbours.ADD_REMOVE, before, (*tested.menu, *alone.menu)).delta()
    assert max(apart) <= 1e-6 < joint


def test_its_profile_is_that_of_one_gaussian_and_the_menu_takes_the_maximum():
    x = np.linspace(-4, 4, 81)
    tested = calibrate_private_count(Budget(1.0, 1e-2), FAILURE).tested[0]
    alone = OnlyGaussian(tested.mu * 1.02)
    assert np.array_equal(alone.profile(x), hockey_stick(alone.mu, x))
    both = branches_profile((tested, alone), x)
    assert np.array_equal(both, np.maximum(tested.profile(x), alone.profile(x)))
    assert (both > tested.profile(x)).any()
    assert (both > alone.profile(x)).any()


LEDGER = Costs(
    Budget(1.0, 1e-6),
    Neighbours.ADD_REMOVE,
    (counted_records(40.0),),
    (*calibrate_private_count(Budget(4.0, 1e-3), FAILURE).tested[:1], OnlyGaussian(0.1234567890123456)),
    1,
    (gaussian(0.05), gaussian(0.06)),
)


def test_it_comes_back_from_json_bit_for_bit():
    again = Costs.from_dict(json.loads(json.dumps(LEDGER.to_dict())))
    assert again == LEDGER
    assert again.menu[1] == OnlyGaussian(0.1234567890123456)
    assert again.delta() == LEDGER.delta()


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=40))
@settings(deadline=None)
def test_releases_beyond_its_mu_are_refused(parts):
    """Whatever the split (P17): up to the declared precision, and not beyond."""
    total = math.fsum(parts)
    mus = [0.1 * math.sqrt(part / total) for part in parts]
    fits = replace(LEDGER, menu=(OnlyGaussian(0.1),), chosen=0, after=tuple(gaussian(mu * (1 - 1e-9)) for mu in mus))
    assert len(fits.after) == len(parts)
    with pytest.raises(ValueError, match="exceed"):
        replace(fits, after=tuple(gaussian(mu * (1 + 1e-9)) for mu in mus))


def test_it_has_no_searches():
    with pytest.raises(ValueError, match="exceed"):
        replace(LEDGER, searches=(gaussian(1e-3),))


def test_at_most_a_thousand_releases():
    """As many as the discrete noise was charged for."""
    share = gaussian(0.12 / math.sqrt(MOST_RELEASES))
    with pytest.raises(ValueError, match="More Gaussian releases"):
        replace(LEDGER, after=(share,) * MOST_RELEASES)
    assert replace(LEDGER, after=(share,) * (MOST_RELEASES - 1))
