"""The bound is a bound: its intervals have their level, its halves do not leak, and it finds what there is to find."""

import math

import numpy as np
import pytest
from scipy.stats import binom
from stats import sampling

from dimfree.accounting.precision import hockey_stick
from dimfree.audit.lower_bound import at_least, at_most, bound, choose_tests, lower_bound

FAILURE = 1e-6


@pytest.mark.parametrize("trials", [1, 7, 60])
@pytest.mark.parametrize("failure", [0.05, 1e-4])
def test_clopper_pearson_covers_every_probability_and_is_not_idle(trials, failure):
    """Exactly: the chance, over all numbers of hits, that the bound lies above the truth; summed, not sampled."""
    hits = np.arange(trials + 1)
    low, high = at_least(hits, trials, failure), at_most(hits, trials, failure)
    worst = 0.0
    for p in np.linspace(0.001, 0.999, 400):
        chances = binom.pmf(hits, trials, p)
        assert chances[low > p].sum() <= failure * (1 + 1e-6)
        assert chances[high < p].sum() <= failure * (1 + 1e-6)
        worst = max(worst, chances[low > p].sum())
    assert trials == 1 or worst > failure / 10
    assert low[0] == 0
    assert high[-1] == 1


def gaussians(rng, mu, count, columns=3):
    here, there = rng.normal(size=(2, count, columns))
    here[:, 1] += mu
    return here, there


def true_epsilon(mu, delta):
    levels = np.linspace(0, 8, 4001)
    return float(levels[np.argmax(hockey_stick(mu, levels) <= delta)])


@sampling(1e-6)
@pytest.mark.parametrize("mu", [1.0, 2.0])
def test_two_gaussians_are_told_apart_but_not_more_than_they_are(rng, mu):
    found = lower_bound(*gaussians(rng, mu, 40_000), 1e-2, FAILURE)
    assert 0.6 * true_epsilon(mu, 1e-2) < found.epsilon <= true_epsilon(mu, 1e-2)
    assert found.confidence == 1 - FAILURE


@sampling(1e-6)
def test_equal_samples_give_nothing(rng):
    assert lower_bound(*gaussians(rng, 0.0, 4000), 0.0, FAILURE).epsilon == 0


def test_the_half_that_chose_is_not_tested(rng):
    """Samples with many useless features: on the half that chose them they look telling, on the other they do not."""
    here, there = rng.normal(size=(2, 60, 200))
    tests = choose_tests(here, there)
    assert bound(tests, here, there, 0.0, 0.01).epsilon > 1
    fresh_here, fresh_there = rng.normal(size=(2, 60, 200))
    assert bound(tests, fresh_here, fresh_there, 0.0, 1e-6).epsilon == 0


@sampling(1e-6)
def test_a_difference_in_spread_is_found(rng):
    here, there = rng.normal(size=(2, 8000, 1))
    found = lower_bound(2 * here, there, 1e-2, FAILURE)
    assert found.epsilon > 1
    assert found.test in ("distance from the middle", "classifier")


@sampling(1e-6)
def test_a_difference_that_only_two_features_together_show_is_found(rng):
    """Equal means and spreads of every feature; the sum tells."""
    here, there = rng.normal(size=(2, 8000, 2))
    common = rng.normal(size=(8000, 1)) * 6
    here, there = np.hstack([here + 3 + common, common]), np.hstack([there + common, common])
    assert lower_bound(here, there, 1e-2, FAILURE).epsilon > 2


def test_a_larger_delta_and_a_smaller_failure_give_less(rng):
    here, there = gaussians(rng, 1.5, 4000)
    found = [lower_bound(here, there, delta, failure).epsilon for delta, failure in ((0, 0.1), (0.05, 0.1), (0, 1e-9))]
    assert found[0] > max(found[1:]) > 0


def test_refusals_and_wild_numbers_are_samples_too(rng):
    """NaN where nothing left, infinities and huge values: no warning, and the refusal itself tells."""
    here, there = rng.normal(size=(2, 4000, 3))
    here[:2000, 1:], here[:2000, 0] = math.nan, 5.0
    rng.shuffle(here)
    there[:, 2] = np.where(rng.uniform(size=4000) < 0.5, 1e300, -math.inf)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert lower_bound(here, there, 0.0, FAILURE).epsilon > 2
