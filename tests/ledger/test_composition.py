"""What a ledger composes: against an independent accountant, in one language, and without much work."""

import json
import math
from itertools import pairwise
from pathlib import Path

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from dimfree import BudgetExceededError, PrivacyLedger
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import calibrate_bounded
from dimfree.accounting.events import Costs, OnlyGaussian, Tested
from dimfree.accounting.sharing import price_gaussian_opening, price_opening
from dimfree.ledger import spending, store
from dimfree.ledger.entries import DEBIT, Entry
from dimfree.ledger.filter import SHARES, Account, largest_next
from dimfree.ledger.ledger import datasets_in
from dimfree.ledger.spending import Charge
from dimfree.programs.run import UNKNOWN

ADD = Neighbors.ADD_REMOVE
OLD = Path(__file__).with_name("old_entries.json")  # of a ledger that added up promises, then opened one order


def soft(epsilon: float, delta: float) -> Charge:
    budget = Budget(epsilon, delta)
    return Charge(budget, (Costs(budget, ADD, (), (calibrate_bounded(budget),)),))


def columns(epsilon: float, delta: float) -> Charge:
    budget = Budget(epsilon, delta)
    return Charge(budget, (price_gaussian_opening(budget),))


def with_a_test(epsilon: float, delta: float) -> Charge:
    budget = Budget(epsilon, delta)
    return Charge(budget, (price_opening(budget, 0.005, **UNKNOWN),))


def other_software(epsilon: float, delta: float) -> Charge:
    return Charge(Budget(epsilon, delta))


def filled(total: tuple[float, float], charges: list[Charge]) -> list[Account]:
    """The accounts after each of the charges that fit."""
    accounts = [Account(Budget(*total))]
    for charge in charges:
        debit = accounts[-1].decide(charge)
        if debit is None:
            break
        accounts.append(accounts[-1].after(debit))
    return accounts[1:]


def oracle(charges: list[Charge], delta: float) -> float:
    """epsilon(delta) by dp_accounting, of Gaussians and of (epsilon, delta)-private releases."""
    found = None
    for charge in charges:
        budget, step = charge.budget, 1e-3
        if charge.runs:
            [run], mus = charge.runs, [event.mu for run in charge.runs for event in run.before]
            [branch] = run.branches
            mu = math.sqrt(branch.mu**2 + sum(each**2 for each in mus))
            assert isinstance(branch, OnlyGaussian)
            one = pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=step)
        else:
            parameters = pld.common.DifferentialPrivacyParameters(budget.epsilon, budget.delta)
            one = pld.from_privacy_parameters(parameters, value_discretization_interval=step)
        found = one if found is None else found.compose(one)
    return found.get_epsilon_for_delta(delta)


@pytest.mark.parametrize(
    ("total", "charges", "wasted"),
    [
        ((3.0, 1e-5), [columns(0.5, 1e-7)] * 10, 1.25),
        ((1.0, 1e-6), [columns(0.1, 1e-8)] * 50, 1.25),
        ((8.0, 1e-5), [columns(1.0, 1e-6)] * 20, 1.25),
        ((8.0, 1e-4), [columns(1.0, 1e-6), other_software(0.5, 1e-6), columns(0.3, 1e-7)] * 4, 1.3),
        ((2.0, 1e-5), [other_software(0.05, 1e-9)] * 30, 1.3),
        ((3.0, 1e-5), [other_software(1.0, 1e-6)] * 3, 1.001),
    ],
)
def test_what_is_spent_agrees_with_an_independent_accountant(total, charges, wasted) -> None:
    """Never below what the charges compose to if they are fixed beforehand, and not far above."""
    account = filled(total, charges)[-1]
    assert account.debits == len(charges)
    exact = oracle(charges, total[1])
    assert exact * (1 - 1e-3) <= account.spent_epsilon <= wasted * exact
    assert account.spent_epsilon <= min(total[0], sum(charge.budget.epsilon for charge in charges) * (1 + 1e-12))


KINDS = (soft, columns, with_a_test, other_software)


@pytest.mark.parametrize("total", [(0.5, 1e-6), (2.0, 2e-6), (8.0, 1e-5)])
def test_what_is_spent_rises_to_the_total_and_what_is_next_falls(total) -> None:
    charges = [kind(total[0] / part, total[1] / 100) for part in (30, 12) for kind in KINDS] * 12
    accounts = filled(total, charges)
    spent = [account.spent_epsilon for account in accounts]
    assert 4 < len(accounts) < len(charges)
    assert all(low < high for low, high in pairwise(spent))
    assert 0.7 * total[0] < spent[-1] <= total[0]
    following = [largest_next(account, total[1] / 50) for account in accounts]
    epsilons = [0.0 if each is None else each.epsilon for each in following]
    assert all(low >= high * (1 - 1e-3) for low, high in pairwise(epsilons))
    for account, each in zip(accounts, following, strict=True):
        if each is not None:
            assert account.decide(Charge(each)) is not None
            assert account.decide(Charge(Budget(1.01 * each.epsilon, each.delta))) is None


def test_never_less_than_adding_up_halves_of_the_total() -> None:
    for kind in KINDS:
        assert len(filled((2.0, 2e-6), [kind(1.0, 1e-6)] * 2)) == 2
        assert len(filled((1.0, 1e-6), [kind(1.0, 1e-6)])) == 1
        first, second = filled((2.0, 1e-5), [kind(1.0, 1e-6), other_software(1.0, 1e-6)])
        assert 0.9 < first.spent_epsilon <= 1.0
        assert second.spent_epsilon == 2.0


@pytest.mark.parametrize(("total", "least"), [((3.0, 1e-5), 28), ((8.0, 1e-5), 150)])
def test_tested_releases_compose_far_beyond_their_sum(total, least) -> None:
    assert len(filled(total, [with_a_test(0.3, 1e-8)] * 200)) >= least


def test_one_language_from_the_first_charge(tmp_path: Path) -> None:
    for total in (2.0, 3.0):
        ledger = PrivacyLedger(tmp_path / "study.db", f"{total}", epsilon=total, delta=1e-5)
        assert str(ledger.status()) == (
            f"0 charges: epsilon 0 of {total:.6g} is spent at delta 1e-05; "
            f"the next release may use up to epsilon {total!r} (delta 1e-05)"
        )
        ledger.charge(columns(0.25, 1e-7), terms=ledger.terms)
        ledger.charge(columns(0.25, 1e-7), terms=ledger.terms)
        status = ledger.status()
        assert 0.25 < status.spent_epsilon < 0.5
        assert status.next_budget.delta == 1e-7
        assert total - 0.5 < status.next_budget.epsilon <= total - 0.3
        assert (status.charges, status.private, status.total) == (2, True, Budget(total, 1e-5))
        with pytest.raises(BudgetExceededError) as caught:
            ledger.debit(total, 1e-7)
        for text in (ledger.statement(), str(caught.value)):
            assert f"2 charges: epsilon {status.spent_epsilon:.4g} of {total:.6g} is spent at delta 1e-05" in text
            assert f"up to epsilon {status.next_budget.epsilon!r} (delta 1e-07)" in text
        assert "No budget was charged" in str(caught.value)
        ledger.debit(status.next_budget.epsilon, status.next_budget.delta)


def test_a_charge_evaluates_each_branch_once_at_few_levels(monkeypatch) -> None:
    """What took seconds: the curves of long ladders. A refusal tries no other release, and a status prices promises."""
    levels, asked = [], Tested.without_searches
    spending.losses_of.cache_clear()
    monkeypatch.setattr(Tested, "without_searches", lambda self, x: (levels.append(len(x)), asked(self, x))[1])
    charge = with_a_test(0.3, 1e-7)
    branches = sum(isinstance(branch, Tested) for branch in charge.runs[0].branches)
    levels.clear()  # of the calibration
    account = Account(Budget(0.5, 1e-5))
    while (debit := account.decide(charge.prepare())) is not None:
        account = account.after(debit)
        largest_next(account, 1e-7)
    assert levels == [102] * branches
    assert largest_next(account, 1e-7) is None or account.debits == 1


@pytest.mark.parametrize("total", [0.5, 2.0, 8.0])
def test_a_charge_and_a_status_price_a_bounded_number_of_candidates(monkeypatch, total) -> None:
    calls = []
    price = Charge.price
    monkeypatch.setattr(Charge, "price", lambda self, room: (calls.append(1), price(self, room))[1])
    account = Account(Budget(total, 1e-5))
    for _ in range(15):
        for kind in (columns, with_a_test):
            calls.clear()
            debit = account.decide(kind(total / 20, 1e-7))
            assert len(calls) <= len(SHARES)
            largest_next(account, 1e-7)
            assert len(calls) <= 500
            account = account if debit is None else account.after(debit)


def rebuilt(path: Path) -> None:
    """A file of an older version, as it wrote the entries."""
    PrivacyLedger(path, "new", epsilon=1.0, delta=1e-6)
    with store.writing(path, 30) as transaction:
        for row in json.loads(OLD.read_text()):
            transaction.append(Entry(**row))


def test_older_ledgers_open_and_keep_their_totals(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    rebuilt(path)
    assert datasets_in(path) == ["added", "composed", "new", "opened"]
    spent = {name: PrivacyLedger(path, name).status().spent_epsilon for name in datasets_in(path)}
    assert (spent["opened"], spent["added"]) == (0.0, 0.7)
    assert 1.5 < spent["composed"] < 3.0  # epsilon 1 added, then four charges by moments of one order
    for name in datasets_in(path):
        ledger = PrivacyLedger(path, name)
        assert ledger.verify() == []
        before, debits = ledger.status().spent_epsilon, ledger.account().debits
        ledger.debit(0.2, 1e-8).note_outcome(refused=False)
        assert ledger.status().spent_epsilon > before
        assert ledger.account().debits == debits + 1
        with pytest.raises(BudgetExceededError):
            ledger.debit(ledger.terms.budget.epsilon, 1e-8) if before else ledger.debit(4.0, 1e-8)
        while (following := ledger.status().next_budget) is not None and following.epsilon > 0.05:
            ledger.debit(min(following.epsilon, 0.5), following.delta)
        assert ledger.status().spent_epsilon <= ledger.terms.budget.epsilon
        assert ledger.verify() == []


def test_an_older_filter_keeps_its_one_order_and_its_limits(tmp_path: Path) -> None:
    rebuilt(tmp_path / "study.db")
    ledger = PrivacyLedger(tmp_path / "study.db", "composed")
    before = ledger.account()
    ledger.debit(0.1, 1e-8)
    after = ledger.account()
    assert before.filter == after.filter
    assert (len(after.filter.orders), after.filter.delta) == (1, 0.0)
    assert after.added_epsilon == before.added_epsilon == 1
    assert after.moments[0] > before.moments[0]
    written = ledger.entries()[-1]
    assert written.event == DEBIT
    assert isinstance(written.content["price"]["moment"], float)  # older versions read it on


@pytest.mark.parametrize("total", [(0.0011, 0.99), (1.0, 0.9), (100.0, 0.5), (0.0011, 1e-12)])
def test_a_status_of_an_odd_total_names_what_fits(tmp_path: Path, total: tuple[float, float]) -> None:
    ledger = PrivacyLedger(tmp_path / "study.db", "trial", epsilon=total[0], delta=total[1])
    ledger.charge(columns(max(total[0] / 9, 1e-3), max(total[1] / 20, 1e-12)), terms=ledger.terms)
    status = ledger.status()
    assert 0 < status.spent_epsilon <= total[0]
    for following, kind in ((status.next_budget, other_software), (status.next_gaussian, columns)):
        if following is not None:
            assert ledger.account().decide(kind(following.epsilon, following.delta)) is not None


@pytest.mark.parametrize("epsilon", [1e20, 1e40, 1e300])
def test_a_total_without_measure_is_no_foreign_error(tmp_path: Path, epsilon: float) -> None:
    with PrivacyLedger(tmp_path / "study.db", "trial", epsilon=epsilon, delta=1e-6) as ledger:
        ledger.debit(1.0, 1e-8)
        status = ledger.status()
        assert status.charges == 1
        assert 0 < status.spent_epsilon <= 1.0
        assert ledger.verify() == []
