"""Predictions: within 15 % of real releases, with the same estimator, charges and refusals."""

import inspect
import math

import numpy as np
import pytest
from planning.measured import BUDGET, asked, measure_error, released

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.data.records import as_records
from dimfree.errors import InvalidParameterError
from dimfree.noise import SeededNoise
from dimfree.planning.predict import (
    TOO_FEW_COLUMNS,
    UNUSED,
    describe_course,
    find_smallest_count,
    predict,
    total_mu,
)
from dimfree.planning.question import Question, measure_public_stddevs
from dimfree.planning.simulated_table import MirroredNoise, SimulatedTable, simulate_records
from dimfree.programs.run import TOO_FEW
from dimfree.shapes import IsotropicCovariance

REPLACE = {"relation": Neighbors.REPLACE_ONE}
RELATIVE = {"objective": "relative"}
CELLS = [  # a question, and how many releases it is compared with
    (asked("S4", 100, 1000, "covariance"), 10),
    (asked("S2", 5, 1000, "covariance", **REPLACE), 40),
    (asked("S4", 1000, 1000), 2),
    (asked("S1", 1000, 1500, **REPLACE), 5),
    (asked("S4", 60, 2500), 6),
    (asked("S2", 3, 4000), 30),
    (asked("S4", 20, 2000, **RELATIVE), 20),
    (asked("S4", 100, 6000, **RELATIVE, **REPLACE), 5),
]


@pytest.mark.parametrize(("question", "draws"), CELLS, ids=lambda value: getattr(value, "dimension", None))
def test_a_prediction_is_within_15_percent_of_releases_and_has_their_method(question, draws):
    error, method = measure_error(question, draws)
    assert predict(question).error == pytest.approx(error, rel=0.15)
    assert describe_course(question).method == method


@pytest.mark.slow
@pytest.mark.parametrize("knowledge", ["covariance", "nothing"])
@pytest.mark.parametrize("name", ["S1", "S2", "S3", "S4"])
@pytest.mark.parametrize(("dimension", "count"), [(100, 1000), (100, 4000), (1000, 1000), (1000, 4000)])
def test_predictions_are_within_15_percent_over_the_grid(name, dimension, count, knowledge):
    question = asked(name, dimension, count, knowledge)
    assert predict(question).error == pytest.approx(measure_error(question, 60)[0], rel=0.15)


@pytest.mark.parametrize("question", [asked("S2", 20, 3000, "covariance"), asked("S2", 20, 3000)])
def test_the_parts_add_up_and_the_sampling_error_is_exact(question):
    found = predict(question)
    assert found.sampling == pytest.approx(math.sqrt(sum(i**-2.0 for i in range(1, 21)) / 3000))
    assert found.error**2 == pytest.approx(found.sampling**2 + found.noise**2 + found.bias**2)
    assert found.bias < 0.5 * found.noise


def test_units_scale_the_error_and_do_not_matter_to_the_relative_objective():
    spread = np.array([3.0, 1.0, 0.5, 0.25, 0.1])
    one, other = (
        predict(Question(2000, factor * spread, Budget(**BUDGET), knowledge="covariance")) for factor in (1, 8)
    )
    assert other.error == pytest.approx(8 * one.error, rel=0.01)
    assert Question(9, spread, Budget(**BUDGET), objective="relative") == asked("S4", 5, 9, **RELATIVE)


# Refusals


@pytest.mark.parametrize(
    ("rest", "why"),
    [({"knowledge": "covariance"}, TOO_FEW), ({}, TOO_FEW), (RELATIVE, TOO_FEW_COLUMNS)],
    ids=["known", "unknown", "relative"],
)
def test_refusals_end_at_the_smallest_count(rest, why):
    least = find_smallest_count(asked("S4", 3, 1, **REPLACE, **rest))
    below, there = (asked("S4", 3, count, **REPLACE, **rest) for count in (least - 1, least))
    assert released(below, 1)[1].refused
    assert released(there, 1)[1].refusal != TOO_FEW
    found = predict(below)
    assert (found.refused, found.remark, found.error) == (True, why, math.inf)
    assert not predict(there).refused
    refused = describe_course(below)
    assert (refused.method, refused.shares, refused.pass_probability) == ("refused", (), 0.0)
    assert f"about {least} are needed" in refused.why


def test_the_chance_to_pass_ends_where_the_test_needs_more_records():
    """An unlucky count alone refuses no release; too few records do (P14)."""
    least = find_smallest_count(asked("S4", 5, 1, "covariance", failure_probability=0.1))
    above, below = (
        describe_course(asked("S4", 5, n, "covariance", failure_probability=0.1)) for n in (least, least - 1)
    )
    assert above.pass_probability > 0.8
    assert below.pass_probability == 0


# Charges


@pytest.mark.parametrize("question", [question for question, _ in CELLS if question.dimension <= 100])
def test_shares_are_those_of_a_real_ledger(question):
    shares, ledger = dict(describe_course(question).shares), released(question, 4)[1].charges
    whole = total_mu(question.budget) ** 2
    assert sum(shares.values()) == pytest.approx(1.0)
    spent = sum(event.mu**2 for event in (*ledger.before, *ledger.searches, *ledger.after)) / whole
    assert 1 - shares[UNUSED] == pytest.approx(spent, rel=0.1)
    for event in ledger.before:  # the count, which some programs refine
        assert shares[event.purpose] >= event.mu**2 / whole * 0.999


# The simulated table


def test_simulated_records_have_exact_moments():
    stddevs = asked("S2", 12, 1).stddevs
    rows, mean = simulate_records(stddevs, 5000, 3)
    np.testing.assert_allclose(rows.mean(axis=0), mean, atol=1e-12)
    np.testing.assert_allclose(rows.std(axis=0), stddevs, rtol=1e-9)
    assert len(rows) < 5000


def test_a_simulated_table_accepts_no_records_and_no_noise():
    accepted = set(inspect.signature(SimulatedTable).parameters)
    assert accepted == {"stddevs", "count", "shape", "budget", "relation", "draw", "sign"}
    rest = (IsotropicCovariance(1.0), Budget(**BUDGET), Neighbors.ADD_REMOVE)
    assert not SimulatedTable(np.ones(3), 100, *rest).is_private
    with pytest.raises((ValueError, TypeError)):
        SimulatedTable(np.ones((50, 3)), 100, *rest)
    with pytest.raises(TypeError):
        SimulatedTable.from_records(
            as_records(np.ones((50, 3))), rest[0], None, *rest[1:], SeededNoise(0), by_entry=False
        )


def test_mirrored_noise_is_mirrored_whatever_else_was_drawn():
    one, other = MirroredNoise(3, 1), MirroredNoise(3, -1)
    one.stream("search").gaussian(50.0, 1)
    drawn, mirrored = (noise.stream("mean").gaussian(50.0, 4) for noise in (one, other))
    np.testing.assert_array_equal(drawn, -mirrored)
    assert (drawn != one.stream("search").gaussian(50.0, 4)).any()


# What is asked


def test_public_tables_give_their_standard_deviations(rng):
    X = rng.normal(size=(400, 3)) * [1.0, 5.0, 0.0] + 7
    found = measure_public_stddevs(X)
    np.testing.assert_allclose(found[:2], X[:, :2].std(axis=0))
    assert 0 < found[2] < 1e-6


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"knowledge": "all"}, "knowledge"),
        ({"outliers": 0.5}, "outliers"),
        ({"tails": "long"}, "tails"),
        ({"objective": "each"}, "objective"),
        ({"objective": "relative", "knowledge": "covariance"}, "`knowledge` must be 'nothing'"),
    ],
)
def test_a_question_names_what_is_wrong_with_it(changed, message):
    with pytest.raises(InvalidParameterError, match=message):
        Question(100, np.ones(3), Budget(**BUDGET), **changed)
