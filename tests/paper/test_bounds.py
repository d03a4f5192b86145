"""Lower bounds: hand-computed values, the right bucket, and never above what some private estimator does."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dimfree.accounting.precision import largest_mu
from dimfree.errors import InvalidParameter
from dimfree.paper.bounds import BUCKETS, fingerprinting_lower_bound, packing_lower_bound
from dimfree.planning.question import spectrum

spectra = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=20)
accuracies = st.floats(0.001, 30.0)
epsilons = st.floats(0.001, 8.0)
deltas = st.floats(1e-9, 0.9)
LOG = 4.7  # what log2 d counts as in few dimensions


# Pure privacy


def test_packing_by_hand():
    limit = packing_lower_bound([5.0, 1.0, 0.1], 1.0, 0.5, radius=8.0)
    assert limit.records == pytest.approx((3 * math.log(4) + math.log(0.9)) / 0.5)
    assert limit.bucket is None


def test_packing_within_ten_lengths_of_the_spectrum_by_default():
    """‖(3, 4)‖ = 5, so R = 50, and 2α = 5."""
    limit = packing_lower_bound([3.0, 4.0], 2.5, 1.0, failure_probability=0.5)
    assert limit.records == pytest.approx(2 * math.log(10) + math.log(0.5))


def test_packing_says_nothing_where_one_answer_serves_all():
    assert packing_lower_bound([1.0] * 9, 1.0, 0.5, radius=2.0).records == 0.0
    assert packing_lower_bound([1.0] * 9, 1.0, 0.5, radius=2.1).records > 0.0


def test_packing_is_kept_by_randomised_choice_of_the_nearest_point():
    """d = 1: k means 2α apart, far more than σ; the exponential mechanism on votes finds the mean with n records."""
    epsilon, spread = 0.3, 1e-3
    for k in (3, 50, 10_000):
        n = next(n for n in range(1, 10_000) if 1 / (1 + (k - 1) * math.exp(-epsilon * n)) >= 0.9)
        radius = k - 1 + 1e-9  # k points with gaps of 2 = 2α
        assert packing_lower_bound([spread], 1.0, epsilon, radius=radius).records <= n
        assert 3 * packing_lower_bound([spread], 1.0, epsilon, radius=radius).records > n or k < 50


def test_packing_depends_on_the_dimension_whatever_the_spectrum():
    steep, flat = (packing_lower_bound(spectrum(s, 500), 0.1, 1.0, radius=5.0).records for s in ("S5", "S4"))
    assert steep == flat > 500


# Approximate privacy


def test_fingerprinting_by_hand_on_a_flat_spectrum():
    """log2 64 = 6."""
    limit = fingerprinting_lower_bound(np.ones(64), 1.0, 0.5, 1e-9)
    assert limit.records == pytest.approx(64 / (24 * 0.5 * 6))
    assert limit.bucket == tuple(range(64))


def test_fingerprinting_by_hand_on_octaves():
    """(4, 8] sums to 8, (2, 4] to 15, (1, 2] to nothing; 1 is in the rest. The smallest of the bucket is 3."""
    limit = fingerprinting_lower_bound([4.0, 8.0, 4.0, 1.0, 3.0, 4.0], 1.0, 0.5, 1e-9)
    assert limit.bucket == (0, 2, 4, 5)
    assert limit.records == pytest.approx(4 * 3 / (24 * 0.5 * LOG))


def test_fingerprinting_by_hand_on_tops():
    """j·σ_j: 8, 8, 12, 16, 15, 6."""
    limit = fingerprinting_lower_bound([4.0, 8.0, 4.0, 1.0, 3.0, 4.0], 1.0, 0.5, 1e-9, buckets="tops")
    assert limit.bucket == (0, 1, 2, 5)
    assert limit.records == pytest.approx(16 / (24 * 0.5 * LOG))


def test_a_delta_of_one_in_n_ends_the_bound():
    """δ = e^-7, |S| = 100: sqrt(2 + 14) = 4, so that the factor is 1 + 5.3/10."""
    limit = fingerprinting_lower_bound(np.ones(100), 1e-3, 0.01, math.exp(-7))
    assert limit.records == pytest.approx(math.exp(7) / (144 * 1.53))


def test_large_epsilon_by_hand():
    limit = fingerprinting_lower_bound(np.ones(64), 0.01, 3.0, 1e-9)
    assert limit.records == pytest.approx(6400 / (24 * 6 * 10.0178749 * 4.4816891 / 2))  # sinh 3, e^1.5


@pytest.mark.parametrize("buckets", BUCKETS)
def test_beyond_the_accuracy_that_the_proof_covers_the_bound_is_nothing(buckets):
    """|S|^1/2·σ_S/3 = 2."""
    covered, beyond = (fingerprinting_lower_bound(np.ones(36), a, 1e-3, 1e-9, buckets=buckets) for a in (2.0, 2.001))
    assert covered.records > 100
    assert beyond.records == 0.0


def test_zero_is_no_estimator_that_the_bound_forbids():
    """The counterexample to the printed theorem: σ = 1, d = 10⁴, means in [-1, 1]^d, α = 100."""
    assert fingerprinting_lower_bound(np.ones(10_000), 100.0, 1e-3, 1e-9).records == 0.0


# The bucket


def octaves(stddevs):
    """Every bucket of the paper, by its definition; the rest comes last."""
    largest, found = max(stddevs), []
    for k in range(1, max(1, math.ceil(math.log2(len(stddevs)))) + 1):
        found.append([i for i, s in enumerate(stddevs) if largest * 2.0**-k < s <= largest * 2.0 ** (1 - k)])
    return [*found, sorted(set(range(len(stddevs))) - {i for bucket in found for i in bucket})]


@settings(max_examples=200, deadline=None)
@given(stddevs=spectra)
def test_the_octave_is_the_heaviest_of_all(stddevs):
    every = octaves(stddevs)
    sums = [math.fsum(stddevs[i] for i in bucket) for bucket in every]
    found = fingerprinting_lower_bound(stddevs, 1e-3, 1.0, 1e-9).bucket
    assert list(found) in every[:-1]
    assert math.fsum(stddevs[i] for i in found) >= max(sums) * (1 - 1e-12)
    assert max(sums[:-1]) >= sums[-1]
    assert len(found) * max(stddevs[i] for i in found) * len(every) >= math.fsum(stddevs) * (1 - 1e-12)


@settings(max_examples=200, deadline=None)
@given(stddevs=spectra, accuracy=accuracies, epsilon=epsilons)
def test_no_other_set_of_coordinates_gives_more_than_the_tops(stddevs, accuracy, epsilon):
    price = (
        24 * accuracy * max(epsilon, math.sinh(epsilon) * math.exp(epsilon / 2) / 2) * max(LOG, math.log2(len(stddevs)))
    )
    best = 0.0
    for least in stddevs:
        size = sum(s >= least for s in stddevs)
        if accuracy <= math.sqrt(size) * least / 3:
            best = max(best, size * least / price)
    limit = fingerprinting_lower_bound(stddevs, accuracy, epsilon, 1e-9, buckets="tops")
    assert limit.records <= best * (1 + 1e-9)
    assert limit.records >= fingerprinting_lower_bound(stddevs, accuracy, epsilon, 1e-9).records * (1 - 1e-12)
    if best < 1e5:  # δ plays no part
        assert limit.records == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("name", ["S1", "S2", "S3", "S4", "S5"])
def test_the_tops_keep_the_sum_up_to_a_logarithm(name):
    """max_j j·σ_j >= ‖σ‖₁/(1 + log d): this is what makes the known-covariance theorem nearly optimal."""
    stddevs = spectrum(name, 1000)
    limit = fingerprinting_lower_bound(stddevs, 1e-4, 1.0, 1e-300, buckets="tops")
    assert limit.records >= stddevs.sum() / (24 * 1e-4 * math.log2(1000) * (1 + math.log(1000)))


# Directions and invariances


@pytest.mark.parametrize("buckets", BUCKETS)
@settings(max_examples=100, deadline=None)
@given(stddevs=spectra, accuracy=accuracies, epsilon=epsilons, delta=deltas, factor=st.floats(1.01, 10.0))
def test_an_easier_question_has_a_lower_limit(buckets, stddevs, accuracy, epsilon, delta, factor):
    def limit(a, e, p):
        return fingerprinting_lower_bound(stddevs, a, e, p, buckets=buckets).records

    least = limit(accuracy, epsilon, delta) * (1 + 1e-12)
    assert limit(accuracy * factor, epsilon, delta) <= least
    assert limit(accuracy, epsilon * factor, delta) <= least
    assert limit(accuracy, epsilon, min(delta * factor, 0.99)) <= least
    for a, e in ((accuracy * factor, epsilon), (accuracy, epsilon * factor)):
        before, after = (packing_lower_bound(stddevs, *q, radius=100.0).records for q in ((accuracy, epsilon), (a, e)))
        assert after <= before


@settings(max_examples=100, deadline=None)
@given(stddevs=spectra, accuracy=accuracies, epsilon=epsilons, delta=deltas, factor=st.floats(1.01, 10.0))
def test_the_tops_grow_with_every_standard_deviation(stddevs, accuracy, epsilon, delta, factor):
    larger = [stddevs[0] * factor, *stddevs[1:]]
    small, large = (fingerprinting_lower_bound(s, accuracy, epsilon, delta, buckets="tops") for s in (stddevs, larger))
    assert small.records <= large.records * (1 + 1e-12)


def test_the_octaves_need_not_grow():
    """Ten ones are one bucket; with one of them raised to 2 the other nine are, and it is out."""
    flat, raised = (fingerprinting_lower_bound([s, *[1.0] * 9], 0.1, 1.0, 1e-9).records for s in (1.0, 2.0))
    assert raised == pytest.approx(0.9 * flat)


@pytest.mark.parametrize("buckets", BUCKETS)
@settings(max_examples=60, deadline=None)
@given(stddevs=spectra, accuracy=accuracies, power=st.integers(-20, 20), seed=st.integers(0, 99))
def test_units_and_order_do_not_matter(buckets, stddevs, accuracy, power, seed):
    unit, order = 2.0**power, np.random.default_rng(seed).permutation(len(stddevs))
    limit = fingerprinting_lower_bound(stddevs, accuracy, 0.5, 1e-6, buckets=buckets)
    rescaled = fingerprinting_lower_bound(np.array(stddevs) * unit, accuracy * unit, 0.5, 1e-6, buckets=buckets)
    shuffled = fingerprinting_lower_bound(np.array(stddevs)[order], accuracy, 0.5, 1e-6, buckets=buckets)
    assert rescaled == limit
    assert shuffled.records == pytest.approx(limit.records, rel=1e-12)
    assert packing_lower_bound(np.array(stddevs) * unit, accuracy * unit, 0.5) == packing_lower_bound(
        stddevs, accuracy, 0.5
    )


def test_the_bucket_follows_its_coordinates():
    stddevs = np.array([8.0, 4.0, 4.0, 4.0, 1.0])
    order = np.array([4, 2, 0, 3, 1])
    limit = fingerprinting_lower_bound(stddevs[order], 0.1, 1.0, 1e-9)
    assert sorted(order[list(limit.bucket)]) == [1, 2, 3]


# Never above what a private estimator does


@pytest.mark.parametrize("buckets", BUCKETS)
def test_a_known_centre_and_gaussian_noise_need_no_less(buckets):
    """The floor: noise of root mean square ‖σ‖₁/(n·mu), mu that of a Gaussian at (ε, δ)."""
    for name, d, relative, epsilon, delta in product(
        ("S1", "S2", "S3", "S4", "S5"), (1, 30, 2000), (0.001, 0.1, 0.3), (0.01, 0.3, 1.0, 3.0, 10.0), (1e-9, 1e-4)
    ):
        stddevs = spectrum(name, d)
        accuracy = relative * float(np.linalg.norm(stddevs))
        floor = stddevs.sum() / (accuracy * largest_mu(epsilon, delta))
        limit = fingerprinting_lower_bound(stddevs, accuracy, epsilon, delta, buckets=buckets).records
        assert limit <= floor, (name, d, relative, epsilon, delta)


@pytest.mark.parametrize("buckets", BUCKETS)
@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("kept", [9, 40, 1000])
def test_keeping_each_record_with_probability_delta_is_private_and_needs_no_less(buckets, delta, kept):
    """(0, δ)-private: the mean of about n·δ records, whose error is (d/(n·δ))^1/2, however small ε is."""
    for d in (1, 100, 100_000):
        limit = fingerprinting_lower_bound(np.ones(d), math.sqrt(d / kept), 1e-12, delta, buckets=buckets)
        assert limit.records <= kept / delta


def test_the_delta_printed_with_the_isotropic_theorem_forbids_that_estimator():
    """thm:KLSU-lb allows δ up to order sqrt(d)/n: then so many records can be kept that its own accuracy is reached."""
    d, n = 1e16, 1e12
    delta = math.sqrt(d) / (n * math.log(n) ** 3)  # the root over n, with logarithms to spare
    accuracy = math.sqrt(d / (n * delta)) * 1.1
    assert accuracy <= math.sqrt(d) / 3  # covered by the theorem (R = 1), which asks for:
    assert d / (24 * accuracy * 1e-9 * math.log(d)) > n


# Errors


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stddevs": []}, "stddevs"),
        ({"stddevs": [0.0]}, "stddevs"),
        ({"stddevs": [math.inf]}, "stddevs"),
        ({"accuracy": -1.0}, "`accuracy` must .*-1.0"),
        ({"epsilon": 0.0}, "`epsilon` must .*0.0"),
        ({"delta": 0.0}, "`delta` must .*0.0"),
        ({"buckets": "halves"}, "`buckets` must .*'halves'"),
    ],
)
def test_errors_name_the_parameter(changes, words):
    question = {"stddevs": [1.0], "accuracy": 0.1, "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(InvalidParameter, match=words):
        fingerprinting_lower_bound(**(question | changes))
    if {"delta", "buckets"}.isdisjoint(changes):
        with pytest.raises(InvalidParameter, match=words):
            packing_lower_bound(**({k: v for k, v in question.items() if k != "delta"} | changes))


def test_errors_of_the_ball():
    with pytest.raises(InvalidParameter, match=r"`radius` must .*0\.0"):
        packing_lower_bound([1.0], 0.1, 1.0, radius=0.0)
    with pytest.raises(InvalidParameter, match=r"`failure_probability` must .*1\.0"):
        packing_lower_bound([1.0], 0.1, 1.0, failure_probability=1.0)


def test_very_large_epsilon_asks_for_nothing():
    assert fingerprinting_lower_bound([1.0], 0.1, 1e5, 1e-6).records == pytest.approx(0.0, abs=1e-100)
