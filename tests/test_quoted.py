"""What an error may quote: one number or one short word; anything else is named by its type."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dimfree._validate import check_path, check_positive, quote
from dimfree.accounting.budget import Neighbors
from dimfree.errors import InvalidParameterError


class Loud(float):
    def __repr__(self) -> str:
        return "a record"


SHOWN = [
    (1.5, "1.5"), (-3, "-3"), (True, "True"), (None, "None"), ("heavy", "'heavy'"), ("it's", '"it\'s"'),
    (np.float64(0.1), "0.1"), (np.float32(0.5), "0.5"), (np.int8(7), "7"), (np.bool_(False), "False"),
    (np.str_("word"), "'word'"), (Neighbors.ADD_REMOVE, "'add-remove'"), (Loud(2.5), "2.5"),
    (10**29, str(10**29)), ("x" * 40, repr("x" * 40)),
]  # fmt: skip
NAMED_BY_TYPE = [
    10**30, -(10**400), "x" * 41, b"bytes", 1j, Decimal("0.5"), Fraction(1, 2), np.longdouble(1),
    np.timedelta64(1, "D"), [1.5], (1.5,), {"a": 1}, {1}, np.array(1.5), np.ones(1), pd.Series([1.5]), pd.NA,
]  # fmt: skip


def test_scalars_are_quoted_and_nothing_else():
    assert [quote(value) for value, _ in SHOWN] == [text for _, text in SHOWN]
    assert [quote(value) for value in NAMED_BY_TYPE] == [f"<{type(value).__name__}>" for value in NAMED_BY_TYPE]


def test_a_number_is_one_number():
    """An array with one entry may be a record; without dimensions it is a number."""
    assert check_positive("epsilon", np.array(0.5)) == 0.5
    assert check_positive("epsilon", Decimal("0.5")) == check_positive("epsilon", Fraction(1, 2)) == 0.5
    for value in (np.ones(1), pd.Series([1.0]), [1.0], "1.0", True, 10**400, 1j):
        with pytest.raises(InvalidParameterError, match="`epsilon` must be a finite number above 0"):
            check_positive("epsilon", value)


def test_a_path_is_one_that_a_system_opens(tmp_path):
    assert check_path("path", str(tmp_path)) == check_path("path", tmp_path) == tmp_path
    for value in ("", "a\0b", "x" * 5000, "\ud800", b"study.db", 3, None):
        with pytest.raises(InvalidParameterError, match="`path` must be the name of a file"):
            check_path("path", value)
