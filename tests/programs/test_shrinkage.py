"""Empirical Bayes on released values: deterministic, harmless where it cannot help, and which columns it resolves."""

import math

import numpy as np
import pytest
from stats import phi

from dimfree.programs.choose import constants
from dimfree.programs.learn import shrinkage
from dimfree.programs.learn.shrinkage import (
    VarianceRelease,
    compute_expected_score,
    compute_mean_score,
    denoise,
    learn_moments,
    learn_shape,
    posterior,
)

NOISE = 0.5


def observed(rng, means, noise=NOISE):
    return means + noise * rng.normal(size=len(means)), np.full(len(means), noise**2)


def sparse_means(dimension=400):
    means = np.zeros(dimension)
    means[: dimension // 20] = 6.0
    return means


# the denoised center


def test_sparse_means_are_found(rng):
    means = sparse_means()
    y, variance = observed(rng, means)
    center, left = denoise(y, variance)
    assert ((center - means) ** 2).sum() < 0.4 * ((y - means) ** 2).sum()
    assert left[:20].mean() > 5 * left[20:].mean()
    assert ((center - means) ** 2).mean() < 3 * left.mean()


MOVES = {
    "shift": lambda y: y + 2.0**20,
    "units": lambda y: y * 2.0**-40,
    "order": lambda y: y[::-1],
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_a_centre_moves_with_its_vector(rng, move):
    y, variance = observed(rng, sparse_means(100))
    unit = (move(np.ones(2)) - move(np.zeros(2)))[0] ** 2
    center, left = denoise(y, variance)
    moved, also_left = denoise(move(y), variance * unit)
    assert moved == pytest.approx(move(center), rel=1e-5, abs=1e-6 * math.sqrt(unit))
    assert also_left == pytest.approx(left[::-1] * unit if move is MOVES["order"] else left * unit, rel=1e-4)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "y",
    [[0.0], [3.0], [1e300] * 4, [0.0] * 5, [-1e30, 1e30], [0.0, 0.0, 1e12], [1e-300, 0.0], [1.0, 2.0]],
    ids=lambda y: f"{len(y)} of {y[-1]:g}",
)
@pytest.mark.parametrize("variance", [1e-100, 1e-4, 1e80])
def test_any_released_vector_has_a_finite_centre(y, variance):
    y = np.array(y)
    center, left = denoise(y, np.full(len(y), variance))
    assert np.isfinite(center).all()
    assert np.isfinite(left).all()
    assert (left > 0).all()
    assert (left <= 1.5 * variance + (center - y) ** 2).all()
    assert (np.minimum(y.min(), y) <= center).all()
    assert (center <= np.maximum(y.max(), y)).all()


# the learned variances


def two_levels(dimension=1000):
    mean_scores = np.full(dimension, 0.05)
    mean_scores[: dimension // 10] = 1.5
    return mean_scores


def test_scores_of_a_known_variance_come_back():
    """A coordinate of normal records whose mean score is that of the second moment v is given v."""
    second_moments = np.geomspace(0.01, 50, 40)
    learned = learn_moments(compute_mean_score(second_moments / 2.0), 1e-3, 2.0)
    assert learned.second_moments == pytest.approx(second_moments, rel=0.2)


def test_noise_beyond_the_signal_teaches_nothing(rng):
    """Everybody is given nearly the same variance, and the answer says how unsure it is."""
    scores = two_levels(300) + 50 * rng.normal(size=300)
    learned = learn_moments(scores, 50.0, 1.0)
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
    learned = learn_moments(np.array(scores), noise, 1.0)
    assert np.isfinite(learned.second_moments).all()
    assert (learned.second_moments > 0).all()
    assert np.isfinite(learned.log_stddev_variance).all()
    assert (learned.log_stddev_variance >= 0).all()


def test_the_mean_score_of_normal_records(seed):
    records = np.random.default_rng(seed).normal(size=400_000)
    for moment in (1e-3, 0.3, 1.0, 30.0):
        sampled = phi(moment * records**2)
        [mean] = compute_mean_score(np.array([moment]))
        assert abs(mean - sampled.mean()) < 6 * sampled.std() / math.sqrt(len(records))


OFF = 0.05


def look_at(second_moments, rng, center=0.0, believed=None):
    """Scores of normal columns with these moments about the center, in units of one."""
    moments = np.asarray(second_moments, float)
    scores = compute_mean_score(moments) + OFF * rng.normal(size=len(moments))
    variances = moments if believed is None else np.asarray(believed, float)
    return VarianceRelease(variances, np.full(len(moments), center), scores, OFF, np.ones(len(moments)))


def of(look, mean=0.0, variance=1e-9):
    size = len(look.scores)
    return learn_shape(look, np.full(size, mean), np.full(size, variance)).freeze(size)


@pytest.fixture
def rng():
    return np.random.default_rng(42)


def test_wide_columns_are_learned_and_narrow_ones_are_not(rng):
    truth = np.concatenate([np.full(20, 1.0), np.full(20, 1e-9)])
    shape = of(look_at(truth, rng, believed=np.concatenate([np.full(20, 1.0), np.full(20, 0.3 * OFF)])))
    assert shape.learned.tolist() == [True] * 20 + [False] * 20
    assert (shape.log_stddev[:20] < 0.4).all()
    assert np.isfinite(shape.log_above).all()
    low, high = shape.sd_bounds()
    assert (low[20:] == 0).all()
    assert (high**2 >= truth).all()


def test_a_centre_far_off_explains_a_score(rng):
    """The moment about the center is large, but the released mean says that the center was off by just that."""
    look = look_at(np.full(10, 4.0), rng, center=2.0, believed=np.full(10, 4.0))
    off = VarianceRelease(look.variances, look.center, np.full(10, float(phi(np.array([4.0]))[0])), OFF, look.unit)
    assert not of(off).learned.any()
    assert of(look, mean=2.0).learned.all()


def test_a_mean_that_is_itself_unsure_leaves_columns_unlearned(rng):
    look = look_at(np.full(10, 0.5), rng)
    assert of(look).learned.all()
    assert not of(look, variance=1.0).learned.any()


def test_the_expected_score_is_that_of_normal_records():
    records = np.random.default_rng(7).normal(size=400_000)
    for stddev, offset in ((0.3, 0.0), (1.0, 0.5), (0.2, 2.0), (3.0, -1.0), (0.0, 0.7), (0.0, 1.5)):
        sampled = phi((stddev * records + offset) ** 2)
        found = float(compute_expected_score(np.array(stddev), np.array(offset)))
        assert abs(found - sampled.mean()) < 6 * sampled.std() / math.sqrt(len(records)) + 1e-12
    assert compute_expected_score(np.sqrt([0.01, 1.0, 50.0]), np.zeros(3)) == pytest.approx(
        compute_mean_score(np.array([0.01, 1, 50]))
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "scores", [[0.0] * 5, [0.3], [-3.0] * 4, [1e100] * 3, [0.0, 1e12], [-1e12, 1.0]], ids=lambda s: f"{s[-1]:g}"
)
@pytest.mark.parametrize("unit", [1e-110, 1.0, 1e110])
def test_any_released_scores_have_a_shape(scores, unit):
    size = len(scores)
    units = np.full(size, unit)
    look = VarianceRelease(units, np.full(size, 3 * math.sqrt(unit)), np.array(scores), 0.1, units)
    shape = learn_shape(look, np.zeros(size), 0.01 * units).freeze(size)
    assert (shape.log_stddev > 0).all()
    assert np.isfinite(shape.log_above).all()


def test_many_columns_are_told_block_by_block(rng, monkeypatch):
    look = look_at(np.geomspace(1e-3, 10, 50), rng)
    whole = of(look)
    monkeypatch.setattr(constants, "SD_BLOCK", 7)
    assert of(look).log_above == pytest.approx(whole.log_above, rel=1e-12)


def plain(density, start, steps, pseudo):
    weights = start
    for _ in range(steps):
        joint = density * weights / (density @ weights)[:, None]
        weights = (np.einsum("ij->j", joint) + pseudo * start) / (len(density) + pseudo)
    joint = density * weights
    return joint / joint.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("rows", [1, 2, 31, 3000])
@pytest.mark.parametrize("atoms", [2, 3, 9, 65])
@pytest.mark.parametrize("pseudo", [0.0, 2.0])
def test_the_same_bits_wherever_blocks_end(rows, atoms, pseudo, rng, monkeypatch):
    density, start = np.exp(-30 * rng.random((rows, atoms))), np.full(atoms, 1 / atoms)
    expected = plain(density, start, 12, pseudo)
    for block in (1, 7 * atoms, 2**16):
        monkeypatch.setattr(shrinkage, "_BLOCK", block)
        assert np.array_equal(posterior(density, start, 12, pseudo), expected)
