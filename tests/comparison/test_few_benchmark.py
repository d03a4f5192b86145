"""benchmarks.accuracy.few: targets are judged by the cells that were measured."""

import pytest
from benchmarks.accuracy import few


def measured(section, spectrum, n, d, **row):
    place = {"section": section, "spectrum": spectrum, "count": n, "dimension": d}
    return {**place, "estimators_tried": "auto", "estimators": {"auto": row}}


@pytest.mark.parametrize(("worst", "met"), [(1.39, "yes"), (1.41, "NO")])
def test_a_target_is_met_by_its_worst_spectrum(worst, met):
    done = [
        measured("accuracy", s, 1000, 1000, error_over_floor=[0, error, 9], found_over_stated=1.0)
        for s, error in (("S1", 1.0), ("S2", worst), ("S5", 1.2))
    ]
    [target, honest] = few.verdicts(done)
    assert target[2] == met
    assert honest[2] == "yes"


@pytest.mark.parametrize(("ratio", "met"), [(0.9, "yes"), (1.16, "NO"), (0.8, "NO")])
def test_stated_noise_is_judged_on_both_sides(ratio, met):
    done = [measured("accuracy", "S1", 700, 1000, error_over_floor=[1, 1, 1], found_over_stated=ratio)]
    assert few.verdicts(done) == [
        ["measured noise within 15 % of the stated one", f"{ratio:.2f} (S1, n = 700, d = 1000)", met]
    ]


def test_a_target_whose_cells_were_left_out_is_not_judged():
    assert few.verdicts([measured("passing", "S1", 240, 30, probability=1.0)]) == []


def test_one_cell_is_measured_and_written(tmp_path, capsys):
    few.main(
        [
            "--draws",
            "1",
            "--passing",
            "1",
            "--large",
            "0",
            "--cells",
            "S4, n = (240|300), d = 30",
            "--out",
            str(tmp_path),
        ]
    )
    assert (tmp_path / "few.json.gz").exists()
    assert "| S4 | 300 | 30 | auto | 1 |" in capsys.readouterr().out
