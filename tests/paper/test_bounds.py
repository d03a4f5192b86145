"""Lower bounds: hand-computed values, the right bucket, and never above what some private estimator does."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dimfree.accounting.discrete import after_lifting
from dimfree.accounting.precision import largest_mu
from dimfree.errors import InvalidParameterError
from dimfree.paper.bounds import (
    BUCKETS,
    Need,
    customized_records,
    easy_instance_records,
    fingerprinting_lower_bound,
    folklore_records,
    known_covariance_records,
    packing_lower_bound,
    plan_records,
    unknown_covariance_records,
)
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


def test_a_delta_of_one_in_n_ends_the_bound():
    """δ = e^-7, |S| = 100: sqrt(2 + 14) = 4, so that the factor is 1 + 5.3/10."""
    limit = fingerprinting_lower_bound(np.ones(100), 1e-3, 0.01, math.exp(-7))
    assert limit.records == pytest.approx(math.exp(7) / (144 * 1.53))


@pytest.mark.parametrize("buckets", BUCKETS)
def test_beyond_the_accuracy_that_the_proof_covers_the_bound_is_nothing(buckets):
    """|S|^1/2·σ_S/3 = 2."""
    covered, beyond = (fingerprinting_lower_bound(np.ones(36), a, 1e-3, 1e-9, buckets=buckets) for a in (2.0, 2.001))
    assert covered.records > 100
    assert beyond.records == 0.0


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
        ({"radius": 0.0}, r"`radius` must .*0\.0"),
        ({"failure_probability": 1.0}, r"`failure_probability` must .*1\.0"),
    ],
)
def test_errors_name_the_parameter(changes, words):
    question = {"stddevs": [1.0], "accuracy": 0.1, "epsilon": 1.0, "delta": 1e-6}
    if {"radius", "failure_probability"}.isdisjoint(changes):
        with pytest.raises(InvalidParameterError, match=words):
            fingerprinting_lower_bound(**(question | changes))
    if {"delta", "buckets"}.isdisjoint(changes):
        with pytest.raises(InvalidParameterError, match=words):
            packing_lower_bound(**({k: v for k, v in question.items() if k != "delta"} | changes))


def test_very_large_epsilon_asks_for_nothing():
    assert fingerprinting_lower_bound([1.0], 0.1, 1e5, 1e-6).records == pytest.approx(0.0, abs=1e-100)


# ---- sample sizes, by hand: σ = (2, 1), α = 1/2, ε = 1/2, log 1/δ = 4, log 1/β = 2, so tr Σ = 5, ‖Σ‖ = 4, tr Σ^1/2 = 3

ALL = (
    known_covariance_records,
    customized_records,
    folklore_records,
    plan_records,
    unknown_covariance_records,
    easy_instance_records,
)
E = math.exp
few_stddevs = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=12)
questions = st.tuples(
    few_stddevs, st.floats(0.01, 10.0), st.floats(0.01, 9.0), st.floats(1e-12, 1e-3), st.floats(1e-4, 0.2)
)


def close(need: Need, records: float, **terms: float) -> None:
    assert need.records == pytest.approx(records, rel=1e-6)
    assert dict(need.terms) == pytest.approx(terms, rel=1e-6)


# By hand: σ = (2, 1), α = 1/2, ε = 1/2, log 1/δ = 4, log 1/β = 2, so tr Σ = 5, ‖Σ‖ = 4, tr Σ^1/2 = 3

HAND = ([2.0, 1.0], 0.5, 0.5, E(-4), E(-2))


def test_known_covariance_by_hand():
    t = 2 * 2 * 2 / 0.25  # ‖Σ‖^1/2 · sqrt(log 1/δ) · log 1/β over αε
    assert t == 32
    need = known_covariance_records(*HAND)
    close(need, 52 + 24 + 110.903549 + 12, sampling=52, noise=24, direction=110.903549, count=12)  # 32·log 32


def test_the_printed_logarithm_changes_with_the_units():
    """eq:main-sc has log(‖Σ‖·log(1/δ)·log(1/β)/(αε)): the same question in metres and in kilometres."""

    def printed(unit: float) -> float:
        largest, accuracy = 2 * unit, 0.5 * unit
        return 32 * math.log(largest**2 * 4 * 2 / (accuracy * 0.5))

    assert printed(1.0) > 0 > printed(1e-3)
    metres, kilometres = (known_covariance_records([2 * u, u], u / 2, 0.5, E(-4), E(-2)) for u in (1.0, 1e-3))
    assert metres.records == pytest.approx(kilometres.records)


def test_folklore_and_plan_by_hand():
    center, noise = math.sqrt(8) / 0.5, math.sqrt(2 * 5 * 4) / 0.25
    assert (round(center, 6), round(noise, 6)) == (5.656854, 25.298221)
    close(folklore_records(*HAND), 52 + center + noise, sampling=52, center=center, noise=noise)
    close(plan_records(*HAND), 52 + center + 24, sampling=52, center=center, noise=24)


def test_the_four_conditions_by_hand():
    """d = 16 ones, α = 1, ε = 1/2, log 1/δ = 1, log 1/β = 2; log 16 = 2.7725887."""
    need = unknown_covariance_records(np.ones(16), 1.0, 0.5, E(-1), E(-2))
    variances = 7.6872483 + 2.7725887 * (2.7725887 + 1 + 2) / 0.5
    bottom = 2 * 4 * 2.7725887 / 0.5  # 16^1/4 and 16^1/2
    close(need, bottom, variances=variances, sampling=18, top=32, bottom=bottom)


def test_an_easy_instance_by_hand():
    """σ = (4, 1, 1), α = 1, ε = 1/2, log 1/δ = 4, log 1/β = 2, one variance learned; log 3 = 1.0986123."""
    need = easy_instance_records([1.0, 4.0, 1.0], 1.0, 0.5, E(-4), E(-2), learned=1)
    variances = 1.2069490 + 1.0986123 * 2 * (1.0986123 + 6) / 0.5
    close(need, 18 + 32, sampling=50, variances=variances, top=16, bottom=math.sqrt(2 * 4) * math.sqrt(2) / 0.5)
    assert "1 variances learned" in need.theorem


@pytest.mark.parametrize("name", ["S1", "S3", "S5"])
def test_no_other_number_of_learned_variances_needs_fewer(name):
    question = (spectrum(name, 60), 0.05, 1.0, 1e-6)
    chosen = easy_instance_records(*question).records
    assert chosen == min(easy_instance_records(*question, learned=k).records for k in range(61))


# The explicit constants


def turned(rng, values):
    basis = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    return lambda powers: (basis * powers) @ basis.T


def printed_error(covariance, root, quarter, radius, n, inside, delta, failure):
    """thm:accuracy_main, matrix by matrix; root is M^1/2, quarter is M^-1/4."""
    A, log = quarter @ covariance @ quarter, math.log(1 / failure)
    least = math.sqrt(2 * np.trace(A)) + 2 * math.sqrt(2 * np.linalg.norm(A, 2) * math.log(n / failure))
    sampling = math.sqrt(np.trace(covariance) / n) + math.sqrt(2 * np.linalg.norm(covariance, 2) * log / n)
    clipping = math.sqrt(np.trace(root)) + math.sqrt(2 * np.linalg.norm(root, 2) * log)
    used = least if radius is None else radius
    return sampling + 4 * math.sqrt(2 * math.log(1.25 / delta)) * used / (inside * n) * clipping, least


@pytest.mark.parametrize("given_shape", [None, [1.0, 1.0, 1.0], [0.3, 2.0, 0.7]])
@pytest.mark.parametrize("slack", [None, 1.3])
def test_the_theorem_holds_with_equality_at_the_records_returned(given_shape, slack):
    stddevs, accuracy, epsilon, delta, failure = np.array([2.0, 1.0, 0.1]), 0.3, 1.0, 1e-6, 0.07
    shape = np.asarray(stddevs if given_shape is None else given_shape)
    matrix = turned(np.random.default_rng(1), stddevs)
    inside, step_delta = math.log(1.5) / 2, 1e-6 / (2 * (math.e - 1)) / 1.5
    paid = after_lifting(2 * inside, 1.5 * step_delta)
    assert paid == pytest.approx((epsilon, delta))
    step = (inside, step_delta, 0.02)  # 7/2 · 0.02 = 0.07
    parts = (matrix(stddevs**2), matrix(shape), matrix(shape**-0.5))
    free = customized_records(stddevs, accuracy, epsilon, delta, failure, shape_stddevs=given_shape)
    radius = None if slack is None else slack * printed_error(*parts, None, free.records, *step)[1]
    need = customized_records(stddevs, accuracy, epsilon, delta, failure, shape_stddevs=given_shape, radius=radius)
    error, least = printed_error(*parts, radius, need.records, *step)
    assert error == pytest.approx(accuracy)
    assert radius is None or radius > least
    assert need.records > dict(need.terms)["count"]


def test_the_count_rules_where_accuracy_is_cheap():
    need = customized_records([1.0], 1e6, 1.0, 1e-6, 0.07)
    step_delta = 1e-6 / (2 * (math.e - 1)) / 1.5
    assert need.records == pytest.approx(2 * math.log(1 / (step_delta * 0.02)) / (math.log(1.5) / 2))
    assert dict(need.terms)["together"] < need.records


def test_a_radius_below_the_theorem_is_refused():
    with pytest.raises(InvalidParameterError, match=r"must be at least .*got 0.5.*Leave radius out"):
        customized_records([1.0, 1.0], 0.5, 1.0, 1e-6, radius=0.5)


# Directions and invariances


@pytest.mark.parametrize("records", ALL)
@settings(max_examples=60, deadline=None)
@given(question=questions, factor=st.floats(1.01, 10.0), at=st.integers(0, 11))
def test_less_is_needed_for_an_easier_question(records, question, factor, at):
    stddevs, accuracy, epsilon, delta, failure = question
    need = records(*question).records * (1 + 1e-9)
    assert records(stddevs, accuracy * factor, epsilon, delta, failure).records <= need
    assert records(stddevs, accuracy, min(epsilon * factor, 9.0), delta, failure).records <= need
    assert records(stddevs, accuracy, epsilon, min(delta * factor, 1e-3), failure).records <= need
    assert records(stddevs, accuracy, epsilon, delta, min(failure * factor, 0.9)).records <= need
    smaller = list(stddevs)
    smaller[at % len(stddevs)] /= factor
    assert records(smaller, accuracy, epsilon, delta, failure).records <= need


@pytest.mark.parametrize("records", ALL)
@settings(max_examples=40, deadline=None)
@given(question=questions, unit=st.floats(1e-9, 1e9), seed=st.integers(0, 99))
def test_units_and_order_do_not_matter_to_sizes(records, question, unit, seed):
    stddevs, accuracy, *rest = question
    need = records(*question).records
    shuffled = np.random.default_rng(seed).permutation(stddevs)
    assert records(np.array(stddevs) * unit, accuracy * unit, *rest).records == pytest.approx(need, rel=1e-9)
    assert records(shuffled, accuracy, *rest).records == pytest.approx(need, rel=1e-9)


GRID = list(
    product(("S1", "S2", "S3", "S4", "S5"), (3, 100, 1000), (0.02, 0.1, 0.5), (0.1, 1.0, 4.0), (1e-9, 1e-6, 1e-3))
)


@pytest.mark.parametrize("records", ALL)
def test_what_is_enough_lies_above_what_is_too_few(records):
    for name, d, relative, epsilon, delta in GRID:
        stddevs = spectrum(name, d)
        question = (stddevs, relative * float(np.linalg.norm(stddevs)), epsilon, delta)
        limit = max(fingerprinting_lower_bound(*question, buckets=b).records for b in BUCKETS)
        assert limit <= records(*question).records, (name, d, relative, epsilon, delta)


# Errors


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stddevs": []}, "stddevs"),
        ({"stddevs": [[1.0]]}, "stddevs"),
        ({"stddevs": [1.0, 0.0]}, "entry of `stddevs` must be above 0"),
        ({"stddevs": [1.0, -1.0]}, "stddevs"),
        ({"stddevs": [1.0, math.nan]}, "stddevs"),
        ({"accuracy": 0.0}, "`accuracy` must .*0.0"),
        ({"accuracy": 1e-300}, "stddevs / accuracy"),
        ({"epsilon": -1.0}, "`epsilon` must .*-1.0"),
        ({"epsilon": math.inf}, "`epsilon` must .*inf"),
        ({"delta": 0.0}, "`delta` must .*0.0"),
        ({"delta": 1.0}, "`delta` must .*1.0"),
        ({"failure_probability": 1.0}, "`failure_probability` must .*1.0"),
    ],
)
def test_errors_of_sizes_name_the_parameter(changes, words):
    question = {"stddevs": [1.0], "accuracy": 0.1, "epsilon": 1.0, "delta": 1e-6, "failure_probability": 0.05}
    for records in ALL:
        with pytest.raises(InvalidParameterError, match=words):
            records(**(question | changes))


def test_errors_of_the_options():
    with pytest.raises(InvalidParameterError, match="shape_stddevs"):
        customized_records([1.0, 1.0], 0.1, 1.0, 1e-6, shape_stddevs=[1.0])
    with pytest.raises(InvalidParameterError, match=r"`learned` must .*3"):
        easy_instance_records([1.0, 1.0], 0.1, 1.0, 1e-6, learned=3)
