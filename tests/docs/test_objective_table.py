"""The table of record numbers in docs/choosing.md is what the code asks for."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dimfree import SeededNoise, release_mean
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_gaussian
from dimfree.estimators.choose.constants import LEAST_STRENGTH
from dimfree.estimators.choose.sample import strength

PAGE = (Path(__file__).parents[2] / "docs/choosing.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| (\d+) \| (\d+) \| (\d+) \|$", PAGE.split("## Which objective?")[1].split("\n## ")[0], re.MULTILINE
)
DELTA = 1e-6


def least_records(columns: int, epsilon: float) -> int:
    """The smallest number of records that objective="relative" accepts."""
    branch = calibrate_gaussian(Budget(epsilon, DELTA), private_count=True).untested
    return math.ceil(LEAST_STRENGTH / strength(1.0, Neighbours.ADD_REMOVE, branch.mu**2, columns))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_page_tells_how_many_records_are_needed(row):
    columns, *told = map(int, row)
    assert told == [least_records(columns, epsilon) for epsilon in (1.0, 4.0)]


def test_every_row_is_found():
    assert [int(row[0]) for row in ROWS] == [5, 20, 100, 500]


def test_the_words_around_it_are_those_of_the_constants():
    assert f"n at least {LEAST_STRENGTH:g}·√(d/P)" in PAGE


def test_a_table_with_names_is_read_by_columns_wherever_that_is_not_refused():
    few = math.ceil(1.1 * least_records(30, 1.0))
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(few, 30)) * 10.0 ** np.arange(-15, 15))
    frame.columns = [f"column {place}" for place in range(30)]
    release = release_mean(frame, epsilon=1.0, delta=DELTA, noise=SeededNoise(0))
    assert release.parameters["objective"] == "relative"


def test_one_record_fewer_is_refused():
    """Under replace-one the number of records is public, and needs √2 times as many."""
    least = math.ceil(LEAST_STRENGTH / strength(1.0, Neighbours.REPLACE_ONE, _public_precision(), 5))
    table = np.random.default_rng(0).normal(size=(least, 5))
    options = {"epsilon": 4.0, "delta": DELTA, "objective": "relative", "neighbours": "replace-one"}
    assert not release_mean(table, **options, noise=SeededNoise(0)).refused
    assert release_mean(table[1:], **options, noise=SeededNoise(0)).refused


def _public_precision() -> float:
    return calibrate_gaussian(Budget(4.0, DELTA), private_count=False).untested.mu ** 2
