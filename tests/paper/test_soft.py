"""The soft core's weights and their total, against the formula."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dimfree.paper import soft

counts_of = st.integers(0, 30).flatmap(lambda n: st.lists(st.integers(1, max(n, 1)), min_size=n, max_size=n))


def by_formula(counts):
    n = len(counts)
    return [max(Fraction(2 * c, n) - 1, Fraction(0)) for c in counts]


@settings(max_examples=300, deadline=None)
@given(counts_of)
def test_weights_and_total_are_the_formula(counts):
    whole = soft.soft_weights(np.array(counts, dtype=np.int64))
    exact = by_formula(counts)
    assert soft.total_weight(whole) == sum(exact)
    scales = {Fraction(int(w)) / e for w, e in zip(whole, exact, strict=True) if e}
    assert len(scales) <= 1
    assert all((w == 0) == (e == 0) for w, e in zip(whole, exact, strict=True))


@pytest.mark.parametrize("n", [1, 2, 3, 10, 101])
def test_everybodys_friend_weighs_one(n):
    assert soft.total_weight(soft.soft_weights(np.full(n, n))) == n


def test_half_the_friends_weigh_nothing():
    assert soft.soft_weights(np.array([5] * 10)).tolist() == [0] * 10


def test_no_records_weigh_nothing():
    assert soft.total_weight(soft.soft_weights(np.zeros(0, dtype=np.int64))) == 0


def test_the_published_constants():
    """P3: |W - W'| < 2, displacement 4·radius/W, refuse at or below 2 so that both totals are positive."""
    assert (soft.TOTAL_SENSITIVITY, soft.MEAN_SENSITIVITY, soft.SMALLEST_TOTAL) == (2.0, 4.0, 2.0)
