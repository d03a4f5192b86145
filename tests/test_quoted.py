"""What an error may quote: one number or one short word; anything else is named by its type."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dimfree._validate import check_path, check_positive, quoted
from dimfree.accounting.budget import Neighbours
from dimfree.errors import InvalidParameter


class Loud(float):
    def __repr__(self) -> str:
        return "a record"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "1.5"),
        (-3, "-3"),
        (True, "True"),
        (None, "None"),
        ("heavy", "'heavy'"),
        ("it's", '"it\'s"'),
        (np.float64(0.1), "0.1"),
        (np.float32(0.5), "0.5"),
        (np.int8(7), "7"),
        (np.bool_(False), "False"),
        (np.str_("word"), "'word'"),
        (Neighbours.ADD_REMOVE, "'add-remove'"),
        (Loud(2.5), "2.5"),
        (10**29, str(10**29)),
        (10**30, "<int>"),
        (-(10**400), "<int>"),
        ("x" * 40, repr("x" * 40)),
        ("x" * 41, "<str>"),
        (b"bytes", "<bytes>"),
        (1j, "<complex>"),
        (Decimal("0.5"), "<Decimal>"),
        (Fraction(1, 2), "<Fraction>"),
        (np.longdouble(1), "<longdouble>"),
        (np.timedelta64(1, "D"), "<timedelta64>"),
        ([1.5], "<list>"),
        ((1.5,), "<tuple>"),
        ({"a": 1}, "<dict>"),
        ({1}, "<set>"),
        (np.array(1.5), "<ndarray>"),
        (np.ones(1), "<ndarray>"),
        (pd.Series([1.5]), "<Series>"),
        (pd.NA, "<NAType>"),
    ],
)
def test_scalars_are_quoted_and_nothing_else(value, text):
    assert quoted(value) == text


def test_a_number_is_one_number():
    """An array with one entry may be a record; without dimensions it is a number."""
    assert check_positive("epsilon", np.array(0.5)) == 0.5
    assert check_positive("epsilon", Decimal("0.5")) == check_positive("epsilon", Fraction(1, 2)) == 0.5
    for value in (np.ones(1), pd.Series([1.0]), [1.0], "1.0", True, 10**400, 1j):
        with pytest.raises(InvalidParameter, match="`epsilon` must be a finite number above 0"):
            check_positive("epsilon", value)


def test_a_path_is_one_that_a_system_opens(tmp_path):
    assert check_path("path", str(tmp_path)) == check_path("path", tmp_path) == tmp_path
    for value in ("", "a\0b", "x" * 5000, "\ud800", b"study.db", 3, None):
        with pytest.raises(InvalidParameter, match="`path` must be the name of a file"):
            check_path("path", value)
