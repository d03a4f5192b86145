"""benchmarks.accuracy.coverage: draws are counted, not columns; each kind is held against the mean that it is about."""

import numpy as np
import pytest
from benchmarks.accuracy import coverage, coverage_report
from benchmarks.accuracy.resolving import MET, MISSED, OPEN, UNTRIED
from benchmarks.record import read_numbers

from dimfree.results.reach import Reach


def measured(name, share, draws, way="core"):
    bar = {"covered": share, "half": 2.0, "square": 1.0}
    kinds = {kind: [bar] * draws if kind == "ball" else [None] * draws for kind in coverage.KINDS}
    return {"name": name, "way": way, "draws": draws, "kinds": kinds}


def states(*done):
    found = {each["target"]: each["state"] for each in coverage_report.verdicts(done) if each["state"] != UNTRIED}
    return [state for target, state in found.items() if target.startswith("confidence_ball()")]


def test_the_page_tells_of_all_that_is_measured():
    assert tuple(coverage_report.KINDS) == coverage.KINDS


@pytest.mark.parametrize(("share", "draws", "state"), [(0.96, 600, MET), (0.9, 600, MISSED), (0.95, 60, OPEN)])
def test_coverage_takes_many_draws(share, draws, state):
    assert states(measured("a", share, draws)) == [state, state]


def test_cells_of_a_way_are_counted_together():
    assert states(*(measured(str(place), 0.96, 100) for place in range(6))) == [OPEN, MET]


def test_a_kind_that_is_not_offered_is_left_out():
    assert coverage_report.covered([measured("a", 1.0, 5)], "box") is None
    assert coverage_report.width(measured("a", 1.0, 5), "box") is None
    assert coverage_report.width(measured("a", 1.0, 5), "ball") == 2.0


@pytest.mark.parametrize("law", coverage.COVARIANCES)
def test_the_covariance_that_is_told_is_the_law_s(law):
    X = coverage.CoverageCell(coverage.TOLD, law, 200_000, 2, 1).place(1).records(0)
    told = coverage.COVARIANCES[law](2)
    assert np.cov(X.T) == pytest.approx(np.diag(told) if told.ndim == 1 else told, rel=0.2, abs=0.05)


def test_far_records_are_drawn_in():
    reach = Reach(radius=1.0, centre=np.zeros(2), scale=np.array([1.0, 2.0]))
    X = np.array([[0.5, 0.0], [3.0, 0.0], [0.0, 400.0], [0.0, 0.0]])
    assert coverage.drawn_in(reach, X) == pytest.approx([1.5 / 4, 2.0 / 4])


def test_cells_have_names_of_their_own():
    every = coverage.cells(20)
    assert len({cell.name for cell in every}) == len(every)
    assert {cell.way for cell in every} == set(coverage.WAYS)


@pytest.mark.parametrize("way", coverage.WAYS)
def test_every_way_has_bars(way):
    done = coverage.measure(1, coverage.CoverageCell(way, "one factor", 1500, 2, 1))
    assert done["answered"] == 1
    for kind, bars in done["kinds"].items():
        assert bars[0] is None or (0 <= bars[0]["covered"] <= 1 and bars[0]["half"] > 0), kind
    assert done["kinds"]["ball"][0] is not None


def test_a_page_is_measured_and_read_again(tmp_path, monkeypatch):
    small = coverage.CoverageCell(coverage.RELATIVE, "normal", 900, 2, 2)
    monkeypatch.setattr(coverage, "cells", lambda draws: [small])
    coverage.main(["--out", str(tmp_path)])
    (done,) = read_numbers(tmp_path / "coverage.json.gz")["cells"]
    assert done["methods"] == ["columns"]
    text = (tmp_path / "coverage.md").read_text()
    assert "| columns, relative | normal | 900 | 2 | columns | 2 | 2 |" in text
    assert "- `interval(include_sampling=True)`: each column by itself: the mean of the law" in text
