"""A shape from public records: scikit-learn's Ledoit–Wolf without its matrices, and a gain that is kept."""

import copy
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sparse
from routes import with_options
from sklearn.covariance import LedoitWolf
from sklearn.datasets import load_digits

from dimfree.errors import InvalidDataError, InvalidParameterError
from dimfree.noise import SeededNoise
from dimfree.planning.question import spectrum
from dimfree.release import release_mean
from dimfree.shapes import DenseCovariance, DiagonalCovariance, LowRankCovariance
from dimfree.shapes.from_public import covariance_from_public


def covariance_of(shape):
    """Four quarters of the way from the identity."""
    matrix = np.eye(shape.dimension)
    for _ in range(4):
        matrix = shape.restore(matrix)
    return matrix


def rotated(name, dimension, count, seed, turn=0):
    """Rows whose spread has this spectrum, along no axis."""
    basis = np.linalg.qr(np.random.default_rng(turn).standard_normal((dimension, dimension)))[0]
    rows = np.random.default_rng([1, seed]).standard_normal((count, dimension))
    return (rows * spectrum(name, dimension)) @ basis.T


def found(shape, rows):
    """Gain and rotated gain on these rows, from the definition: root of tr(M^{1/2}) tr(M^{-1/2} Σ) of each rival."""
    matrix, truth = covariance_of(shape), np.cov(rows, rowvar=False)

    def noise(covariance):
        values, vectors = np.linalg.eigh(covariance)
        inverse_root = (vectors / np.sqrt(values)) @ vectors.T
        return np.sqrt(np.sqrt(values).sum() * np.vdot(inverse_root, truth))

    own = noise(matrix)
    return noise(np.eye(len(matrix))) / own, noise(np.diag(np.diagonal(matrix))) / own


def by_formula(shape):
    bare = type(shape)(*(getattr(shape, part) for part in shape.__dict__["_parts"]))
    return bare.gain(), bare.rotated_gain()


# ------------------------------------------------------------------------------------------------ the shape


@pytest.mark.parametrize(
    ("count", "dimension", "kind"),
    [
        (5, 1, DenseCovariance),
        (400, 7, DenseCovariance),
        (31, 30, DenseCovariance),
        (30, 30, LowRankCovariance),
        (40, 100, LowRankCovariance),
        (6, 50, LowRankCovariance),
    ],
)
@pytest.mark.parametrize("tails", ["gaussian", "heavy"])
def test_it_is_the_ledoit_wolf_estimate_of_scikit_learn(count, dimension, kind, tails):
    rng = np.random.default_rng(3)
    draws = rng.standard_normal((count, dimension)) if tails == "gaussian" else rng.standard_t(3, (count, dimension))
    public = draws @ rng.standard_normal((dimension, dimension)) / np.arange(1, dimension + 1) + 1000
    kept = public.copy()
    shape, expected = covariance_from_public(public), LedoitWolf().fit(public).covariance_
    assert type(shape) is kind
    np.testing.assert_allclose(covariance_of(shape), expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_array_equal(public, kept)


@pytest.mark.parametrize("count", [40, 200])
def test_rank_keeps_the_strongest_directions_and_the_average_of_the_rest(count):
    public = rotated("S2", 60, count, seed=4)
    expected = LedoitWolf().fit(public).covariance_
    shape = covariance_from_public(public, rank=5)
    values = np.linalg.eigvalsh(expected)[::-1]
    assert isinstance(shape, LowRankCovariance)
    np.testing.assert_allclose(np.sort(shape.variances)[::-1], values[:5], rtol=1e-9)
    assert shape.tail == pytest.approx(values[5:].mean(), rel=1e-9)
    assert shape.covariance_diagonal(60).sum() == pytest.approx(np.trace(expected), rel=1e-9)
    for variance, direction in zip(shape.variances, shape.basis.T, strict=True):
        np.testing.assert_allclose(expected @ direction, variance * direction, atol=1e-9)


def test_wide_rows_never_become_a_square_matrix():
    public = np.random.default_rng(7).standard_normal((40, 20_000)) / np.sqrt(np.arange(1, 20_001))
    tracemalloc.start()
    shape = covariance_from_public(public)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (shape.dimension, shape.variances.size) == (20_000, 39)
    assert peak < 25 * public.nbytes < 8 * 20_000**2 / 16


def test_every_kind_of_table_has_the_same_shape():
    table = np.random.default_rng(9).integers(0, 4, (50, 4)).astype(np.float64)
    expected = covariance_from_public(table)
    for public in (table.tolist(), table.astype(np.int8), pd.DataFrame(table), sparse.csc_matrix(table)):
        shape = covariance_from_public(public)
        assert (shape, shape.gain()) == (expected, expected.gain())


def test_a_constant_column_gets_the_variance_of_shrinkage():
    public = rotated("S3", 6, 100, seed=10)
    public[:, 2] = 0.1
    estimate = LedoitWolf().fit(public)
    shape = covariance_from_public(public)
    least = estimate.shrinkage_ * np.trace(estimate.covariance_) / 6
    assert shape.covariance[2, 2] == pytest.approx(least, rel=1e-9)
    assert shape.covariance[2, [0, 1, 3, 4, 5]].tolist() == [0.0] * 5
    assert covariance_from_public(load_digits().data[:100]).dimension == 64  # some pixels are blank in all of them


# ------------------------------------------------------------------------------------------------ what is no sample


def with_entry(value):
    table = np.random.default_rng(12).standard_normal((20, 3))
    table[4, 1] = value
    return table


TWO_PLACES = np.array([[0.0, 1.0, 2.0], [5.0, 1.0, 0.0]] * 10)
ONE_DIFFERS = np.vstack([np.zeros((19, 3)), np.ones((1, 3))])
KNOWN = "prior knowledge of the variances as covariance="


@pytest.mark.parametrize(
    ("public", "message"),
    [
        (np.ones((1, 3)), "at least 5 rows. Find more"),
        (np.empty((0, 3)), "at least 5 rows. Find more"),
        (np.full((20, 3), 0.1), f"all equal.*{KNOWN}"),
        (ONE_DIFFERS, f"Most rows of `public_X` are equal.*{KNOWN}"),
        (TWO_PLACES, f"so few directions.*{KNOWN}"),
        (np.tile(TWO_PLACES, 10), f"so few directions.*{KNOWN}"),
        (with_entry(np.nan), "finite numbers alone.*Drop those rows"),
        (with_entry(-np.inf), "finite numbers alone"),
        (with_entry(1e300), "Change the units"),
        (1e-80 * with_entry(1.0), "Change the units"),
        (np.ones(7), "2 dimensions, got 1"),
        (np.empty((7, 0)), "no columns"),
        ([["a", "b"]] * 6, "real numbers"),
        (
            np.broadcast_to(np.zeros(1), (6001, 6001)),
            "at most 6000 rows or at most 6000 columns.*Pass up to 6000 of its rows",
        ),
    ],
)
def test_what_shows_no_shape_is_refused_with_a_remedy(public, message):
    with pytest.raises(InvalidDataError, match="(?s)" + message):
        covariance_from_public(public)


@pytest.mark.parametrize("rank", [0, -1, 2.5, "all", True])
def test_a_rank_is_a_whole_number(rank):
    with pytest.raises(InvalidParameterError, match="`rank` must be a whole number, at least 1"):
        covariance_from_public(with_entry(1.0), rank=rank)


# ------------------------------------------------------------------------------------------------ gains by formula


@pytest.mark.parametrize(
    ("shape", "gain", "rotated_gain"),
    [
        (DiagonalCovariance([1.0, 1.0, 1.0]), 1.0, 1.0),
        (DiagonalCovariance([1.0, 9.0]), np.sqrt(20) / 4, 1.0),
        (DiagonalCovariance([1e300, 9e300]), np.sqrt(20) / 4, 1.0),
        (
            DenseCovariance([[5.0, -4.0], [-4.0, 5.0]]),
            np.sqrt(20) / 4,
            2 * np.sqrt(5) / 4,
        ),  # variances 1 and 9, turned by 45°
        (LowRankCovariance([[np.sqrt(0.5)], [np.sqrt(0.5)]], [9.0], 1.0), np.sqrt(20) / 4, 2 * np.sqrt(5) / 4),
        (LowRankCovariance(np.eye(100)[:, :1], [100.0], 1.0), np.sqrt(100 * 199) / 109, 1.0),
    ],
)
def test_gains_of_known_spectra(shape, gain, rotated_gain):
    assert shape.gain() == pytest.approx(gain, rel=1e-12)
    assert shape.rotated_gain() == pytest.approx(rotated_gain, rel=1e-12)
    assert shape.gain(shape.dimension) == shape.gain()
    for ask in (shape.gain, shape.rotated_gain):
        with pytest.raises(InvalidParameterError, match=f"{shape.dimension} in all"):
            ask(7)


# ------------------------------------------------------------------------------------------------ gains as measured


@pytest.mark.parametrize(
    ("name", "count", "off"),
    [("S1", 60, 0.3), ("S1", 300, 0.2), ("S3", 150, -0.08), ("S5", 60, 0.3), ("S4", 60, None)],
)
def test_the_gain_told_is_the_gain_on_other_records(name, count, off):
    """Within 8 %, also where the formula, which takes the estimate for the truth, is far off in one direction."""
    shape = covariance_from_public(rotated(name, 200, count, seed=13))
    told, formula, real = (
        (shape.gain(), shape.rotated_gain()),
        by_formula(shape),
        found(shape, rotated(name, 200, 4000, 14)),
    )
    for claim, truth in zip(told, real, strict=True):
        assert abs(claim / truth - 1) < 0.08
    for claim, truth in zip(formula, real, strict=True):
        error = 1 - claim / truth
        assert abs(error) < 0.02 if off is None else error / off > 1


def test_what_was_measured_travels_with_the_shape():
    public = rotated("S1", 30, 20, seed=17)
    shape = covariance_from_public(public)
    bare = LowRankCovariance(shape.basis, shape.variances, shape.tail)
    for other in (pickle.loads(pickle.dumps(shape)), copy.deepcopy(shape)):
        assert (other.gain(), other.rotated_gain()) == (shape.gain(), shape.rotated_gain())
    assert bare == shape
    assert hash(bare) == hash(shape)
    assert bare.gain() != shape.gain()
    assert shape.gain(30) == shape.gain()
    with pytest.raises(InvalidParameterError, match="30 in all"):
        shape.gain(31)
    assert pickle.loads(pickle.dumps(bare)).gain() == bare.gain()
    with pytest.raises(AttributeError, match="frozen"):
        shape._measured = (9.0, 9.0)


# ------------------------------------------------------------------------------------------------ a release through it


def noise_of(X, shape, **options):
    release = release_mean(
        X, **with_options(epsilon=2.0, delta=1e-6, covariance=shape, noise=SeededNoise(9), **options)
    )
    assert not release.refused
    return np.linalg.norm(release.noise_stddev)


@pytest.mark.parametrize("count", [40, 250], ids=["low-rank", "dense"])
def test_a_release_has_as_many_times_less_noise_as_told(count):
    """The rival is given the same variances; on its own axes these records are nearly round. Radii are looked up, so
    that the two differ by a little more than their noise."""
    shape, X = covariance_from_public(rotated("S1", 60, count, seed=18)), rotated("S1", 60, 2500, seed=19) + 7
    variances = DiagonalCovariance(shape.covariance_diagonal(60))
    gain = noise_of(X, variances, scale="learn") / noise_of(X, shape, scale="learn")
    assert shape.rotated_gain() > 1.5
    assert gain == pytest.approx(shape.rotated_gain(), rel=0.15)
    taken_at_its_word = noise_of(X, variances) / noise_of(X, shape)
    assert taken_at_its_word == pytest.approx(by_formula(shape)[1], rel=0.1)
