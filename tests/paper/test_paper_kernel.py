"""The kernel of the paper's algorithms: charges come first and fit the budget; then what both algorithms owe."""

import copy
import math

import numpy as np
import pytest
from contracts.test_extreme_noise import EXTREMES, SIZED_BY_THE_COUNT, FarNoise, check
from recording import RecordingNoise

from dimfree import BudgetExceededError, PrivacyLedger, Release
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.data.records import as_records
from dimfree.errors import InvalidDataError, InvalidParameterError
from dimfree.kernel import KernelError
from dimfree.noise import SeededNoise
from dimfree.paper import algorithm1, algorithm2, variance_profile
from dimfree.paper.algorithms import LOW_WEIGHT
from dimfree.paper.averaging import Block
from dimfree.paper.kernel import PaperTable
from dimfree.paper.unknown_covariance import MAX_LIFTED
from dimfree.programs.run import DROPPED, OUT_OF_RANGE, TOO_FEW
from dimfree.shapes import DenseCovariance, DiagonalCovariance, IsotropicCovariance

RELATIONS = list(Neighbors)
BUDGET = Budget(1.0, 1e-6)
BLOCK = Block(IsotropicCovariance(1.0), 20.0)


def table(relation=Neighbors.ADD_REMOVE, *, noise=None, rows=None, missing="raise", debit=None):
    rows = np.arange(3000.0)[:, None] % 7 * np.ones(3) if rows is None else rows
    noise = noise or RecordingNoise()
    return PaperTable(as_records(rows), BUDGET, relation, noise, missing=missing, debit=debit)


def share(part):
    return Budget(part * BUDGET.epsilon, part * BUDGET.delta)


def one_way(part):
    """What an average may cost under add-remove so that it costs this part under replace-one."""
    epsilon = part * BUDGET.epsilon / 2
    return Budget(epsilon, part * BUDGET.delta / (1 + math.exp(epsilon)))


# ---- the filter

QUERIES = {  # each asks for a part of the budget
    "laplace_count": lambda t, part: t.laplace_count(part * BUDGET.epsilon),
    "gaussian_count": lambda t, part: t.gaussian_count(1 / (part * t.mu) if part else math.inf),
    "halves": lambda t, part: t.halves(share(part)),
    "average": lambda t, part: t.average(BLOCK, one_way(part) if t.relation == "replace-one" else share(part)),
    "kth_largest": lambda t, part: t.groups(100, 8).kth_largest(1, share(part)),
    "top": lambda t, part: t.groups(100, 8).top(1.0, 2, share(part)),
    "each": lambda t, part: t.groups(100, 8).each([0, 2], share(part)),
    "total": lambda t, part: t.groups(100, 8).total([0, 1, 2], share(part)),
    "search_total": lambda t, part: t.groups(100, 8).search_total(4.0 ** np.arange(-3, 9), part * t.mu),
    "mean_log_counts": lambda t, part: t.groups(100, 8).mean_log_counts(4.0 ** np.arange(3), part * t.mu),
}
GAUSSIAN = ("gaussian_count", "search_total", "mean_log_counts")


def draws(noise):
    """What was drawn, without the coins of halves and groups."""
    return [kind for kind, _, _ in noise.asked if kind != "below"]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("query", QUERIES)
def test_a_query_beyond_the_budget_is_refused_before_anything_is_drawn(query, relation):
    noise = RecordingNoise()
    with pytest.raises(KernelError, match="exceeds the rest"):
        QUERIES[query](table(relation, noise=noise), 1.01)
    assert draws(noise) == []


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("query", QUERIES)
def test_what_is_left_is_what_was_not_charged(query, relation):
    """Six tenths are released and composed, six more refused, and another query gets nothing either."""
    noise = RecordingNoise()
    t, part = table(relation, noise=noise), math.sqrt(0.6) if query in GAUSSIAN else 0.6
    QUERIES[query](t, part)
    drawn = draws(noise)
    assert 0 <= t.composition.delta() <= BUDGET.delta
    with pytest.raises(KernelError):
        QUERIES[query](t, part)
    with pytest.raises(KernelError):
        QUERIES["mean_log_counts" if query in GAUSSIAN else "total"](t, part)
    assert draws(noise) == drawn
    assert len(t.composition.losses) == 1


def test_gaussians_and_other_losses_do_not_mix():
    """No filter is proved for the two together."""
    t = table()
    t.laplace_count(0.1)
    with pytest.raises(KernelError, match="not both"):
        t.gaussian_count(1e6)


@pytest.mark.parametrize("bad", [math.nan, 0.0, -1.0, math.inf])
def test_odd_costs_are_refused(bad):
    noise = RecordingNoise()
    t = table(noise=noise)
    for ask in (
        lambda: t.laplace_count(bad),
        lambda: t.gaussian_count(bad),
        lambda: t.groups(10, 8).search_total(np.ones(4), bad),
        lambda: t.groups(10, 8).mean_log_counts(np.ones(4), bad),
    ):
        with pytest.raises((KernelError, InvalidParameterError, ZeroDivisionError)):
            ask()
    assert draws(noise) == []
    assert not t.composition.losses


def test_the_halves_share_one_charge_and_each_has_its_own_filter():
    t = table()
    halves = t.halves(share(0.9))
    assert len(t.composition.losses) == 1
    for half in halves:
        half.laplace_count(0.8)
        with pytest.raises(KernelError):
            half.laplace_count(0.2)
        with pytest.raises(KernelError, match="a half no Gaussians"):
            half.gaussian_count(1e9)
        with pytest.raises(KernelError, match="not split again"):
            half.halves(share(0.01))
    with pytest.raises(KernelError):
        t.laplace_count(0.2)


@pytest.mark.parametrize("relation", RELATIONS)
def test_every_record_is_in_one_half(relation):
    t = table(relation, noise=SeededNoise(1))
    first, second = t.halves(share(0.5))
    assert (first._chosen ^ second._chosen).all()
    sizes = first._chosen.sum(), second._chosen.sum()
    assert sizes == (1500, 1500) if relation is Neighbors.REPLACE_ONE else 1300 < sizes[0] < 1700


def test_under_replace_one_an_average_is_charged_both_ways():
    """From x to nobody and on to x': (2ε, (1 + e^ε)δ)."""
    t = table(Neighbors.REPLACE_ONE)
    t.average(BLOCK, Budget(0.4, 1e-7))
    [charged] = t.composition.losses
    assert charged.epsilon == 0.8
    assert (1 + math.exp(0.4)) * 1e-7 <= charged.delta <= (1 + math.exp(0.4)) * 1e-7 * (1 + 1e-13)


def test_the_count_is_private_under_add_remove_only():
    assert table(Neighbors.REPLACE_ONE).public_count == 3000
    with pytest.raises(KernelError, match="private"):
        table().public_count  # noqa: B018 - it raises


def test_objects_of_the_kernel_are_not_copied_and_take_no_foreign_block():
    t = table()
    for held in (t, t.groups(3, 8)):
        with pytest.raises(KernelError, match="cannot be copied"):
            copy.copy(held)

    class Mine(Block):
        pass

    groups = t.groups(3, 8)
    for edges in (np.ones((2, 2)), np.ones(0), "wide", np.ones(301)):
        with pytest.raises((KernelError, InvalidParameterError)):
            groups.mean_log_counts(edges, 0.1 * t.mu)
    with pytest.raises(KernelError, match="so many groups"):
        t.groups(2**28, 8)
    with pytest.raises(KernelError, match="own classes"):
        t.average(Mine(IsotropicCovariance(1.0), 1.0), share(0.1))


@pytest.mark.parametrize("query", QUERIES)
def test_validity_and_ledger_come_before_the_first_draw(query):
    noise, seen = RecordingNoise(), []
    spoiled = np.full((40, 3), np.nan)
    t = table(noise=noise, rows=spoiled, debit=lambda: seen.append(len(noise.asked)))
    with pytest.raises(InvalidDataError):
        QUERIES[query](t, 0.5)
    assert (noise.asked, seen) == ([], [])
    t = table(noise=noise, rows=spoiled, missing="complete-case", debit=lambda: seen.append(len(noise.asked)))
    QUERIES[query](t, 0.5)
    QUERIES["average" if query not in GAUSSIAN else "gaussian_count"](t, 0.1)
    assert seen == [0]


# ---- what both algorithms owe

CALLS = {"algorithm1": lambda X, **more: algorithm1(X, radius=25.0, **more), "algorithm2": algorithm2}
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
every_relation = pytest.mark.parametrize("relation", RELATIONS)
ASKED = {"epsilon": 1.0, "delta": 1e-6}


@pytest.fixture
def X():  # noqa: N802 - a table
    return np.random.default_rng(5).normal(size=(4000, 4)) + 3


@every_call
@every_relation
def test_a_release_keeps_its_budget_and_repeats_with_its_seed(X, call, relation):
    found, again, other = (call(X, **ASKED, neighbors=relation, noise=SeededNoise(seed)) for seed in (1, 1, 2))
    assert found == again != other
    assert found.charges.delta() <= 1e-6
    assert (found.guarantee.neighbors, found.guarantee.private) == (relation, False)
    assert (np.abs(found.mean - 3) < 7 * found.noise_stddev).all()
    assert Release.from_json(found.to_json()) == found
    assert np.isinf(found.confidence_interval()).all()  # intervals cover the noise alone


@every_call
@every_relation
def test_a_neighbor_gives_the_same_charges(X, call, relation):
    """Under replace-one also the same public parameters; the count is released under add-remove."""
    other = X[1:] if relation is Neighbors.ADD_REMOVE else np.concatenate([[[9e9] * 4], X[1:]])
    found, near = (call(each, **ASKED, neighbors=relation, noise=SeededNoise(1)) for each in (X, other))
    assert found.charges == near.charges
    if relation is Neighbors.REPLACE_ONE:
        assert found.parameters == near.parameters


@every_call
def test_missing_rows_raise_or_are_dropped(X, call):
    X[::500, 1] = np.nan
    noise = RecordingNoise()
    with pytest.raises(InvalidDataError):
        call(X, **ASKED, noise=noise)
    assert noise.asked == []
    found = call(X, **ASKED, missing="complete-case", noise=SeededNoise(1))
    assert (np.abs(found.mean - 3) < 7 * found.noise_stddev).all()
    with pytest.raises(InvalidParameterError, match="missing"):
        call(X, **ASKED, missing="available-case")


@every_call
@every_relation
@pytest.mark.parametrize("count", [0, 1, 3, 200])
def test_few_records_are_refused(call, relation, count):
    found = call(
        np.arange(4.0 * count).reshape(count, 4) * 1e3,
        **ASKED,
        neighbors=relation,
        missing="complete-case",
        noise=SeededNoise(1),
    )
    assert found.refusal.removesuffix(DROPPED) in (TOO_FEW, LOW_WEIGHT)
    assert found.refusal.endswith(DROPPED)
    assert found.charges.delta() <= 1e-6


@every_call
def test_numbers_out_of_range_are_a_refusal_that_is_charged(X, call, monkeypatch):
    monkeypatch.setattr("dimfree.shapes.DiagonalCovariance.restore", lambda *_: np.full(4, math.inf))
    monkeypatch.setattr("dimfree.shapes.IsotropicCovariance.restore", lambda *_: np.full(4, math.inf))
    found = call(X, **ASKED, noise=SeededNoise(1))
    assert found.refusal == OUT_OF_RANGE
    assert found.charges.losses


@every_call
@every_relation
def test_any_released_numbers_end_in_a_release_or_a_refusal(call, relation):
    """Noise thousands of standard deviations out raises no error."""
    rows, budget = np.random.default_rng(1).normal(size=(400, 3)) + 3, {"epsilon": 4.0, "delta": 1e-3}
    for signs, deviations, at in EXTREMES:
        if abs(deviations) <= SIZED_BY_THE_COUNT:
            check(call(rows, neighbors=relation, **budget, noise=FarNoise(signs, deviations, at)))


@every_call
def test_all_rows_of_a_person_are_one_record(X, call):
    people = np.repeat(np.arange(4000), 2)
    found = call(np.repeat(X, 2, axis=0), **ASKED, privacy_unit=people, noise=SeededNoise(1))
    assert found.guarantee.privacy_unit == "person"
    assert found.mean.tolist() == call(X, **ASKED, noise=SeededNoise(1)).mean.tolist()


@every_call
def test_a_ledger_is_charged_before_anything_is_drawn(X, call, tmp_path):
    ledger, noise = PrivacyLedger(tmp_path / "ledger.db", dataset="d", epsilon=1.5, delta=1e-5), RecordingNoise()
    call(X, **ASKED, ledger=ledger, noise=SeededNoise(1))
    with pytest.raises(BudgetExceededError):
        call(X, **ASKED, ledger=ledger, noise=noise)
    assert noise.asked == []


# ---- algorithm 1


@every_relation
def test_any_m_and_any_radius(X, relation):
    """Without noise: the mean of the friends, an outlier left out; the noise has the shape of M^(1/2)."""
    X[7] = 1e5
    root = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    M = root @ np.diag([16.0, 4.0, 1.0, 1.0]) @ root.T
    for known in (
        {"covariance": M},
        {"covariance": DenseCovariance(M)},
        {"covariance": [4.0, 1, 1, 1]},
        {"covariance": IsotropicCovariance(2.0)},
        {},
    ):
        found = algorithm1(X, **ASKED, radius=60.0, neighbors=relation, noise=RecordingNoise(), **known)
        assert found.mean == pytest.approx(np.delete(X, 7, axis=0).mean(axis=0), abs=2e-3)
        twice = algorithm1(X, **ASKED, radius=120.0, neighbors=relation, noise=RecordingNoise(), **known)
        assert twice.noise_stddev == pytest.approx(2 * found.noise_stddev)
    found = algorithm1(X, **ASKED, radius=60.0, neighbors=relation, noise=RecordingNoise(), covariance=M)
    values, vectors = np.linalg.eigh(M)
    diagonal = np.diag(vectors @ np.diag(np.sqrt(values)) @ vectors.T)
    assert found.noise_stddev**2 / diagonal == pytest.approx(np.full(4, (found.noise_stddev**2).sum() / 8))
    principal = found.error_model.noise_principal
    assert principal / principal[-1] == pytest.approx([4, 2, 1, 1])
    assert found.parameters["radius"] == 60.0


def test_replace_one_pays_for_both_ways(X):
    found, both = (algorithm1(X, **ASKED, radius=25.0, neighbors=each, noise=SeededNoise(1)) for each in RELATIONS)
    assert both.noise_stddev[0] > 1.8 * found.noise_stddev[0]
    much = algorithm1(X, epsilon=99.0, delta=1e-6, radius=25.0, neighbors="replace-one", noise=SeededNoise(1))
    assert much.charges.losses[0].epsilon <= 2 * MAX_LIFTED


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"radius": 0.0}, "radius"),
        ({"radius": math.inf}, "radius"),
        ({"radius": "wide"}, "radius"),
        ({"covariance": np.ones(3)}, "covariance"),
        ({"covariance": np.full(4, 1e200)}, "covariance"),
        ({"covariance": DiagonalCovariance(np.ones(3))}, "covariance"),
        ({"covariance": "auto"}, "covariance"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"ledger": 5}, "ledger"),
    ],
)
def test_bad_parameters_are_named_before_anything_is_drawn(X, given, word):
    noise = RecordingNoise()
    with pytest.raises(InvalidParameterError, match=word):
        algorithm1(X, **{**ASKED, "radius": 25.0, "noise": noise, **given})
    assert noise.asked == []


def test_the_failure_probability_is_checked():
    with pytest.raises(InvalidParameterError, match="failure_probability"):
        algorithm2(np.ones((5, 2)), **ASKED, failure_probability=2.0)
    with pytest.raises(InvalidParameterError, match="missing"):
        variance_profile(np.ones((5, 2)), **ASKED, missing="available-case")


# ---- the names
