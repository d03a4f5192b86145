"""benchmarks.accuracy.missing: one cell is measured, and judged by its ratio."""

import pytest
from benchmarks.accuracy import missing


def test_one_cell_is_measured_and_written(tmp_path, capsys):
    missing.main(["--draws", "2", "--tables", "diabetes", "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert "| diabetes | settled | 442 × 10 | 4 |" in said
    assert (tmp_path / "missing.md").read_text() == said


@pytest.mark.parametrize(("column", "word"), [(1.1, "all within it"), (1.3, "not: wine at 4"), (None, "all within it")])
def test_a_table_is_judged_by_its_ratio(column, word):
    ways = {way: {"z": z, "all": z, "refused": 0} for way, z in (("complete", 1.0), ("column", column), ("drop", None))}
    cell = {"table": "wine", "half": "held out", "shape": (178, 13), "epsilon": 4.0, "draws": 1, "ways": ways}
    run = missing.provenance("m", [], 0)
    assert word in missing.report({"run": run, "cells": [cell]})[-1]
