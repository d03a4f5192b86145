"""The four shapes: M^{-1/4} record by record, M^{1/4}, traces of roots; what is no shape is refused with a remedy."""

import copy
import pickle

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dimfree.errors import InvalidParameterError
from dimfree.shapes import DenseCovariance, DiagonalCovariance, IsotropicCovariance, LowRankCovariance, as_covariance

D = 7
VARIANCES = np.array([4.0, 1e-4, 9.0, 100.0, 0.25, 1.0, 16.0])
BASIS = np.linalg.qr(np.random.default_rng(1).standard_normal((D, 3)))[0]
MIXING = np.random.default_rng(2).standard_normal((D, D))
COVARIANCE = MIXING @ MIXING.T + 0.1 * np.eye(D)
ALONG, TAIL = np.array([5.0, 2.0, 1e-3]), 0.3
LOW_RANK_COVARIANCE = (BASIS * ALONG) @ BASIS.T + TAIL * (np.eye(D) - BASIS @ BASIS.T)

KINDS = [
    pytest.param(IsotropicCovariance(3.0), 9.0 * np.eye(D), id="isotropic"),
    pytest.param(DiagonalCovariance(VARIANCES), np.diag(VARIANCES), id="diagonal"),
    pytest.param(DenseCovariance(COVARIANCE), COVARIANCE, id="dense"),
    pytest.param(LowRankCovariance(BASIS, ALONG, TAIL), LOW_RANK_COVARIANCE, id="low-rank"),
]
every_kind = pytest.mark.parametrize(("shape", "covariance"), KINDS)


def same_bits(a, b):
    return a.shape == b.shape and np.array_equal(a.view(np.int64), b.view(np.int64))


@pytest.fixture
def rows():
    rng = np.random.default_rng(42)
    return rng.standard_normal((29, D)) * 10.0 ** rng.uniform(-5, 5, (29, D))


@every_kind
def test_rescale_four_times_undoes_the_covariance(shape, covariance):
    result = covariance.copy()
    for _ in range(4):
        result = shape.rescale(result)
    assert np.allclose(result, np.eye(D), atol=1e-9)


@every_kind
def test_rescaled_records_have_the_root_as_covariance(shape, covariance):
    """M^{-1/4} M M^{-1/4} = M^{1/2}: the covariance the radius and the noise are computed from."""
    root = scipy.linalg.sqrtm(covariance)
    assert np.allclose(shape.rescale(shape.rescale(covariance).T), root, rtol=1e-9, atol=1e-9)
    assert np.allclose(shape.root_diagonal(D), np.diagonal(root), rtol=1e-9)
    assert np.allclose(shape.spectrum(D), np.sort(np.linalg.eigvalsh(root))[::-1], rtol=1e-9)
    assert shape.trace_root(D) == pytest.approx(np.trace(root), rel=1e-9)
    assert shape.trace_root(D) == pytest.approx(shape.root_diagonal(D).sum(), rel=1e-12)


@every_kind
def test_restore_undoes_rescale(shape, covariance, rows):
    for row, rescaled in zip(rows, shape.rescale(rows), strict=True):
        assert np.allclose(shape.restore(rescaled), row, rtol=0, atol=1e-10 * np.abs(row).max())


@every_kind
def test_each_record_is_rescaled_alone(shape, covariance, rows):
    whole = shape.rescale(rows)
    assert all(same_bits(shape.rescale(rows[i : i + 1].copy())[0], whole[i]) for i in range(len(rows)))
    assert same_bits(shape.rescale(np.asfortranarray(rows[::-1])), whole[::-1].copy())
    strange = rows.copy()
    strange[4], strange[5, 2], strange[6] = 1e300, np.nan, np.inf
    changed = shape.rescale(strange)
    assert same_bits(np.delete(changed, [4, 5, 6], axis=0), np.delete(whole, [4, 5, 6], axis=0))
    assert np.isnan(changed[5:7]).all()
    assert np.isfinite(changed[4]).all()


@every_kind
def test_rescale_leaves_its_input_and_returns_a_new_array(shape, covariance, rows):
    kept = rows.copy()
    result = shape.rescale(rows)
    assert not np.shares_memory(result, rows)
    result[:] = 0
    assert same_bits(rows, kept)
    rows.setflags(write=False)
    shape.rescale(rows)


@every_kind
def test_huge_records_stay_finite_even_when_numpy_is_told_to_raise(shape, covariance):
    with np.errstate(all="raise"):
        result = shape.rescale(np.full((2, D), 1.7e308) * [[1.0], [-1.0]])
    assert np.isfinite(result).all()
    assert same_bits(result[0], -result[1])


@every_kind
def test_frozen_with_read_only_arrays(shape, covariance):
    with pytest.raises(AttributeError, match="frozen"):
        shape.scale = 2.0
    with pytest.raises(AttributeError, match="frozen"):
        del shape.variances
    with pytest.raises(ValueError, match="read-only"):
        shape.spectrum(D)[0] = 1.0
    for name in ("variances", "covariance", "basis"):
        assert not getattr(shape, name, np.zeros(0)).size or not getattr(shape, name).flags.writeable


@every_kind
def test_copies_pickles_and_equality(shape, covariance):
    for other in (copy.copy(shape), copy.deepcopy(shape), pickle.loads(pickle.dumps(shape))):
        assert other == shape
        assert hash(other) == hash(shape)
        assert same_bits(other.rescale(np.eye(D)), shape.rescale(np.eye(D)))
    assert sum(shape == param.values[0] for param in KINDS) == 1
    assert shape != "shape"


@every_kind
def test_a_rescaling_on_its_way_to_another_machine_keeps_its_bits(shape, covariance, rows, monkeypatch):
    """There LAPACK may factorise with other last bits; a record must not be told by who rescaled it."""
    sent, expected = pickle.dumps(shape.rescaling()), shape.rescale(rows)
    for name in ("eigh", "qr"):
        ours = getattr(np.linalg, name)
        monkeypatch.setattr(
            np.linalg, name, lambda matrix, ours=ours: tuple(part * (1 + 1e-9) for part in ours(matrix))
        )
    assert same_bits(pickle.loads(sent)(rows), expected)
    if isinstance(shape, DenseCovariance | LowRankCovariance):  # the partner: derived anew it would be another
        assert not same_bits(pickle.loads(pickle.dumps(shape)).rescale(rows), expected)


def test_later_writes_to_the_callers_array_change_nothing():
    mine = VARIANCES.copy()
    shape = DiagonalCovariance(mine)
    mine[0] = 1e9
    assert shape == DiagonalCovariance(VARIANCES)
    assert mine.flags.writeable


@pytest.mark.parametrize("act", ["rescale", "restore", "root_diagonal", "spectrum", "trace_root"])
@every_kind
def test_another_width_is_refused(shape, covariance, act):
    argument = {"rescale": np.ones((2, D + 1)), "restore": np.ones(D + 1)}.get(act, D + 1)
    if shape.dimension is None:
        getattr(shape, act)(argument)
        return
    with pytest.raises(InvalidParameterError, match=f"{D} in all"):
        getattr(shape, act)(argument)


def test_rows_of_the_wrong_rank_are_refused():
    with pytest.raises(InvalidParameterError, match="rank 2"):
        IsotropicCovariance(1.0).rescale(np.ones(3))
    with pytest.raises(InvalidParameterError, match="rank 1"):
        IsotropicCovariance(1.0).restore(1.0)


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.float64, st.integers(1, 8), elements=st.floats(1e-300, 1e300)))
def test_ill_scaled_variances_stay_finite_and_positive(variances):
    with np.errstate(all="raise"):
        shape = DiagonalCovariance(variances)
        restored = shape.restore(shape.rescale(np.ones((1, variances.size)))[0])
        roots = shape.root_diagonal(variances.size)
    assert np.allclose(restored, 1.0)
    assert np.allclose(roots**2 / variances, 1.0)


@pytest.mark.parametrize("factor", [1e-300, 1e-151, 1.0, 1e151, 1e300])
def test_a_covariance_of_any_magnitude(factor):
    small = COVARIANCE / np.abs(COVARIANCE).max()
    dense, low = DenseCovariance(small * factor), LowRankCovariance(BASIS, ALONG * factor, TAIL * factor)
    assert dense.trace_root(D) == pytest.approx(DenseCovariance(small).trace_root(D) * np.sqrt(factor))
    assert low.trace_root(D) == pytest.approx(LowRankCovariance(BASIS, ALONG, TAIL).trace_root(D) * np.sqrt(factor))
    for shape, unit in ((dense, DenseCovariance(small)), (low, LowRankCovariance(BASIS, ALONG, TAIL))):
        assert np.allclose(shape.rescale(np.eye(D)) * factor**0.25, unit.rescale(np.eye(D)))
        assert np.allclose(shape.root_diagonal(D) / np.sqrt(factor), unit.root_diagonal(D))


SINGULAR = np.outer(np.ones(3), np.ones(3)) + np.diag([1.0, 0.0, 0.0])
FEW_RECORDS = np.cov(np.random.default_rng(4).standard_normal((20, 40)), rowvar=False)
REMEDY = "floor.*Covariance.low_rank.*project"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: IsotropicCovariance(0), "`scale` must .*above 0"),
        (lambda: IsotropicCovariance(np.inf), "`scale` must .*inf"),
        (lambda: IsotropicCovariance("wide"), "`scale` must .*'wide'"),
        (lambda: DiagonalCovariance([1.0, 0.0]), r"entry of `variances` must be above 0.*" + REMEDY),
        (lambda: DiagonalCovariance([1.0, np.nan]), "`variances` must be finite"),
        (lambda: DiagonalCovariance([]), "non-empty"),
        (lambda: DiagonalCovariance(np.eye(2)), "rank 1"),
        (lambda: DiagonalCovariance(["a", "b"]), "real numbers"),
        (lambda: DiagonalCovariance([[1.0], [1.0, 2.0]]), "different lengths"),
        (lambda: DiagonalCovariance(np.array([1.0, None])), "real numbers"),
        (lambda: DenseCovariance(np.ones((2, 3))), "square"),
        (lambda: DenseCovariance([1.0, 2.0]), "rank 2"),
        (lambda: DenseCovariance([[1.0, np.nan], [np.nan, 1.0]]), "`covariance` must be finite"),
        (lambda: DenseCovariance([[1.0, 0.5], [0.5 + 1e-6, 1.0]]), "symmetric"),
        (lambda: DenseCovariance([[1.0, 2.0], [2.0, 1.0]]), "positive definite.*" + REMEDY),
        (lambda: DenseCovariance(SINGULAR), "positive definite.*" + REMEDY),
        (lambda: DenseCovariance(FEW_RECORDS), "positive definite.*" + REMEDY),
        (lambda: DenseCovariance(np.zeros((2, 2))), "`covariance` must be above 0.*diagonal.*" + REMEDY),
        (lambda: DenseCovariance([[1e-300, 1e300], [1e300, 1.0]]), "positive definite"),
        (lambda: DenseCovariance([[1.0, 1.7e308], [-1.7e308, 1.0]]), "symmetric"),
        (lambda: DenseCovariance(scipy.sparse.eye(3)), "real numbers"),
        (lambda: LowRankCovariance(2 * BASIS, ALONG, TAIL), "orthonormal.*qr"),
        (lambda: LowRankCovariance(BASIS * 1e300, ALONG, TAIL), "orthonormal"),
        (lambda: LowRankCovariance(BASIS.T, ALONG, TAIL), r"k <= d.*basis\.T"),
        (lambda: LowRankCovariance(BASIS[:, 0], ALONG[:1], TAIL), "basis.*rank 2"),
        (lambda: LowRankCovariance(np.zeros((D, 0)), [], TAIL), "non-empty"),
        (lambda: LowRankCovariance(BASIS, ALONG[:2], TAIL), "one entry per column of basis, 3 in all"),
        (lambda: LowRankCovariance(BASIS, [1.0, 0.0, 1.0], TAIL), "entry of `variances` must be above 0"),
        (lambda: LowRankCovariance(BASIS, ALONG, 0.0), "`tail` must .*0.0"),
    ],
)
def test_what_is_no_shape_is_refused_with_a_remedy(build, message):
    with pytest.raises(InvalidParameterError, match="(?s)" + message):
        build()


@pytest.mark.parametrize(
    "covariance",
    [
        [[1.0, 0.5], [0.5 + 1e-10, 1.0]],
        [[1e-6, 0.0], [0.0, 3e5]],
        [[1, 0], [0, 2]],
        np.array([[2.0, 1.0], [1.0, 2.0]], dtype=np.float32),
    ],
    ids=["rounding", "ill-conditioned", "integers", "single precision"],
)
def test_what_is_a_covariance_is_accepted(covariance):
    shape = DenseCovariance(covariance)
    assert np.allclose(shape.spectrum(2)[::-1] ** 2, np.linalg.eigvalsh(np.asarray(covariance, float)))


def test_as_covariance_reads_variances_and_matrices():
    assert as_covariance(VARIANCES, D) == DiagonalCovariance(VARIANCES)
    assert as_covariance(VARIANCES.tolist(), D) == DiagonalCovariance(VARIANCES)
    assert as_covariance(COVARIANCE, D) == DenseCovariance(COVARIANCE)
    assert as_covariance(2.0, 1) == DiagonalCovariance([2.0])
    assert as_covariance([2.0], 1) == DiagonalCovariance([2.0])
    assert as_covariance([[2.0]], 1) == DenseCovariance([[2.0]])
    low_rank = LowRankCovariance(BASIS, ALONG, TAIL)
    assert as_covariance(low_rank, D) is low_rank
    assert as_covariance(IsotropicCovariance(2.0), 12345) == IsotropicCovariance(2.0)


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        (None, "variances or a .*got None.*Covariance.isotropic"),
        ("auto", "`covariance` must be.*Covariance.isotropic.*got 'auto'"),
        ("round", "`covariance` must be.*got 'round'"),
        (IsotropicCovariance, "got <ABCMeta>"),
        (type("Own", (IsotropicCovariance,), {})(1.0), "Covariance.isotropic.*got <Own>"),
        (2.0, "variances or a .*got 2.0.*Covariance.isotropic"),
        (np.ones((D, D, D)), "variances or a"),
        (VARIANCES[:-1], f"`covariance` must .*{D} in all"),
        (COVARIANCE[1:, 1:], f"`covariance` must .*{D} in all"),
        (DiagonalCovariance([1.0]), f"`covariance` must .*{D} in all"),
        (VARIANCES[None], "square"),
        (-VARIANCES, "covariance.*above 0.*" + REMEDY),
        ([[1.0], [1.0, 2.0]], "different lengths"),
        (np.array(["a"] * D), "real numbers"),
    ],
)
def test_as_covariance_refuses_with_a_remedy(covariance, message):
    with pytest.raises(InvalidParameterError, match="(?s)" + message):
        as_covariance(covariance, D)
