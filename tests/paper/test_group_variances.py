"""Variances by groups: exact buckets, one group a record, the paper's lemmas, the shares of repeated votes."""

import itertools
import math

import numpy as np
import pytest
from recording import RecordingNoise
from scipy.special import bdtrc
from stats import sampling

from dimfree.accounting.budget import Budget
from dimfree.data.records import as_records
from dimfree.errors import InvalidParameterError
from dimfree.noise import SeededNoise
from dimfree.paper.mechanisms import publishing_threshold, sparse_scale
from dimfree.paper.variance_votes import (
    EMPTY,
    LARGEST,
    ZERO,
    GroupVariances,
    bucket,
    bucket_edge,
    coordinate_variances,
    delta_repeated,
    find_kth_largest_variance,
    group_sums,
    group_variances,
    share_repeated,
    top_variances,
    variance_sum,
)

# ---- buckets


@pytest.mark.parametrize("b", [*range(-537, 512, 61), -537, -512, -1, 0, 1, 511])
def test_a_bucket_starts_exactly_at_its_power_of_four(b):
    edge = bucket_edge(b)
    assert edge == 4.0**b
    assert bucket(edge) == b
    assert bucket(math.nextafter(4 * edge, 0)) == b
    assert bucket(math.nextafter(edge, 0)) == (b - 1 if b > -537 else ZERO)


def test_nothing_and_too_much_have_buckets_of_their_own():
    assert bucket(0.0) == ZERO < bucket(math.ulp(0.0))
    assert bucket_edge(ZERO) == 0.0
    assert bucket(math.inf) == bucket(np.finfo(float).max) == LARGEST
    assert math.isfinite(bucket_edge(LARGEST))


# ---- the estimates


def estimates(table, layout):
    return group_variances(as_records(np.asarray(table, dtype=float)), np.asarray(layout, dtype=np.int64))


def test_the_formula(rng):
    table, layout = rng.normal(size=(12, 3)), [[3, 1, 4, 0], [5, 9, 2, 6]]
    wanted = [
        [((table[g[0], i] - table[g[1], i]) ** 2 + (table[g[2], i] - table[g[3], i]) ** 2) / 4 for i in range(3)]
        for g in layout
    ]
    found = estimates(table, layout)
    assert found.groups == 2
    assert found.values == pytest.approx(np.array(wanted), rel=1e-14)


@pytest.mark.parametrize("hole", [0, 1, 2, 3])
def test_an_empty_slot_or_an_invalid_record_silences_its_group_alone(rng, hole):
    table, layout = rng.normal(size=(8, 2)), np.arange(8).reshape(2, 4)
    whole = estimates(table, layout)
    missing = layout.copy()
    missing[0, hole] = EMPTY
    assert estimates(table, missing).values.tolist() == whole.values[1:].tolist()
    table[hole, 1] = np.nan
    assert estimates(table, layout).values.tolist() == whole.values[1:].tolist()
    assert estimates(table, missing).groups == 2  # the number of groups stays public and the same


def test_one_slot_changes_one_group_to_the_last_bit(rng):
    table, layout = rng.normal(size=(41, 7)), np.arange(40).reshape(10, 4)
    before = estimates(table, layout).values
    layout[3, 2] = 40
    after = estimates(table, layout).values
    assert (before == after).all(axis=1).tolist() == [group != 3 for group in range(10)]


@pytest.mark.parametrize("entries", [1, 64, 2**25])
def test_the_batch_does_not_show_in_the_bits(rng, monkeypatch, entries):
    table, layout = rng.normal(size=(60, 5)) * 1e3, rng.permutation(60).reshape(10, 6)
    whole = estimates(table, layout).values
    monkeypatch.setattr("dimfree.paper.variance_votes._ENTRIES", entries)
    monkeypatch.setattr("dimfree.data.records._BLOCK_ENTRIES", 35)
    assert np.array_equal(estimates(table, layout).values, whole)
    alone = np.concatenate([estimates(table, layout[g : g + 1]).values for g in range(10)])
    assert np.array_equal(alone, whole)
    assert np.array_equal(estimates(np.asfortranarray(table), layout).values, whole)


@pytest.mark.filterwarnings("error")
def test_overflow_is_a_bucket_and_not_a_warning():
    table = np.array([[1e300, 1.0], [-1e300, 2.0]])
    with np.errstate(all="raise"):
        found = estimates(table, [[0, 1]])
        sums = group_sums(found, [0, 1])
        huge = group_sums(GroupVariances(np.full((1, 2), 1.7e308), 1), [0, 1])
    assert found.values.tolist() == [[math.inf, 0.5]]
    assert [bucket(value) for value in (*sums, *huge)] == [LARGEST, LARGEST]


def test_sums_are_correctly_rounded_in_any_order(rng):
    row = rng.normal(size=1000) ** 2 * 10.0 ** rng.integers(-8, 8, 1000)
    (one,), (other,) = (group_sums(GroupVariances(r[None], 1), range(1000)) for r in (row, row[::-1]))
    assert one == other == math.fsum(row)
    assert group_sums(GroupVariances(row[None], 1), []) == [0.0]


@pytest.mark.parametrize("k", [0, 3, -1, 1.5])
def test_k_is_a_number_of_coordinates(k):
    groups = GroupVariances(np.ones((4, 2)), 4)
    with pytest.raises(InvalidParameterError, match="`k` must"):
        find_kth_largest_variance(groups, k, 1.0, 1e-6, noise=SeededNoise(0))
    with pytest.raises(InvalidParameterError, match="`k` must"):
        top_variances(groups, 1.0, k, 1.0, 1e-6, noise=SeededNoise(0))


# ---- the votes: what is asked for and what it is charged


def test_votes_cost_what_they_are_told_to():
    groups, noise = GroupVariances(np.tile([1.0, 4.0, 20.0, 0.0], (200, 1)), 210), RecordingNoise()
    kth = find_kth_largest_variance(groups, 2, 0.5, 1e-6, noise=noise)
    total = variance_sum(groups, [0, 2, 3], 0.25, 1e-7, noise=noise)
    top = top_variances(groups, 4.0, 2, 0.125, 1e-8, noise=noise)
    assert (kth.value, total.value, top.value) == (4.0, 16.0, [1, 2])
    assert [(one.event.epsilon, one.event.delta) for one in (kth, total, top)] == [
        (0.5, 1e-6),
        (0.25, 1e-7),
        (0.125, 1e-8),
    ]
    scales = [scale for kind, scale, _ in noise.asked if kind == "laplace"]
    assert scales[:2] == pytest.approx([4.0, 8.0])
    assert scales[2:] == pytest.approx([s * sparse_scale(2, 0.125, 1e-8) for s in (1, 2, 1)])


def test_more_than_half_of_all_groups_must_say_so_empty_ones_included():
    values = np.concatenate([np.full((100, 1), 8.0), np.zeros((50, 1))])
    assert top_variances(GroupVariances(values, 199), 8.0, 1, 1.0, 1e-6, noise=RecordingNoise()).value == [0]
    assert top_variances(GroupVariances(values, 202), 8.0, 1, 1.0, 1e-6, noise=RecordingNoise()).value == []


def test_coordinates_share_one_budget():
    groups, noise = GroupVariances(np.tile([1.0, 4.0, 20.0], (2000, 1)), 2000), RecordingNoise()
    found = coordinate_variances(groups, [2, 0], 0.5, 1e-6, noise=noise)
    assert [one.value for one in found] == [16.0, 1.0]
    each, failure = share_repeated(2, 0.5, 1e-6)
    assert [(one.event.epsilon, one.event.delta) for one in found] == [(each, failure)] * 2
    assert delta_repeated(2, each, failure, 0.5) <= 1e-6


# ---- the paper's lemmas, on the worst valid estimates


def valid_estimates(rng, variances, groups):
    """Four fifths of the groups within a factor of two, spread over both buckets; the others all wrong alike."""
    values = np.asarray(variances) * 2.0 ** rng.uniform(-1, 1, (groups, 1))
    values[: groups // 5] *= 4.0**6
    return GroupVariances(values, groups)


def histogram_groups(step, failure):
    return math.ceil(2.5 * (publishing_threshold(step.epsilon, step.delta) + 2 / step.epsilon * math.log(1 / failure)))


def at_most(failures, trials, rate, false_alarm):
    """Whether so many failures fit a rate of at most `rate`."""
    return failures == 0 or bdtrc(failures - 1, trials, rate) > false_alarm


STEP, FAILURE, TRIALS = Budget(0.5, 1e-6), 0.05, 400


def misses(ask, truth, rng, seed, groups):
    found = []
    for trial in range(TRIALS):
        value = ask(valid_estimates(rng, [9.0, 1.7, 0.3, 0.0], groups), SeededNoise(10**6 * seed + trial)).value
        found.append(value is None or not truth / 8 < value <= 2 * truth)
    return sum(found)


VOTES = {
    "k-th": (lambda groups, noise: find_kth_largest_variance(groups, 2, 0.5, 1e-6, noise=noise), 1.7),
    "sum": (lambda groups, noise: variance_sum(groups, [0, 2, 3], 0.5, 1e-6, noise=noise), 9.3),
}


@pytest.mark.parametrize("vote", VOTES)
@sampling(1e-6)
def test_valid_estimates_give_the_variance_within_its_factor(rng, seed, vote):
    """Lemmas kth-large and var-sum, with the corrected factor: Q/8 < value <= 2Q."""
    ask, truth = VOTES[vote]
    assert at_most(misses(ask, truth, rng, seed, histogram_groups(STEP, FAILURE)), TRIALS, FAILURE, 1e-6)


def wrong_tops(rng, seed, groups, k=3):
    """Five large coordinates, one in between, many small ones: at most k, all large, and k of them."""
    variances, wrong = [*[1.0] * 40, *[20.0] * 5, 6.0], 0
    for trial in range(TRIALS):
        estimated = valid_estimates(rng, variances, groups)
        found = top_variances(estimated, 16.0, k, 4.0, 1e-6, noise=SeededNoise(10**6 * seed + trial)).value
        wrong += len(found) != k or any(variances[i] < 16.0 / 4 for i in found)
    return wrong


@sampling(1e-6)
def test_the_top_coordinates_are_large_and_as_many_as_asked(rng, seed):
    """Lemma top-var, with the corrected number of groups."""
    groups = math.ceil(3 * sparse_scale(3, 4.0, 1e-6) * math.log(2 * 46 / FAILURE) / 0.3)
    assert at_most(wrong_tops(rng, seed, groups), TRIALS, FAILURE, 1e-6)


@sampling(1e-6)
def test_a_tenth_of_the_groups_finds_wrong_tops(rng, seed):
    groups = math.ceil(0.3 * sparse_scale(3, 4.0, 1e-6) * math.log(2 * 46 / FAILURE) / 0.3)
    assert not at_most(wrong_tops(rng, seed, groups), TRIALS, FAILURE, 1e-6)


@pytest.mark.parametrize("dimension", [1, 30])
@sampling(1e-6)
def test_gaussian_records_give_valid_estimates(rng, dimension):
    """Lemma variance-accuracy: pairs enough for log d, then four fifths of the groups are right in all coordinates."""
    pairs, groups = math.ceil(10 * math.log(3 * dimension)), 600
    records = rng.normal(size=(2 * pairs * groups, dimension)) * 3 + 50
    ratio = estimates(records, np.arange(len(records)).reshape(groups, -1)).values / 9
    right = ((ratio >= 0.5) & (ratio <= 2)).all(axis=1).sum()
    assert right >= 0.8 * groups  # each is right with probability 7/8 at least: fewer is rarer than 1e-7


# ---- repeated composition


def enumerated(times, each, epsilon):
    """The exact divergence of `times` coins, over all outcomes."""
    plus, total = 1 / (1 + math.exp(-each)), 0.0
    for signs in itertools.product((1, -1), repeat=times):
        here = math.prod(plus if s > 0 else 1 - plus for s in signs)
        there = math.prod(1 - plus if s > 0 else plus for s in signs)
        total += max(0.0, here - math.exp(epsilon) * there)
    return total


@pytest.mark.parametrize("times", [1, 3, 8])
@pytest.mark.parametrize("each", [0.05, 1.0])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 2.7])
def test_repeated_votes_by_enumeration(times, each, epsilon):
    wanted = enumerated(times, each, epsilon) + times * 1e-7
    assert wanted - 1e-15 <= delta_repeated(times, each, 1e-7, epsilon) <= wanted + 1e-8


@pytest.mark.parametrize("times", [1, 2, 17, 1000, 10**5])
@pytest.mark.parametrize("epsilon", [1e-3, 0.25, 4.0, 60.0])
def test_shares_fit_and_are_at_least_what_adding_up_gives(times, epsilon):
    each, failure = share_repeated(times, epsilon, 1e-6)
    assert delta_repeated(times, each, failure, epsilon) <= 1e-6
    assert each >= epsilon / times * (1 - 1e-8)


def test_the_printed_share_is_too_large():
    """The broken twin: ε/sqrt(k·log(1/δ)) lacks the factor 2 under the root."""
    times, epsilon, delta = 1000, 1.0, 1e-6
    printed = epsilon / math.sqrt(times * math.log(1 / delta))
    assert delta_repeated(times, printed, delta / times, epsilon) > 10 * delta
    assert share_repeated(times, epsilon, delta)[0] < printed
