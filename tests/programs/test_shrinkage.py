"""Empirical Bayes on released vectors: deterministic, harmless where it cannot help, better where it can."""

import inspect
import math

import numpy as np
import pytest

from dimfree.kernel.statistics.scores import phi
from dimfree.programs.learn import shrinkage
from dimfree.programs.learn.shrinkage import denoised, learned_variances, mean_score

NOISE = 0.5


def observed(rng, means, noise=NOISE):
    return means + noise * rng.normal(size=len(means)), np.full(len(means), noise**2)


def sparse_means(dimension=400):
    means = np.zeros(dimension)
    means[: dimension // 20] = 6.0
    return means


# the denoised centre


def test_sparse_means_are_found(rng):
    means = sparse_means()
    y, variance = observed(rng, means)
    centre, left = denoised(y, variance)
    assert ((centre - means) ** 2).sum() < 0.4 * ((y - means) ** 2).sum()
    assert left[:20].mean() > 5 * left[20:].mean()
    assert ((centre - means) ** 2).mean() < 3 * left.mean()


def test_a_common_level_is_found(rng):
    y, variance = observed(rng, np.full(300, 1e6))
    centre, left = denoised(y, variance)
    assert np.abs(centre - 1e6).max() < NOISE
    assert left.mean() < 0.3 * NOISE**2


def test_nothing_happens_where_means_are_spread_wider_than_the_noise(rng):
    means = rng.normal(size=400) * 1000
    y, variance = observed(rng, means)
    centre, left = denoised(y, variance)
    assert np.quantile(np.abs(centre - y), 0.95) < 0.05 * NOISE  # but for the few that happen to be near the middle
    assert ((centre - y) ** 2).mean() < 0.03 * NOISE**2
    assert left.mean() == pytest.approx(NOISE**2, rel=0.05)


@pytest.mark.parametrize("shift", [1.0, -300.0, 2.0**20])
def test_a_shift_shifts(rng, shift):
    y, variance = observed(rng, sparse_means(100))
    centre, left = denoised(y, variance)
    moved, also_left = denoised(y + shift, variance)
    assert moved == pytest.approx(centre + shift, abs=1e-7)
    assert also_left == pytest.approx(left, rel=1e-5)


@pytest.mark.parametrize("factor", [2.0**-40, 4.0, 2.0**60])
def test_a_change_of_units_changes_the_units(rng, factor):
    y, variance = observed(rng, sparse_means(100))
    centre, left = denoised(y, variance)
    scaled, also_left = denoised(factor * y, factor**2 * variance)
    assert scaled == pytest.approx(factor * centre, rel=1e-9)
    assert also_left == pytest.approx(factor**2 * left, rel=1e-9)


def test_a_reflection_reflects(rng):
    y, variance = observed(rng, sparse_means(101))
    assert denoised(-y, variance)[0] == pytest.approx(-denoised(y, variance)[0], abs=1e-9)


def test_the_order_of_coordinates_is_irrelevant(rng):
    y, variance = observed(rng, sparse_means(101))
    order = rng.permutation(101)
    assert denoised(y[order], variance[order])[0] == pytest.approx(denoised(y, variance)[0][order], abs=1e-9)


def test_precise_coordinates_are_left_alone(rng):
    y, variance = observed(rng, np.concatenate([np.linspace(-3, 3, 50), np.zeros(50)]))
    y[:50], variance[:50] = np.linspace(-3, 3, 50), 1e-10
    assert np.abs(denoised(y, variance)[0][:50] - y[:50]).max() < 1e-4


def test_both_fits_are_deterministic(rng):
    y, variance = observed(rng, sparse_means(80))
    assert all((a == b).all() for a, b in zip(denoised(y, variance), denoised(y.copy(), variance.copy()), strict=True))
    one, two = (learned_variances(np.abs(y), 0.1, 2.0) for _ in range(2))
    assert (one.second_moments == two.second_moments).all()
    assert (one.log_stddev_variance == two.log_stddev_variance).all()


def test_the_input_is_untouched(rng):
    y, variance = observed(rng, sparse_means(40))
    scores = np.abs(y)
    given = (y, variance, scores)
    before = [array.copy() for array in given]
    denoised(y, variance)
    learned_variances(scores, 0.1, variance)
    assert all((now == old).all() for now, old in zip(given, before, strict=True))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "y",
    [[0.0], [3.0], [1e300] * 4, [0.0] * 5, [-1e30, 1e30], [0.0, 0.0, 1e12], [1e-300, 0.0], [1.0, 2.0]],
    ids=lambda y: f"{len(y)} of {y[-1]:g}",
)
@pytest.mark.parametrize("variance", [1e-100, 1e-4, 1e80])
def test_any_released_vector_has_a_finite_centre(y, variance):
    y = np.array(y)
    centre, left = denoised(y, np.full(len(y), variance))
    assert np.isfinite(centre).all()
    assert np.isfinite(left).all()
    assert (left > 0).all()
    assert (left <= 1.5 * variance + (centre - y) ** 2).all()
    assert (np.minimum(y.min(), y) <= centre).all()
    assert (centre <= np.maximum(y.max(), y)).all()


def test_unequal_precisions_spanning_many_decades(rng):
    variance = np.geomspace(1e-40, 1e40, 81)
    centre, left = denoised(np.sqrt(variance) * rng.normal(size=81), variance)
    assert np.isfinite(centre).all()
    assert (left >= 1e-3 * variance).all()


# the learned variances


def two_levels(dimension=1000):
    mean_scores = np.full(dimension, 0.05)
    mean_scores[: dimension // 10] = 1.5
    return mean_scores


def test_two_levels_are_recovered(rng):
    truth = two_levels()
    learned = learned_variances(truth + 0.02 * rng.normal(size=len(truth)), 0.02, 3.0)
    assert mean_score(learned.second_moments[:100] / 3) == pytest.approx(np.full(100, 1.5), rel=0.15)
    assert np.median(learned.second_moments[100:]) == pytest.approx(3 * 0.05, rel=0.15)
    assert np.median(learned.log_stddev_variance) < 0.1


def test_scores_of_a_known_variance_come_back():
    """A coordinate of normal records whose mean score is that of the second moment v is given v."""
    second_moments = np.geomspace(0.01, 50, 40)
    learned = learned_variances(mean_score(second_moments / 2.0), 1e-3, 2.0)
    assert learned.second_moments == pytest.approx(second_moments, rel=0.2)


def test_a_guess_in_units_of_each_coordinate_is_undone(rng):
    scores = two_levels(50) + 0.02 * rng.normal(size=50)
    unit = np.geomspace(1, 1e6, 50)
    assert (
        learned_variances(scores, 0.02, unit).second_moments
        == learned_variances(scores, 0.02, 1.0).second_moments * unit
    ).all()


def test_noise_beyond_the_signal_teaches_nothing(rng):
    """Everybody is given nearly the same variance, and the answer says how unsure it is."""
    scores = two_levels(300) + 50 * rng.normal(size=300)
    learned = learned_variances(scores, 50.0, 1.0)
    roots = np.sqrt(learned.second_moments)
    assert roots.max() / roots.min() < 20
    assert learned.log_stddev_variance.min() > 0.02


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "scores",
    [[0.0] * 5, [0.3], [-3.0] * 4, [1e120] * 3, [0.0, 1e12], [-1e12, 1.0], [-1.0, 0.0, 1.0], [1e-200, 1e-200]],
    ids=lambda scores: f"{len(scores)} of {scores[-1]:g}",
)
@pytest.mark.parametrize("noise", [1e-6, 0.1, 1e6])
def test_any_released_scores_have_positive_finite_variances(scores, noise):
    learned = learned_variances(np.array(scores), noise, 1.0)
    assert np.isfinite(learned.second_moments).all()
    assert (learned.second_moments > 0).all()
    assert np.isfinite(learned.log_stddev_variance).all()
    assert (learned.log_stddev_variance >= 0).all()


def test_post_processing_imports_neither_records_nor_noise():
    """Nothing here could see a record: no module that holds one is imported."""
    imported = {line for line in inspect.getsource(shrinkage).splitlines() if line.startswith(("import", "from"))}
    assert not any(module in line for line in imported for module in ("records", "space", "noise", "run"))


def test_the_mean_score_of_normal_records(seed):
    records = np.random.default_rng(seed).normal(size=400_000)
    for moment in (1e-3, 0.3, 1.0, 30.0):
        sampled = phi(moment * records**2)
        [mean] = mean_score(np.array([moment]))
        assert abs(mean - sampled.mean()) < 6 * sampled.std() / math.sqrt(len(records))
