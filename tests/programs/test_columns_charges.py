"""What a run by columns is charged: count and branch on every path, few releases, nothing for a public refusal."""

import numpy as np
import pytest
from mechanisms.kept import space_of
from recording import RecordingNoise

from dimfree import Options, SeededNoise, release_mean
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.discrete import MOST_RELEASES
from dimfree.accounting.events import OnlyGaussian
from dimfree.accounting.precision import compose
from dimfree.ledger.charging import charge_of
from dimfree.programs.columns import opening
from dimfree.programs.columns.reading import Places
from dimfree.programs.columns.run import refuse_columns, release_columns
from dimfree.programs.run import Run
from dimfree.request import Request

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
every_relation = pytest.mark.parametrize("relation", list(Neighbours))


def run_on(rows, relation, **given):
    request = Request.checked(
        **BUDGET, objective="relative", neighbours=relation, options=Options(), noise=SeededNoise(0), **given
    )
    table = np.random.default_rng(0).normal(size=(rows, 3))
    return Run.of(request, space_of(table).records)


@every_relation
def test_count_and_branch_are_charged_and_the_persistent_ledger_pays_for_the_same(relation):
    run = run_on(2000, relation)
    release = release_columns(run)
    (branch,) = release.ledger.menu
    assert isinstance(branch, OnlyGaussian)
    assert compose(event.mu for event in release.ledger.after) < branch.mu
    assert compose(event.mu for event in release.ledger.after) > branch.mu * (1 - 1e-8)
    (charged,) = charge_of("columns", run).runs
    assert (charged.before, charged.menu) == (release.ledger.before, release.ledger.menu)
    assert release.ledger.delta() <= BUDGET["delta"]


def test_a_refusal_by_the_released_count_is_charged_like_an_answer():
    refused, answered = (release_columns(run_on(rows, ADD)).ledger for rows in (10, 2000))
    assert refused.chosen is None
    assert (refused.before, refused.menu) == (answered.before, answered.menu)
    assert refused.after == ()


def test_a_refusal_by_the_public_count_costs_and_draws_nothing():
    run = run_on(10, REPLACE)
    refused = refuse_columns(run)
    assert refused.refused
    assert refused.ledger.events == ()
    assert refused.ledger.delta() == 0
    assert refuse_columns(run_on(2000, REPLACE)) is None
    noise = RecordingNoise()
    found = release_mean(np.ones((10, 3)), **BUDGET, objective="relative", neighbours="replace-one", noise=noise)
    assert found.refusal == refused.refusal
    assert vars(noise) == vars(RecordingNoise())


def undecided(shares, noise, miscount):
    """A reading that stays in doubt for ever, and never comes nearer."""
    one = np.ones(len(shares))
    return Places(10 * one, one, 2 * one, one, one, 0 * one)


def test_a_column_that_stays_in_doubt_ends_the_looks(monkeypatch):
    """However columns read, there are fewer releases than the discrete noise is charged for (P17)."""
    monkeypatch.setattr(opening, "read_places", undecided)
    table = np.zeros((400, 3000))
    table[:, 0] = 5 + np.random.default_rng(0).normal(size=400)
    release = release_mean(table, epsilon=100.0, delta=1e-2, objective="relative", noise=SeededNoise(0))
    assert not release.refused
    assert len(release.ledger.after) < MOST_RELEASES
