"""The table of record numbers in docs/choosing.md is what the code asks for."""

import math
import re
from pathlib import Path

import pytest

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_gaussian, calibrate_private_count
from dimfree.estimators.choose.constants import LEAST_STRENGTH, NAMED_STRENGTH, RADIUS_SEARCH_SHARE
from dimfree.estimators.columns.state import strength

PAGE = (Path(__file__).parents[2] / "docs/choosing.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
DELTA = 1e-6


def least_records(columns: int, epsilon: float, *, auto: bool = False) -> int:
    """The smallest number of records that `objective` "relative" accepts, or that "auto" gives to it."""
    budget = Budget(epsilon, DELTA)
    alone = calibrate_gaussian(budget, private_count=True)
    beside = calibrate_private_count(budget, 0.01, untested=True, search_share=RADIUS_SEARCH_SHARE)
    branch, least = (beside.untested, NAMED_STRENGTH) if auto else (alone.untested, LEAST_STRENGTH)
    assert branch is not None
    return math.ceil(least / strength(1.0, Neighbours.ADD_REMOVE, branch.mu**2, columns))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_page_tells_how_many_records_are_needed(row):
    columns, *told = map(int, row)
    assert told == [least_records(columns, epsilon, auto=auto) for epsilon in (1.0, 4.0) for auto in (False, True)]


def test_every_row_is_found():
    assert [int(row[0]) for row in ROWS] == [5, 20, 100, 500]
