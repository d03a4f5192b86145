"""The notebook in examples/ runs from top to bottom, and is kept without outputs."""

import ast
import json
from pathlib import Path

import pytest

from dimfree.testing import SeededNoise

NOTEBOOK = json.loads((Path(__file__).parents[2] / "examples" / "notebook.ipynb").read_text(encoding="utf-8"))
CODE = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def shown_by(source: str, names: dict[str, object]) -> object:
    """Run a cell as a notebook does: the value of its last line, if that is an expression."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "<cell>", "exec"), names)  # our own file
    return None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # noqa: S307


def test_every_cell_runs_and_shows_something(monkeypatch, capsys):
    pytest.importorskip("altair")
    monkeypatch.setattr("dimfree.noise.SystemNoise", lambda: SeededNoise(7))
    names: dict[str, object] = {}
    shown = [shown_by(source, names) for source in CODE]
    charts = [each for each in shown if hasattr(each, "mark_point") or type(each).__name__ == "LayerChart"]
    assert len(charts) == 2
    assert all(chart.to_dict()["layer"] for chart in charts)
    assert "verdict" in names["release"]._repr_html_()
    assert list(names["frame"].columns)[:3] == ["name", "mean", "noise_stddev"]
    assert "of 4 intervals contain the mean" in capsys.readouterr().out
    assert names["inside"].sum() >= 3


def test_no_output_is_kept():
    """An output would be of another version, and of noise that was drawn once."""
    assert all(cell.get("outputs", []) == [] and cell.get("execution_count") is None for cell in NOTEBOOK["cells"])
