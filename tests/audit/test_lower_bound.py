"""The bound is a bound: its intervals have their level, its parts do not leak, and it finds what there is to find."""

import doctest
import math

import numpy as np
import pytest
from scipy.stats import binom
from stats import sampling

import dimfree.audit.lower_bound as module
from dimfree.accounting.precision import hockey_stick
from dimfree.audit.lower_bound import (
    ThresholdTest,
    at_least,
    at_most,
    bound,
    choose_tests,
    epsilon_at_least,
    lower_bound,
    rules_out,
)
from dimfree.errors import InvalidParameterError

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


@pytest.mark.parametrize(("trials", "other_trials"), [(40, 40), (60, 30)])
@pytest.mark.parametrize("failure", [0.05, 1e-3])
def test_a_true_epsilon_is_ruled_out_no_more_often_than_said(trials, other_trials, failure):
    """Exactly: both numbers of hits summed over, at the edge of what (epsilon, delta) allows."""
    epsilon, delta, found = 0.7, 0.05, []
    hits, others = np.arange(trials + 1), np.arange(other_trials + 1)
    out = np.array([[rules_out((x, trials, y, other_trials), epsilon, delta, failure) for y in others] for x in hits])
    for q in np.linspace(0.001, (1 - delta) / math.exp(epsilon), 60):
        chances = binom.pmf(hits, trials, math.exp(epsilon) * q + delta)[:, None] * binom.pmf(others, other_trials, q)
        found.append(float(chances[out].sum()))
    assert failure / 20 < max(found) <= failure


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 0.9])
def test_few_cells_rule_out_no_more_than_many(epsilon, monkeypatch):
    """In every cell p is at its largest and q at its largest, so that coarse cells err on the side of the accused."""
    seen = [(hits, 40, others, 30) for hits in range(0, 41, 4) for others in range(0, 31, 3)]
    found = {}
    for cells in (1, 3, 10, 5000):
        monkeypatch.setattr(module, "_CELLS", cells)
        found[cells] = {counts for counts in seen if rules_out(counts, epsilon, 0.05, 0.02)}
    assert found[1] <= found[5000]
    assert found[3] <= found[5000]
    assert found[1] < found[10] <= found[5000] < set(seen)  # and cells make a difference


@pytest.mark.parametrize("counts", [(30, 40, 3, 40), (40, 40, 0, 50), (300, 1000, 150, 1000)])
def test_the_largest_epsilon_is_where_ruling_out_ends(counts):
    found = epsilon_at_least(counts, 0.01, 1e-3)
    assert found > 0
    assert rules_out(counts, found, 0.01, 1e-3)
    assert not rules_out(counts, found + 1e-6, 0.01, 1e-3)
    apart = math.log(float(at_least(*counts[:2], 5e-4) - 0.01) / float(at_most(*counts[2:], 5e-4)))
    assert apart < found  # two intervals that share the failure say less


@pytest.mark.parametrize("counts", [(0, 9, 0, 9), (9, 9, 9, 9), (0, 9, 9, 9), (4, 9, 4, 9)])
def test_counts_that_say_nothing(counts):
    assert epsilon_at_least(counts, 0.0, 0.01) == 0


def gaussians(rng, mu, count, columns=3):
    here, there = rng.normal(size=(2, count, columns))
    here[:, 1] += mu
    return here, there


def true_epsilon(mu, delta):
    levels = np.linspace(0, 8, 4001)
    return float(levels[np.argmax(hockey_stick(mu, levels) <= delta)])


@sampling(1e-6)
@pytest.mark.parametrize(("mu", "epsilon"), [(0.5327, 1.0), (1.2106, 3.0)])
def test_the_plain_gaussian_is_seen_nearly_whole(rng, mu, epsilon):
    """100 000 samples, delta 1e-2, confidence 1 - 1e-6: by measurement 0.84 and 0.82 of epsilon, deviation 0.02."""
    assert true_epsilon(mu, 1e-2) == pytest.approx(epsilon, abs=0.01)
    found = lower_bound(*(column[:, 1] for column in gaussians(rng, mu, 100_000)), 1e-2, FAILURE)
    assert 0.7 * epsilon < found.epsilon <= epsilon


@sampling(1e-6)
def test_a_bound_at_a_mild_level_errs_no_more_often_than_said(rng):
    """25 audits of randomized response at exactly its epsilon, failure 0.1 each."""
    wrong = 0
    for _ in range(25):
        here, there = rng.uniform(size=(2, 200)) < np.array([[math.e], [1.0]]) / (1 + math.e)
        wrong += lower_bound(here.astype(float), there.astype(float), 0.0, 0.1).epsilon > 1
    assert wrong <= 12
    assert binom.sf(12, 25, 0.1) < 1e-6


def test_samples_that_chose_are_not_tested(rng):
    """Many useless features: on the samples that chose them they look telling, on others they do not."""
    here, there = rng.normal(size=(2, 60, 200))
    tests = choose_tests(here, there)
    assert bound(tests, here, there, 0.0, 0.01).epsilon > 1
    fresh_here, fresh_there = rng.normal(size=(2, 60, 200))
    assert bound(tests, fresh_here, fresh_there, 0.0, 1e-6).epsilon == 0


def test_every_set_that_is_tested_gets_its_share_of_the_failure(rng):
    """Two scores, four thresholds in all: the best bound at a quarter of the failure, not at all of it."""
    here, there = gaussians(rng, 1.5, 500, columns=2)
    none = np.zeros(0)
    tests = [
        ThresholdTest("telling", lambda rows: rows[:, 1], np.array([1.0, 2.0]), np.array([-0.5])),
        ThresholdTest("idle", lambda rows: rows[:, 0], none, np.array([0.0])),
    ]
    seen = [(here[:, 1] >= 1, there[:, 1] >= 1), (here[:, 1] >= 2, there[:, 1] >= 2)]
    seen += [(there[:, 1] <= -0.5, here[:, 1] <= -0.5), (there[:, 0] <= 0, here[:, 0] <= 0)]
    counts = [(int(one.sum()), 500, int(other.sum()), 500) for one, other in seen]
    found = bound(tests, here, there, 0.01, 1e-3)
    assert found.epsilon == max(epsilon_at_least(each, 0.01, 1e-3 / 4) for each in counts)
    assert 0 < found.epsilon < max(epsilon_at_least(each, 0.01, 1e-3) for each in counts)
    alone = bound(tests[:1], here, there, 0.01, 1e-3)
    assert alone.epsilon == max(epsilon_at_least(each, 0.01, 1e-3 / 3) for each in counts[:3])


@sampling(1e-6)
def test_a_difference_in_spread_is_found(rng):
    here, there = rng.normal(size=(2, 8000, 1))
    found = lower_bound(2 * here, there, 1e-2, FAILURE)
    assert found.epsilon > 1
    assert found.test in ("distance from the median", "classifier")


@sampling(1e-6)
def test_a_difference_that_only_two_features_together_show_is_found(rng):
    """Equal means and spreads of every feature; the sum tells."""
    here, there = rng.normal(size=(2, 8000, 2))
    common = rng.normal(size=(8000, 1)) * 6
    here, there = np.hstack([here + 3 + common, common]), np.hstack([there + common, common])
    assert lower_bound(here, there, 1e-2, FAILURE).epsilon > 2


def test_refusals_and_wild_numbers_are_samples_too(rng):
    """NaN where nothing left, infinities and huge values: no warning, and the refusal itself tells."""
    here, there = rng.normal(size=(2, 4000, 3))
    here[:2000, 1:], here[:2000, 0] = math.nan, 5.0
    rng.shuffle(here)
    there[:, 2] = np.where(rng.uniform(size=4000) < 0.5, 1e300, -math.inf)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert lower_bound(here, there, 0.0, FAILURE).epsilon > 2


def test_a_frequent_output_never_lies_on_a_threshold(rng):
    """Both tables refuse half of the time; scores of the same output are equal to the bit in batches of any size."""
    rows = rng.normal(size=(4001, 7))
    rows[::2] = rows[0]
    for test in choose_tests(rows[:2000], rows[2000:]):
        scores = [test.score(rows[:size])[0] for size in (1, 2, 3, 17, 1000, 4001)]
        assert len(set(scores)) == 1
        for threshold in (*test.above, *test.below):
            assert abs(scores[0] - threshold) >= 1e-9


def test_vectors_are_columns_and_lengths_may_differ(rng):
    here, there = gaussians(rng, 2.0, 4000, columns=2)
    found = lower_bound(here[:, 1], there[:3000, 1], 1e-2, FAILURE)
    assert found == lower_bound(here[:, 1:], there[:3000, 1:], 1e-2, FAILURE)
    assert found.samples == 3000 + 2250
    assert found.epsilon > 1


@pytest.mark.parametrize(
    ("here", "there", "delta", "failure", "word"),
    [
        (np.zeros((9, 2)), np.zeros((9, 3)), 0.0, 0.1, "there"),
        (np.zeros((9, 2, 1)), np.zeros((9, 2)), 0.0, 0.1, "here"),
        (np.zeros(3), np.zeros(9), 0.0, 0.1, "`here` must have at least 8 outputs"),
        (np.array(["a"] * 9), np.zeros(9), 0.0, 0.1, "here"),
        (np.zeros(9), np.zeros(9), 1.0, 0.1, "delta"),
        (np.zeros(9), np.zeros(9), -0.1, 0.1, "delta"),
        (np.zeros(9), np.zeros(9), 0.0, 0.0, "failure"),
    ],
)
def test_bad_parameters_are_named(here, there, delta, failure, word):
    with pytest.raises(InvalidParameterError, match=word):
        lower_bound(here, there, delta, failure)


def test_the_example_of_the_docstring_runs():
    ran = doctest.testmod(module)
    assert ran.attempted > 0
    assert ran.failed == 0
