"""The curve of predicted errors: its knee where an independent formula has it, refusals without errors, the picture."""

import json
import math

import numpy as np
import pytest

from dimfree.errors import InvalidFileError, InvalidParameterError
from dimfree.planning import tradeoff as tradeoff_module
from dimfree.planning.question import Prediction, spectrum
from dimfree.planning.tradeoff import (
    FREE,
    PRIVATE,
    SAMPLING,
    Tradeoff,
    TradeoffRow,
    chart_bytes,
    find_knee,
    list_figures,
    plan,
)

NOISE = 5.0  # of the stand-in: NOISE · ‖σ‖₁ / (n ε)
FEWEST = 500.0  # of n ε: the stand-in refuses below
AT = {"d": 6, "spectrum": "S2", "delta": 1e-6}


def stand_in(question, confidence=0.95):
    """A release whose error is known in closed form."""
    count, epsilon = question.count, question.budget.epsilon
    sampling = math.sqrt(float((question.stddevs**2).sum()) / count)
    noise = NOISE * float(question.stddevs.sum()) / (count * epsilon)
    error, refused = math.hypot(sampling, noise), count * epsilon < FEWEST
    lengths = [math.inf] * 5 if refused else [sampling, noise, 0.0, error, 2 * error]
    return Prediction(*lengths, refused)


def exact_knee(axis, fixed):
    """Where sampling² + noise² = FREE² · sampling², with σ = 1, 1/2, …, 1/6 by hand."""
    one, two = sum(1 / i for i in range(1, 7)), math.sqrt(sum(1 / i**2 for i in range(1, 7)))
    product = (NOISE * one / two) ** 2 / (FREE**2 - 1)  # of n and ε²
    return product / fixed**2 if axis == "n" else math.sqrt(product / fixed)


@pytest.fixture
def closed_form(monkeypatch):
    monkeypatch.setattr(tradeoff_module, "predict", stand_in)


# Rows and the knee


@pytest.mark.usefixtures("closed_form")
def test_a_refusal_has_no_error_but_a_sampling_error():
    first = plan(n=[100, 200, 900], epsilon=1, **AT).rows[0]
    assert (first.error, first.noise, first.refused, first.ratio) == (None, None, True, math.inf)
    assert first.sampling == pytest.approx(math.sqrt(sum(1 / i**2 for i in range(1, 7)) / 100))


@pytest.mark.usefixtures("closed_form")
@pytest.mark.parametrize(("axis", "fixed"), [("epsilon", 4000), ("n", 0.7)])
def test_the_knee_is_where_the_formula_has_it(axis, fixed):
    exact = exact_knee(axis, fixed)
    fine = exact * np.geomspace(0.5, 2.0, 10)  # the exact value is between two rows
    values = [round(at) for at in fine] if axis == "n" else fine
    given = {"n": fixed, "epsilon": fixed, axis: values}
    assert plan(**given, **AT).knee == pytest.approx(exact, rel=0.01)
    scaled = AT | {"spectrum": 7 * spectrum("S2", 6)}
    assert plan(**given, **scaled).knee == pytest.approx(exact, rel=0.01)  # no unit


def rows_of(*ratios):
    """At 1, 10, 100, …; None is a refusal."""
    return [
        TradeoffRow(10.0**i, None if ratio is None else 3 * ratio, 3.0, None, ratio is None)
        for i, ratio in enumerate(ratios)
    ]


@pytest.mark.parametrize(
    ("ratios", "knee"),
    [
        ([FREE * 8, FREE / 8], math.sqrt(10)),  # half way, on logarithmic scales
        ([FREE * 8, FREE / 2], 10**0.75),
        ([9.0, FREE * 4, FREE / 2], 10 ** (1 + 2 / 3)),
        ([FREE * 8, FREE], 10.0),
        ([None, 1.05, 1.01], 10.0),  # nothing to interpolate from
        ([1.05, 1.01], 1.0),
        ([1.01, FREE * 2, FREE / 2], 10**1.5),  # free from here ON: a dip before does not count
        ([3.0, 2.0], None),
        ([None, None], None),
        ([1.01, None], None),
    ],
)
def test_the_knee_between_rows(ratios, knee):
    assert find_knee(rows_of(*ratios)) == (None if knee is None else pytest.approx(knee))


# The real predictions


def test_a_row_is_what_a_plan_says():
    rules = {"spectrum": [2.0, 1.0, 0.5], "delta": 1e-6, "knowledge": "covariance", "neighbors": "replace-one"}
    rules |= {"outliers": 0.1, "tails": "gaussian", "failure_probability": 0.05}
    found = plan(n=[20, 800], epsilon=1.5, **rules)
    assert found.rows[0].refused
    planned = plan(n=800, epsilon=1.5, **rules)
    assert found.rows[1].error == planned.accuracy
    assert found.rows[1].noise == planned.prediction.noise
    assert found.rows[1].sampling == pytest.approx(math.sqrt(5.25 / 800))
    assert (found.neighbors, found.knowledge, found.spectrum) == (planned.neighbors, "covariance", planned.spectrum)


# Parameters


@pytest.mark.usefixtures("closed_form")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"accuracy": 0.1}, "no accuracy; got an accuracy"),
        ({"n": [1000, 2000]}, "got two lists"),
        ({"n": None}, "`n` must"),
        ({"epsilon": []}, "at least one value"),
        ({"epsilon": [1.0, 1.0]}, "every value once"),
        ({"epsilon": [1.0, "much"]}, "every entry of it a finite number above 0"),
        ({"epsilon": [1.0, -1.0]}, "every entry of it a finite number above 0"),
        ({"epsilon": [1.0, 1e-5]}, "`epsilon` must .*1e-05"),
        ({"epsilon": 1.0, "n": [10, 20.5]}, "every entry of it a whole number"),
        ({"n": 0}, "`n` must .*0"),
        ({"delta": 2.0}, "`delta` must .*2.0"),
        ({"spectrum": "S7"}, "`spectrum` must .*'S7'"),
        ({"spectrum": None, "objective": "total"}, "`spectrum` must be given"),
        ({"d": None}, "`d` must"),
        ({"spectrum": [1.0, 2.0]}, "6 in all"),
        ({"spectrum": [1.0, -2.0], "d": 2}, "entry of `spectrum` must be above 0"),
        ({"knowledge": "all"}, "`knowledge` must .*'all'"),
        ({"neighbors": "cousins"}, "`neighbors` must .*'cousins'"),
        ({"outliers": 0.9}, "`outliers` must .*0.9"),
        ({"tails": "thin"}, "`tails` must .*'thin'"),
        ({"failure_probability": 0.0}, "`failure_probability` must .*0.0"),
    ],
)
def test_bad_parameters_are_named_before_anything_is_predicted(change, words, monkeypatch):
    monkeypatch.setattr(tradeoff_module, "predict", lambda *_: pytest.fail("predicted in vain"))
    with pytest.raises(InvalidParameterError, match=words):
        plan(**{"n": 1000, "epsilon": [0.5, 1.0], **AT, **change})


@pytest.mark.usefixtures("closed_form")
def test_steps_are_told():
    told = []
    plan(n=[2000, 1_000_000], epsilon=1, **AT, tell=lambda *step: told.append(step))
    assert told == [("n = 2000", 0, 2), ("n = 1000000", 1, 2)]


# Words, JSON, picture


@pytest.fixture
def found(closed_form):
    return plan(n=4000, epsilon=[0.1, 0.2, 1.0, 2.0], **AT)


def test_json_round_trips(found):
    assert Tradeoff.from_json(found.to_json()) == found
    assert json.loads(found.to_json()) == json.loads(json.dumps(found.to_dict()))
    for broken in ("", "[]", "{}", found.to_json().replace('"format": 2', '"format": 9')):
        with pytest.raises(InvalidFileError):
            Tradeoff.from_json(broken)


def test_the_table_shows_errors_and_refusals(found):
    lines = found.cells()
    assert lines[0][:2] == ("0.1", "refused")
    assert [float(cells[1]) for cells in lines[1:]] == pytest.approx([row.error for row in found.rows[1:]], rel=5e-3)
    assert "| 0.1 | refused |" in found.to_markdown()
    assert "S2, d = 6, n = 4000, delta = 1e-06, add-remove" in found.conditions()


def test_the_verdict_says_the_knee(found):
    assert f"from epsilon = {found.knee:.3g} on" in found.verdict()
    along = {"epsilon": 0.7, **AT}
    near = plan(n=[100_000, 200_000], **along)
    assert near.knee == 100_000
    assert "free in all of this range" in near.verdict()
    assert "not free in this range" in plan(n=[800, 801], **along).verdict()
    between = plan(n=[800, 100_000], **along)
    assert f"from n = {math.ceil(between.knee)} on" in between.verdict()


def layers(found):
    """(points, knees) as the picture has them."""
    drawn = found.chart().to_dict()
    data = [drawn["datasets"][layer.get("data", drawn.get("data"))["name"]] for layer in drawn["layer"]]
    return data[-1], data[:-1]


def test_the_picture_shows_the_rows_and_the_knee(found):
    points, knees = layers(found)
    private = {point["at"]: point["error"] for point in points if point["line"] == PRIVATE}
    sampling = {point["at"]: point["error"] for point in points if point["line"] == SAMPLING}
    assert private == {row.at: row.error for row in found.rows if not row.refused}
    assert sampling == {row.at: row.sampling for row in found.rows}
    assert [each[0]["at"] for each in knees] == [found.knee] * 2


@pytest.mark.usefixtures("closed_form")
def test_a_curve_of_refusals_alone_is_no_error():
    refused = plan(n=[10, 11], epsilon=0.7, **AT)
    assert {point["line"] for point in list_figures(refused)} == {SAMPLING}
    assert chart_bytes(refused, ".svg").startswith(b"<svg")


@pytest.mark.parametrize(
    ("ending", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".json", b"{"), (".html", b"<")]
)
def test_every_ending(found, ending, start):
    assert chart_bytes(found, ending).strip().startswith(start)


def test_without_altair_the_remedy_is_said(found, monkeypatch):
    monkeypatch.setattr(tradeoff_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InvalidParameterError, match="pip install 'altair>="):
        found.chart()
