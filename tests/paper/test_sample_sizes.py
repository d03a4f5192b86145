"""Sample complexities: hand-computed values, the right directions, no units, and above the lower bounds."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dimfree.accounting.discrete import after_lifting
from dimfree.errors import InvalidParameter
from dimfree.paper.bounds import (
    BUCKETS,
    Need,
    customised_records,
    easy_instance_records,
    fingerprinting_lower_bound,
    folklore_records,
    known_covariance_records,
    plan_records,
    unknown_covariance_records,
)
from dimfree.planning.question import spectrum

ALL = (
    known_covariance_records,
    customised_records,
    folklore_records,
    plan_records,
    unknown_covariance_records,
    easy_instance_records,
)
E = math.exp
spectra = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=12)
questions = st.tuples(
    spectra, st.floats(0.01, 10.0), st.floats(0.01, 9.0), st.floats(1e-12, 1e-3), st.floats(1e-4, 0.2)
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


def test_a_logarithm_below_one_counts_as_one():
    """α = 100: t = 8/50, whose logarithm is negative."""
    need = known_covariance_records([2.0, 1.0], 100.0, 0.5, E(-4), E(-2))
    assert dict(need.terms)["direction"] == pytest.approx(8 / 50)


def test_the_printed_logarithm_changes_with_the_units():
    """eq:main-sc has log(‖Σ‖·log(1/δ)·log(1/β)/(αε)): the same question in metres and in kilometres."""

    def printed(unit: float) -> float:
        largest, accuracy = 2 * unit, 0.5 * unit
        return 32 * math.log(largest**2 * 4 * 2 / (accuracy * 0.5))

    assert printed(1.0) > 0 > printed(1e-3)
    metres, kilometres = (known_covariance_records([2 * u, u], u / 2, 0.5, E(-4), E(-2)) for u in (1.0, 1e-3))
    assert metres.records == pytest.approx(kilometres.records)


def test_folklore_and_plan_by_hand():
    centre, noise = math.sqrt(8) / 0.5, math.sqrt(2 * 5 * 4) / 0.25
    assert (round(centre, 6), round(noise, 6)) == (5.656854, 25.298221)
    close(folklore_records(*HAND), 52 + centre + noise, sampling=52, centre=centre, noise=noise)
    close(plan_records(*HAND), 52 + centre + 24, sampling=52, centre=centre, noise=24)


def test_the_four_conditions_by_hand():
    """d = 16 ones, α = 1, ε = 1/2, log 1/δ = 1, log 1/β = 2; log 16 = 2.7725887."""
    need = unknown_covariance_records(np.ones(16), 1.0, 0.5, E(-1), E(-2))
    variances = 7.6872483 + 2.7725887 * (2.7725887 + 1 + 2) / 0.5
    bottom = 2 * 4 * 2.7725887 / 0.5  # 16^1/4 and 16^1/2
    close(need, bottom, variances=variances, sampling=18, top=32, bottom=bottom)


def test_the_powers_of_the_last_condition():
    """log 1/δ = 16: to the power 5/4 it is 32; α enters by its root."""
    need = unknown_covariance_records(np.ones(16), 4.0, 0.5, E(-16), E(-2))
    assert dict(need.terms)["bottom"] == pytest.approx(2 * math.sqrt(16 / 4) * 32 * 2.7725887 / 0.5)


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


def test_learning_nothing_still_asks_for_the_sum_of_variances():
    need = easy_instance_records([1.0, 4.0, 1.0], 1e3, 0.5, E(-4), E(-2), learned=0)
    assert dict(need.terms)["variances"] == pytest.approx(1.2069490 + 1.0986123 * 6 / 0.5)
    assert need.records == dict(need.terms)["variances"]


def test_exponential_decay_is_easy_and_the_general_theorem_does_not_see_it():
    """Σ unknown costs d^1/4 in general; with this decay a few variances are enough, and some logarithms."""
    few, many = ((spectrum("S5", d), 0.1, 0.05, 1e-6) for d in (10**3, 10**6))
    general = unknown_covariance_records(*many).records / unknown_covariance_records(*few).records
    easy = easy_instance_records(*many).records / easy_instance_records(*few).records
    assert general > 1000**0.25 > easy
    assert easy_instance_records(*many).records < unknown_covariance_records(*many).records / 4
    learned = int(easy_instance_records(*many).theorem.split(", ")[1].split()[0])
    assert 0 < learned <= 2 * math.log(10**6)


# The explicit constants


def turned(rng, values):
    basis = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    return lambda powers: (basis * powers) @ basis.T


def printed_error(covariance, root, quarter, radius, n, inside, delta, failure):
    """thm:accuracy_main, matrix by matrix; root is M^1/2, quarter is M^-1/4."""
    A, log = quarter @ covariance @ quarter, math.log(1 / failure)
    least = math.sqrt(2 * np.trace(A)) + 2 * math.sqrt(2 * np.linalg.norm(A, 2) * math.log(n / failure))
    sampling = math.sqrt(np.trace(covariance) / n) + math.sqrt(2 * np.linalg.norm(covariance, 2) * log / n)
    reach = math.sqrt(np.trace(root)) + math.sqrt(2 * np.linalg.norm(root, 2) * log)
    used = least if radius is None else radius
    return sampling + 4 * math.sqrt(2 * math.log(1.25 / delta)) * used / (inside * n) * reach, least


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
    free = customised_records(stddevs, accuracy, epsilon, delta, failure, shape_stddevs=given_shape)
    radius = None if slack is None else slack * printed_error(*parts, None, free.records, *step)[1]
    need = customised_records(stddevs, accuracy, epsilon, delta, failure, shape_stddevs=given_shape, radius=radius)
    error, least = printed_error(*parts, radius, need.records, *step)
    assert error == pytest.approx(accuracy)
    assert radius is None or radius > least
    assert need.records > dict(need.terms)["count"]


def test_the_count_rules_where_accuracy_is_cheap():
    need = customised_records([1.0], 1e6, 1.0, 1e-6, 0.07)
    step_delta = 1e-6 / (2 * (math.e - 1)) / 1.5
    assert need.records == pytest.approx(2 * math.log(1 / (step_delta * 0.02)) / (math.log(1.5) / 2))
    assert dict(need.terms)["together"] < need.records


def test_sampling_alone_is_the_concentration_of_the_mean():
    terms = dict(customised_records([3.0, 4.0], 0.5, 1.0, 1e-6, 3.5 * E(-8)).terms)
    assert terms["sampling"] == pytest.approx(((5 + math.sqrt(2 * 16 * 8)) / 0.5) ** 2)
    assert max(terms["sampling"], terms["noise"]) < terms["together"] < 4 * max(terms["sampling"], terms["noise"])


def test_a_shape_other_than_the_covariance_costs_more():
    stddevs = spectrum("S1", 500)
    ours = customised_records(stddevs, 0.5, 1.0, 1e-6).records
    ball = customised_records(stddevs, 0.5, 1.0, 1e-6, shape_stddevs=np.ones(500)).records
    scaled = customised_records(stddevs, 0.5, 1.0, 1e-6, shape_stddevs=7 * stddevs).records
    assert ball > 2 * ours
    assert scaled == pytest.approx(ours)  # M and 49 M are the same algorithm with another λ


def test_a_radius_below_the_theorem_is_refused():
    with pytest.raises(InvalidParameter, match=r"radius=0.5 to be at least .*leave radius out"):
        customised_records([1.0, 1.0], 0.5, 1.0, 1e-6, radius=0.5)


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
@pytest.mark.parametrize("argument", range(1, 4))
def test_the_directions_are_strict(records, argument):
    question = [
        np.array([3.0, 1.0, 0.5]),
        0.02,
        0.001,
        1e-8,
    ]  # privacy rules: the conditions of a maximum are tied to it
    before = records(*question).records
    question[argument] *= 3.0
    assert records(*question).records < before


@pytest.mark.parametrize("records", ALL)
@settings(max_examples=40, deadline=None)
@given(question=questions, unit=st.floats(1e-9, 1e9), seed=st.integers(0, 99))
def test_units_and_order_do_not_matter(records, question, unit, seed):
    stddevs, accuracy, *rest = question
    need = records(*question).records
    shuffled = np.random.default_rng(seed).permutation(stddevs)
    assert records(np.array(stddevs) * unit, accuracy * unit, *rest).records == pytest.approx(need, rel=1e-9)
    assert records(shuffled, accuracy, *rest).records == pytest.approx(need, rel=1e-9)


@pytest.mark.parametrize(("records", "free"), [(f, f in ALL[:2]) for f in ALL[:5]])
def test_who_sees_the_dimension(records, free):
    few = [2.0, 1.0, 0.5]
    many = few + [1e-12] * 99_997
    ratio = records(many, 0.2, 0.5, 1e-6).records / records(few, 0.2, 0.5, 1e-6).records
    assert ratio == pytest.approx(1.0, abs=1e-6) if free else ratio > 2


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
def test_errors_name_the_parameter(changes, words):
    question = {"stddevs": [1.0], "accuracy": 0.1, "epsilon": 1.0, "delta": 1e-6, "failure_probability": 0.05}
    for records in ALL:
        with pytest.raises(InvalidParameter, match=words):
            records(**(question | changes))


def test_errors_of_the_options():
    with pytest.raises(InvalidParameter, match="shape_stddevs"):
        customised_records([1.0, 1.0], 0.1, 1.0, 1e-6, shape_stddevs=[1.0])
    with pytest.raises(InvalidParameter, match=r"`learned` must .*3"):
        easy_instance_records([1.0, 1.0], 0.1, 1.0, 1e-6, learned=3)
