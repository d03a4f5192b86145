"""Figures of ordinary tables in README and peers are those of the stored benchmark, to the digit."""

import re
from pathlib import Path

import pytest
from benchmarks.record import read_numbers

ROOT = Path(__file__).parents[2]
NUMBER = r"([\d.]+)"
ROW = re.compile(
    rf"^\| ([a-z][\w, ]*) \| (\d+) × (\d+) \| {NUMBER} \| \*\*{NUMBER}\*\* \| {NUMBER} \| {NUMBER} \|$", re.M
)
QUOTED = ("relative", "Laplace, bounds × 2", "Gaussian, bounds × 2")


@pytest.mark.parametrize("page", ["README.md", "docs/peers.md"])
def test_quoted_figures_are_those_that_were_measured(page):
    cells = {
        (cell["world"], cell["epsilon"]): cell
        for cell in read_numbers(ROOT / "benchmarks/results/ordinary.json.gz")["cells"]
        if cell["section"] == "table"
    }
    rows = ROW.findall((ROOT / page).read_text(encoding="utf-8"))
    assert len(rows) == 6
    for world, count, dimension, epsilon, *figures in rows:
        cell = cells[world, float(epsilon)]
        assert (cell["count"], cell["dimension"]) == (int(count), int(dimension))
        assert figures == [f"{cell['estimators'][name]['z']:.3g}" for name in QUOTED]
