"""The columns route foretold: within 25 % of real releases, by the same public rule, and shown in a plan."""

import json

import numpy as np
import pytest
from dimfree.planning.columns_noise import simulated_route
from dimfree.planning.course import course

from dimfree import plan, release_mean, tradeoff
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.errors import InvalidParameter
from dimfree.noise import SeededNoise
from dimfree.planning.outlook import outlook, smallest_count, whole_mu
from dimfree.planning.predict import TOO_FEW_COLUMNS, predict
from dimfree.planning.question import Question
from dimfree.planning.spectra import draw
from dimfree.planning.tradeoff import Tradeoff

WITHIN = 0.25
DELTA = 1e-6


def asked(count, spread, epsilon=1.0, **rest):
    return Question(count, spread, Budget(epsilon, DELTA), **{"objective": "relative", **rest})


def released(question, spread, seed):
    X, _ = draw(np.ones(len(spread)), question.count, np.random.default_rng([77, seed]))
    X *= spread  # each column's mean about ten deviations from 0
    promise = {"epsilon": question.budget.epsilon, "delta": DELTA, "neighbours": question.relation}
    return X, release_mean(X, **promise, objective=question.objective, noise=SeededNoise(seed))


def measured(question, spread, draws=10):
    """Root mean squares: the noise that releases state, and their error, to which the exact sampling error is added."""
    units = spread * np.sqrt(len(spread)) if question.objective == "relative" else 1.0
    noises, errors = [], []
    for seed in range(draws):
        X, release = released(question, spread, seed)
        assert release.method == "columns"
        noises.append(float(((release.noise_stddev / units) ** 2).sum()))
        errors.append(float((((release.mean - X.mean(axis=0)) / units) ** 2).sum()))
    return float(np.sqrt(np.mean(noises))), float(np.sqrt(np.mean(errors) + question.sampling**2))


@pytest.mark.parametrize(
    ("count", "spread", "epsilon", "rest"),
    [
        (600, 10.0 ** np.linspace(-3, 4, 20), 1.0, {}),
        (900, np.ones(5), 4.0, {"relation": Neighbours.REPLACE_ONE}),
        (4000, 10.0 ** np.linspace(-3, 4, 150), 1.0, {}),
        (2000, np.array([1.0]), 1.0, {"objective": "total"}),
        (4000, np.array([1.0, 3.0, 10.0]), 1.0, {"objective": "total"}),
    ],
    ids=["mixed units", "replace-one", "wide", "one column", "total"],
)
def test_noise_and_error_are_within_a_quarter_of_real_releases(count, spread, epsilon, rest):
    question = asked(count, spread, epsilon, **rest)
    found, (noise, error) = predict(question), measured(question, spread)
    assert found.noise == pytest.approx(noise, rel=WITHIN)
    assert found.error == pytest.approx(error, rel=WITHIN)
    assert found.how == "simulation"


def test_thinning_hardly_matters(monkeypatch):
    """A tenth of the simulated records: the same noise within a fifth."""
    question = asked(20_000, np.ones(10))
    whole = predict(question).noise
    monkeypatch.setattr("dimfree.planning.thinned_table.TABLE_ENTRIES", 2**11)
    other = asked(20_000, np.ones(10), outliers=0.031)  # an unlike key; the columns route ignores it
    assert predict(other).noise == pytest.approx(whole, rel=0.2)


def test_units_do_not_matter_to_the_relative_objective():
    one, other = asked(1000, np.ones(12)), asked(1000, 10.0 ** np.arange(-6, 6))
    assert one == other
    assert predict(one).sampling == pytest.approx(1000**-0.5)


@pytest.mark.parametrize("objective", ["total", "relative"])
@pytest.mark.parametrize("relation", list(Neighbours))
def test_the_route_and_its_shares_are_those_of_a_release(objective, relation):
    question = asked(3000, np.ones(4), objective=objective, relation=relation)
    _, taken = released(question, np.ones(4), 1)
    foretold, shares = course(question), dict(course(question).shares)
    assert (foretold.method, foretold.pass_probability) == (taken.method, pytest.approx(1.0))
    whole = whole_mu(question.budget) ** 2
    assert sum(shares.values()) == pytest.approx(1.0)
    spent = sum(event.mu**2 for event in taken.ledger.after) / whole
    assert 1 - shares["test and choice"] - shares.get("number of records", 0.0) == pytest.approx(spent, rel=1e-3)
    final = next(event.mu**2 for event in taken.ledger.after if event.purpose == "mean") / whole
    assert shares["mean"] == pytest.approx(final, rel=0.15)


@pytest.mark.parametrize("columns", [1, 5, 40])
def test_the_core_is_foretold_where_it_is_taken(columns):
    for count in (700, 3000):
        question = asked(count, np.ones(columns), objective="total")
        _, taken = released(question, np.ones(columns), 2)
        assert course(question).method == taken.method


def test_the_smallest_count_is_where_real_refusals_end(rng):
    question = asked(1, np.ones(6), relation=Neighbours.REPLACE_ONE)
    least = smallest_count(question)
    for count, refused in ((least - 1, True), (least, False)):
        promise = {"epsilon": 1.0, "delta": DELTA, "neighbours": "replace-one", "objective": "relative"}
        assert release_mean(rng.normal(size=(count, 6)), **promise, noise=SeededNoise(1)).refused == refused
        assert predict(asked(count, np.ones(6), relation=Neighbours.REPLACE_ONE)).refused == refused
    few = predict(asked(10, np.ones(6)))
    assert (few.error, few.remark) == (np.inf, TOO_FEW_COLUMNS)
    assert f"about {smallest_count(asked(10, np.ones(6)))} would do" in course(asked(10, np.ones(6))).why


def test_a_plan_finds_records_and_epsilon():
    found = plan(objective="relative", d=20, accuracy=0.1, epsilon=1.0, delta=DELTA)
    assert (found.solved_for, found.objective, found.spectrum) == ("n", "relative", "any units")
    assert predict(asked(found.n, np.ones(20))).error <= 0.1 < predict(asked(int(found.n / 1.1), np.ones(20))).error
    again = plan(objective="relative", d=20, accuracy=0.1, n=found.n, delta=DELTA)
    assert again.epsilon == pytest.approx(1.0, rel=0.1)
    assert found.free == (found.prediction.noise <= found.prediction.sampling)
    assert found.needs == ()
    assert json.loads(found.to_json())["objective"] == "relative"


def test_a_plan_for_the_total_error_goes_by_columns_where_the_release_does():
    found = plan(n=3000, spectrum=[1.0, 4.0], epsilon=1.0, delta=DELTA)
    assert found.course.method == "columns"
    assert found.accuracy == predict(asked(3000, np.array([1.0, 4.0]), objective="total")).error


def test_a_curve_in_the_columns_own_units():
    curve = tradeoff(n=[200, 1000, 4000], d=10, epsilon=1.0, delta=DELTA, objective="relative")
    assert [row.refused for row in curve.rows] == [True, False, False]
    assert "each column's own standard deviations" in curve.conditions()
    assert Tradeoff.from_json(curve.to_json()) == curve


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"knowledge": "covariance"}, "knowledge='nothing'"),
        ({"peers": True}, "peers=False"),
        ({"objective": "each"}, "objective"),
        ({"d": None}, "d and accuracy missing"),
    ],
)
def test_what_does_not_go_together_is_said(changes, words):
    given = {"n": 1000, "d": 5, "epsilon": 1.0, "delta": DELTA, "objective": "relative", "spectrum": None, **changes}
    with pytest.raises(InvalidParameter, match=words):
        plan(**given)


def test_the_same_question_has_the_same_answer():
    question = asked(1000, np.ones(7))
    one = simulated_route(question)
    simulated_route.__globals__["simulated_columns"].cache_clear()
    other = simulated_route(question)
    assert np.array_equal(one.variances, other.variances)
    assert outlook(question).run.by_columns == "relative"
