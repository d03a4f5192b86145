"""The program of a third party (examples/own_program.py): it answers, and its mistakes are refused or charged."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from privacy.asked import Asked, space_of

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.events import Costs
from dimfree.kernel import KernelError, PrivateTable, View
from dimfree.testing import SeededNoise

PROGRAM = runpy.run_path(str(Path(__file__).parents[2] / "examples/own_program.py"))
ROWS = np.random.default_rng(1).gamma(2.0, 30.0, size=(5000, 1))
BUDGET = Budget(1.0, 1e-6)
both = pytest.mark.parametrize("relation", list(Neighbors))


def released(relation, noise=None, **given):
    table = PrivateTable(space_of(ROWS), BUDGET, relation, SeededNoise(3) if noise is None else noise)
    return PROGRAM["clipped_mean"](table, **given)


@both
def test_it_releases_a_mean_within_its_budget(relation):
    mean, stddev, bound, costs = released(relation)
    assert 64 <= bound <= 256
    assert abs(mean - np.minimum(ROWS, bound).mean()) < 4 * stddev + 0.02 * mean
    assert costs.delta() <= BUDGET.delta
    assert [event.purpose for event in costs.after] == ["lengths of the records", "clipped mean"]


@both
def test_one_record_moves_it_through_charged_releases_alone(relation):
    """With the same answers the program gives the same result, whatever the records are."""
    still = Asked()
    assert released(relation, still)[3].after == released(relation, Asked())[3].after
    assert sum(size for kind, _, size in still.log if kind == "gaussian") == sum(
        event.dimension for event in (*released(relation, Asked())[3].before, *released(relation, Asked())[3].after)
    )


@both
def test_a_program_that_asks_for_ten_times_less_noise_is_refused(monkeypatch, relation):
    right = View.sum_clipped
    monkeypatch.setattr(View, "sum_clipped", lambda self, ball, mu, purpose: right(self, ball, 10 * mu, purpose))
    with pytest.raises(KernelError, match="exceeds the rest"):
        released(relation)


@both
def test_a_program_that_pays_twice_with_the_same_budget_is_refused(monkeypatch, relation):
    """The budget is not lowered after the histogram."""
    right = View.lengths
    monkeypatch.setattr(View, "lengths", lambda self, ball, edges, mu: right(self, ball, edges, mu / 0.3))
    with pytest.raises(KernelError, match="exceeds the rest"):
        released(relation)


@both
def test_a_release_that_a_program_forgets_is_charged(monkeypatch, relation):
    right = View.lengths

    def twice(self, ball, edges, mu):
        right(self, ball, edges, mu / 2)  # its answer is thrown away
        return right(self, ball, edges, mu / 2)

    monkeypatch.setattr(View, "lengths", twice)
    costs: Costs = released(relation)[3]
    assert [event.purpose for event in costs.after] == 2 * ["lengths of the records"] + ["clipped mean"]


def test_a_table_is_opened_once():
    table = PrivateTable(space_of(ROWS), BUDGET, Neighbors.ADD_REMOVE, SeededNoise(3))
    PROGRAM["clipped_mean"](table)
    with pytest.raises(KernelError, match="opened once"):
        PROGRAM["clipped_mean"](table)
