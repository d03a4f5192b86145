"""The bit followed by a Gaussian: its true divergence on finite worlds, cell by cell, against the claim (P6, P9).

A world: the noisy count falls into a cell z; z decides between which neighboring statistics (k, k') the adversary
sits; the bit passes with p_k or p_k'; on pass a Gaussian falls into a cell y, and where a statistic is below 2 the two
data sets have nothing in common. Cutting outputs into cells is post-processing, so the sum below is a divergence that
really occurs: a claim smaller than it is wrong. The cells are fine, so a right claim is only just above it.
"""

import math
from functools import partial

import numpy as np
import pytest
from scipy.special import ndtr

from dimfree.accounting import events
from dimfree.accounting import ladder as ladder_module
from dimfree.accounting.calibrate import shortest_ladder
from dimfree.accounting.ladder import DENOMINATOR, Ladder
from dimfree.accounting.precision import largest_mu, total_delta

WIDTH = 0.03  # of a cell, in standard deviations
BUDGETS = [(1.0, 1e-6), (4.0, 1e-6), (1.0, 1e-2), (0.5, 1e-4), (8.0, 1e-10)]
SHARES = [0.0, 1 / 8, 1 / 4]  # mu before the bit, over the whole
CASES = [(*budget, share) for budget in BUDGETS for share in SHARES]


def cells(mu):
    """Masses of N(mu, 1) and N(0, 1) on the same cells; the outer cells reach to infinity."""
    edges = np.arange(-9.0, 9.0 + mu + WIDTH, WIDTH)

    def masses(center):
        z = edges - center
        inner = np.where(z[1:] > 0, ndtr(-z[:-1]) - ndtr(-z[1:]), ndtr(z[1:]) - ndtr(z[:-1]))
        return np.concatenate([[ndtr(z[0])], inner, [ndtr(-z[-1])]])

    return masses(mu), masses(0.0)


def neighboring_pairs(ladder):
    length = ladder.length
    return [(k, j) for k in range(length + 1) for j in (k - 1, k, k + 1) if 0 <= j <= length]


def one_pair(ladder, mu, pair):
    """Masses of (refused, pass cells) at T = k and at T = k'."""
    here, there = cells(mu) if min(pair) >= 2 else (np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    p, q = (ladder.numerator(k) / DENOMINATOR for k in pair)
    return np.append(p * here, 1 - p), np.append(q * there, 1 - q)


def divergences(ladder, mu_before, mu_after, epsilon):
    """The part of the divergence in every cell of the count (columns), for every pair of statistics (rows)."""
    before, before_there = cells(mu_before) if mu_before else (np.ones(1), np.ones(1))
    rows = []
    for pair in neighboring_pairs(ladder):
        here, there = one_pair(ladder, mu_after, pair)
        gap = np.multiply.outer(before, here) - math.exp(epsilon) * np.multiply.outer(before_there, there)
        rows.append(np.maximum(0.0, gap).sum(axis=1))
    return np.array(rows)


def truth(ladder, mu_before, mu_after, epsilon):
    """The divergence when the count decides which pair of neighboring statistics is met."""
    return divergences(ladder, mu_before, mu_after, epsilon).max(axis=0).sum()


def claim(ladder, mu_before, mu_after, epsilon):
    return total_delta(epsilon, mu_before, partial(ladder_module.ladder_profile, ladder, mu_after))


def built(epsilon, delta, share, slack=1.1):
    """(ladder, mu_before, mu_after) as the calibration builds them, tight at delta."""
    mu = largest_mu(epsilon, delta)
    mu_after = math.sqrt((mu / slack) ** 2 - (mu * share) ** 2)
    ladder = shortest_ladder(epsilon, delta, mu * share, mu_after, 0.01)
    assert ladder is not None
    return ladder, mu * share, mu_after


def with_rungs(ladder, change):
    probabilities = change(ladder.probabilities())
    return Ladder(tuple(int(min(1.0, p) * DENOMINATOR) for p in probabilities))


@pytest.mark.parametrize(("epsilon", "delta", "share"), CASES)
def test_claim_covers_the_true_divergence_and_is_sharp(epsilon, delta, share):
    ladder, before, after = built(epsilon, delta, share)
    true = truth(ladder, before, after, epsilon)
    assert true <= claim(ladder, before, after, epsilon) <= delta
    assert claim(ladder, before, after, epsilon) <= true * 1.003 + 2e-13


@pytest.mark.parametrize("level", [0.0, 0.3, 0.9, 1.5, 3.0])
def test_claim_covers_the_true_divergence_at_other_levels(level):
    """The ledger asks at epsilon less the slack, and P9 at every loss: the claim holds away from the promise too."""
    ladder, before, after = built(1.0, 1e-4, 1 / 8)
    assert truth(ladder, before, after, level) <= claim(ladder, before, after, level)


def test_claim_covers_ladders_that_nobody_tuned(rng):
    """Random ladders of a few rungs: the profile is a bound for every ladder, not only for good ones."""
    for _ in range(30):
        rungs = np.sort(rng.uniform(size=rng.integers(3, 8)) ** rng.choice([1, 4, 12]))
        ladder = Ladder(tuple(int(p * DENOMINATOR) + 1 for p in rungs))
        before, after, level = rng.uniform(0.05, 1), rng.uniform(0.05, 2), rng.uniform(0, 3)
        assert truth(ladder, before, after, level) <= claim(ladder, before, after, level)
        assert truth(ladder, 0.0, after, level) <= claim(ladder, 0.0, after, level)


def test_claim_of_a_menu_covers_the_choice_by_the_count():
    """Two ladders and a bounded branch: the count may choose the worse one in every cell."""
    (first, before, mu), (second, _, gentler) = built(1.0, 1e-4, 1 / 8), built(1.0, 1e-4, 1 / 8, slack=1.3)
    branches = (events.Tested(first, mu), events.Tested(second, gentler), events.Bounded(mu / 2, 1e-5))
    rows = [divergences(first, before, mu, 1.0), divergences(second, before, gentler, 1.0)]
    true = np.concatenate(rows).max(axis=0).sum()
    assert true <= total_delta(1.0, before, partial(events.branches_profile, branches))


# ---- broken twins: each wrong account promises less than what really happens


def test_twin_with_a_fixed_statistic_inside_the_expectation_is_caught():
    ladder, before, after = built(1.0, 1e-2, 1 / 4)
    twin = divergences(ladder, before, after, 1.0).sum(axis=1).max()  # sup outside: the same pair for every count
    assert truth(ladder, before, after, 1.0) > 1.05 * twin


def test_twin_with_the_larger_of_two_cases_is_caught():
    """max(δ1, δ2) over "both stable" and "not both stable", each with its own expectation."""
    ladder, before, after = built(1.0, 1e-2, 1 / 4)
    parts = divergences(ladder, before, after, 1.0)
    stable = np.array([min(pair) >= 2 for pair in neighboring_pairs(ladder)])
    twin = max(parts[stable].max(axis=0).sum(), parts[~stable].max(axis=0).sum())
    assert truth(ladder, before, after, 1.0) > 1.03 * twin


@pytest.mark.parametrize(("epsilon", "delta", "share"), [(1.0, 1e-6, 0.0), (1.0, 1e-6, 1 / 8), (0.5, 1e-4, 1 / 4)])
def test_twin_with_one_rung_raised_by_a_twentieth_is_caught(epsilon, delta, share):
    ladder, before, after = built(epsilon, delta, share)
    middle = ladder.length // 2
    raised = with_rungs(ladder, lambda p: np.where(np.arange(len(p)) == middle, p * 1.05, p))
    assert truth(raised, before, after, epsilon) > delta  # it really leaks …
    assert claim(raised, before, after, epsilon) > delta  # … and the account sees it


def test_twin_that_forgets_the_noisy_count_is_caught():
    """A ladder tight on its own leaks when a count was released before it."""
    ladder, _, after = built(1.0, 1e-6, 0.0)
    before = largest_mu(1.0, 1e-6) / 4
    assert truth(ladder, before, after, 1.0) > 1e-6
    assert claim(ladder, before, after, 1.0) > 1e-6


def test_twin_with_half_the_noise_on_pass_is_caught():
    ladder, before, after = built(1.0, 1e-6, 1 / 8)
    assert truth(ladder, before, 2 * after, 1.0) > 100e-6
