"""The filter of a ledger against exact divergences: single runs of real menus, and the worst adaptive analyst."""

import math
from dataclasses import replace
from functools import cache
from statistics import NormalDist

import numpy as np
import pytest

from dimfree.accounting import discrete
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import calibrate_bounded, calibrate_filtered, calibrate_public_count
from dimfree.accounting.events import Costs, Tested
from dimfree.accounting.ladder import DENOMINATOR
from dimfree.accounting.precision import hockey_stick, largest_mu
from dimfree.accounting.sharing import price_gaussian_opening, price_opening
from dimfree.ledger.filter import SHARES, Account, Debit, Filter
from dimfree.ledger.spending import (
    GAUSSIAN,
    Charge,
    GaussianLosses,
    Losses,
    Price,
    Room,
    losses_of,
    price_guarantee,
    run_profile,
)

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
SMALL = Budget(1.0, 1e-3)


def curve(losses: Losses, x: np.ndarray) -> np.ndarray:
    """The divergence of the dominating pair, from its atoms."""
    inside = np.maximum(0.0, 1 - np.exp(x[:, None] - losses.levels))
    return losses.infinite + inside @ losses.masses


def exact_curve(run: Costs, branch: Tested, k: int, other: int, x: np.ndarray) -> np.ndarray:
    """Of one world: statistics k and k' on the ladder, both at least 2; the count's and the search's losses drawn."""
    p, q = (branch.ladder.numerator(each) / DENOMINATOR for each in (k, other))
    before = math.sqrt(sum(event.mu**2 for event in run.before) + branch.search_mu**2)
    here = p * hockey_stick(math.hypot(before, branch.mu), x - math.log(p / q))
    return here + (1 - p) * hockey_stick(before, x - math.log((1 - p) / (1 - q)))


@pytest.fixture(scope="module")
def runs() -> list[Costs]:
    branches = calibrate_public_count(SMALL, 0.01).branches
    return [
        price_opening(SMALL, 0.01, untested=True),
        price_opening(SMALL, 0.01, search_share=0.07),
        Costs(SMALL, REPLACE, (), branches),
    ]


def test_the_atoms_cover_every_world_of_every_branch_at_every_level(runs: list[Costs]) -> None:
    x = np.concatenate([np.linspace(-3.1, 3.1, 463), np.linspace(0.9, 1.4, 101)])  # not the levels of the code
    for run in runs:
        assert losses_of(run)[0].infinite < run.budget.delta
        for losses in losses_of(run):
            covered = curve(losses, x)
            for branch in run.branches:
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
    branch = run.branches[0]
    assert isinstance(branch, Tested)
    worst = np.max([exact_curve(run, branch, k, k + 1, x) for k in range(2, branch.ladder.length)], axis=0)
    assert (curve(twin, x) < worst).any()


def test_the_moments_are_those_of_the_atoms(runs: list[Costs]) -> None:
    losses, orders = losses_of(runs[0])[0], (2.0, 8.4, 31.0)
    for order, moment in zip(orders, losses.moments(orders), strict=True):
        terms = [mass * math.exp((order - 1) * level) for level, mass in zip(losses.levels, losses.masses, strict=True)]
        exact = math.log(math.fsum(terms) / (1 - losses.infinite))
        assert exact <= moment <= exact * (1 + 1e-9) + 1e-9


def test_a_gaussian_costs_its_known_moment() -> None:
    """ln E e^{(order - 1) L} = order (order - 1) mu² / 2, in closed form; what is cut off goes to the reserve."""
    budget = Budget(1.0, 1e-6)
    branch = calibrate_bounded(budget)
    run = Costs(budget, ADD, (), (branch,))
    for order in (2.0, 6.0):
        moment, told = max((losses.moments((order,))[0], losses.infinite) for losses in losses_of(run))
        assert moment == pytest.approx(order * (order - 1) * branch.mu**2 / 2, rel=0.03)
        assert branch.failure < told < 1.1 * branch.failure


def test_a_run_behind_the_random_filter_has_no_curve_here() -> None:
    budget = Budget(1.0, 1e-6)
    with pytest.raises(ValueError, match="by its guarantee"):
        losses_of(Costs(budget, ADD, (), (calibrate_filtered(budget),), filtered=True))


def test_any_guarantee_costs_the_moments_of_randomized_response() -> None:
    orders = (1.5, 2.0, 12.0)
    for epsilon in (0.01, 0.6, 3.0):
        truth = math.exp(epsilon) / (1 + math.exp(epsilon))
        price = price_guarantee(Budget(epsilon, 1e-7), orders)
        assert price.reserve == 1e-7
        for order, moment in zip(orders, price.moments, strict=True):
            exact = truth * math.exp((order - 1) * epsilon) + (1 - truth) * math.exp(-(order - 1) * epsilon)
            assert math.log(exact) * (1 - 1e-12) <= moment <= math.log(exact) * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("total", [(2.0, 1e-5), (0.1, 1e-8), (30.0, 0.1)])
def test_a_filter_full_of_gaussians_keeps_its_delta_and_wastes_little(shares, total) -> None:
    """Whichever order is filled: exactly the divergence of the largest Gaussian that this order admits."""
    limits, best = Filter.holding(*total, *shares), 0.0
    assert 0.99 * total[1] < limits.spends(total[0]) <= total[1]
    for order, most in zip(limits.orders, limits.moments, strict=True):
        mu = math.sqrt(max(0.0, most if order == GAUSSIAN else 2 * most / (order * (order - 1))))
        exact = limits.reserve + (1 - limits.reserve) * float(hockey_stick(mu, total[0]))
        assert limits.delta + exact <= total[1]
        best = max(best, mu)
    assert best > (0.8 if total[1] < 1e-4 else 0.6) * largest_mu(*total)


# The worst analyst: after every answer chooses, by that answer, what to ask next, as far as the filter lets them.

ASKED = (Budget(0.3, 0.002), Budget(0.6, 0.004))
TOTAL = Budget(1.5, 0.08)


MU = 2 * NormalDist().inv_cdf(1 / (1 + math.exp(-0.3)))


class Sign(Charge):
    """The sign of a Gaussian release of precision MU²: a randomized response of 0.3 at the price of the Gaussian."""

    def price(self, room: Room) -> Price:
        return Price(GaussianLosses(MU, 0.0).moments(room.orders), 0.0)


CHARGES = (*map(Charge, ASKED), Sign(Budget(0.3, 1e-12)))


def worst(decide, total: Budget, most: int = 40, asked: tuple[Charge, ...] = CHARGES[:2]) -> float:
    """sup over all strategies of the divergence at the total epsilon, every release a randomized response."""

    @cache
    def value(account: Account, level: int, steps: int) -> float:
        x = 0.3 * level
        best = max(0.0, -math.expm1(x)) if x < 0 else 0.0
        for charge in asked if steps < most else ():
            debit = decide(account, charge)
            if debit is not None:
                best = max(best, answer_learned(account.after(debit), level, steps + 1, charge.budget))
        return best

    def answer_learned(after: Account, level: int, steps: int, budget: Budget) -> float:
        jump, truth = round(budget.epsilon / 0.3), 1 / (1 + math.exp(-budget.epsilon))
        inside = truth * value(after, level - jump, steps) + (1 - truth) * value(after, level + jump, steps)
        return budget.delta + (1 - budget.delta) * inside

    return value(Account(total), round(total.epsilon / 0.3), 0)


def test_the_worst_adaptive_analyst_stays_within_the_total() -> None:
    found = worst(Account.decide, TOTAL)
    assert 0.1 * TOTAL.delta < found <= TOTAL.delta


def filter_with(shares: tuple[float, float, float], limit: Budget = TOTAL):
    """The rule of `Account.decide` with a filter of these shares from the first charge on."""
    limits = Filter.holding(limit.epsilon * (1 - 1e-9), limit.delta * (1 - 1e-9), *shares)

    def decide(account: Account, charge: Charge) -> Debit | None:
        if account.filter is not None:
            return account.decide(charge)
        debit = Debit(charge.budget, charge.price(Room(limits.orders, limits.moments, limits.reserve)), limits)
        return debit if account.admit(debit) else None

    return decide


@pytest.mark.parametrize("shares", [*SHARES, (0.0, 0.3, 0.0), (0.0, 0.2, 0.8 - 1e-6)])
def test_every_filter_and_adding_up_stay_within_the_total(shares) -> None:
    def added(account: Account, charge: Charge) -> Debit | None:
        debit = Debit(charge.budget)
        return debit if account.admit(debit) else None

    for rule in (added, filter_with(shares)):
        assert 0 < worst(rule, TOTAL, 12, CHARGES) <= TOTAL.delta


def test_a_mutant_that_lets_other_releases_pass_as_gaussian_is_caught() -> None:
    limits = Filter.holding(TOTAL.epsilon * (1 - 1e-9), TOTAL.delta * (1 - 1e-9), *SHARES[-1])
    assert limits.orders[0] == GAUSSIAN

    def forgetful(account: Account, charge: Charge) -> Debit | None:
        price = charge.price(Room(limits.orders, limits.moments, limits.reserve))
        free = price.moments[0] if isinstance(charge, Sign) else 0.0
        price = Price((free, *price.moments[1:]), 0.0)
        debit = Debit(charge.budget, price, None if account.filter else limits)
        return debit if account.admit(debit) else None

    assert worst(forgetful, TOTAL, 12, CHARGES) > TOTAL.delta


@pytest.mark.parametrize("budget", [(0.01, 1e-9), (0.3, 1e-7), (1.0, 1e-6), (3.0, 1e-3), (8.0, 1e-5)])
def test_one_gaussian_covers_a_run_of_gaussians_with_its_discrete_noise(budget) -> None:
    """M8 by hand: a factor and a shift of 1e-6·epsilon, and a tail. A mutant without the larger mu is caught."""
    run = price_gaussian_opening(Budget(*budget))
    losses, mu = losses_of(run)[0], math.hypot(run.before[0].mu, run.branches[0].mu)
    assert isinstance(losses, GaussianLosses)
    assert mu < losses.mu < mu + 3e-6 * budget[0] * (1 + mu)
    assert losses.infinite < 5e-3 * budget[1]
    x, slack = np.linspace(0.0, 4 * budget[0], 401), discrete.reserve(*budget)
    exact = math.exp(slack.ratio) * hockey_stick(mu, x - slack.epsilon) + slack.tail
    assert (losses.infinite + (1 - losses.infinite) * hockey_stick(losses.mu, x) >= exact * (1 - 1e-12)).all()
    assert (losses.infinite + (1 - losses.infinite) * hockey_stick(mu, x) < exact).any() or budget[1] > 1e-4


def test_a_twin_that_adds_nothing_is_caught() -> None:
    def forgetful(account: Account, charge: Charge) -> Debit | None:
        debit = Account(account.total).decide(charge)
        return None if debit is None else Debit(charge.budget)

    assert worst(forgetful, TOTAL, 10) > TOTAL.delta


def test_a_twin_with_a_filter_of_twice_the_total_is_caught() -> None:
    limits = Filter.holding(2 * TOTAL.epsilon, 4 * TOTAL.delta, 0.0, 0.5)

    def generous(account: Account, charge: Charge) -> Debit | None:
        price = charge.price(Room(limits.orders, limits.moments, limits.reserve))
        debit = Debit(charge.budget, price, None if account.filter else limits)
        after = account.after(debit)
        room = any(spent <= most for spent, most in zip(after.moments, limits.moments, strict=True))
        return debit if room and after.reserve <= limits.reserve else None

    assert worst(generous, TOTAL, 30) > TOTAL.delta


def test_the_slack_of_discrete_noise_is_charged() -> None:
    """M8 by hand: a factor and a shift of 1e-6·epsilon, and a tail of a thousandth of delta."""
    branch = calibrate_bounded(SMALL)
    run, x = Costs(SMALL, ADD, (), (branch,)), np.linspace(0.05, 2.5, 99)
    ideal = hockey_stick(branch.mu, x - 1e-6) + branch.failure
    exact = math.exp(1e-6) * ideal + 1e-3 * SMALL.delta
    assert (run_profile(run, x) >= exact * (1 - 1e-11)).all()
    assert all(losses.infinite >= branch.failure + 0.999e-3 * SMALL.delta for losses in losses_of(run))


ONE = Filter((9.0,), (20.0,), 1e-6)  # of an older ledger: one order, nothing for adding up


def test_a_filter_of_one_order_ends_where_either_of_its_parts_does() -> None:
    account = Account(Budget(3.0, 1e-5)).admit(Debit(SMALL, Price((0.1,), 0.5e-6), replace(ONE, moments=(10.0,))))
    assert account is not None
    for moment, reserve, fits in (
        (0.1, 0.4e-6, True),
        (0.1, 0.500001e-6, False),
        (9.9 - 1e-9, 0.0, True),
        (9.9 + 1e-9, 0.0, False),
        (math.inf, 0.0, False),
        (math.nan, 0.0, False),
    ):
        assert (account.admit(Debit(SMALL, Price((moment,), reserve))) is not None) is fits
    assert not account.admit(Debit(SMALL, Price((0.1, 0.1), 0.0)))
    assert account.admit(Debit(Budget(2.9, 1e-9), Price((0.1,), 0.0)))  # its price counts, not its promise


def test_a_charge_is_admitted_as_long_as_one_rule_holds() -> None:
    total = Budget(3.0, 1e-5)
    limits = Filter.holding(3.0 * (1 - 1e-9), 1e-5 * (1 - 1e-9), 0.4, 0.4)
    orders = len(limits.orders)
    dear, cheap = Price((1e6,) * orders, 1e-3), Price((1e-3,) * orders, 1e-12)
    small, large = Budget(1.0, 1e-6), Budget(4.0, 1e-3)
    account = Account(total).admit(Debit(small, dear, limits))  # by adding up
    assert account is not None
    assert account.spent_epsilon == 1.0
    assert account.admit(Debit(small, cheap))
    assert not account.admit(Debit(large, cheap))
    account = Account(total).admit(Debit(large, cheap, limits))  # by moments
    assert account is not None
    assert 0 < account.spent_epsilon < 3
    assert account.admit(Debit(small, cheap))
    assert not account.admit(Debit(small, dear))
    one_order = replace(limits, moments=(limits.moments[0], *((-1.0,) * (orders - 1))))
    account = Account(total).admit(Debit(large, cheap, one_order))  # one order is enough
    assert account is not None


def test_a_filter_is_opened_once_no_larger_than_what_is_left_and_ends_adding() -> None:
    total, small = Budget(3.0, 1e-5), Budget(0.2, 1e-7)
    account = Account(total).admit(Debit(small))
    assert account is not None
    left = Filter.holding(2.8 * (1 - 1e-9), 0.99e-5 * (1 - 1e-9), 0.4, 0.4)
    price = Price((0.1,) * len(left.orders), 1e-9)
    more = (left.moments[0] + 0.1, *left.moments[1:])
    for larger in (
        Filter.holding(3.0, 1e-5, 0.4, 0.4),
        replace(left, moments=more),
        replace(left, reserve=left.reserve * 1.001),
        replace(left, delta=left.delta * 1.001),
        replace(left, reserve=-1e-6),
        replace(left, moments=(math.nan, *left.moments[1:])),
        replace(left, orders=(1.0, *left.orders[1:])),
    ):
        assert not account.admit(Debit(small, price, larger))
    opened = account.admit(Debit(small, price, left))
    assert opened is not None
    assert not opened.admit(Debit(small, price, left))
    assert not opened.admit(Debit(small))
    assert not account.admit(Debit(small, price))  # no filter to take it from


def test_runs_one_after_another_cost_the_sum_of_their_prices(runs: list[Costs]) -> None:
    large, room = Budget(50.0, 0.9), Room((3.0, 9.0), (4.0, 9.0), 1e-2)  # a guarantee that nobody would charge by
    parts = [Charge(large, (run,)).price(room) for run in runs[:2]]
    both = Charge(large, tuple(runs[:2])).price(room)
    sums = [sum(each) for each in zip(*(part.moments for part in parts), strict=True)]
    assert both.moments == pytest.approx(sums, rel=1e-9)
    assert both.reserve == pytest.approx(parts[0].reserve + parts[1].reserve, rel=1e-9)
    assert both.moments[0] > 1.2 * max(part.moments[0] for part in parts)
