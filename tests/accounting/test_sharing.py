"""A budget shared out: the parts compose to at most the whole, and are more than a plain split would give."""

import math
from fractions import Fraction
from functools import partial

import pytest

from dimfree.accounting.budget import MIN_EPSILON, Budget, Neighbors
from dimfree.accounting.events import Bounded, Costs, Gaussian
from dimfree.accounting.precision import largest_mu
from dimfree.accounting.several_runs import ComposedRuns
from dimfree.accounting.sharing import divide_budget, gaussian_budget, keys_and_rest, price_key_search, price_opening
from dimfree.programs.choose.constants import RADIUS_SEARCH_SHARE, SCALE_SEARCH_SHARE

ADD = Neighbors.ADD_REMOVE
STEPS = 2**24
WHOLE = Budget(4.0, 1e-4)  # that of the contracts: its calibrations are at hand
SHARES = (0.2, 0.8)


def gaussian_delta(mu, epsilon):
    """The textbook's delta of one Gaussian, from the standard library."""
    below = lambda x: math.erfc(-x / math.sqrt(2)) / 2  # noqa: E731 - of the standard normal
    return below(mu / 2 - epsilon / mu) - math.exp(epsilon) * below(-mu / 2 - epsilon / mu)


def one_gaussian(budget, factor=1.0):
    """A run that spends its whole budget on one Gaussian."""
    mu = factor * largest_mu(budget.epsilon, budget.delta)
    return Costs(budget, ADD, (Gaussian("all", STEPS, STEPS / mu, 1, 1 / STEPS),), ())


@pytest.mark.parametrize("whole", [Budget(1.0, 1e-6), Budget(0.05, 1e-3), Budget(20.0, 1e-9)])
@pytest.mark.parametrize("shares", [(0.2, 0.8), (0.5, 0.5), (0.1, 0.2, 0.7)])
def test_gaussian_parts_by_the_textbook(whole, shares):
    parts = divide_budget(whole, [(share, one_gaussian) for share in shares])
    mus = [largest_mu(part.epsilon, part.delta) for part in parts]
    for mu, part in zip(mus, parts, strict=True):
        assert gaussian_delta(mu, part.epsilon) == pytest.approx(part.delta, rel=1e-6)
    assert gaussian_delta(math.hypot(*mus), whole.epsilon) <= whole.delta
    precisions = [mu**2 / sum(mu**2 for mu in mus) for mu in mus]
    assert precisions == pytest.approx(shares, rel=1e-3)
    assert sum(part.delta for part in parts) <= whole.delta * (1 + 1e-12)
    assert sum(part.epsilon for part in parts) > 1.05 * whole.epsilon


def test_a_twin_that_hands_out_the_budget_to_each_run_is_too_much():
    """Wrong: the whole to each. And the shares of precision without anything kept for what runs cost on top."""
    each = [largest_mu(WHOLE.epsilon, WHOLE.delta)] * 2
    assert gaussian_delta(math.hypot(*each), WHOLE.epsilon) > 10 * WHOLE.delta
    ledgers = tuple(price_opening(WHOLE, 0.0035) for _ in each)
    assert ComposedRuns(ledgers).delta(WHOLE.epsilon) > WHOLE.delta


@pytest.mark.parametrize("whole", [WHOLE, Budget(120.0, 1e-4), Budget(0.5, 1e-11)])
def test_runs_that_fit_nowhere_get_parts_that_add_up_to_the_whole(whole):
    parts = divide_budget(whole, [(share, partial(one_gaussian, factor=3.0)) for share in SHARES])
    for name in ("epsilon", "delta"):
        total = sum(Fraction(getattr(part, name)) for part in parts)
        assert total <= Fraction(getattr(whole, name))
        used = min(getattr(whole, name), 100.0)  # what a run keeps of a larger promise
        assert float(total) == pytest.approx(used, rel=1e-12)
    assert parts[0].epsilon < parts[1].epsilon
    assert ComposedRuns(tuple(map(one_gaussian, parts))).delta(whole.usable_epsilon) <= whole.delta  # to the last bit


@pytest.mark.parametrize("whole", [Budget(0.01, 1e-11), Budget(1.0, 1e-11), Budget(30.0, 1e-11)])
@pytest.mark.parametrize("runs", [1, 2])
def test_keys_and_what_follows_keep_the_whole_where_no_convolution_is_precise_enough(whole, runs):
    """At such a delta the error of a Fourier transform is too much, so that promises are added up."""

    def openings(rest):
        parts = divide_budget(rest, [(share, one_gaussian) for share in SHARES]) if runs == 2 else (rest,)
        return tuple(Costs(part, ADD, one_gaussian(part).before, (Bounded(1e-9, 1e-20),)) for part in parts)

    keys, rest = keys_and_rest(whole, 1 / 16, openings)
    assert ComposedRuns((price_key_search(keys), *openings(rest))).delta(whole.epsilon) <= whole.delta
    assert keys.epsilon > whole.epsilon / 10
    assert rest.epsilon > whole.epsilon / 10


@pytest.mark.parametrize("delta", [1e-3, 0.1, 0.5])
def test_a_gaussian_that_no_epsilon_is_needed_for_gets_a_small_one(delta):
    assert 0 < gaussian_budget(1e-4, delta, 0.02).epsilon <= MIN_EPSILON


def test_the_parts_of_real_runs_compose_to_the_whole_and_add_up_to_more():
    learns = partial(price_opening, failure=0.0035, search_share=RADIUS_SEARCH_SHARE)
    follows = partial(price_opening, failure=0.0035, search_share=SCALE_SEARCH_SHARE)
    parts = divide_budget(WHOLE, list(zip(SHARES, (learns, follows), strict=True)))
    ledgers = (learns(parts[0]), follows(parts[1]))
    spent = ComposedRuns(ledgers).delta(WHOLE.epsilon)
    assert 0.2 * WHOLE.delta < spent < WHOLE.delta
    assert sum(part.epsilon for part in parts) > 1.1 * WHOLE.epsilon
    for part, ledger in zip(parts, ledgers, strict=True):  # each run alone keeps its own promise
        assert ledger.budget == part
        assert ledger.delta() <= part.delta


def test_an_opening_charges_the_count_and_its_menu():
    budget = Budget(1.0, 1e-6)
    for ledger in (price_opening(budget, 0.0035), price_opening(budget, 0.0035, untested=True)):
        [counted] = ledger.before
        assert 0 < counted.mu < largest_mu(1.0, 1e-6)
        assert ledger.branches
        assert 0.5e-6 < ledger.delta() <= 1e-6
