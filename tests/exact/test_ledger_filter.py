"""The filter of a ledger against exact divergences: single runs of real menus, and the worst adaptive analyst."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_bounded, calibrate_filtered, calibrate_public_count
from dimfree.accounting.events import Costs, Tested
from dimfree.accounting.ladder import DENOMINATOR
from dimfree.accounting.precision import hockey_stick, largest_mu
from dimfree.accounting.several_runs.sharing import opening
from dimfree.ledger.curves import Losses, losses_of, run_profile
from dimfree.ledger.filter import Account, Box, Debit
from dimfree.ledger.spending import Charge, Price, promised_price

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
SMALL = Budget(1.0, 1e-3)


def curve(losses: Losses, x: np.ndarray) -> np.ndarray:
    """The divergence of the dominating pair, from its atoms."""
    inside = np.maximum(0.0, 1 - np.exp(x[:, None] - losses.levels))
    return losses.told + inside @ losses.masses


def exact_curve(run: Costs, branch: Tested, k: int, other: int, x: np.ndarray) -> np.ndarray:
    """Of one world: statistics k and k' on the ladder, both at least 2; the count's and the search's losses drawn."""
    p, q = (branch.ladder.numerator(each) / DENOMINATOR for each in (k, other))
    before = math.sqrt(sum(event.mu**2 for event in run.before) + branch.search_mu**2)
    here = p * hockey_stick(math.hypot(before, branch.mu), x - math.log(p / q))
    return here + (1 - p) * hockey_stick(before, x - math.log((1 - p) / (1 - q)))


@pytest.fixture(scope="module")
def runs() -> list[Costs]:
    menu = calibrate_public_count(SMALL, 0.01).menu
    return [
        opening(SMALL, 0.01, bounded=True),
        opening(SMALL, 0.01, search_share=0.07),
        Costs(SMALL, REPLACE, (), menu),
    ]


def test_the_atoms_cover_every_world_of_every_branch_at_every_level(runs: list[Costs]) -> None:
    x = np.concatenate([np.linspace(-3.1, 3.1, 463), np.linspace(0.9, 1.4, 101)])  # not the levels of the code
    for run in runs:
        assert losses_of(run)[0].told < run.budget.delta
        for losses in losses_of(run):
            covered = curve(losses, x)
            for branch in run.menu:
                if not isinstance(branch, Tested):
                    before = sum(event.mu**2 for event in run.before)
                    inside = hockey_stick(math.sqrt(before + branch.mu**2), x)
                    failure = getattr(branch, "failure", 0.0)
                    exact = failure + (1 - failure) * inside  # a failure tells all
                    assert (covered >= exact * (1 - 1e-9) - 1e-13).all()
                    continue
                for k in range(2, branch.ladder.length + 1):
                    for other in (k - 1, k, k + 1):
                        if other >= 2:
                            exact = exact_curve(run, branch, k, other, x)
                            assert (covered >= exact * (1 - 1e-9) - 1e-13).all()


def test_a_twin_with_half_the_mass_of_large_losses_is_caught(runs: list[Costs]) -> None:
    run, x = runs[1], np.linspace(0.2, 1.0, 81)
    losses = losses_of(run)[0]
    twin = replace(losses, masses=np.where(losses.levels > 0.3, 0.5 * losses.masses, losses.masses))
    branch = run.menu[0]
    assert isinstance(branch, Tested)
    worst = np.max([exact_curve(run, branch, k, k + 1, x) for k in range(2, branch.ladder.length)], axis=0)
    assert (curve(twin, x) < worst).any()


def test_the_moment_is_that_of_the_atoms(runs: list[Costs]) -> None:
    for order in (2.0, 8.4, 31.0):
        losses = losses_of(runs[0])[0]
        terms = [mass * math.exp((order - 1) * level) for level, mass in zip(losses.levels, losses.masses, strict=True)]
        exact = math.log(math.fsum(terms) / (1 - losses.told))
        assert exact <= losses.moment(order) <= exact * (1 + 1e-9) + 1e-9


def test_a_gaussian_costs_its_known_moment() -> None:
    """ln E e^{(order - 1) L} = order (order - 1) mu² / 2, in closed form; what is cut off goes to the reserve."""
    budget = Budget(1.0, 1e-6)
    branch = calibrate_bounded(budget)
    run = Costs(budget, ADD, (), (branch,))
    for order in (2.0, 6.0):
        prices = [(losses.moment(order), losses.told) for losses in losses_of(run)]
        moment, told = max(prices)
        assert moment == pytest.approx(order * (order - 1) * branch.mu**2 / 2, rel=0.03)
        assert branch.failure < told < 1.1 * branch.failure


def test_the_filtered_core_is_covered_by_its_lifting_and_cheaper_than_its_promise() -> None:
    budget = Budget(1.0, 1e-6)
    branch = calibrate_filtered(budget)
    run = Costs(budget, ADD, (), (branch,), filtered=True)
    x = np.linspace(1e-3, 1.0, 333)
    inner = hockey_stick(branch.mu, np.log1p(x / 2)) + branch.failure
    lifted = np.minimum.accumulate(np.expm1(x) / (x / 2) * inner)  # P1, by hand
    assert all((curve(losses, x) >= np.minimum(1, lifted) * (1 - 1e-6) - 1e-9).all() for losses in losses_of(run))
    price = Charge(budget, (run,)).price(8.0, 14.0, 2e-6)
    assert price.moment < 0.5 * promised_price(budget, 8.0).moment


def test_any_promise_costs_the_moment_of_randomised_response() -> None:
    for epsilon in (0.01, 0.6, 3.0):
        truth = math.exp(epsilon) / (1 + math.exp(epsilon))
        for order in (1.5, 2.0, 12.0):
            exact = truth * math.exp((order - 1) * epsilon) + (1 - truth) * math.exp(-(order - 1) * epsilon)
            price = promised_price(Budget(epsilon, 1e-7), order)
            assert math.log(exact) * (1 - 1e-12) <= price.moment <= math.log(exact) * (1 + 1e-9) + 1e-9
            assert price.reserve == 1e-7


@pytest.mark.parametrize("order", [9.0, 13.0, 20.0])
def test_a_box_full_of_gaussians_keeps_the_promise_and_wastes_little(order: float) -> None:
    box = Box.holding(2.0, 1e-5, order)
    mu = math.sqrt(2 * box.moment / (order * (order - 1)))
    exact = box.reserve + (1 - box.reserve) * float(hockey_stick(mu, 2.0))
    assert exact <= 1e-5
    if order == 13.0:
        assert mu > 0.85 * largest_mu(2.0, 1e-5)


# The worst analyst: after every answer chooses, by that answer, what to ask next, as far as the filter lets them.

ASKED = (Budget(0.3, 0.002), Budget(0.6, 0.004))
TOTAL = Budget(1.5, 0.08)


def worst(decide, total: Budget, most: int = 40) -> float:
    """sup over all strategies of the divergence at the total epsilon, every release a randomised response."""

    @cache
    def value(account: Account, level: int, steps: int) -> float:
        x = 0.3 * level
        best = max(0.0, -math.expm1(x)) if x < 0 else 0.0
        for budget in ASKED if steps < most else ():
            debit = decide(account, Charge(budget))
            if debit is not None:
                best = max(best, answered(account.after(debit), level, steps + 1, budget))
        return best

    def answered(after: Account, level: int, steps: int, budget: Budget) -> float:
        jump, truth = round(budget.epsilon / 0.3), 1 / (1 + math.exp(-budget.epsilon))
        inside = truth * value(after, level - jump, steps) + (1 - truth) * value(after, level + jump, steps)
        return budget.delta + (1 - budget.delta) * inside

    return value(Account(total), round(total.epsilon / 0.3), 0)


def test_the_worst_adaptive_analyst_stays_within_the_total() -> None:
    found = worst(Account.decide, TOTAL)
    assert 0.1 * TOTAL.delta < found <= TOTAL.delta


def test_box_and_adding_each_stay_within_the_total() -> None:
    def added(account: Account, charge: Charge) -> Debit | None:
        debit = Debit(charge.budget)
        return debit if account.admits(debit) else None

    def boxed(account: Account, charge: Charge) -> Debit | None:
        box = account.box or Box.holding(TOTAL.epsilon * (1 - 1e-9), TOTAL.delta * (1 - 1e-9), 5.0)
        price = charge.price(box.order, box.moment, box.reserve)
        debit = Debit(charge.budget, price, None if account.box else box)
        return debit if account.admits(debit) else None

    for rule in (added, boxed):
        assert 0 < worst(rule, TOTAL, 12) <= TOTAL.delta


def test_a_twin_that_adds_nothing_is_caught() -> None:
    def forgetful(account: Account, charge: Charge) -> Debit | None:
        debit = Account(account.total).decide(charge)
        return None if debit is None else Debit(charge.budget, Price(0.0, 0.0), debit.opens)

    assert worst(forgetful, TOTAL, 10) > TOTAL.delta


def test_a_twin_that_opens_a_new_box_for_every_debit_is_caught() -> None:
    """Boxes of several orders, each within its own total: the analyst takes from whichever has room."""

    def generous(account: Account, charge: Charge) -> Debit | None:
        for order in (2.0, 4.0, 8.0):
            box = Box.holding(TOTAL.epsilon, TOTAL.delta, order)
            price = charge.price(order, box.moment, box.reserve)
            if account.debits * price.moment / 2 < box.moment:  # counts every second debit
                return Debit(charge.budget, price, box)
        return None

    assert worst(generous, TOTAL, 14) > TOTAL.delta


def test_the_slack_of_discrete_noise_is_charged() -> None:
    """M8 by hand: a factor and a shift of 1e-6·epsilon, and a tail of a thousandth of delta."""
    branch = calibrate_bounded(SMALL)
    run, x = Costs(SMALL, ADD, (), (branch,)), np.linspace(0.05, 2.5, 99)
    ideal = hockey_stick(branch.mu, x - 1e-6) + branch.failure
    exact = math.exp(1e-6) * ideal + 1e-3 * SMALL.delta
    assert (run_profile(run, x) >= exact * (1 - 1e-11)).all()
    assert all(losses.told >= branch.failure + 0.999e-3 * SMALL.delta for losses in losses_of(run))


def test_a_box_ends_where_either_of_its_parts_does() -> None:
    box = Box.holding(2.9, 0.9e-5, 9.0)
    account = Account(Budget(3.0, 1e-5)).admitted(Debit(SMALL, Price(0.1, 0.1e-6), replace(box, reserve=0.19e-6)))
    assert account is not None
    for price, fits in (
        (Price(0.1, 0.09e-6), True),
        (Price(0.1, 0.0900001e-6), False),
        (Price(box.moment - 0.1 - 1e-9, 0.0), True),
        (Price(box.moment - 0.1 + 1e-9, 0.0), False),
        (Price(math.inf, 0.0), False),
    ):
        assert account.admits(Debit(SMALL, price)) is fits


def test_a_box_is_opened_once_no_larger_than_what_is_left_and_ends_adding() -> None:
    total, small = Budget(3.0, 1e-5), Budget(0.2, 1e-7)
    account = Account(total).admitted(Debit(small))
    assert account is not None
    price = Price(0.1, 1e-9)
    left = Box.holding(2.8 * (1 - 1e-9), 0.99e-5 * (1 - 1e-9), 9.0)
    assert not account.admits(Debit(small, price, Box.holding(3.0, 1e-5, 9.0)))
    assert not account.admits(Debit(small, price, replace(left, moment=left.moment + 1e-3)))
    assert not account.admits(Debit(small, price, replace(left, reserve=left.reserve * 1.001)))
    opened = account.admitted(Debit(small, price, left))
    assert opened is not None
    assert not opened.admits(Debit(small, price, left))
    assert not opened.admits(Debit(small))


def test_runs_one_after_another_cost_the_sum_of_their_prices(runs: list[Costs]) -> None:
    large, limits = Budget(50.0, 0.9), (3.0, 4.0, 1e-2)  # a promise that nobody would charge by
    parts = [Charge(large, (run,)).price(*limits) for run in runs[:2]]
    both = Charge(large, tuple(runs[:2])).price(*limits)
    assert both.moment == pytest.approx(parts[0].moment + parts[1].moment, rel=1e-9)
    assert both.reserve == pytest.approx(parts[0].reserve + parts[1].reserve, rel=1e-9)
    assert both.moment > 1.2 * max(part.moment for part in parts)
