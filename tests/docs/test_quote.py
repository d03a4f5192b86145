"""`python -m benchmarks.quote` writes the quoted tables as the tests of quoted figures read them."""

from pathlib import Path

import pytest
from benchmarks.quote import PAGES, ordinary_row, rewritten

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_are_as_they_would_be_written(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert rewritten(text, with_plan=name != "README.md") == text


def test_other_figures_would_be_replaced():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    broken = text.replace("| wine | 178 × 13 | 4 | **", "| wine | 178 × 13 | 4 | **9")
    assert broken != text
    assert rewritten(broken, with_plan=False) == text


def test_a_row_of_ordinary_tables():
    estimators = {name: {"z": z} for name, z in (("relative", 0.1234), ("Laplace, bounds × 2", 1.0),
                                                  ("Gaussian, bounds × 2", 0.5))}  # fmt: skip
    cell = {"world": "wine", "count": 178, "dimension": 13, "epsilon": 4.0, "estimators": estimators}
    assert ordinary_row(cell) == "| wine | 178 × 13 | 4 | **0.123** | 1 | 0.5 |"
