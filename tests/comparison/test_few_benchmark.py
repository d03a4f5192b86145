"""benchmarks.accuracy.few: targets are judged by the cells that were measured."""

import pytest
from benchmarks.accuracy import few
from benchmarks.accuracy.resolving import MET, MISSED, OPEN, UNTRIED


def measured(section, spectrum, n, d, error=1.0, ratio=1.0, draws=20):
    """All draws alike; the floor is 1."""
    place = {"section": section, "spectrum": spectrum, "count": n, "dimension": d, "trials": draws}
    row = {"draws": {"error": [error] * draws, "found_over_stated": [ratio] * draws}, "refusals": 0}
    return {**place, "floor": [1, 1, 1], "estimators_tried": "auto", "estimators": {"auto": row}}


def states(done):
    return {verdict["target"]: verdict["state"] for verdict in few.verdicts(done) if verdict["state"] != UNTRIED}


@pytest.mark.parametrize(("worst", "state"), [(1.39, MET), (1.41, MISSED)])
def test_a_target_is_met_by_its_worst_spectrum(worst, state):
    done = [measured("accuracy", s, 1000, 1000, error) for s, error in (("S1", 1.0), ("S2", worst), ("S5", 1.2))]
    assert states(done) == {"n = 1000, d = 1000: error / floor ≤ 1.4": state, few.STATED: MET}


def test_five_draws_resolve_nothing():
    assert states([measured("accuracy", "S1", 1000, 10_000, draws=5)])["n = 1000, d = 10000: error / floor ≤ 3"] == OPEN


@pytest.mark.parametrize(("ratio", "state"), [(0.9, MET), (1.16, MISSED), (0.8, MISSED)])
def test_stated_noise_is_judged_on_both_sides(ratio, state):
    assert states([measured("accuracy", "S1", 700, 1000, ratio=ratio)]) == {few.STATED: state}


@pytest.mark.parametrize(("draws", "state"), [(100, OPEN), (400, MET)])
def test_a_probability_near_one_takes_many_draws(draws, state):
    cell = {**measured("passing", "S1", 240, 30, draws=draws), "chances": {"auto": [1.0] * draws}}
    assert states([cell]) == {"n = 240, d = 30: probability of an answer ≥ 0.99": state}


def test_one_cell_is_measured_and_written(tmp_path, capsys):
    few.main(
        [
            "--draws",
            "1",
            "--passing",
            "1",
            "--large",
            "0",
            "--huge",
            "0",
            "--cells",
            "S4, n = (240|300), d = 30",
            "--out",
            str(tmp_path),
        ]
    )
    assert (tmp_path / "few.json.gz").exists()
    assert "| S4 | 300 | 30 | auto | 1 |" in capsys.readouterr().out
