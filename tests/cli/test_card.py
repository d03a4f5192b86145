"""The card of a release by columns begins with noise beside spread; its names are text, and the list stays short."""

import numpy as np
import pytest
from typer.testing import CliRunner

from dimfree.cli import app
from dimfree.noise import SeededNoise


@pytest.fixture(autouse=True)
def folder(folder, monkeypatch):
    monkeypatch.setattr("dimfree.noise.SystemNoise", lambda: SeededNoise(3))
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(60, 12, 800), rng.lognormal(1, 1, 800), np.zeros((800, 12))])
    names = ",".join(["age", "crp", *(f"[red]none {i}" for i in range(12))])
    np.savetxt("people.csv", table, delimiter=",", header=names, comments="")
    return folder


def card(*words) -> str:
    done = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["mean", "people.csv", "--delta", "1e-6", *words])
    assert done.exit_code == 0, done.output
    return " ".join(done.stderr.replace("│", " ").split())


def test_unresolved_columns_are_named_as_they_are_and_cut_short():
    words = card("--epsilon", "4")
    assert "[red]none 0, [red]none 1" in words
    assert "and 4 more" in words
    assert "[red]none 11" not in words.split("unresolved")[1].split("reach")[0]
