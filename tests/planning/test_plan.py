"""Plans: the value that is found meets the accuracy and its neighbor does not; the card and the JSON show it."""

import json
import math

import pytest
from planning.measured import asked

from dimfree.accounting.discrete import idealised
from dimfree.accounting.precision import largest_mu
from dimfree.errors import InvalidParameter
from dimfree.planning.plan import plan
from dimfree.planning.predict import predict
from dimfree.planning.solve import least_epsilon, least_records, most_columns, narrowed
from dimfree.planning.spectra import spectrum

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
    with pytest.raises(InvalidParameter, match="31 in all"):
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


def test_a_search_stops_at_its_time_limit_with_a_value_that_meets_the_accuracy(monkeypatch):
    asked_for = {"d": 30, "epsilon": 1.0, "delta": 1e-6, "accuracy": 0.05, **KNOWN}
    exact = plan(**asked_for)
    seconds = iter(range(1000))
    monkeypatch.setattr("dimfree.planning.solve.time.monotonic", lambda: next(seconds))
    stopped = plan(**asked_for, time_limit=2.5)
    assert stopped.n >= exact.n
    assert stopped.accuracy <= 0.05
    assert "stopped after 2.5 s" in stopped.prediction.remark
    assert "a smaller n may do" in dict(stopped.rows())["error"]
    with pytest.raises(InvalidParameter, match="time_limit"):
        plan(**{**asked_for, "d": 2000, "accuracy": 0.001}, time_limit=0.5)


def test_steps_are_reported():
    steps = []
    plan(d=5, epsilon=1.0, delta=1e-6, accuracy=0.2, **KNOWN, tell=lambda *step: steps.append(step))
    assert [done for _, done, _ in steps] == list(range(len(steps)))
    assert all(what.startswith("trying n = ") for what, _, _ in steps)


def test_a_relative_plan_finds_records_and_epsilon():
    found = plan(d=20, accuracy=0.05, epsilon=1.0, delta=1e-6)
    assert (found.solved_for, found.objective, found.spectrum) == ("n", "relative", "any units")
    again = plan(d=20, accuracy=0.05, n=found.n, delta=1e-6)
    assert again.epsilon == pytest.approx(1.0, rel=0.1)
    assert found.free == (found.prediction.noise <= found.prediction.sampling)
    assert found.needs == ()
