"""The ladder of pass probabilities: its shape, its profile, and that it is as short as the mathematics promises."""

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dimfree.accounting import ladder as ladder_module
from dimfree.accounting.calibrate import shortest_ladder
from dimfree.accounting.ladder import DENOMINATOR, Ladder
from dimfree.accounting.precision import FINE, hockey_stick, largest_mu, total_delta

profile = ladder_module.ladder_profile  # under its own name pytest would take it for a test
LADDER = Ladder(tuple(int(p * DENOMINATOR) for p in (1e-6, 1e-6, 1e-6, 2.5e-6, 6e-6, 2e-3, 0.1, 0.6, 0.9, 0.99)))


def build(epsilon, delta, share=0.0, slack=1.1, failure=0.01):
    mu = largest_mu(epsilon, delta)
    after = math.sqrt((mu / slack) ** 2 - (mu * share) ** 2)
    return shortest_ladder(epsilon, delta, mu * share, after, failure), mu * share, after


ladders = st.lists(st.integers(1, DENOMINATOR), min_size=3, max_size=8).map(lambda rungs: Ladder(tuple(sorted(rungs))))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 1e-6), (1, 1e-12), (1, 1e-6), (1, 1e-2), (4, 1e-6), (20, 1e-9)])
@pytest.mark.parametrize("share", [0.0, 0.125])
def test_a_built_ladder_climbs_from_delta_to_the_pass_probability(epsilon, delta, share):
    ladder, before, after = build(epsilon, delta, share)
    rungs = ladder.rungs
    assert rungs[0] == rungs[1] == rungs[2] > 0
    assert rungs[2] <= delta * DENOMINATOR
    assert all(low <= high for low, high in pairwise(rungs))
    assert rungs[-2] < 0.99 * DENOMINATOR <= rungs[-1] + 1
    assert rungs[-1] < DENOMINATOR
    assert total_delta(epsilon, before, partial(profile, ladder, after), FINE) <= delta


@pytest.mark.parametrize(("slack", "steps"), [(1.01, 78), (1.02, 67), (1.05, 52), (1.1, 43)])
def test_ladders_are_as_short_as_the_mathematics_promises(slack, steps):
    """P9: steps needed at (1, 1e-6) with nothing before the bit; within 6 %."""
    assert build(1.0, 1e-6, slack=slack)[0].length <= 1.06 * steps


def test_no_ladder_where_the_precision_is_spent():
    mu = largest_mu(1.0, 1e-6)
    assert shortest_ladder(1.0, 1e-6, 0.0, mu * 1.05, 0.01) is None
    assert shortest_ladder(1.0, 1e-6, mu * 2, mu / 2, 0.01) is None


def test_a_statistic_beyond_the_ladder_meets_its_last_rung():
    assert [LADDER.numerator(k) for k in range(10)] == list(LADDER.rungs)
    assert LADDER.numerator(10) == LADDER.numerator(10**6) == LADDER.rungs[-1]
    assert LADDER.length == 9


def test_probabilities_and_their_complements_come_from_the_integers():
    top = Ladder((1, 1, 1, DENOMINATOR - 1))
    assert top.probabilities()[0] == 2.0**-64
    assert top.complements()[-1] == 2.0**-64  # 1 - p would be 0


@pytest.mark.parametrize("rungs", [(1, 1), (2, 1, 1, 5), (0, 0, 0, 7), (1, 1, 1, DENOMINATOR + 1), (1, 5, 3)])
def test_what_is_no_ladder_is_refused(rungs):
    with pytest.raises(ValueError, match="ladder"):
        Ladder(rungs)


def spelled_out(ladder, mu, x):
    """D* of P9 by two loops."""
    p = [rung / DENOMINATOR for rung in ladder.rungs]
    worst = p[2] + (1 - p[2]) * max(0.0, -math.expm1(x))
    for k in range(2, len(p)):
        for j in range(max(2, k - 1), min(len(p), k + 2)):
            passed = p[k] * float(hockey_stick(mu, x - math.log(p[k] / p[j])))
            worst = max(worst, passed + max(0.0, 1 - p[k] - math.exp(x) * (1 - p[j])))
    return worst


@given(ladders, st.floats(0.01, 3), st.floats(-5, 5))
@settings(deadline=None)
def test_profile_is_the_definition_rounded_up(ladder, mu, x):
    found, exact = profile(ladder, mu, x)[0], spelled_out(ladder, mu, x)
    assert exact - 4e-16 <= found == pytest.approx(exact, rel=1e-9, abs=1e-13)


@given(ladders, st.floats(0.01, 3))
@settings(deadline=None)
def test_profile_falls_and_is_convex_in_the_level(ladder, mu):
    """Convexity in e^x is what makes the chords of P9 an upper bound."""
    levels = np.linspace(1e-3, 20, 400)
    values = profile(ladder, mu, np.log(levels))
    assert (np.diff(values) <= 1e-11).all()
    assert (np.diff(values, 2) >= -1e-11).all()
