"""Public bases: orthonormal, undone exactly, their diagonals exact, and a rotated record has its own bits alone."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from streams import needs

import dimfree.kernel.rows.space as space_module
from dimfree import bases
from dimfree.bases import as_basis
from dimfree.data.blocks import to_dense
from dimfree.data.records import open_records
from dimfree.errors import InvalidParameterError
from dimfree.kernel.rows.bases import Given
from dimfree.kernel.rows.cosine import Cosine
from dimfree.kernel.rows.space import Space
from dimfree.shapes import DenseCovariance, DiagonalCovariance, IsotropicCovariance


def orthonormal(dimension, seed=7):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(dimension, dimension)))[0]


MAKERS = {"dct": Cosine, "given": lambda dimension: Given(orthonormal(dimension))}
every = pytest.mark.parametrize("name", MAKERS)
widths = pytest.mark.parametrize("dimension", [1, 2, 3, 33, 100])


def matrix_of(basis):
    """T, from the unit vectors."""
    return basis.rotate(np.eye(basis.dimension)).T


@every
@widths
def test_columns_are_orthonormal_and_restoring_is_the_transpose(rng, name, dimension):
    basis = MAKERS[name](dimension)
    T = matrix_of(basis)
    assert (basis.name, basis.dimension, T.shape) == (name, dimension, (basis.width, dimension))
    assert np.abs(T.T @ T - np.eye(dimension)).max() < 1e-14
    released, record = rng.normal(size=basis.width), rng.normal(size=dimension)
    assert basis.restore_answer(released) == pytest.approx(T.T @ released)
    assert basis.move_vector(record) == pytest.approx(T @ record)
    assert basis.restore_answer(basis.move_vector(record)) == pytest.approx(record)


@every
@widths
def test_the_diagonal_is_that_of_the_dense_matrix(rng, name, dimension):
    basis = MAKERS[name](dimension)
    variances = rng.exponential(size=basis.width) * 10.0 ** rng.integers(-6, 6, basis.width)
    exact = (matrix_of(basis) ** 2).T @ variances
    assert basis.diagonal(variances) == pytest.approx(exact, rel=1e-12, abs=2e-15 * variances.max())


@pytest.mark.parametrize("dimension", [3, 33, 101])
def test_no_variance_is_lost_beside_one_that_is_huge(dimension):
    """A coordinate that the large one misses has rounding alone for its sum: it must not fall below the least."""
    variances = np.full(dimension, 1e-12)
    variances[1] = 1e12
    assert Cosine(dimension).diagonal(variances).min() >= 0.9e-12


# ---- a record's bits are its own


# ---- rotated rows in pieces


def columns(space, among=None):
    return np.stack([space.map_records(partial(column, place), among) for place in range(space.dimension)], axis=1)


def column(place, rows):
    return to_dense(rows)[:, place].copy()


def one_by_one(basis, shape, rows):
    """What every record becomes by itself."""
    largest = np.finfo(float).max
    with np.errstate(all="ignore"):
        turned = [np.nan_to_num(basis.rotate(row[None]), nan=0.0, posinf=largest, neginf=-largest) for row in rows]
    return np.concatenate([shape.rescale(row) for row in turned])


@every
@pytest.mark.parametrize("cut", [(30, 4, 2**31, 2), (60, 18, 0, 3), (24, 1, 0, 2)])
@pytest.mark.parametrize(
    "shape", [DiagonalCovariance(np.geomspace(1, 1e-30, 6)), DenseCovariance(np.diag(np.arange(1.0, 7)) + 0.5)]
)
def test_rotated_rows_are_the_valid_rows_one_by_one(pieces, table, name, cut, shape):
    pieces(*cut)
    basis, valid = MAKERS[name](6), np.isfinite(table).all(axis=1)
    expected, among = np.zeros_like(table), np.arange(len(table)) % 3 == 0
    expected[valid] = one_by_one(basis, shape, table[valid])
    for form in (np.asarray, sparse.csr_array):
        space = Space(open_records(form(table), missing="complete-case"), shape, basis)
        assert columns(space).tobytes() == expected.tobytes()
        assert columns(space, among).tobytes() == expected[among].tobytes()
        found = np.concatenate([to_dense(rows) for rows in space.valid_blocks(among)])
        assert found.tobytes() == expected[among & valid].tobytes()


@pytest.mark.parametrize("kept", [0, 2**31], ids=["made anew", "kept"])
def test_sparse_rows_are_never_all_dense_before_they_are_rotated(monkeypatch, kept):
    monkeypatch.setattr(space_module, "KEPT_BYTES", kept)
    count, width = 40_000, 256
    stored = (np.ones(count), (np.arange(count), np.arange(count) % width))
    space = Space(open_records(sparse.csr_array(stored, shape=(count, width))), IsotropicCovariance(1.0), Cosine(width))
    dense = 8 * count * width
    tracemalloc.start()
    try:
        assert space.sum_over(lambda rows: np.array([len(rows)]), 1)[0] == count
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (dense if kept else 0) + dense / 2


# ---- what may be a basis

FORMS = {
    "lists": lambda T: T.tolist(),
    "single precision": lambda T: T.astype(np.float32),
    "csr": sparse.csr_array,
    "coo matrix": sparse.coo_matrix,
    "operator": lambda T: LinearOperator(T.shape, matvec=lambda x: T @ x, dtype=float),
    "read-only": lambda T: np.asfortranarray(T),
    "masked array": lambda T: np.ma.masked_array(T, mask=np.zeros(T.shape)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_matrix_is_the_same_rotation(rng, form):
    T, rows = orthonormal(40), rng.normal(size=(3, 40))
    basis = as_basis(FORMS[form](T), 40)
    assert basis.rotate(rows) == pytest.approx(rows @ T.T, abs=1e-6 if form == "single precision" else 1e-14)
    assert np.abs(basis.matrix @ basis.matrix.T - np.eye(40)).max() < 1e-13
    assert not basis.matrix.flags.writeable


def test_what_is_nearly_orthonormal_is_made_so_without_turning(rng):
    T = orthonormal(50)
    off = T + 4e-9 * rng.normal(size=T.shape)
    basis = as_basis(off, 50)
    assert np.abs(basis.matrix @ basis.matrix.T - np.eye(50)).max() < 1e-14
    left, _, right = np.linalg.svd(off)
    assert basis.matrix == pytest.approx(left @ right, abs=1e-14)  # the polar factor: nothing orthonormal is nearer
    before = T.copy()
    assert as_basis(T, 50).matrix.tobytes() == before.tobytes()
    assert T.flags.writeable


def test_a_matrix_off_by_the_tolerance_is_refused_and_just_within_it_is_not():
    T = np.eye(4)
    T[2, 2] = 1 + 0.45e-6  # T T' - I is 0.9e-6 there
    assert as_basis(T, 4).matrix == pytest.approx(np.eye(4), abs=1e-15)
    T[2, 2] = 1 + 0.55e-6
    with pytest.raises(InvalidParameterError, match="orthonormal: every row of length 1"):
        as_basis(T, 4)


def failing(x):
    raise RuntimeError("no such vector")


BAD = {
    "not square": (np.eye(3)[:2], r"shape \(3, 3\)"),
    "sparse, too wide": (sparse.eye_array(4), r"shape \(3, 3\)"),
    "operator, too wide": (aslinearoperator(np.eye(4)), r"shape \(3, 3\)"),
    "rank 1": (np.ones(3), "rank 2"),
    "empty": (np.ones((0, 0)), "non-empty"),
    "ragged": ([[1.0, 0, 0], [0, 1.0], [0, 0, 1.0]], "different lengths"),
    "text": ([["a"] * 3] * 3, "real numbers"),
    "complex operator": (aslinearoperator(np.eye(3) * 1j), "complex entries"),
    "complex sparse": (sparse.csr_array(np.eye(3) * 1j), "complex entries"),
    "NaN": (np.diag([1.0, np.nan, 1.0]), "NaN or infinite"),
    "huge": (np.eye(3) * 1e200, "orthonormal"),
    "columns for rows": (np.array([[1.0, 0, 0], [1, 1, 0], [0, 0, 1]]), r"numpy.linalg.qr\(basis.T\)\[0\].T"),
    "operator that fails": (LinearOperator((3, 3), matvec=failing, dtype=float), "raised RuntimeError"),
    "a name": ("dtc", "'dct'"),
    "masked": (np.ma.masked_array(np.eye(3), mask=np.eye(3) > 0), "`basis` must have no masked entries"),
    "auto": ("auto", "'dct'"),
    "nothing": (None, "real numbers"),
    "a basis of the kernel": (Cosine(3), "got <Cosine>"),
    "a class": (Cosine, "got <ABCMeta>"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_basis_for_three_columns_is_told(case):
    basis, words = BAD[case]
    with pytest.raises(InvalidParameterError, match=words):
        as_basis(basis, 3)


def test_what_is_not_an_array_is_written_out_up_to_a_stated_width(monkeypatch):
    monkeypatch.setattr(bases, "MAX_DENSE_COLUMNS", 5)
    for basis in (sparse.eye_array(6), aslinearoperator(np.eye(6))):
        with pytest.raises(InvalidParameterError, match=r"at most 5 columns.*'dct' or an array"):
            as_basis(basis, 6)
    assert as_basis(sparse.eye_array(5), 5).width == as_basis(np.eye(6), 6).width - 1


# ---- frames have names

FRAMES = {
    "pandas": lambda rows, names: needs("pandas").DataFrame(rows, columns=names),
    "polars": lambda rows, names: needs("polars").DataFrame(rows, schema=names, orient="row"),
    "pyarrow": lambda rows, names: needs("pyarrow").table(dict(zip(names, rows.T, strict=True))),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_with_other_names_than_the_records_is_refused(kind):
    T = orthonormal(3)
    frame = FRAMES[kind](T, ["a", "b", "c"])
    for columns in (None, ("a", "b", "c"), ("0", "1", "2")):
        assert as_basis(frame, 3, columns).matrix == pytest.approx(T)
    for columns in (("b", "a", "c"), ("a", "b", "x"), ("a", "b", "c", "d")):
        with pytest.raises(
            InvalidParameterError, match="`basis` must have the names of the columns of the records, in the same order"
        ):
            as_basis(frame, 3, columns)
