"""The benchmark of speed: every figure is told with its bar, and what an earlier run left keeps its own provenance."""

import json
import subprocess
import sys

import pytest
from benchmarks.speed import __main__ as speed
from benchmarks.speed.cells import CELLS, Asked
from benchmarks.speed.clocks import best, row

RUN = {"command": "python -m benchmarks.speed", "seed": 1, "dimfree": "1", "numpy": "2", "scipy": "1", "python": "3"}
RUN |= {"processors": 2, "threads": "1", "cores": 2, "code": "abc"}


def result(**cells):
    return {
        "run": RUN,
        "cells": {name: {"run": RUN, "small": False, "peak_gib": 1.0, **cell} for name, cell in cells.items()},
    }


def test_every_bar_is_judged_and_small_tables_are_not():
    figures = [row("known", 6.0, "means", 7.0, 3.0), row("auto", 16.0, "means", 15.0), row("mean", 0.5, "s")]
    lines = "\n".join(speed.report(result(npy={"rows": figures})))
    assert "| known | 6 means | 3 | ≤ 7: met |" in lines
    assert "| auto | 16 means |  | ≤ 15: MISSED |" in lines
    assert "| mean | 0.5 s |  |  |" in lines
    assert "MISSED" not in "\n".join(speed.report(result(npy={"rows": figures, "small": True})))


def test_a_cell_that_failed_says_so_and_an_older_one_has_its_own_provenance():
    older = {"rows": [], "run": {**RUN, "commit": "def"}}
    lines = speed.report(result(csv={"failed": "ArrowError"}, wide=older))
    assert "Failed: ArrowError" in lines
    assert any("commit def" in line for line in lines)


def test_results_of_other_cells_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(speed, "measured", lambda name, *_: {"rows": [row(name, 1.0, "s")], "peak_gib": 0.1})
    for name in ("start", "csv"):
        speed.main(["--small", "--only", name, "--out", str(tmp_path)])
    told = (tmp_path / "speed.md").read_text()
    assert "## start" in told
    assert "## csv" in told
    assert str(tmp_path) not in told


def test_a_cell_is_a_process_of_its_own(tmp_path):
    words = json.dumps({"small": True, "seed": 1, "folder": str(tmp_path)})
    command = [sys.executable, "-m", "benchmarks.speed.cells", "passes", words]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert found["peak_gib"] > 0
    assert all(figure["value"] > 0 for figure in found["rows"])
    assert {figure["bar"] for figure in found["rows"]} == {None, 4.0}


def test_sizes_and_names(tmp_path):
    names = {"passes", "memory", "npy", "wide", "start", "answers", "csv", "report", "parquet", "parts"}
    assert set(CELLS) == names
    assert Asked(True, 1, tmp_path).size((9, 9), (2, 3)) == (2, 3)
    assert best(lambda: None) >= 0
    with pytest.raises(SystemExit):
        speed.main(["--only", "nothing"])
