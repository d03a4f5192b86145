"""Histogram, sparse vector, top-k and quantile: which noise they ask for, what they charge, what they refuse."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recording import RecordingNoise
from stats import frequency_fits, sampling

from dimfree.accounting.losses import Approximate, Ranged
from dimfree.errors import InvalidParameter
from dimfree.mechanisms.paper.quantile import private_quantile, quantile_scores
from dimfree.mechanisms.paper.sparse_vector import sparse_scale, sparse_vector
from dimfree.mechanisms.paper.stable_histogram import (
    heaviest_cell,
    laplace_scale,
    laplace_tail,
    publishing_threshold,
    stable_histogram,
)
from dimfree.mechanisms.paper.top_k import loss_range, top_k
from dimfree.noise import SeededNoise, SystemNoise

GRID = np.array([0.0, 1.0, 2.0, 4.0, 8.0])
HALF = Fraction(1, 2)

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


def test_no_items_give_no_cells():
    assert stable_histogram([], 1.0, 1e-6, noise=SystemNoise()).value == {}
    assert heaviest_cell([], 1.0, 1e-6, noise=SystemNoise()).value is None


@given(st.floats(1e-6, 50), st.floats(1e-12, 0.999))
def test_the_threshold_is_the_first_with_a_small_enough_tail(epsilon, delta):
    least, scale = publishing_threshold(epsilon, delta), laplace_scale(epsilon)
    assert scale >= Fraction(2) / Fraction(epsilon)
    assert laplace_tail(scale, least - 1) <= delta
    # one lower is too low, but for the cases that rounding decides
    assert least == 1 or laplace_tail(scale, least - 2) > delta * (1 - 1e-6)


def test_the_threshold_of_the_formula():
    q = math.exp(-0.5)
    assert publishing_threshold(1.0, 1e-6) == 1 + math.ceil(2 * math.log(1 / (1e-6 * (1 + q)))) == 28


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


def test_no_queries_no_answers():
    assert sparse_vector(np.zeros(0, dtype=np.int64), 5, 2, 1.0, 0.1, noise=SystemNoise()).value == []
    assert sparse_vector(np.zeros(4, dtype=np.int64), 10**7, 2, 1.0, 0.1, noise=SystemNoise()).value == []


def test_counts_near_the_end_of_the_integers_do_not_wrap():
    counts = np.array([2**63 - 1, -(2**63)])
    noise = RecordingNoise()
    noise.laplace = lambda scale, size: np.full(size, 2**40 if size == 2 else 0)
    assert sparse_vector(counts, 0, 2, 1.0, 0.1, noise=noise).value == [0]


# ---- top-k


def test_a_top_k_asks_once_and_charges_two_over_the_scale():
    noise = RecordingNoise()
    measured = top_k(np.array([3, 9, 1, 7]), 2, 4.0, "largest", noise=noise)
    assert measured.value.tolist() == [1, 3]
    assert noise.asked == [("noisy_top", 4.0, 2)]
    assert measured.event == Ranged("largest", math.nextafter(0.5, 1), 2)


@given(st.integers(1, 10**6), st.floats(1e-9, 1e15))
def test_the_range_is_rounded_up(sensitivity, scale):
    assert Fraction(loss_range(sensitivity, scale)) >= Fraction(2 * sensitivity) / Fraction(scale)
    assert loss_range(sensitivity, scale) <= 2 * sensitivity / scale * (1 + 1e-15)


def test_scores_of_no_data_work():
    assert sorted(top_k(np.zeros(3, dtype=np.int64), 3, 1.0, "all", noise=SystemNoise()).value.tolist()) == [0, 1, 2]


# ---- quantiles


@pytest.mark.parametrize(("share", "expected"), [(HALF, 4.0), (Fraction(1, 10), 1.0), (Fraction(99, 100), 8.0)])
def test_a_quantile_without_noise_is_the_end_of_its_cell(share, expected):
    values = np.array([0.5, 0.6, 3.0, 3.0, 3.5, 7.0])
    noise = RecordingNoise()
    measured = private_quantile(values, share, GRID, 2.0, "median", noise=noise)
    assert measured.value == expected
    assert noise.asked == [("noisy_top", 2.0 * share.denominator, 1)]
    assert measured.event.purpose == "median"
    assert measured.event.eta == pytest.approx(1.0, rel=1e-12)


def test_no_values_give_a_point_of_the_grid():
    nothing = np.zeros(0)
    assert quantile_scores(nothing, HALF, GRID).tolist() == [0] * 5
    assert private_quantile(nothing, HALF, GRID, 1.0, "median", noise=SystemNoise()).value in GRID
    assert private_quantile(nothing, HALF, GRID[:1], 1.0, "median", noise=SystemNoise()).value == 0.0


def test_a_value_that_is_not_a_number_is_no_item():
    values = np.array([0.5, 3.0, 3.0])
    with_gaps = np.array([math.nan, 0.5, 3.0, math.nan, 3.0])
    assert quantile_scores(with_gaps, HALF, GRID).tolist() == quantile_scores(values, HALF, GRID).tolist()
    assert np.isnan(with_gaps).sum() == 2  # the caller's array is left alone


def test_values_beyond_the_grid_count():
    beyond = np.array([100.0, math.inf, 100.0])
    assert private_quantile(beyond, HALF, GRID, 0.01, "median", noise=RecordingNoise()).value == 8.0
    below = np.array([-math.inf, -5.0, -1.0])
    assert private_quantile(below, HALF, GRID, 0.01, "median", noise=RecordingNoise()).value == 0.0


@sampling(1e-6)
@pytest.mark.parametrize("make_noise", [SystemNoise, lambda: SeededNoise(5)])
def test_noise_chooses_with_the_weights_of_the_exponential_mechanism(make_noise):
    noise, values, tries = make_noise(), np.array([0.5, 0.6, 3.0, 3.0, 3.5, 7.0]), 2000
    weights = np.exp(quantile_scores(values, HALF, GRID) / 2 / 1.5)
    drawn = [private_quantile(values, HALF, GRID, 1.5, "median", noise=noise).value for _ in range(tries)]
    hits = sum(value == 4.0 for value in drawn)
    assert frequency_fits(hits, tries, float(weights[3] / weights.sum()), 1e-6)
    sharper = weights**2  # the scale halved
    assert not frequency_fits(hits, tries, float(sharper[3] / sharper.sum()), 1e-6)


# ---- what cannot be asked


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, "1", 1e-12])
def test_epsilon_is_checked(epsilon):
    for ask in (stable_histogram, heaviest_cell):
        with pytest.raises(InvalidParameter, match="epsilon"):
            ask([1], epsilon, 0.1, noise=RecordingNoise())
    with pytest.raises(InvalidParameter, match="epsilon"):
        sparse_vector(np.array([1]), 1, 1, epsilon, 0.1, noise=RecordingNoise())


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, math.nan])
def test_delta_is_checked(delta):
    with pytest.raises(InvalidParameter, match="delta"):
        stable_histogram([1], 1.0, delta, noise=RecordingNoise())
    with pytest.raises(InvalidParameter, match="delta"):
        sparse_vector(np.array([1]), 1, 1, 1.0, delta, noise=RecordingNoise())


@pytest.mark.parametrize("count", [0, -1, 4, 1.5, True, "2"])
def test_counts_are_checked(count):
    with pytest.raises(InvalidParameter, match="count"):
        top_k(np.array([1, 2, 3]), count, 1.0, "largest", noise=RecordingNoise())
    if count != 4:
        with pytest.raises(InvalidParameter, match="most"):
            sparse_vector(np.array([1, 2, 3]), 1, count, 1.0, 0.1, noise=RecordingNoise())


@pytest.mark.parametrize("scale", [0, -1.0, math.nan, math.inf, 5e-324, 1e300])
def test_scales_are_checked(scale):
    with pytest.raises(InvalidParameter, match="scale"):
        top_k(np.array([1, 2, 3]), 1, scale, "largest", noise=RecordingNoise())
    with pytest.raises(InvalidParameter, match="scale"):
        private_quantile(np.ones(3), HALF, GRID, scale, "median", noise=RecordingNoise())


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1), Fraction(3, 2), 0.5, Fraction(0.1), None])
def test_shares_are_checked(share):
    with pytest.raises(InvalidParameter, match="share"):
        private_quantile(np.ones(3), share, GRID, 1.0, "median", noise=RecordingNoise())


@pytest.mark.parametrize("grid", [[], [1.0, 1.0], [2.0, 1.0], [0.0, math.inf], [[1.0]], ["a"]])
def test_grids_are_checked(grid):
    with pytest.raises(InvalidParameter, match="grid"):
        private_quantile(np.ones(3), HALF, np.array(grid), 1.0, "median", noise=RecordingNoise())


@pytest.mark.parametrize("threshold", [math.nan, math.inf, None])
def test_thresholds_are_checked(threshold):
    with pytest.raises(InvalidParameter, match="threshold"):
        sparse_vector(np.array([1]), threshold, 1, 1.0, 0.1, noise=RecordingNoise())


@pytest.mark.parametrize("scores", [np.array([1.5, 2.5]), np.array([[1, 2]]), np.array([True, False]), np.array(3)])
def test_integers_are_asked_for_without_naming_one(scores):
    with pytest.raises(InvalidParameter, match="64-bit integers") as error:
        top_k(scores, 1, 1.0, "largest", noise=RecordingNoise())
    assert "2.5" not in str(error.value)
    with pytest.raises(InvalidParameter, match="64-bit integers"):
        sparse_vector(scores, 1, 1, 1.0, 0.1, noise=RecordingNoise())


@pytest.mark.parametrize("values", [np.array(["secret"]), np.ones((2, 2)), np.array([1j])])
def test_real_values_are_asked_for_without_naming_one(values):
    with pytest.raises(InvalidParameter, match="real numbers") as error:
        private_quantile(values, HALF, GRID, 1.0, "median", noise=RecordingNoise())
    assert "secret" not in str(error.value)


def test_nothing_is_drawn_for_what_cannot_be_asked():
    noise = RecordingNoise()
    with pytest.raises(InvalidParameter):
        sparse_vector(np.array([1.5]), 1, 1, 1.0, 0.1, noise=noise)
    assert noise.asked == []
