"""What a comparison found: it round-trips, and tables and charts show the numbers that are in it."""

import json
import math

import pytest
from dimfree.comparison import chart as chart_module
from dimfree.comparison.chart import ENDINGS, chart, chart_bytes
from dimfree.comparison.outcome import AXES, FORMAT, WARNING, Comparison, Score
from dimfree.comparison.trials import compare

from dimfree.errors import InvalidFile, InvalidParameter


def score(name="PLAN", at=1000, errors=(3.0, 1.0, 2.0), refusals=0, **changes):
    given = {"told": "σ, R", "private": True, "world": "S1, d = 9", "n": 1000, "epsilon": 1.0, "seconds": 0.25}
    return Score(name=name, at=at, errors=errors, refusals=refusals, remark="", **(given | changes))


def comparison(axis="n", points=(1000, 4000), **changes):
    """Two estimators, one of which refuses at the first point."""
    scores = [
        made
        for place in points
        for made in (
            score("dimfree", place, (0.5, 0.1, 0.2, 0.3), told="nothing"),
            score("PLAN", place, *(((), 4) if place == points[0] else ((7.0, 9.0), 2))),
            score("floor", place, (0.125,) * 4, told="mean, σ", private=False),
        )
    ]
    return Comparison(axis, tuple(scores), 1e-6, "add-remove", 4, 7, **changes)


# One score


def test_quartiles_are_of_the_answered_trials():
    assert score(errors=(3.0, 1.0, 2.0, 5.0, 4.0)).quartiles == (2.0, 3.0, 4.0)
    assert score(errors=(), refusals=3).quartiles is None


@pytest.mark.parametrize(
    ("errors", "refusals", "typical"),
    [((1.0, 2.0, 3.0), 0, 2.0), ((1.0, 2.0, 3.0), 2, 3.0), ((1.0,), 2, math.inf), ((), 1, math.inf)],
)
def test_a_refusal_is_infinitely_far_off(errors, refusals, typical):
    assert score(errors=errors, refusals=refusals).typical == typical


def test_words():
    assert score().words == "2"
    assert score(errors=(1234.5,)).words == "1.23e+03"
    assert score(errors=(1.0,), refusals=3).words == "1 (3 of 4 refused)"
    assert score(errors=(), refusals=3).words == "refused"


# Tables


def test_the_table():
    found = comparison()
    assert found.header() == ("estimator", "was told", "n = 1000", "n = 4000")
    assert found.rows() == [
        ("dimfree", "nothing", "0.25", "0.25"),
        ("PLAN", "σ, R", "refused", "8 (2 of 4 refused)"),
        ("floor", "mean, σ (not private)", "0.125", "0.125"),
    ]


def test_the_markdown_is_that_table_with_its_conditions():
    lines = comparison().to_markdown().splitlines()
    assert lines[0] == "Everybody promises epsilon = 1, delta = 1e-06, add-remove."
    assert lines[1] == "Median Euclidean error; S1, d = 9, 4 draws, seed 7."
    assert lines[3:5] == ["| estimator | was told | n = 1000 | n = 4000 |", "| --- | --- | --- | --- |"]
    assert lines[6] == "| PLAN | σ, R | refused | 8 (2 of 4 refused) |"
    assert lines[-1] == WARNING


@pytest.mark.parametrize(
    ("axis", "points", "promise", "drawn"),
    [
        ("n", (1000, 4000), "epsilon = 1, delta = 1e-06, add-remove", "S1, d = 9, 4 draws, seed 7"),
        ("epsilon", (0.5, 1.0), "delta = 1e-06, add-remove", "S1, d = 9, n = 1000, 4 draws, seed 7"),
        ("d", (9, 99), "epsilon = 1, delta = 1e-06, add-remove", "n = 1000, 4 draws, seed 7"),
        ("spectrum", ("S1", "S2"), "epsilon = 1, delta = 1e-06, add-remove", "n = 1000, 4 draws, seed 7"),
    ],
)
def test_what_is_said_is_what_all_points_share(axis, points, promise, drawn):
    first, second = comparison(axis, points).conditions()
    assert first == f"Everybody promises {promise}."
    assert second == f"Median Euclidean error; {drawn}."


def test_one_draw_is_said_in_the_singular():
    alone = Comparison("n", (score(),), 1e-6, "add-remove", 1, 7)
    assert alone.conditions()[1] == "Median Euclidean error; S1, d = 9, 1 draw, seed 7."


# JSON


@pytest.mark.parametrize(("axis", "points"), [("n", (10, 20)), ("epsilon", (0.1, 1 / 3)), ("spectrum", ("S1", "S4"))])
def test_json_round_trips(axis, points):
    found = comparison(axis, points)
    again = Comparison.from_json(found.to_json())
    assert again == found
    assert again.to_json() == found.to_json()


def test_a_real_comparison_round_trips():
    found = compare(epsilon=1.0, delta=1e-6, n=[30, 40], d=2, trials=2, estimators=["clipped mean", "oracle floor"])
    assert Comparison.from_json(found.to_json()) == found


def test_json_says_that_nothing_is_private():
    document = json.loads(comparison().to_json())
    assert document["warning"] == WARNING
    assert document["format"] == FORMAT


def changed(**fields):
    return json.dumps({**json.loads(comparison().to_json()), **fields})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        comparison().to_json()[:-30],
        changed(format=FORMAT + 1),
        changed(extra=1),
        changed(scores=[{}]),
        changed(scores=None),
        changed(warning=""),
    ],
)
def test_anything_else_is_an_invalid_file(text):
    with pytest.raises(InvalidFile, match="to_json"):
        Comparison.from_json(text)


# The chart


def assert_shows(drawn, found):
    """Its numbers are the medians and quartiles of the scores, each at its place, and no others."""
    shown = {(row["estimator"], row[found.axis]): (row["low"], row["error"], row["high"]) for row in drawn}
    assert shown == {(s.name, s.at): s.quartiles for s in found.scores if s.quartiles}
    assert len(drawn) == len(shown)


@pytest.mark.parametrize("axis", AXES)
def test_the_figures_of_the_chart_are_the_scores(axis):
    points = ("S4", "S1") if axis == "spectrum" else (1000, 4000)
    found = comparison(axis, points)
    drawn = chart(found).to_dict()
    (values,) = drawn["datasets"].values()
    assert_shows(values, found)
    for layer in drawn["layer"]:
        assert layer["encoding"]["x"]["field"] == axis
        assert layer["encoding"]["y"]["scale"]["type"] == "log"
    assert {layer["encoding"]["y"]["field"] for layer in drawn["layer"]} == {"low", "error"}
    assert list(found.conditions()) == drawn["title"]["subtitle"][:2]


def test_a_chart_of_other_numbers_would_be_noticed():
    found = comparison()
    wrong = [{**row, "error": row["error"] * 1.01} for row in found.figures()]
    with pytest.raises(AssertionError):
        assert_shows(wrong, found)
    with pytest.raises(AssertionError):
        assert_shows(found.figures()[1:], found)


BEGINNINGS = {".svg": b"<svg", ".png": b"\x89PNG", ".html": b"<!DOCTYPE html>", ".json": b"{"}


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_is_written(ending):
    content = chart_bytes(comparison(), ending)
    assert content.lstrip().startswith(BEGINNINGS[ending])
    assert ending == ".png" or b"dimfree" in content


def test_a_chart_of_refusals_alone_is_empty_and_no_error():
    nothing = Comparison("n", (score(errors=(), refusals=1),), 1e-6, "add-remove", 1, 0)
    assert nothing.figures() == []
    assert chart_bytes(nothing, ".svg").startswith(b"<svg")


def test_without_altair_the_remedy_is_said(monkeypatch):
    monkeypatch.setattr(chart_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InvalidParameter, match="pip install 'altair>="):
        chart(comparison())
