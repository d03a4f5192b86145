"""Plans: the value that is found meets the accuracy and its neighbor does not; the card and the JSON show it."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planning.measured import asked

from dimfree.accounting.discrete import idealize
from dimfree.accounting.precision import largest_mu
from dimfree.errors import InvalidParameterError
from dimfree.planning.predict import predict
from dimfree.planning.question import spectrum
from dimfree.planning.solve import solve
from dimfree.planning.tradeoff import plan

KNOWN = {"knowledge": "covariance", "spectrum": "S2"}


class Counted:
    """An error with a known crossing, and how often it was asked for."""

    def __init__(self, error):
        self.error, self.asked = error, set()

    def __call__(self, value):
        self.asked.add(value)
        return self.error(value)


def records(aim):
    """Where 1/n + (80/n)², scaled to an error that was found, is the square of the aim."""

    def expected(n, found):
        b = max(found**2 * n**2 - n, 0.0)
        return (1 + math.sqrt(1 + 4 * aim**2 * b)) / (2 * aim**2)

    return expected


@pytest.mark.parametrize("first", [50, 700, 10**6])
@pytest.mark.parametrize("aim", [0.9, 0.1, 0.011, 0.0013])
@pytest.mark.parametrize("wobble", [0.0, 0.02])
def test_records_are_found_in_few_steps_and_on_the_safe_side(aim, first, wobble):
    def smooth(n):
        return math.sqrt(1 / n + (80 / n) ** 2) * (1 + wobble * math.sin(3 * n))

    error = Counted(smooth)
    found = solve(error, aim, 50, 10**8, first, records(aim))
    assert smooth(found) <= aim
    assert found == 50 or any(found / 1.021 - 1 <= n < found and smooth(n) > aim for n in error.asked)
    assert len(error.asked) <= 14


@pytest.mark.parametrize("first", [0, 20, 56, 57, 58, 90, 10**6])
def test_few_records_are_found_exactly_from_any_first_guess(first):
    assert solve(lambda n: 1.0 if n < 57 else 0.1, 0.5, 5, 10**9, first) == 57
    assert solve(lambda n: math.inf if n < 57 else 0.1, 0.5, 5, 10**9, first) == 57
    assert solve(lambda n: 0.1, 0.5, 5, 10**9, first) == 5


@settings(max_examples=200)
@given(
    st.lists(st.one_of(st.floats(0.01, 10.0), st.just(math.inf)), min_size=2, max_size=60),
    st.integers(1, 60),
    st.booleans(),
)
def test_any_errors_end_in_a_value_that_meets_the_aim_or_none(errors, first, down):
    """Errors that do not fall, too: of two values next to each other one then meets the aim, and the other does not."""
    hard, easy = (len(errors), 1) if down else (1, len(errors))
    found = solve(lambda n: errors[n - 1], 1.0, hard, easy, first)
    assert errors[easy - 1] > 1 if found is None else errors[found - 1] <= 1


@pytest.mark.parametrize(
    ("asked_for", "message"),
    [
        ({"n": 100, "d": 5}, "give epsilon or accuracy as well"),
        ({"n": 100, "d": 5, "epsilon": 1.0, "accuracy": 0.1}, "all are given"),
        ({"n": 2000, "d": 5, "accuracy": 1e-4}, "sampling error"),
        ({"n": 100, "epsilon": 1.0, "accuracy": 1e-4}, "within reach for some d"),
    ],
)
def test_too_much_or_too_little_says_what_is_needed(asked_for, message):
    with pytest.raises(InvalidParameterError, match=message):
        plan(**asked_for, **KNOWN, delta=1e-6)


def test_delta_is_always_needed_and_the_spectrum_for_the_total_error():
    with pytest.raises(InvalidParameterError, match="delta"):
        plan(n=100, d=5, spectrum="S1", epsilon=1.0)
    with pytest.raises(InvalidParameterError, match="spectrum"):
        plan(n=100, d=5, epsilon=1.0, delta=1e-6, objective="total")


def test_records_for_an_error():
    found = plan(d=30, epsilon=1.0, delta=1e-6, accuracy=0.05, **KNOWN)
    fewer = asked("S2", 30, int(found.n / 1.03), "covariance")
    assert (found.solved_for, found.prediction.error <= 0.05) == ("n", True)
    assert predict(fewer).error > 0.05


def test_the_error_of_a_given_spectrum_is_what_is_predicted():
    spread = spectrum("S2", 30)
    found = plan(n=2000, spectrum=spread, epsilon=1.0, delta=1e-6, knowledge="covariance")
    assert found.accuracy == predict(asked("S2", 30, 2000, "covariance")).error
    assert (found.d, found.spectrum) == (30, "given standard deviations")
    with pytest.raises(InvalidParameterError, match="31 in all"):
        plan(n=2000, d=31, spectrum=spread, epsilon=1.0, delta=1e-6)


def test_privacy_is_free_from_the_rank_over_the_precision_on():
    found = plan(n=2000, d=30, epsilon=1.0, delta=1e-6, **KNOWN)
    total, square = sum(1 / i for i in range(1, 31)), sum(i**-2.0 for i in range(1, 31))
    assert found.free_at == pytest.approx(total**2 / square / largest_mu(*idealize(1.0, 1e-6)) ** 2)
    assert found.free == (found.free_at <= 2000)


def test_a_plan_is_plain_json_even_where_it_is_refused():
    found = plan(n=30, d=30, epsilon=0.5, delta=1e-6, **KNOWN)
    document = json.loads(found.to_json())
    assert (document["accuracy"], document["course"]["method"]) == (None, "refused")
    assert document["course"]["pass_probability"] == 0
    names = [name for name, _ in found.rows()]
    assert len(names) == len({*names})
    assert names[0] == "error (found)"


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
    with pytest.raises(InvalidParameterError, match="time_limit"):
        plan(**{**asked_for, "d": 2000, "accuracy": 0.001}, time_limit=0.5)


def test_a_relative_plan_finds_records_and_epsilon():
    found = plan(d=20, accuracy=0.05, epsilon=1.0, delta=1e-6)
    assert (found.solved_for, found.objective, found.spectrum) == ("n", "relative", "any units")
    again = plan(d=20, accuracy=0.05, n=found.n, delta=1e-6)
    assert again.epsilon == pytest.approx(1.0, rel=0.15)
    assert found.free == (found.prediction.noise <= found.prediction.sampling)
    assert found.needs == ()
