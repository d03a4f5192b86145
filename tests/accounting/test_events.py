"""Frozen costs and the ledger: what was charged, exactly, and back from JSON bit for bit."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dimfree.accounting import events
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import shortest_ladder
from dimfree.accounting.discrete import EPSILON_SHARE, MAX_RELEASES, before_lifting, slack
from dimfree.accounting.events import Bounded, Costs, Gaussian, OnlyGaussian, Unlisted, branches_profile
from dimfree.accounting.ladder import DENOMINATOR, Ladder
from dimfree.accounting.precision import compose, hockey_stick, largest_mu

BUDGET = Budget(1.0, 1e-6)
MU = largest_mu(1.0, 1e-6)
TEST = events.Tested(shortest_ladder(1.0, 5e-7, MU / 8, MU / 1.3, 0.01), MU / 1.3)
GENTLE = Bounded(MU / 1.2, 1e-7)


def gaussian(mu, dimension=1, purpose="mean"):
    return Gaussian(purpose, 2.0**24 * mu, 2.0**24, dimension, 1e-9)


COUNT = gaussian(MU / 8, purpose="number of records")
LEDGER = Costs(BUDGET, Neighbors.ADD_REMOVE, (COUNT,), (TEST, GENTLE), chosen=0, after=(gaussian(MU / 2, 30),))


def test_slack_of_every_release_is_charged():
    """A coarse grid: epsilon is lowered by all that any grid may cost, delta is multiplied and the tails are added."""
    budget = Budget(1.0, 1e-3)
    coarse = Gaussian("count", 100.0, 3e4, 1, 1.0)
    ledger = Costs(budget, Neighbors.ADD_REMOVE, (), (Bounded(0.5, 0.0),), chosen=0, after=(coarse,))
    loss = slack(3e4, 100.0, 1, 1e-3)
    assert ledger.delta() == pytest.approx(
        math.exp(loss.ratio) * float(hockey_stick(0.5, 1.0 - EPSILON_SHARE)) + loss.tail, rel=1e-12
    )
    assert ledger.delta() > replace(ledger, after=()).delta()


def test_a_grid_too_coarse_for_the_budget_is_refused():
    with pytest.raises(ValueError, match="coarse"):
        Costs(BUDGET, Neighbors.ADD_REMOVE, (Gaussian("count", 1.0, 10.0, 1, 1.0),), ())


def test_a_branch_is_charged_whole_even_if_less_was_released():
    assert LEDGER.delta() == pytest.approx(replace(LEDGER, after=()).delta(), rel=1e-5)
    assert LEDGER.delta() == pytest.approx(replace(LEDGER, after=(), chosen=None).delta(), rel=1e-5)


def test_nothing_may_come_before_the_filter():
    with pytest.raises(ValueError, match="lifting"):
        Costs(BUDGET, Neighbors.ADD_REMOVE, (COUNT,), (GENTLE,), filtered=True)


def test_a_filtered_ledger_is_lifted():
    """P1's factor on everything that follows the filter."""
    inner, _ = before_lifting(1.0, 1e-6)
    ledger = Costs(BUDGET, Neighbors.ADD_REMOVE, (), (Bounded(0.05, 1e-7),), filtered=True)
    c = math.expm1(inner)
    assert ledger.delta() == pytest.approx(math.expm1(2 * c) / c * (float(hockey_stick(0.05, inner)) + 1e-7), rel=1e-12)


def test_the_menu_costs_its_worst_branch_at_every_level():
    x = np.linspace(-3, 3, 61)
    both = branches_profile((TEST, GENTLE), x)
    assert np.array_equal(both, np.maximum(TEST.profile(x), GENTLE.profile(x)))
    assert (TEST.profile(x) > GENTLE.profile(x)).any()
    assert (TEST.profile(x) < GENTLE.profile(x)).any()
    assert np.array_equal(branches_profile((), x), hockey_stick(0.0, x))


mus = st.floats(0.01, 0.5)


@given(st.lists(mus, max_size=4), mus, mus, st.floats(0, 1e-3))
@settings(max_examples=50, deadline=None)
def test_more_releases_cost_more(before, extra, mu, failure):
    start = tuple(gaussian(m) for m in before)
    ledger = Costs(BUDGET, Neighbors.ADD_REMOVE, start, (Bounded(mu, failure),))
    more = replace(ledger, before=(*start, gaussian(extra)))
    assert more.delta() >= ledger.delta() * (1 - 2e-3) - 1e-12  # up to the chords
    true = float(hockey_stick(compose([*before, mu]), 1.0))
    assert ledger.delta() >= (true + failure) * (1 - 1e-12) - 1e-30


odd = st.floats(1e-3, 0.3, allow_nan=False)
rungs = st.lists(st.integers(1, DENOMINATOR), min_size=3, max_size=20).map(lambda drawn: Ladder(tuple(sorted(drawn))))
branches = st.one_of(
    st.builds(events.Tested, rungs, odd),
    st.builds(OnlyGaussian, odd),
    *(st.builds(kind, odd, st.floats(1e-300, 1e-3)) for kind in (Bounded, Unlisted)),
)
gaussians = st.builds(gaussian, odd, st.integers(1, 10**6), st.text(max_size=10))
ledgers = st.builds(
    Costs,
    st.builds(Budget, st.floats(0.1, 100), st.floats(1e-12, 0.5)),
    st.sampled_from(Neighbors),
    st.lists(gaussians, max_size=3).map(tuple),
    st.lists(branches, max_size=3).map(tuple),
)


@given(ledgers)
@settings(deadline=None)
def test_json_brings_back_every_bit(ledger):
    text = json.dumps(ledger.to_dict())
    again = Costs.from_dict(json.loads(text))
    assert again == ledger
    assert json.dumps(again.to_dict()) == text
    assert again.delta() == ledger.delta()


def test_json_keeps_choice_filter_and_releases():
    filtered = Costs(BUDGET, Neighbors.ADD_REMOVE, (), (GENTLE,), 0, (gaussian(MU / 3, 4),), filtered=True)
    for ledger in (LEDGER, replace(LEDGER, chosen=1), filtered):
        assert Costs.from_dict(json.loads(json.dumps(ledger.to_dict()))) == ledger


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=40))
@settings(deadline=None)
def test_releases_beyond_its_mu_are_refused(parts):
    """Whatever the split (P17): up to the declared precision, and not beyond."""
    total = math.fsum(parts)
    mus = [0.1 * math.sqrt(part / total) for part in parts]
    fits = replace(
        LEDGER, branches=(OnlyGaussian(0.1),), chosen=0, after=tuple(gaussian(mu * (1 - 1e-9)) for mu in mus)
    )
    assert len(fits.after) == len(parts)
    with pytest.raises(ValueError, match="exceed"):
        replace(fits, after=tuple(gaussian(mu * (1 + 1e-9)) for mu in mus))


def test_a_branch_without_searches_takes_none_and_no_run_has_more_releases_than_are_charged_for():
    alone = replace(LEDGER, branches=(OnlyGaussian(0.1),), chosen=0, after=())
    with pytest.raises(ValueError, match="exceed"):
        replace(alone, searches=(gaussian(1e-3),))
    share = gaussian(0.09 / math.sqrt(MAX_RELEASES))
    assert replace(alone, after=(share,) * (MAX_RELEASES - 1))
    with pytest.raises(ValueError, match="More Gaussian releases"):
        replace(alone, after=(share,) * MAX_RELEASES)
