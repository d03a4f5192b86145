"""What the kernel refuses, and that nothing but charged noise leaves it, whatever a program does."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from privacy.asked import (
    BUDGET,
    RECORDS,
    Asked,
    branches_with_test,
    core,
    gaussian_branches,
    open_session,
    session_with_test,
    space_of,
)
from privacy.test_queries import QUERIES

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import Calibration, shortest_ladder
from dimfree.accounting.events import Gaussian, OnlyGaussian, Tested
from dimfree.accounting.precision import compose, largest_mu
from dimfree.kernel import KernelError, NoisyCounts, PrivateTable, Session
from dimfree.kernel.rows.space import Space
from dimfree.kernel.session import ChargedNoise
from dimfree.kernel.statistics.clipped_sum import Ball
from dimfree.kernel.statistics.soft_histogram import Offsets
from dimfree.kernel.statistics.unit_vectors import DirectionCenter
from dimfree.shapes import IsotropicCovariance

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
RELATIONS = (ADD, REPLACE)
EDGES = np.array([0.5, 1.0, 2.0])
BALL = Ball(np.zeros(3), 1.0, 1.0)


def table(relation=ADD, noise=None, budget=BUDGET):
    return PrivateTable(space_of(RECORDS), budget, relation, Asked() if noise is None else noise)


# ---- opening


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_table_is_opened_once_and_one_branch_is_taken(relation):
    private, branches = table(relation), branches_with_test(relation)
    session = private.open(branches)
    with pytest.raises(KernelError, match="opened once"):
        private.open(branches)
    with pytest.raises(KernelError, match="no branch is taken"):
        session.count_again(1.0)
    session.take(branches.branches[-1])
    with pytest.raises(KernelError, match="taken, once"):
        session.take(branches.branches[0])


@pytest.mark.parametrize("relation", RELATIONS)
def test_branches_that_exceed_the_budget_are_refused(relation):
    wide = gaussian_branches(relation, Budget(21.0, 1e-3))
    with pytest.raises(KernelError, match="exceed the budget"):
        table(relation).open(wide)
    louder = replace(
        gaussian_branches(relation), untested=OnlyGaussian(gaussian_branches(relation).branches[0].mu * 1.01)
    )
    with pytest.raises(KernelError, match="exceed the budget"):
        table(relation).open(louder)
    table(relation).open(gaussian_branches(relation))


def test_branches_that_the_released_count_chooses_from_are_charged_together():
    """Each of two fits alone, tight at the budget; under add-remove the count could choose the worse one (P9)."""
    most, tight = largest_mu(1.0, 1e-2), largest_mu(1.0, 0.99e-2)
    before = most / 4
    tested_mu = math.sqrt((most / 1.3) ** 2 - before**2)
    tested = Tested(shortest_ladder(1.0, 0.99e-2, before, tested_mu, 0.01), tested_mu)
    untested = OnlyGaussian(math.sqrt(tight**2 - before**2))

    def opened_with(*branches: Tested, last: OnlyGaussian | None) -> Session:
        return table(ADD, budget=Budget(1.0, 1e-2)).open(Calibration(1 / before, branches, untested=last))

    opened_with(tested, last=None), opened_with(last=untested)
    with pytest.raises(KernelError, match="exceed the budget"):
        opened_with(tested, last=untested)


def test_the_count_is_released_under_add_remove_and_only_there():
    with pytest.raises(KernelError, match="count is released"):
        table(ADD).open(gaussian_branches(REPLACE))
    with pytest.raises(KernelError, match="count is released"):
        table(REPLACE).open(gaussian_branches(ADD))
    with pytest.raises(KernelError, match="private"):
        _ = table(ADD).public_count
    assert table(REPLACE).public_count == 60


def test_only_a_branch_that_was_opened_can_be_taken():
    session = table().open(gaussian_branches(ADD))
    with pytest.raises(KernelError, match="One of the opened"):
        session.take(OnlyGaussian(100.0))


# ---- charges


class Unread(Space):
    """Records that must not be looked at."""

    def sum_over(self, *_: object, **__: object) -> np.ndarray:
        raise AssertionError("a record was read")

    listed = chosen_blocks = sum_over


def unread_view(relation=ADD):
    space = Unread(space_of(RECORDS).records, IsotropicCovariance(1.0))
    noise = Asked()
    branches = gaussian_branches(relation)
    session = PrivateTable(space, BUDGET, relation, noise).open(branches)
    noise.log.clear()
    return session, session.take(branches.branches[0]), noise


# distances and a ring are made before anything is asked of them; nothing of either leaves before a charge
ASKING = [name for name in QUERIES if not name.startswith(("ring", "friends", "second count"))]


@pytest.mark.parametrize("mu", [math.nan, math.inf, -math.inf, -0.1, 0.0, 1e300, 1e6])
@pytest.mark.parametrize("name", ASKING)
def test_a_cost_that_is_no_number_or_too_high_is_refused_before_a_record_is_read(name, mu):
    session, view, noise = unread_view()
    with np.errstate(all="ignore"), pytest.raises(KernelError):
        QUERIES[name](session, view, mu)
    assert noise.log == []
    assert session.costs().after == ()


@pytest.mark.parametrize("name", ASKING)
def test_a_charge_comes_before_a_record_is_read(name):
    session, view, _ = unread_view()
    with pytest.raises(AssertionError, match="a record was read"):
        QUERIES[name](session, view, 0.1)
    assert len(session.costs().after) == 1


class Peeking(Ball):
    """A program's own class, whose code would see records."""

    def offsets(self, values, columns, step=1.0):
        raise AssertionError("a program saw records")


def test_a_program_passes_no_code():
    _, view, _ = unread_view()
    for ask in (
        lambda: view.sum_clipped(Peeking(np.zeros(3), 1.0, 1.0), 0.1, "p"),
        lambda: view.histograms(type("Own", (Offsets,), {})(np.zeros(3), np.ones(3)), np.arange(3), 0.1, "p"),
        lambda: view.rescale(type("Own", (IsotropicCovariance,), {})(1.0)),
        lambda: view.directions(DirectionCenter(np.zeros(3), np.ones(3)), object()),
    ):
        with pytest.raises(KernelError, match="own classes"):
            ask()


def test_no_more_noise_is_drawn_than_was_charged():
    noise = ChargedNoise(Gaussian("p", 1.0, 10.0, 3, 1.0), Asked())
    noise.draw(2)
    with pytest.raises(KernelError, match="More numbers"):
        noise.draw(2)
    with pytest.raises(KernelError, match="More numbers"):
        noise.draw(-1)
    _, view = open_session(RECORDS, ADD, Asked())
    answers = view.within(BALL, EDGES, 2, 0.1)
    answers.at(0.5), answers.at(0.5)
    with pytest.raises(KernelError, match="More numbers"):
        answers.at(0.5)
    with pytest.raises(KernelError, match="finite"):
        view.within(BALL, EDGES, 2, 0.1).at(math.nan)


def test_a_sample_by_a_mask_answers_no_sums():
    _, view = open_session(RECORDS, ADD, Asked())
    sample = view.poisson_sample(0.5)
    for ask in (lambda: sample.sum_clipped(BALL, 0.1, "p"), lambda: sample.poisson_sample(0.5)):
        with pytest.raises(KernelError, match="all records"):
            ask()


# ---- the stability test


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_test_that_does_not_pass_closes_the_session(relation):
    session, view, branch, _ = session_with_test(relation, heads=False)
    assert core(view, branch, relation) is None
    with pytest.raises(KernelError, match="did not pass"):
        view.sum_clipped(BALL, 0.01, "p")
    with pytest.raises(KernelError, match="one stability test"):
        core(view, branch, relation)
    assert session.costs().after == ()


@pytest.mark.parametrize("relation", RELATIONS)
def test_one_test_and_what_follows_within_the_branch(relation):
    session, view, branch, _ = session_with_test(relation)
    searched = view.pairs(0).friends(Fraction(1, 2), 3, branch.search_mu / 2)
    with pytest.raises(KernelError, match="exceeds"):
        view.sum_clipped(BALL, branch.search_mu, "p")  # before the test: what is left of the searches
    assert core(view, branch, relation).event.mu == pytest.approx(branch.mu / 2)
    with pytest.raises(KernelError, match="one stability test"):
        core(view, branch, relation)
    view.sum_clipped(BALL, branch.mu / 2, "p")
    with pytest.raises(KernelError, match="exceeds"):
        view.sum_clipped(BALL, branch.mu / 2 * 1.5, "p")
    costs = session.costs()
    assert costs.searches == (searched.event,)
    assert [event.purpose for event in costs.after] == ["mean", "p"]
    assert costs.delta() <= BUDGET.delta


# ---- random programs


class RandomProgram(RuleBasedStateMachine):
    """Any queries, at any price, in any order: what is drawn is what is charged, and never more than the branch."""

    def __init__(self) -> None:
        super().__init__()
        self.noise = Asked()
        self.session, self.view, self.branch, _ = session_with_test(ADD, self.noise)
        self.answers: list[NoisyCounts] = []

    @rule(name=strategies.sampled_from(sorted(QUERIES)), share=strategies.floats(-0.1, 1.2))
    def ask(self, name: str, share: float) -> None:
        self.try_shares(lambda: QUERIES[name](self.session, self.view, share * self.branch.mu))

    @rule(share=strategies.floats(0, 1.2))
    def search(self, share: float) -> None:
        self.try_shares(lambda: self.view.pairs(0).friends(Fraction(1, 2), 4, share * self.branch.search_mu))

    @rule(share=strategies.floats(0, 1.2))
    def core(self, share: float) -> None:
        self.try_shares(lambda: core(self.view, self.branch, ADD, mu=share * self.branch.mu))

    @rule(stddev=strategies.floats(0.1, 1e4))
    def count_again(self, stddev: float) -> None:
        self.try_shares(lambda: self.session.count_again(stddev))

    @precondition(lambda self: self.answers)
    @rule(place=strategies.integers(0, 10))
    def answer(self, place: int) -> None:
        self.try_shares(lambda: self.answers[place % len(self.answers)].at(1.0))

    def try_shares(self, ask) -> None:
        before, drawn = self.session.costs(), self.drawn
        try:
            found = ask()
        except KernelError:
            assert self.session.costs() == before
            assert self.drawn == drawn
            return
        self.answers += [found] if isinstance(found, NoisyCounts) else []

    @property
    def drawn(self) -> int:
        """Draws that are added to something: keys of a ring are not."""
        return sum(kind != "below" for kind, _, _ in self.noise.log)

    @invariant()
    def what_is_drawn_is_charged(self) -> None:
        costs = self.session.costs()
        charged = {}
        for event in (*costs.searches, *costs.after):
            charged[event.stddev] = charged.get(event.stddev, 0) + event.dimension
        for kind, stddev, size in self.noise.log:
            if kind == "gaussian":
                charged[stddev] = charged.get(stddev, 0) - size
        assert min(charged.values(), default=0) >= 0

    @invariant()
    def no_limit_is_exceeded(self) -> None:
        costs = self.session.costs()  # raises if its own sums exceed the branch
        assert compose(event.mu for event in costs.searches) <= self.branch.search_mu * (1 + 1e-9)
        assert compose(event.mu for event in costs.after) <= self.branch.mu * (1 + 1e-9)
        assert costs.delta() <= BUDGET.delta


TestRandomPrograms = RandomProgram.TestCase
TestRandomPrograms.settings = settings(max_examples=30, stateful_step_count=15, deadline=None)


def test_sessions_of_the_kernel_are_closed_objects():
    """No attribute is added to a kernel object by mistake."""
    _, view = open_session(RECORDS, ADD, Asked())
    for each in (view, view.pairs(0), view.ring(0), table(), open_session(RECORDS, ADD, Asked())[0]):
        with pytest.raises(AttributeError):
            each.records = RECORDS
    assert isinstance(view._session, Session)
