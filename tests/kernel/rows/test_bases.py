"""Public bases: orthonormal, undone exactly, their diagonals exact, and a rotated record has its own bits alone."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.linalg import hadamard
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from streams import needs

from dimfree.comparison.baselines.rotation import Rotation
from dimfree.errors import InvalidParameter
from dimfree.kernel.rows.bases import Basis, Cosine, Given, Haar, Hadamard, as_basis, check_basis, given

WIDTHS = [1, 2, 3, 5, 8, 33, 100, 251]


def orthonormal(dimension, seed=7):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(dimension, dimension)))[0]


MAKERS = {
    "dct": Cosine,
    "haar": Haar,
    "hadamard": Hadamard,
    "given": lambda dimension: Given(orthonormal(dimension), dimension),
    "random rotation": Rotation,
}
every = pytest.mark.parametrize("name", MAKERS)


def matrix_of(basis):
    """T, from the unit vectors."""
    return basis.rotated(np.eye(basis.dimension)).T


@every
@pytest.mark.parametrize("dimension", WIDTHS)
def test_columns_are_orthonormal_and_restoring_is_the_transpose(rng, name, dimension):
    basis = MAKERS[name](dimension)
    T = matrix_of(basis)
    assert (basis.name, basis.dimension, T.shape) == (name, dimension, (basis.width, dimension))
    assert np.abs(T.T @ T - np.eye(dimension)).max() < 1e-14
    released, record = rng.normal(size=basis.width), rng.normal(size=dimension)
    assert basis.restored(released) == pytest.approx(T.T @ released)
    assert basis.moved(record) == pytest.approx(T @ record)
    assert basis.restored(basis.moved(record)) == pytest.approx(record)


@every
@pytest.mark.parametrize("dimension", WIDTHS)
def test_the_diagonal_is_that_of_the_dense_matrix(rng, name, dimension):
    basis = MAKERS[name](dimension)
    variances = rng.exponential(size=basis.width) * 10.0 ** rng.integers(-6, 6, basis.width)
    exact = (matrix_of(basis) ** 2).T @ variances
    assert basis.diagonal(variances) == pytest.approx(exact, rel=1e-12, abs=2e-15 * variances.max())
    assert basis.diagonal(np.ones(basis.width)) == pytest.approx(np.ones(dimension))


@every
@pytest.mark.parametrize("dimension", [3, 33, 101])
def test_no_variance_is_lost_beside_one_that_is_huge(name, dimension):
    """A coordinate that the large one misses has rounding alone for its sum: it must not fall below the least."""
    basis = MAKERS[name](dimension)
    variances = np.full(basis.width, 1e-12)
    variances[1] = 1e12
    found = basis.diagonal(variances)
    assert found.min() >= 0.9e-12
    assert found.sum() == pytest.approx((matrix_of(basis) ** 2).sum(axis=1) @ variances)


# Which basis it is


@pytest.mark.parametrize("dimension", [1, 2, 5, 64])
def test_the_cosine_transform_is_that_of_the_textbooks(dimension):
    k, i = np.arange(dimension)[:, None], np.arange(dimension)
    wanted = math.sqrt(2 / dimension) * np.cos(math.pi * k * (2 * i + 1) / (2 * dimension))
    wanted[0] /= math.sqrt(2)
    assert matrix_of(Cosine(dimension)) == pytest.approx(wanted)


def test_haar_compares_neighbours_and_carries_an_odd_one_along():
    root = math.sqrt(0.5)
    wanted = [
        [root**3, root**3, root**3, root**3, root],
        [root**3, root**3, root**3, root**3, -root],
        [0.5, 0.5, -0.5, -0.5, 0],
        [root, -root, 0, 0, 0],
        [0, 0, root, -root, 0],
    ]
    assert matrix_of(Haar(5)) == pytest.approx(np.array(wanted))


@pytest.mark.parametrize(("dimension", "width"), [(1, 1), (2, 2), (3, 4), (64, 64), (65, 128)])
def test_hadamard_pads_to_the_next_power_of_two_and_says_so(dimension, width):
    basis = Hadamard(dimension)
    assert (basis.width, basis.padding) == (width, width - dimension)
    assert matrix_of(basis) == pytest.approx(hadamard(width)[:, :dimension] / math.sqrt(width))
    assert "padded with zeros to the next power of two" in Hadamard.__doc__


def test_rows_of_a_given_matrix_are_the_basis_vectors(rng):
    T, x = orthonormal(6), rng.normal(size=6)
    assert as_basis(T, 6).moved(x) == pytest.approx(T @ x)
    assert as_basis(T, 6).moved(x) != pytest.approx(T.T @ x)
    assert as_basis(T, 6).moved(T[4]) == pytest.approx(np.eye(6)[4])


# A record's bits are its own


def wild(rng, count, dimension):
    """Rows of every size, subnormal to nearly infinite, side by side."""
    rows = rng.normal(size=(count, dimension)) * 10.0 ** rng.integers(-300, 290, (count, 1))
    rows[::7] = np.ldexp(rng.normal(size=rows[::7].shape), -1060)
    rows[3], rows[11 % count] = 0.0, 1.7e308
    return rows


def depends_on_others(basis, rows, rng):
    """Whether any way to hand the rows over changes the bits of one of them."""
    together = basis.rotated(rows)
    order = rng.permutation(len(rows))
    wide = np.zeros((len(rows), 2 * rows.shape[1]))
    wide[:, ::2] = rows
    frozen = rows.copy()
    frozen.setflags(write=False)
    ways = [
        (np.concatenate([basis.rotated(row[None]) for row in rows[:40]]), together[:40]),
        (basis.rotated(rows[order]), together[order]),
        (np.concatenate([basis.rotated(part) for part in np.array_split(rows, 7)]), together),
        (basis.rotated(rows[5:]), together[5:]),
        (basis.rotated(np.asfortranarray(rows)), together),
        (basis.rotated(wide[:, ::2]), together),
        (basis.rotated(frozen[::-1]), together[::-1]),
        (pickle.loads(pickle.dumps(basis)).rotated(rows), together),
    ]
    return any(found.tobytes() != expected.tobytes() for found, expected in ways)


@every
@pytest.mark.parametrize("dimension", [1, 3, 16, 101, 300])
def test_a_rotated_record_has_the_same_bits_in_every_batch(rng, name, dimension):
    rows = wild(rng, 90, dimension)
    with np.errstate(all="raise"):
        assert not depends_on_others(MAKERS[name](dimension), rows, rng)


@pytest.mark.parametrize("dimension", [784, 1021, 5003])
def test_lengths_for_which_the_cosine_transform_has_ways_of_its_own(rng, dimension):
    """Products of small factors, and primes, which are done by a convolution."""
    assert not depends_on_others(Cosine(dimension), wild(rng, 20, dimension), rng)


class Batched(Given):
    """A broken twin: one ordinary product for all records."""

    def rotated(self, rows):
        return rows @ self.matrix.T


def test_an_ordinary_product_would_be_noticed(rng):
    with np.errstate(all="ignore"):
        assert depends_on_others(Batched(orthonormal(101), 101), wild(rng, 90, 101), rng)


@every
def test_many_threads_at_once_find_the_same_bits(rng, name):
    basis, rows = MAKERS[name](300), rng.normal(size=(60, 300))
    expected = pickle.loads(pickle.dumps(basis)).rotated(rows)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda part: basis.rotated(rows[part]), [slice(k, k + 9) for k in range(52)]))
    for k, part in enumerate(found):
        assert part.tobytes() == expected[k : k + 9].tobytes()


@every
def test_what_is_pickled_is_small_and_rotates_alike(rng, name):
    basis = MAKERS[name](64)
    basis.rotated(np.ones((1, 64)))
    assert len(pickle.dumps(basis)) < 8 * 64 * 64 + 2000
    assert repr(pickle.loads(pickle.dumps(basis))) == repr(basis)


# Matrices that are written down


def rotation_operator(T, **options):
    return LinearOperator(T.shape, matvec=lambda x: T @ x, dtype=float, **options)


FORMS = {
    "array": lambda T: T,
    "lists": lambda T: T.tolist(),
    "single precision": lambda T: T.astype(np.float32),
    "csr": sparse.csr_array,
    "coo matrix": sparse.coo_matrix,
    "operator": rotation_operator,
    "array operator": aslinearoperator,
    "read-only": lambda T: np.asfortranarray(T),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_matrix_is_the_same_rotation(rng, form):
    T, rows = orthonormal(40), rng.normal(size=(3, 40))
    basis = as_basis(FORMS[form](T), 40)
    assert basis.rotated(rows) == pytest.approx(rows @ T.T, abs=1e-6 if form == "single precision" else 1e-14)
    assert np.abs(basis.matrix @ basis.matrix.T - np.eye(40)).max() < 1e-13
    assert not basis.matrix.flags.writeable


def test_what_is_nearly_orthonormal_is_made_so_without_turning(rng):
    T = orthonormal(50)
    off = T + 4e-9 * rng.normal(size=T.shape)
    basis = as_basis(off, 50)
    assert np.abs(off @ off.T - np.eye(50)).max() > 1e-8
    assert np.abs(basis.matrix @ basis.matrix.T - np.eye(50)).max() < 1e-14
    assert np.abs(basis.matrix - off).max() < 1e-7
    left, _, right = np.linalg.svd(off)
    assert basis.matrix == pytest.approx(left @ right, abs=1e-14)  # the polar factor: nothing orthonormal is nearer


def test_an_orthonormal_matrix_is_used_as_it_is():
    T = orthonormal(30)
    before = T.copy()
    assert as_basis(T, 30).matrix.tobytes() == before.tobytes()
    assert T.flags.writeable


def test_a_matrix_off_by_the_tolerance_is_refused_and_just_within_it_is_not():
    T = np.eye(4)
    T[2, 2] = 1 + 0.45e-6  # T T' - I is 0.9e-6 there
    assert as_basis(T, 4).matrix == pytest.approx(np.eye(4), abs=1e-15)
    T[2, 2] = 1 + 0.55e-6
    with pytest.raises(InvalidParameter, match="orthonormal: every row of length 1"):
        as_basis(T, 4)


def failing(x):
    raise RuntimeError("no such vector")


BAD = {
    "not square": (np.eye(3)[:2], r"shape \(3, 3\), a row for each basis vector"),
    "too wide": (np.eye(4), r"of shape \(3, 3\), a row"),
    "sparse, too wide": (sparse.eye_array(4), r"of shape \(3, 3\), a row"),
    "operator, too wide": (aslinearoperator(np.eye(4)), r"of shape \(3, 3\), a row"),
    "a Basis, too wide": (Haar(4), r"of shape \(3, 3\), a row"),
    "rank 1": (np.ones(3), "rank 2"),
    "rank 3": (np.ones((3, 3, 3)), "rank 2"),
    "empty": (np.ones((0, 0)), "non-empty"),
    "ragged": ([[1.0, 0, 0], [0, 1.0], [0, 0, 1.0]], "different lengths"),
    "text": ([["a"] * 3] * 3, "real numbers"),
    "complex": (np.eye(3) * 1j, "complex entries"),
    "complex operator": (aslinearoperator(np.eye(3) * 1j), "complex entries"),
    "complex sparse": (sparse.csr_array(np.eye(3) * 1j), "complex entries"),
    "NaN": (np.diag([1.0, np.nan, 1.0]), "NaN or infinite"),
    "infinite": (np.diag([1.0, np.inf, 1.0]), "NaN or infinite"),
    "huge": (np.eye(3) * 1e200, "orthonormal"),
    "twice as long": (np.eye(3) * 2, "orthonormal"),
    "columns for rows": (np.array([[1.0, 0, 0], [1, 1, 0], [0, 0, 1]]), r"numpy.linalg.qr\(basis.T\)\[0\].T"),
    "operator that fails": (LinearOperator((3, 3), matvec=failing, dtype=float), "raised RuntimeError"),
    "a name": ("dtc", "'dct', 'hadamard', 'haar'"),
    "the word none": ("none", r"or an orthonormal \(d, d\) matrix or scipy LinearOperator.*or None.*got 'none'"),
    "masked": (np.ma.masked_array(np.eye(3), mask=np.eye(3) > 0), "basis without masked entries"),
    "masked rows": ([*np.ma.masked_array(np.eye(3), mask=np.eye(3) > 0)], "basis without masked entries"),
    "auto": ("auto", "'dct', 'hadamard', 'haar'"),
    "nothing": (None, "real numbers"),
    "a number": (3.0, "got 3.0"),
    "a class": (Haar, "got <ABCMeta>"),
    "a set": ({1, 2}, "got <set>"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_basis_for_three_columns_is_told(case):
    basis, words = BAD[case]
    with pytest.raises(InvalidParameter, match=words):
        as_basis(basis, 3)


def test_what_is_not_an_array_is_written_out_up_to_a_stated_width(monkeypatch):
    monkeypatch.setattr(given, "LARGEST_WRITTEN_OUT", 5)
    for basis in (sparse.eye_array(6), aslinearoperator(np.eye(6))):
        with pytest.raises(InvalidParameter, match=r"at most 5 columns.*'dct', 'haar'.*bases.Basis"):
            as_basis(basis, 6)
    assert as_basis(sparse.eye_array(5), 5).width == as_basis(np.eye(6), 6).width - 1


BEFORE_THE_TABLE = [None, "auto", "dct", "hadamard", "haar", np.eye(2), [[1.0]], Haar(2), sparse.eye_array(2)]


@pytest.mark.parametrize("basis", [*BEFORE_THE_TABLE, aslinearoperator(np.eye(2))])
def test_before_the_table_is_opened_these_may_be_bases(basis):
    assert check_basis(basis) is None


@pytest.mark.parametrize("basis", ["DCT", "", 1, 2.5, True, Haar, {"dct"}, object()])
def test_before_the_table_is_opened_these_are_refused(basis):
    with pytest.raises(InvalidParameter, match=r"basis.*'auto', 'dct', 'hadamard', 'haar'"):
        check_basis(basis)


@pytest.mark.parametrize(("name", "kind"), [("dct", Cosine), ("haar", Haar), ("hadamard", Hadamard)])
def test_names_stand_for_bases_and_a_basis_for_itself(name, kind):
    basis = as_basis(name, 6)
    assert type(basis) is kind
    assert as_basis(basis, 6) is basis
    assert repr(basis) == f"{kind.__name__}(dimension=6)"


class Reversed(Basis):
    """One of the caller's own, which knows its two verbs and nothing else."""

    name = "reversed"

    def __init__(self, dimension):
        self.dimension = self.width = dimension

    def rotated(self, rows):
        return rows[:, ::-1].copy()

    def restored(self, vector):
        return vector[::-1]


def test_a_masked_array_without_masked_entries_is_an_array():
    assert as_basis(np.ma.masked_array(np.eye(3), mask=np.zeros((3, 3))), 3).width == 3


# A basis of the caller's own is tried on public vectors


class Short(Reversed):
    def rotated(self, rows):
        return rows[:, 1:].copy()


class Blowing(Reversed):
    def rotated(self, rows):
        return super().rotated(rows) * np.inf


class OneWay(Reversed):
    def restored(self, vector):
        return vector


class NearlyBack(Reversed):
    def restored(self, vector):
        return super().restored(vector) * (1 + 1e-5)


class Column(Reversed):
    def restored(self, vector):
        return super().restored(vector)[None]


class Neighbourly(Reversed):
    """Adds a hundredth of a last bit of the row before."""

    def rotated(self, rows):
        return super().rotated(rows) + 1e-18 * np.roll(rows, 1, axis=0) * (len(rows) > 1)


class PlaceBound(Reversed):
    def rotated(self, rows):
        found = super().rotated(rows)
        found[8:] *= 1 + 2**-52
        return found


class Unfinished(Reversed):
    def rotated(self, rows):
        raise NotImplementedError("later")


class Nameless(Reversed):
    name = None


BROKEN = {
    Short: r"another shape than \(rows, width\)",
    Blowing: "not finite",
    OneWay: "`restored` does not undo `rotated`, within 1e-06",
    NearlyBack: "`restored` does not undo `rotated`",
    Column: "`restored` does not undo `rotated`",
    Neighbourly: "other bits in a batch",
    PlaceBound: "other bits in a batch",
    Unfinished: "it raised NotImplementedError",
    Nameless: "`name`",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_promise_is_told(kind):
    with pytest.raises(InvalidParameter, match=f"a {kind.__name__}, to keep what.*{BROKEN[kind]}"):
        as_basis(kind(5), 5)


def test_an_ordinary_product_is_told():
    with pytest.raises(InvalidParameter, match=r"a Batched, to keep what.*other bits in a batch"):
        as_basis(Batched(orthonormal(101), 101), 101)


@every
@pytest.mark.parametrize("dimension", [1, 2, 33, 1025])
def test_the_bases_of_dimfree_keep_their_promises(name, dimension):
    basis = MAKERS[name](dimension)
    assert as_basis(basis, dimension) is basis


def test_few_rows_are_tried():
    counted = []

    class Counted(Reversed):
        def rotated(self, rows):
            counted.append(len(rows))
            return super().rotated(rows)

    as_basis(Counted(4), 4)
    assert sum(counted) == 20


# Frames have names


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
        with pytest.raises(InvalidParameter, match="basis to name the columns of the records, in their order"):
            as_basis(frame, 3, columns)


def test_columns_that_are_only_counted_have_no_names_but_an_order():
    T, pandas = orthonormal(3), needs("pandas")
    assert as_basis(pandas.DataFrame(T), 3, ("a", "b", "c")).matrix == pytest.approx(T)
    assert as_basis(T, 3, ("a", "b", "c")).matrix == pytest.approx(T)
    with pytest.raises(InvalidParameter, match="column 1 is '0' in the records and has another name"):
        as_basis(pandas.DataFrame(T)[[2, 0, 1]], 3, ("0", "1", "2"))


def test_the_diagonal_of_a_basis_of_ones_own_follows_from_its_unit_vectors():
    assert as_basis(Reversed(4), 4).diagonal(np.array([1.0, 2, 3, 4])) == pytest.approx([4, 3, 2, 1])
