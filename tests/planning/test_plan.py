"""Plans: the value that is found meets the aim and its neighbour does not; what is said agrees with real releases."""

import json
import math

import numpy as np
import pytest
from dimfree.planning.course import course
from flat_options import with_options
from planning.measured import PROMISE, asked

from dimfree import release_mean
from dimfree.accounting.budget import Budget
from dimfree.accounting.discrete import idealised
from dimfree.accounting.precision import largest_mu
from dimfree.errors import InvalidParameter
from dimfree.noise import SeededNoise
from dimfree.planning.plan import plan
from dimfree.planning.predict import predict
from dimfree.planning.question import Question
from dimfree.planning.solve import least_epsilon, least_records, most_columns, narrowed
from dimfree.planning.spectra import draw, spectrum

KNOWN = {"knowledge": "covariance", "spectrum": "S2"}


class Counted:
    """An error with a known crossing, and how often it was asked for."""

    def __init__(self, error):
        self.error, self.asked = error, []

    def __call__(self, value):
        self.asked.append(value)
        return self.error(value)


def smooth(n):
    return math.sqrt(1 / n + (80 / n) ** 2)


@pytest.mark.parametrize("aim", [0.9, 0.1, 0.011, 0.0013])
def test_records_are_found_in_few_steps_and_on_the_safe_side(aim):
    error = Counted(smooth)
    found = least_records(error, aim, 50)
    assert smooth(found) <= aim
    assert found == 50 or smooth(found / 1.021 - 1) > aim
    assert len(set(error.asked)) <= 14


@pytest.mark.parametrize("first", [0, 20, 56, 57, 58, 90, 10**6])
def test_few_records_are_found_exactly_from_any_first_guess(first):
    assert least_records(lambda n: 1.0 if n < 57 else 0.1, 0.5, 5, first) == 57
    assert least_records(lambda n: 0.1, 0.5, 5, first) == 5


@pytest.mark.parametrize("first", [1e-6, 0.03, 0.7, 60.0])
def test_a_first_guess_of_epsilon_may_be_far_off(first):
    error = Counted(lambda epsilon: math.hypot(0.1, 0.2 / epsilon))
    found = least_epsilon(error, 0.5, 10, first, lambda epsilon, seen: epsilon * math.sqrt((seen**2 - 0.01) / 0.24))
    assert error.error(found) <= 0.5 < error.error(found / 1.021)
    assert len(set(error.asked)) <= 14


def test_no_epsilon_and_no_number_of_records_is_said():
    with pytest.raises(InvalidParameter, match="within reach"):
        least_epsilon(lambda epsilon: 1.0, 0.5, 10)
    with pytest.raises(InvalidParameter, match="within reach"):
        least_records(lambda n: math.inf, 0.5, 10, 100)


@pytest.mark.parametrize("aim", [3.0, 0.4, 0.05])
def test_epsilon_is_rounded_up(aim):
    found = least_epsilon(lambda epsilon: 1 / epsilon, aim, 10)
    assert 1 / aim <= found <= 1.021 / aim + 1e-3


def test_columns_are_rounded_down():
    found = most_columns(lambda d: math.sqrt(d), 20.0, "covariance")
    assert 400 / 1.021 - 1 <= found <= 400


def test_refusals_are_infinite_errors_and_narrowing_copes():
    found = narrowed(lambda n: math.inf if n < 130 else 1 / n, 0.1, 100, 400, whole=True)
    assert 130 <= found <= 133


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n": 100, "d": 5}, "give epsilon or accuracy as well"),
        ({"n": 100, "d": 5, "epsilon": 1.0, "accuracy": 0.1}, "all are given"),
        ({"n": 2000, "d": 5, "accuracy": 1e-4}, "sampling error"),
        ({"n": 100, "epsilon": 1.0, "accuracy": 1e-4}, "within reach for some d"),
    ],
)
def test_too_much_or_too_little_says_what_is_needed(given, message):
    with pytest.raises(InvalidParameter, match=message):
        plan(**given, **KNOWN, delta=1e-6)


def test_delta_is_always_needed_and_the_spectrum_for_the_total_error():
    with pytest.raises(InvalidParameter, match="delta"):
        plan(n=100, d=5, spectrum="S1", epsilon=1.0)
    with pytest.raises(InvalidParameter, match="spectrum"):
        plan(n=100, d=5, epsilon=1.0, delta=1e-6, objective="total")


def test_records_for_an_error():
    found = plan(d=30, epsilon=1.0, delta=1e-6, accuracy=0.05, **KNOWN)
    fewer = asked("S2", 30, int(found.n / 1.03), "covariance")
    assert (found.solved_for, found.prediction.error <= 0.05) == ("n", True)
    assert predict(fewer).error > 0.05


def test_columns_for_an_error():
    found = plan(n=3000, spectrum="S4", epsilon=1.0, delta=1e-6, accuracy=0.2, knowledge="covariance")
    assert predict(asked("S4", found.d, 3000, "covariance")).error <= 0.2
    assert predict(asked("S4", math.ceil(found.d * 1.03) + 1, 3000, "covariance")).error > 0.2


def test_the_error_of_a_given_spectrum_is_what_is_predicted():
    spread = spectrum("S2", 30)
    found = plan(n=2000, spectrum=spread, epsilon=1.0, delta=1e-6, knowledge="covariance")
    assert found.accuracy == predict(asked("S2", 30, 2000, "covariance")).error
    assert (found.d, found.spectrum) == (30, "given standard deviations")
    with pytest.raises(InvalidParameter, match="dimension"):
        plan(n=2000, d=31, spectrum=spread, epsilon=1.0, delta=1e-6)


def test_privacy_is_free_from_the_rank_over_the_precision_on():
    found = plan(n=2000, d=30, epsilon=1.0, delta=1e-6, **KNOWN)
    total, square = sum(1 / i for i in range(1, 31)), sum(i**-2.0 for i in range(1, 31))
    assert found.free_at == pytest.approx(total**2 / square / largest_mu(*idealised(1.0, 1e-6)) ** 2)
    assert found.free == (found.free_at <= 2000)


def test_a_plan_is_plain_json_even_where_it_is_refused():
    found = plan(n=30, d=30, epsilon=0.5, delta=1e-6, **KNOWN)
    document = json.loads(found.to_json())
    assert (document["accuracy"], document["course"]["method"]) == (None, "refused")
    assert document["course"]["pass_probability"] == 0
    names = [name for name, _ in found.rows()]
    assert len(names) == len({*names})
    assert names[0] == "error (found)"


def test_a_card_says_what_was_found_first():
    found = plan(n=2000, d=30, epsilon=1.0, delta=1e-6, **KNOWN)
    rows = dict(found.rows())
    assert f"{found.accuracy:.4g}" in rows["error (found)"]
    assert rows["records n"] == "2000"
    assert found.course.method in rows["method"]


@pytest.mark.parametrize(("count", "method"), [(2000, "recentred"), (180, "recentred")])
def test_the_course_is_the_one_that_a_release_takes(count, method):
    question = asked("S2", 10, count, "covariance", outliers=0.0, tails="gaussian")
    foretold = course(question)
    X, _ = draw(question.stddevs, count, np.random.default_rng(0))
    options = {"outliers": 0.0, "tails": "gaussian", "covariance": question.stddevs**2}
    taken = release_mean(X, **with_options(**PROMISE, noise=SeededNoise(0), **options))
    assert foretold.method == taken.method == method
    assert math.isclose(sum(share for _, share in foretold.shares), 1.0)
    assert 0.9 < foretold.pass_probability <= 1


@pytest.mark.parametrize(("knowledge", "columns"), [("covariance", 10), ("nothing", 100)])
def test_shares_are_those_of_a_real_ledger(knowledge, columns):
    """The count and the core, event by event; what else there is depends on released values."""
    question = asked("S3", columns, 2000, knowledge)
    X, _ = draw(question.stddevs, 2000, np.random.default_rng(4))
    told = {"covariance": question.stddevs**2} if knowledge == "covariance" else {}
    taken = release_mean(X, **PROMISE, noise=SeededNoise(4), **told)
    whole = largest_mu(*idealised(1.0, 1e-6)) ** 2
    ledger, shares = taken.ledger, dict(course(question).shares)
    assert shares["number of records"] == pytest.approx(ledger.before[0].mu ** 2 / whole, rel=1e-3)
    after = sum(event.mu**2 for event in ledger.after) / whole
    spent = 1 - shares["number of records"] - shares["test and choice"] - shares.get("scale of the records", 0.0)
    assert spent == pytest.approx(after, rel=0.02)
    core = next(event for event in ledger.after if event.purpose == "mean").mu ** 2 / whole
    assert shares["core"] == pytest.approx(core, rel=0.1 if knowledge == "covariance" else 0.5)


def test_the_chance_to_pass_ends_where_the_test_needs_more_records():
    """An unlucky count alone refuses nobody; too few records do (P14)."""
    least = course(asked("S4", 5, 1000, "covariance", failure_probability=0.1)).smallest_count
    chances = [
        course(asked("S4", 5, n, "covariance", failure_probability=0.1)).pass_probability for n in (least, least - 1)
    ]
    assert chances[0] > 0.8
    assert chances[1] == 0


def test_no_choice_is_called_a_refusal():
    found = course(Question(10, np.ones(4), Budget(1.0, 1e-6)))
    assert (found.method, found.shares, found.pass_probability) == ("refused", (), 0.0)
    assert str(found.smallest_count) in found.why
