"""benchmarks.accuracy.planned: plans are judged by releases on both sides, and a page can be read again."""

from dataclasses import replace

import pytest
from benchmarks.accuracy import planned, planned_report
from benchmarks.accuracy.resolving import MET, MISSED, OPEN, UNTRIED
from benchmarks.record import read_numbers


def measured(ratio, draws=20, *, refused=0, chance=1.0, **more):
    """All draws alike; an error of 1 is planned, all of it noise."""
    values = [ratio] * (draws - refused) + [None] * refused
    predicted = {"error": 1.0, "noise": 1.0, "bias": 0.0, "chance": chance, "error_within": 2.0}
    place = {"name": "a", "draws": draws, "data": "gaussian", "knowledge": "nothing", "objective": "total"}
    lists = {"error": values, "added": values, "stated": values}
    return {**place, "solved_for": "accuracy", "predicted": predicted, "measured": lists, **more}


def states(*done):
    return {each["target"]: each["state"] for each in planned_report.verdicts(done) if each["state"] != UNTRIED}


@pytest.mark.parametrize(("ratio", "state"), [(1.0, MET), (1.16, MISSED), (0.8, MISSED), (1.14, MET)])
def test_a_plan_is_judged_on_both_sides(ratio, state):
    assert states(measured(ratio))["told nothing, total: error within 15 % of the planned one"] == state


def test_few_draws_resolve_nothing():
    found = states(measured(2.0, planned_report.LEAST - 1))
    assert found["told nothing, total: error within 15 % of the planned one"] == OPEN


@pytest.mark.parametrize(
    ("place", "route"),
    [
        ({"knowledge": "covariance"}, "told σ, total"),
        ({"objective": "relative"}, "told nothing, relative"),
        ({"solved_for": "n"}, "n or ε found"),
    ],
)
def test_every_route_is_judged_by_itself(place, route):
    assert states(measured(2.0, **place))[f"{route}: error within 15 % of the planned one"] == MISSED


@pytest.mark.parametrize(("refused", "state"), [(0, MET), (40, MISSED), (10, OPEN)])
def test_answers_are_counted_over_all_cells(refused, state):
    cells = [measured(1.0, 400), measured(1.0, 400, refused=refused, chance=0.99)]
    assert states(*cells)["share of answers at least the planned one less 0.01"] == state


@pytest.mark.parametrize(("ratio", "word"), [(1.1, "optimistic"), (0.9, "cautious"), (1.0, "")])
def test_a_plan_leans_where_the_whole_interval_does(ratio, word):
    assert planned_report.leaning(planned_report.ratio(measured(ratio), "error")) == word


def test_a_page_is_measured_and_read_again(tmp_path, monkeypatch):
    found_n = planned.PlannedCell("S4", 0, 3, 2, planned.TOLD, accuracy=0.1)
    relative = planned.PlannedCell("S2", 900, 3, 2, objective=planned.RELATIVE)
    monkeypatch.setattr(planned, "COURSE", replace(planned.COURSE, cells=lambda options: [relative, found_n]))
    planned.main(["--out", str(tmp_path)])
    first, second = read_numbers(tmp_path / "planned.json.gz")["cells"]
    assert 0.5 < planned_report.ratio(first, "error").value < 2
    assert (second["solved_for"], second["count"] > 100) == ("n", True)
    assert (
        "| relative, told nothing: S2, n = 900, d = 3, ε = 1 | 900 | 1 | columns | 2 |"
        in (tmp_path / "planned.md").read_text()
    )
