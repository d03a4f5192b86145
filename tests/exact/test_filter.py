"""P17: Gaussian releases chosen by those before are no worse than one Gaussian, if their precisions surely sum to P.

Laws of two releases, the second chosen by the first: exact integrals. Then the filter of the kernel, in fractions.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recording import RecordingNoise
from states import standing_session

from dimfree.accounting.discrete import MAX_RELEASES
from dimfree.accounting.precision import hockey_stick
from dimfree.kernel import Ball, KernelError

BALL = Ball(np.zeros(3), 1.0, 1.0)
LEVELS = np.linspace(-3, 6, 37)
GRID = np.linspace(-12, 14, 6001)
FIRST = 0.6  # mu of the first release
SLACK = 3e-5  # of the sum that stands for the integral


def divergence(second, level, *, forward=True):
    """H of both outputs at e^level, where the second release has mu = second(first output)."""
    mean, loss = (FIRST, 1.0) if forward else (0.0, -1.0)
    density = np.exp(-((GRID - mean) ** 2) / 2) / math.sqrt(2 * math.pi)
    loss = loss * (FIRST * GRID - FIRST**2 / 2)
    mus = second(GRID)
    rest = np.empty_like(GRID)
    for mu in np.unique(mus):
        rest[mus == mu] = hockey_stick(float(mu), level - loss[mus == mu])
    return float((density * rest).sum() * (GRID[1] - GRID[0]))


def exceeds(second, precision):
    """By how much, at the worst level and in the worse direction, two releases exceed one of this precision."""
    whole = hockey_stick(math.sqrt(precision), LEVELS)
    return max(
        divergence(second, float(level), forward=forward) - float(one)
        for level, one in zip(LEVELS, whole, strict=True)
        for forward in (True, False)
    )


rules = st.lists(st.floats(0, 1), min_size=1, max_size=6)


@given(rules, st.floats(0.1, 1.5))
@settings(max_examples=25, deadline=None)
def test_any_rule_within_the_precision_costs_no_more_than_one_release(shares, rest):
    """`shares` of what is left, by the interval in which the first output lies."""
    edges = np.linspace(-2, 3, len(shares) - 1) if len(shares) > 1 else np.array([])

    def second(y):
        return np.sqrt(np.array(shares)[np.searchsorted(edges, y)] * rest**2)

    assert exceeds(second, FIRST**2 + rest**2) <= SLACK


def test_who_spends_everything_on_every_path_spends_exactly_one_release():
    assert abs(exceeds(lambda y: np.full_like(y, 0.8), FIRST**2 + 0.8**2)) <= SLACK


TWINS = {
    "the average for what is sure": (lambda y: np.where(y > FIRST, math.sqrt(2) * 0.8, 0.0), FIRST**2 + 0.8**2),
    "more where an output is large": (lambda y: np.where(y > 2.0, 2.4, 0.8), FIRST**2 + 0.8**2),
    "a refund for an output that tells little": (lambda y: np.where(np.abs(y) < 1, 1.0, 0.8), FIRST**2 + 0.8**2),
}


@pytest.mark.parametrize("name", TWINS)
def test_a_filter_that_is_wrong_on_some_path_is_caught(name):
    assert exceeds(*TWINS[name]) > 20 * SLACK


# ---- the filter of a session


def asked(mu, costs):
    """What is charged when a program asks for these precisions, one after the other, whatever is refused."""
    session, view = standing_session(np.zeros((2, 3)), noise=RecordingNoise(), mu=mu)
    for cost in costs:
        try:
            view.sum_clipped(BALL, cost, "p")
        except KernelError:
            continue
    return session.costs().after


def precision_of(events):
    return sum((Fraction(event.sensitivity) ** 2 / Fraction(event.stddev) ** 2 for event in events), Fraction(0))


@given(st.floats(1e-3, 20), st.lists(st.floats(1e-9, 1.2), min_size=1, max_size=60))
@settings(deadline=None)
def test_precisions_sum_to_at_most_p_whatever_is_asked_for(mu, shares):
    events = asked(mu, [math.sqrt(share) * mu for share in shares])
    assert precision_of(events) <= Fraction(mu) ** 2 * Fraction(1 + 3e-12)
    if len(events) < len(shares):  # something was refused
        assert precision_of(events) + max(map(Fraction, shares)) * Fraction(mu) ** 2 > Fraction(mu) ** 2


def test_a_thousand_parts_stay_below_p_and_there_are_no_more():
    """Rounding of many small numbers; what discrete noise costs is reserved for so many releases (M8)."""
    events = asked(0.25, [0.24 / math.sqrt(MAX_RELEASES)] * (MAX_RELEASES + 2))
    assert len(events) == MAX_RELEASES
    assert precision_of(events) <= Fraction(0.25) ** 2
