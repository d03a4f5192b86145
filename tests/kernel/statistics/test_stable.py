"""The stable core's arithmetic: statistic, weights and sensitivity, against the formulas written out."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dimfree.accounting.budget import Neighbors
from dimfree.kernel.statistics.stable import (
    admissible,
    cap_by_count,
    core_sensitivity,
    stability,
    start_share,
    weights,
)

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
thousandths = st.integers(560, 1000).map(lambda k: Fraction(k, 1000))
counts_of = st.integers(0, 30).flatmap(lambda n: st.lists(st.integers(1, max(n, 1)), min_size=n, max_size=n))


def integers(values):
    return np.array(values, dtype=np.int64)


def stability_by_definition(counts, share, budget, relation):
    n, slope = len(counts), share if relation is ADD else 1
    for k in range(budget + 1):
        if sum(c < share * n + slope * k for c in counts) + k >= budget:
            return k
    raise AssertionError("unreachable: k = B always qualifies")


@settings(max_examples=120, deadline=None)
@given(counts_of, thousandths, st.integers(2, 12), st.sampled_from([ADD, REPLACE]))
def test_stability_is_its_definition(counts, share, budget, relation):
    assert stability(integers(counts), share, budget, relation) == stability_by_definition(
        counts, share, budget, relation
    )


def test_stability_compares_without_rounding():
    """0.7 · 10 is 7 exactly here; in floats the product is 7.000000000000001 or 6.999… for other shares."""
    for thousandth in range(501, 1001):
        share = Fraction(thousandth, 1000)
        friends = integers([thousandth] * 1000)  # exactly b·n friends
        for relation in (ADD, REPLACE):
            assert stability(friends, share, 2, relation) == 1
            assert stability(friends - 1, share, 2, relation) == 0


@pytest.mark.parametrize(
    ("statistic", "count", "floor", "expected"),
    [(9, 100, 50, 9), (9, 55, 50, 5), (9, 50, 50, 0), (9, 3, 50, 0), (9, 10, -5, 9), (9, 0, -5, 5), (0, 99, 1, 0)],
)
def test_the_count_caps_the_statistic(statistic, count, floor, expected):
    assert cap_by_count(statistic, count, floor) == expected


@settings(max_examples=120, deadline=None)
@given(counts_of, thousandths, st.sampled_from([ADD, REPLACE]))
def test_weights_are_the_clipped_shares(counts, share, relation):
    n = len(counts)
    if n == 0:
        assert weights(integers(counts), Fraction(1, 2), share).size == 0
        return
    a = start_share(n, relation)
    if a >= share:
        return
    whole = weights(integers(counts), a, share)
    full = (share - a) * n
    exact = [min(max((c - a * n) / full, Fraction(0)), Fraction(1)) for c in counts]
    scales = {Fraction(int(w)) / e for w, e in zip(whole, exact, strict=True) if e}
    assert whole.dtype == np.int64
    assert all((w == 0) == (e == 0) for w, e in zip(whole, exact, strict=True))
    assert len(scales) <= 1  # one common denominator: no rounding anywhere


def test_start_share():
    assert start_share(10, ADD) == Fraction(1, 2)
    assert start_share(10, REPLACE) == Fraction(11, 20)
    assert all(2 * int(start_share(n, REPLACE) * n) >= n for n in range(1, 50))  # P5's condition


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize(("n", "share", "budget"), [(20, 800, 2), (200, 700, 30), (1000, 820, 95), (4000, 990, 400)])
def test_sensitivity_is_the_formula(n, share, budget, relation):
    found = core_sensitivity(n, Fraction(share, 1000), budget, relation)
    exact = exact_sensitivity(n, Fraction(share, 1000), budget, relation)
    assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 10**11))  # rounded up


def exact_sensitivity(n, b, B, relation):
    """P5 with the radius as unit, as it is printed."""
    if relation is ADD:
        a = Fraction(1, 2)
        others = b * (B - 2) / ((b - a) * n) * min(2, 1 + (1 - a) * n / (n - B + 1))
        return (1 + (1 - b) * n / (n - B + 1) + others) / (n - B + 2)
    a = Fraction(1, 2) + Fraction(1, 2 * n)
    return (2 + (B - 2) / ((b - a) * n) * min(2, 1 + ((1 - a) * n + 1) / Fraction(n - B + 2))) / (n - B + 2)


@settings(max_examples=100, deadline=None)
@given(thousandths, st.integers(2, 80), st.integers(0, 3000))
def test_sensitivity_falls_with_the_number_of_records(share, budget, more):
    """P5' evaluates the bound at the lowest possible number: it must be the worst one."""
    lowest = 2 * (budget - 1)
    assert core_sensitivity(lowest + more, share, budget, ADD) >= core_sensitivity(
        lowest + more + 1, share, budget, ADD
    )


@pytest.mark.parametrize(
    ("count", "share", "budget", "relation", "expected"),
    [
        (18, 800, 10, ADD, True),
        (17, 800, 10, ADD, False),  # n >= 2 (B - 1)
        (18, 550, 10, ADD, False),  # b > a + 0.05
        (18, 551, 10, ADD, True),
        (18, 1001, 10, ADD, False),
        (18, 800, 1, ADD, False),
        (11, 800, 10, REPLACE, True),
        (10, 800, 10, REPLACE, False),  # n > B
        (100, 555, 10, REPLACE, False),  # a is half a record higher
        (100, 556, 10, REPLACE, True),
        (0, 800, 10, ADD, False),
        (0, 800, 10, REPLACE, False),
        (-5, 800, 10, ADD, False),
    ],
)
def test_where_the_bound_holds(count, share, budget, relation, expected):
    assert admissible(count, Fraction(share, 1000), budget, relation) is expected
