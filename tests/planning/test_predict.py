"""Predictions: within 10 % of what real releases do, by formulas that can be checked by hand where there are any."""

import math

import numpy as np
import pytest
from dimfree.comparison.baselines.clipped import clipped
from dimfree.comparison.baselines.not_private import oracle_floor
from dimfree.comparison.contestants import CONTESTANTS
from dimfree.planning.peers import predict_peers
from dimfree.planning.thinned import simulated
from dimfree.planning.thinned_table import Table
from planning.measured import PROMISE, asked, measured
from scipy.stats import chi2

from dimfree import release_mean
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.errors import InvalidParameter
from dimfree.noise import SeededNoise
from dimfree.planning.outlook import smallest_count
from dimfree.planning.predict import _predicted, predict, stddevs_of_public
from dimfree.planning.question import Question
from dimfree.planning.spectra import DISTANCE, draw
from dimfree.programs.choose.constants import WIDE_MOST, WIDE_REACH
from dimfree.programs.learn import radius
from dimfree.programs.run import NO_SCALE, TOO_FEW

WITHIN = 0.10
FAST = [("S4", 100, 1000, "covariance", 12), ("S3", 100, 1000, "covariance", 15), ("S4", 50, 2500, "nothing", 5)]
GRID = [
    (name, dimension, count, knowledge)
    for dimension in (100, 1000)
    for count in (1000, 4000)
    for name in ("S1", "S2", "S3", "S4", "S5")
    for knowledge in ("covariance", "nothing")
]


@pytest.mark.parametrize(("name", "dimension", "count", "knowledge", "draws"), FAST)
def test_a_prediction_is_within_ten_per_cent_of_real_releases(name, dimension, count, knowledge, draws):
    question = asked(name, dimension, count, knowledge)
    assert predict(question).error == pytest.approx(measured(question, draws), rel=WITHIN)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dimension", "count", "knowledge"), GRID)
def test_predictions_are_within_ten_per_cent_over_the_grid(name, dimension, count, knowledge):
    question = asked(name, dimension, count, knowledge)
    assert predict(question).error == pytest.approx(measured(question, 120), rel=WITHIN)


@pytest.mark.parametrize("knowledge", ["covariance", "nothing"])
def test_the_parts_add_up_and_the_sampling_error_is_exact(knowledge):
    found = predict(asked("S2", 20, 3000, knowledge))
    assert found.sampling == pytest.approx(math.sqrt(sum(i**-2.0 for i in range(1, 21)) / 3000))
    assert found.error**2 == pytest.approx(found.sampling**2 + found.noise**2 + found.bias**2)
    assert found.how == {"covariance": "closed form", "nothing": "simulation"}[knowledge]


def test_the_quantile_of_equal_variances_is_that_of_chi_square():
    found = predict(asked("S4", 40, 3000, "covariance"), confidence=0.9)
    assert found.error_within == pytest.approx(found.error * math.sqrt(chi2.ppf(0.9, 40) / 40), rel=1e-6)


def test_known_noise_depends_on_units_and_not_on_the_order_of_columns():
    spread = np.array([3.0, 1.0, 0.5, 0.25, 0.1])
    one = predict(Question(2000, spread, Budget(**PROMISE), knowledge="covariance"))
    other = predict(Question(2000, 8 * spread[::-1], Budget(**PROMISE), knowledge="covariance"))
    assert other.error == pytest.approx(8 * one.error, rel=0.01)


def test_more_records_never_hurt_and_noise_falls_as_their_inverse():
    counts = (20_000, 80_000, 320_000)
    noises = [predict(asked("S4", 30, count, "covariance", tails="gaussian")).noise for count in counts]
    assert noises[0] / noises[1] == pytest.approx(4, rel=0.15)
    assert noises[1] / noises[2] == pytest.approx(4, rel=0.15)


def test_where_noise_is_small_the_ball_is_widened_by_half_at_most(monkeypatch):
    """Until the noise is a fifth of the sampling error, were there no such bound."""

    def at_most(factor):
        monkeypatch.setattr(radius, "WIDE_MOST", factor)
        _predicted.cache_clear()
        return predict(asked("S4", 30, 320_000, "covariance"))

    narrow, usual, wide = (at_most(factor) for factor in (1.0, WIDE_MOST, math.inf))
    _predicted.cache_clear()
    assert usual.noise == pytest.approx(WIDE_MOST * narrow.noise, rel=0.05)
    assert wide.noise == pytest.approx(WIDE_REACH * wide.sampling, rel=0.05)


@pytest.mark.parametrize("knowledge", ["covariance", "nothing"])
def test_a_public_refusal_is_foretold(knowledge, rng):
    question = asked("S4", 5, 40, knowledge, relation=Neighbours.REPLACE_ONE)
    told = {"covariance": np.ones(5)} if knowledge == "covariance" else {}
    found = release_mean(rng.normal(size=(40, 5)), **PROMISE, neighbours="replace-one", noise=SeededNoise(1), **told)
    assert (found.refused, found.refusal) == (True, TOO_FEW)
    foretold = predict(question)
    assert (foretold.refused, foretold.remark, foretold.error) == (True, TOO_FEW, math.inf)


def test_a_scale_outside_the_window_is_foretold(rng):
    spread = np.full(60, 1e-9)  # for the core: fewer columns are read by themselves, whatever their scale
    found = release_mean(rng.normal(size=(1500, 60)) * spread, **PROMISE, noise=SeededNoise(1))
    foretold = predict(Question(1500, spread, Budget(**PROMISE)))
    assert (foretold.refused, foretold.remark) == (found.refused, found.refusal) == (True, NO_SCALE)


@pytest.mark.parametrize("knowledge", ["covariance", "nothing"])
def test_the_smallest_count_is_where_real_refusals_end(knowledge, rng):
    question = asked("S4", 3, 1, knowledge, relation=Neighbours.REPLACE_ONE)
    least = smallest_count(question)
    told = {"covariance": np.ones(3)} if knowledge == "covariance" else {}
    reasons = []
    for count in (least - 1, least):
        X = rng.normal(size=(count, 3))
        found = release_mean(X, **PROMISE, neighbours="replace-one", noise=SeededNoise(1), **told)
        reasons.append(found.refusal)
    assert reasons[0] == TOO_FEW
    assert reasons[1] != TOO_FEW


def test_simulated_tables_have_exact_moments():
    question = asked("S2", 12, 5000, "nothing")
    table = Table.of(question, 3)
    np.testing.assert_allclose(table.rows.mean(axis=0), table.mean, atol=1e-12)
    np.testing.assert_allclose(table.rows.std(axis=0), question.stddevs, rtol=1e-9)
    assert len(table.rows) * table.factor == 5000


def forget():
    simulated.cache_clear()
    _predicted.cache_clear()


def test_thinning_costs_no_accuracy(monkeypatch):
    """As many simulated records as there are to be, or a tenth: the same prediction but for luck."""
    question = asked("S3", 30, 2000, "nothing")
    whole = predict(question).error
    forget()
    monkeypatch.setattr("dimfree.planning.thinned_table.LENGTH_QUANTILES", 200)
    thin = predict(question).error
    forget()
    assert thin == pytest.approx(whole, rel=0.08)


def test_closed_forms_of_peers_are_within_ten_per_cent(monkeypatch):
    some = ("empirical mean", "oracle floor", "clipped mean", "CoinPress")
    monkeypatch.setattr("dimfree.planning.peers.CONTESTANTS", [each for each in CONTESTANTS if each.name in some])
    question = asked("S1", 20, 500, "nothing")
    spread = question.stddevs
    squares = {"oracle floor": [], "clipped mean": []}
    for index in range(60):
        X, mean = draw(spread, 500, np.random.default_rng([5, index]))
        radius = 10 * DISTANCE * float(np.linalg.norm(spread))
        answers = {
            "oracle floor": oracle_floor(X, **PROMISE, mean=mean, stddevs=spread, noise=SeededNoise(index)),
            "clipped mean": clipped(X, **PROMISE, radius=radius, noise=SeededNoise(index)),
        }
        for name, answer in answers.items():
            squares[name].append(((answer.mean - mean) ** 2).sum())
    found = {peer.name: peer for peer in predict_peers(question)}
    for name, each in squares.items():
        assert found[name].how == "closed form"
        assert found[name].error == pytest.approx(math.sqrt(np.mean(each)), rel=WITHIN)
    assert found["empirical mean"].error == pytest.approx(question.sampling)
    assert found["CoinPress"].how == "simulation"
    assert found["CoinPress"].error > found["oracle floor"].error


def test_what_cannot_be_foretold_says_why():
    large = predict_peers(asked("S4", 3, 10**7, "covariance", relation=Neighbours.REPLACE_ONE))
    found = {peer.name: peer for peer in large}
    assert "too large" in found["CoinPress"].remark
    assert "no proof" in found["Algorithm 1"].remark
    assert found["CoinPress"].how == "cannot"


def test_public_tables_tell_their_spread(rng):
    X = rng.normal(size=(400, 3)) * [1.0, 5.0, 0.0] + 7
    found = stddevs_of_public(X)
    np.testing.assert_allclose(found[:2], X[:, :2].std(axis=0))
    assert 0 < found[2] < 1e-6


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"knowledge": "all"}, "knowledge"), ({"outliers": 0.5}, "outliers"), ({"tails": "long"}, "tails")],
)
def test_a_question_names_what_is_wrong_with_it(changed, message):
    with pytest.raises(InvalidParameter, match=message):
        Question(100, np.ones(3), Budget(**PROMISE), **changed)
