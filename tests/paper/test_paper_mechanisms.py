"""Histogram and sparse vector: what noise they ask for, what they charge, what they refuse."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from exact.divergence import laplace_tail
from hypothesis import given
from hypothesis import strategies as st
from recording import RecordingNoise

from dimfree.accounting.losses import Approximate
from dimfree.errors import InvalidParameterError
from dimfree.paper import averaging as basic
from dimfree.paper.mechanisms import (
    heaviest_cell,
    laplace_scale,
    publishing_threshold,
    sparse_scale,
    sparse_vector,
    stable_histogram,
)

# ---- the stable histogram


def test_a_histogram_asks_once_for_the_noise_it_charges():
    noise = RecordingNoise()
    cells = [7] * 60 + [3] * 40 + [5]
    measured = stable_histogram(cells, 1.0, 1e-6, noise=noise)
    assert noise.asked == [("laplace", laplace_scale(1.0), 3)]
    assert measured.value == {7: 60, 3: 40}
    assert measured.event == Approximate("stable histogram", 1.0, 1e-6)
    assert heaviest_cell(cells, 1.0, 1e-6, noise=noise).value == 7
    assert heaviest_cell(cells, 1.0, 1e-6, noise=noise, purpose="vote").event.purpose == "vote"


def test_only_counts_at_the_threshold_are_published():
    least = publishing_threshold(1.0, 1e-6)
    assert stable_histogram([1] * least, 1.0, 1e-6, noise=RecordingNoise()).value == {1: least}
    assert stable_histogram([1] * (least - 1), 1.0, 1e-6, noise=RecordingNoise()).value == {}


@given(st.floats(1e-6, 50), st.floats(1e-12, 0.999))
def test_the_threshold_is_the_first_with_a_small_enough_tail(epsilon, delta):
    least, scale = publishing_threshold(epsilon, delta), laplace_scale(epsilon)
    assert scale >= Fraction(2) / Fraction(epsilon)
    assert laplace_tail(scale, least - 1) <= delta
    # one lower is too low, but for the cases that rounding decides
    assert least == 1 or laplace_tail(scale, least - 2) > delta * (1 - 1e-6)


def test_ties_and_order_do_not_depend_on_who_came_first():
    for cells in (["b"] * 50 + ["a"] * 50, ["a"] * 50 + ["b"] * 50):
        assert list(stable_histogram(cells, 1.0, 1e-6, noise=RecordingNoise()).value) == ["a", "b"]
        assert heaviest_cell(cells, 1.0, 1e-6, noise=RecordingNoise()).value == "a"


# ---- the sparse vector


def test_a_sparse_vector_draws_a_threshold_for_every_positive_answer():
    noise = RecordingNoise()
    counts = np.array([5, 0, 5, 0, 5, 5])
    measured = sparse_vector(counts, 4.5, 3, 1.0, 1e-6, noise=noise)
    scale = sparse_scale(3, 1.0, 1e-6)
    assert measured.value == [0, 2, 4]
    assert noise.asked == [("laplace", scale, 1), ("laplace", 2 * scale, 6), *[("laplace", scale, 1)] * 2]
    assert measured.event == Approximate("sparse vector", 1.0, 1e-6)


def test_the_threshold_is_reached_not_passed():
    counts = np.array([4, 5, 6])
    assert sparse_vector(counts, 5, 3, 1.0, 0.1, noise=RecordingNoise()).value == [1, 2]
    assert sparse_vector(counts, 4.2, 3, 1.0, 0.1, noise=RecordingNoise()).value == [1, 2]


def test_counts_near_the_end_of_the_integers_do_not_wrap():
    counts = np.array([2**63 - 1, -(2**63)])
    noise = RecordingNoise()
    noise.laplace = lambda scale, size: np.full(size, 2**40 if size == 2 else 0)
    assert sparse_vector(counts, 0, 2, 1.0, 0.1, noise=noise).value == [0]


# ---- what cannot be asked


COMMON = {"epsilon": [0, -1.0, math.nan, math.inf, "1", 1e-12], "delta": [0, 1, -0.1, 1.5, math.nan]}
OWN = {"most": [0, -1, 1.5, True, "2"], "threshold": [math.nan, math.inf, None]}
CASES = [(name, value) for name, values in (COMMON | OWN).items() for value in values]


@pytest.mark.parametrize(("name", "value"), CASES)
def test_each_number_is_checked_before_anything_is_drawn(name, value):
    noise, numbers = RecordingNoise(), {"epsilon": 1.0, "delta": 0.1}
    calls = [partial(sparse_vector, np.array([1, 2, 3]), **{"threshold": 1, "most": 1} | numbers)]
    calls += [partial(ask, [1], **numbers) for ask in (stable_histogram, heaviest_cell) if name in COMMON]
    for call in calls:
        with pytest.raises(InvalidParameterError, match=name):
            call(noise=noise, **{name: value})
    assert noise.asked == []


@pytest.mark.parametrize("queries", [np.array([1.5, 2.5]), np.array([[1, 2]]), np.array([True, False]), np.array(3)])
def test_integers_are_asked_for_without_naming_one(queries):
    noise = RecordingNoise()
    with pytest.raises(InvalidParameterError, match="64-bit integers") as error:
        sparse_vector(queries, 1, 1, 1.0, 0.1, noise=noise)
    assert "2.5" not in str(error.value)
    assert noise.asked == []


# ---- the paper's filter: exact coins, one for each record


class EveryCoin:
    """Noise that gives every record one chosen coin, and records each request."""

    private = False

    def __init__(self, coin):
        self.coin = coin
        self.asked = []

    def below(self, bound, size):
        self.asked.append((bound, size))
        assert 0 <= self.coin < bound
        return np.full(size, self.coin, dtype=np.int64)


def probabilities(counts):
    """How many of the n equally likely coins keep each record."""
    n = len(counts)
    kept = sum(basic.keep(np.array(counts, dtype=np.int64), EveryCoin(coin)) for coin in range(n))
    return [Fraction(int(k), n) for k in kept]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 12])
def test_the_probability_of_being_kept(n):
    counts = list(range(1, n + 1))
    wanted = [max(Fraction(2 * c, n) - 1, Fraction(0)) for c in counts]
    assert probabilities(counts) == wanted


def test_every_record_has_its_own_coin():
    class Ramp(EveryCoin):
        def below(self, bound, size):
            self.asked.append((bound, size))
            return np.arange(size, dtype=np.int64)

    noise = Ramp(0)
    kept = basic.keep(np.array([4, 4, 4, 4, 4]), noise)  # 2c - n = 3: coins 0, 1, 2 keep
    assert kept.tolist() == [1, 1, 1, 0, 0]
    assert noise.asked == [(5, 5)]


def test_no_records_need_no_coin():
    noise = EveryCoin(0)
    assert basic.keep(np.zeros(0, dtype=np.int64), noise).shape == (0,)
    assert noise.asked == []


def test_the_sensitivities_on_friendly_data():
    """P1: one record more, and a mean of records within twice the radius of each other."""
    assert (basic.COUNT_SENSITIVITY, basic.MEAN_SENSITIVITY) == (1.0, 2.0)
