"""Tables of every kind: what is accepted, what is refused in which words, and what never leaves."""

import copy
import pickle
import traceback

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from streams import RecordedStream, rows_of

from dimfree.data import source as source_module
from dimfree.data.formats.array_files import NpyStream
from dimfree.data.formats.file_stream import File
from dimfree.data.people.keys import open_keys
from dimfree.data.people.person_records import person_records
from dimfree.data.records import Records, as_records, open_records, require_valid
from dimfree.errors import InvalidDataError, InvalidFileError, InvalidParameterError
from dimfree.kernel.rows.space import Space
from dimfree.shapes import IsotropicCovariance

SECRET = 271828.25
SECRET_TEXT = "271828"
SECRET_COUNT = 137


def message_of(X, missing="raise"):
    with pytest.raises(InvalidDataError) as caught:
        open_records(X, missing=missing)
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET_TEXT not in shown
    assert str(SECRET_COUNT) not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", "longdouble", "i1", "i8", "u1", "u8", "?"])
def test_every_real_dtype_becomes_float64(dtype):
    X = np.array([[0, 1], [1, 1], [1, 0]]).astype(dtype)
    blocks = list(open_records(X).blocks())
    assert all(block.dtype == np.float64 and block.dtype.isnative for block, _ in blocks)
    np.testing.assert_array_equal(np.concatenate([block for block, _ in blocks]), X.astype(float))


@given(
    X=hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.floats(width=64)),
    rows=st.integers(1, 7),
    order=st.sampled_from("CF"),
)
def test_blocks_cover_the_table_in_order_and_mask_exactly_the_non_finite_rows(X, rows, order):
    records = open_records(np.asarray(X, order=order), missing="complete-case")
    blocks = list(records.blocks(rows))
    assert all(len(block) <= rows and len(block) == len(valid) for block, valid in blocks)
    mask = np.concatenate([valid for _, valid in blocks])
    values = np.concatenate([block for block, _ in blocks])
    finite = np.isfinite(X).all(axis=1)
    np.testing.assert_array_equal(mask, finite)
    np.testing.assert_array_equal(values, np.where(finite[:, None], X, 0.0))


def test_default_blocks_split_a_wide_table():
    records = open_records(np.zeros((3, 2**22), dtype=np.int8))
    assert [len(block) for block, _ in records.blocks()] == [1, 1, 1]


def test_a_long_double_beyond_float64_is_invalid_not_a_warning(recwarn):
    X = np.array([[np.longdouble(2) ** 2000], [np.longdouble(1)]])
    if not np.isfinite(X).all():
        pytest.skip("long double is float64 here")
    [(_, valid)] = open_records(X, missing="complete-case").blocks()
    np.testing.assert_array_equal(valid, [False, True])
    assert not recwarn.list


def test_pandas_keeps_names_and_treats_missing_as_invalid():
    frame = pd.DataFrame(
        {
            "age": [1, 2, 3],
            "smokes": pd.array([True, None, False], dtype="boolean"),
            "visits": pd.array([4, 5, None], dtype="Int64"),
            7: [0.5, 1.5, 2.5],
        }
    )
    records = open_records(frame, missing="complete-case")
    assert records.columns == ("age", "smokes", "visits", "7")
    np.testing.assert_array_equal(rows_of(records), [[1, 1, 4, 0.5], [np.nan] * 4, [np.nan] * 4])


def test_arrow_tables_keep_names_and_treat_null_as_invalid():
    table = pa.table({"a": pa.array([1, None]), "b": [True, False], "c": pa.array([1, 2], pa.decimal128(5, 2))})
    for source in (table, table.to_batches()[0]):
        records = open_records(source, missing="complete-case")
        assert records.columns == ("a", "b", "c")
        np.testing.assert_array_equal(rows_of(records), [[1, 1, 1], [np.nan] * 3])


def test_one_arrow_column_of_fixed_size_lists_is_a_table():
    column = pa.chunked_array(
        [pa.array(rows, pa.list_(pa.int32(), 2)) for rows in ([[9, 9]], [[1, 2], None, [3, None]])]
    )
    records = open_records(pa.table({"v": column}).slice(1), missing="complete-case")
    assert records.columns is None
    np.testing.assert_array_equal(rows_of(records), [[1, 2], [np.nan] * 2, [np.nan] * 2])


def test_polars_keeps_names_and_treats_null_as_invalid():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, None], "b": [True, False]})
    records = open_records(frame, missing="complete-case")
    assert records.columns == ("a", "b")
    np.testing.assert_array_equal(rows_of(records), [[1, 1], [np.nan] * 2])
    assert "Column 'c'" in message_of(polars.DataFrame({"c": [f"{SECRET}"]}))


@pytest.mark.parametrize("form", ["csr_matrix", "csr_array", "csc_array", "coo_array", "lil_array", "dok_array"])
def test_sparse_matrices_equal_their_dense_form(form):
    X = np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, -1]])
    records = open_records(getattr(sparse, form)(X))
    np.testing.assert_array_equal(rows_of(records, rows=2), X)


def test_a_huge_sparse_matrix_is_never_dense():
    X = sparse.csr_array(([1.0], ([5], [7])), shape=(10**6, 10**5))  # 800 GB if dense
    block, valid = next(open_records(X).blocks(8))
    assert block[5, 7] == 1.0
    assert block.shape == (8, 10**5)
    assert valid.all()


@pytest.mark.parametrize("entries", [1, 5, 2**20])
def test_blocks_of_sparse_rows_say_what_dense_blocks_say(monkeypatch, rng, entries):
    monkeypatch.setattr(source_module, "SPARSE_BLOCK_ENTRIES", entries)
    X = rng.normal(size=(40, 1)) * (rng.random((40, 1)) < 0.7)
    X[[3, 20], 0] = np.nan, -np.inf
    records = open_records(sparse.csr_array(X), missing="complete-case")
    blocks = list(records.sparse_blocks())
    [(dense, dense_valid)] = records.blocks()
    np.testing.assert_array_equal(np.concatenate([rows.toarray() for rows, _ in blocks]), dense)
    np.testing.assert_array_equal(np.concatenate([valid for _, valid in blocks]), dense_valid)
    assert (len(blocks) == 1) == (entries == 2**20)
    assert max(rows.stored.max() for rows, _ in blocks) <= 1


def test_a_block_of_sparse_rows_holds_four_full_ones(monkeypatch):
    monkeypatch.setattr(source_module, "SPARSE_BLOCK_ENTRIES", 0)
    X = sparse.csr_array(np.eye(2, 40) + 1)  # 40 entries a row; blocks of 160
    assert [len(rows) for rows, _ in open_records(sparse.vstack([X] * 5)).sparse_blocks()] == [4, 4, 2]


def test_a_huge_sparse_matrix_is_looked_at_in_no_time():
    X = sparse.csr_array(([1.0], ([5], [7])), shape=(10**6, 10**5))
    found = [(len(rows), len(rows.values)) for rows, _ in open_records(X).sparse_blocks()]
    assert sum(count for count, _ in found) == 10**6
    assert sum(stored for _, stored in found) == 1


@pytest.mark.parametrize("dtype", [np.int8, np.float64])
def test_sparse_duplicates_are_added_in_float64_outside_the_callers_arrays(dtype):
    data, indices, indptr = np.array([100, 100, 1], dtype), np.array([1, 1, 0]), np.array([0, 2, 3])
    X = sparse.csr_array((data, indices, indptr), shape=(2, 2))
    np.testing.assert_array_equal(rows_of(open_records(X)), [[0, 200], [1, 0]])
    assert X.data.tolist() == [100, 100, 1]
    assert X.indices.tolist() == [1, 1, 0]
    assert X.indptr.tolist() == [0, 2, 3]


def test_sparse_duplicates_that_overflow_together_are_not_finite():
    X = sparse.csr_array(([1e308, 1e308], [0, 0], [0, 2]), shape=(1, 1))
    assert "finite" in message_of(X)


@pytest.mark.parametrize(
    "X", [np.zeros((0, 3)), pd.DataFrame({"a": [], "b": [], "c": []}, dtype=float), sparse.csr_array((0, 3))]
)
def test_no_rows_is_a_private_matter_and_raises_nothing(X):
    records = open_records(X)
    assert (records.count, records.dimension) == (0, 3)
    assert list(records.blocks()) == []


@pytest.mark.parametrize("X", [np.zeros((0, 0)), np.zeros((SECRET_COUNT, 0)), pd.DataFrame(), sparse.csr_array((4, 0))])
def test_no_columns_raises(X):
    assert "no columns" in message_of(X)


@pytest.mark.parametrize(
    ("X", "word"),
    [
        (np.full((SECRET_COUNT, 2), SECRET, dtype=object), "object"),
        (np.full((SECRET_COUNT, 2), SECRET, dtype=complex), "complex"),
        (np.full((SECRET_COUNT, 2), str(SECRET)), "text"),
        (np.full((SECRET_COUNT, 2), str(SECRET).encode()), "bytes"),
        (np.full((SECRET_COUNT, 2), 271828, dtype="M8[s]"), "datetime"),
        (np.full((SECRET_COUNT, 2), 271828, dtype="m8[s]"), "timedelta"),
        (np.zeros((SECRET_COUNT, 2), dtype=[("a", float)]), "structured"),
        (sparse.csr_array(np.full((SECRET_COUNT, 2), SECRET, dtype=complex)), "complex"),
        (np.ma.array([["a"]], mask=[[True]]), "text"),
    ],
)
def test_other_dtypes_are_named(X, word):
    assert f"got {word}" in message_of(X)


def test_a_text_dtype_does_not_tell_its_length():
    assert message_of(np.array([["a"]])) == message_of(np.array([["a" * 12]]))


def test_arrow_columns_without_numbers_are_named():
    assert "Column 'bad'" in message_of(pa.table({"good": [1], "bad": [str(SECRET)]}))
    assert "Column 'bad'" in message_of(pa.table({"bad": pa.array([[SECRET]])}))
    assert "list column" in message_of(pa.table({"bad": pa.array([["a"]], pa.list_(pa.string(), 1))}))


def test_an_index_column_is_not_a_coordinate():
    assert "index=False" in message_of(pa.table({"a": [1.0], "__index_level_0__": [SECRET]}))


@pytest.mark.parametrize(
    ("X", "rank"), [(SECRET, 0), (np.full(SECRET_COUNT, SECRET), 1), (np.full((SECRET_COUNT, 2, 2), SECRET), 3)]
)
def test_wrong_rank_says_the_rank(X, rank):
    message = message_of(X)
    assert f"got {rank}" in message
    assert ("reshape" in message) == (rank == 1)


@pytest.mark.parametrize("X", [[[SECRET], [1, 2]], pd.Series([SECRET]), pa.array([SECRET])])
def test_what_is_not_a_table(X):
    assert "one row per person" in message_of(X)


def test_damaged_sparse_indices_are_refused():
    X = sparse.csr_array(np.eye(3))
    X.indices[1] = 99
    assert "damaged" in message_of(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, sparse.csr_array])
def test_non_finite_rows_raise_the_same_sentence_wherever_they_are(bad, kind):
    messages = set()
    for row, column, rows in ((0, 0, 5), (3, 1, 5), (100, 1, SECRET_COUNT)):
        X = np.full((rows, 2), SECRET)
        X[row, column] = bad
        messages.add(message_of(kind(X)))
    assert len(messages) == 1
    assert "missing='complete-case'" in messages.pop()


def test_unknown_rule():
    with pytest.raises(InvalidParameterError, match=r"`missing` must .*'ignore'"):
        open_records(np.eye(2), missing="ignore")


@pytest.mark.parametrize("kind", [np.array, pd.DataFrame, sparse.csr_array, pa.table])
@pytest.mark.parametrize("missing", ["raise", "complete-case"])
def test_the_callers_table_is_never_written_to_nor_exposed(kind, missing):
    values = np.arange(12.0).reshape(6, 2)
    if missing == "complete-case":
        values[2, 1] = np.nan
    X = kind({"a": values[:, 0], "b": values[:, 1]} if kind is pa.table else values.copy())
    before = pickle.dumps(X)
    for block, _ in open_records(X, missing=missing).blocks(4):
        with pytest.raises(ValueError, match="read-only"):
            block[0, 0] = -1.0
    assert pickle.dumps(X) == before
    if kind is np.array:
        assert X.flags.writeable


def test_records_show_their_dimension_and_nothing_else():
    records = open_records(np.full((SECRET_COUNT, 3), SECRET))
    for shown in (repr(records), str(records), f"{records}", f"{[records]}"):
        assert "dimension=3" in shown
        assert SECRET_TEXT not in shown
        assert str(SECRET_COUNT) not in shown
    assert not hasattr(records, "__dict__")


@pytest.mark.parametrize("leave", [pickle.dumps, copy.copy, copy.deepcopy])
def test_records_are_not_carried_away(leave):
    with pytest.raises(TypeError, match="private") as caught:
        leave(open_records(np.full((SECRET_COUNT, 3), SECRET)))
    assert SECRET_TEXT not in str(caught.value)
    assert str(SECRET_COUNT) not in str(caught.value)


def test_records_take_no_other_attribute():
    with pytest.raises(AttributeError):
        open_records(np.eye(2)).extra = None


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda X: Records(RecordedStream(X, 3), None)])
def test_rows_are_known_to_be_valid_only_after_they_were_looked_at(form):
    """Not of any stream: it may bring other rows on the next pass. Passes over a file that has changed are errors."""
    some = np.arange(6) < 4
    records = as_records(form(np.eye(6, 2)))
    for parts in (records, records.select_rows(some), records.load_rows(some, 9), records.on(None)):
        assert not parts.known_valid
    require_valid(records, "raise")
    for parts in (records, records.select_rows(some), records.load_rows(some, 9), records.on(None)):
        assert parts.known_valid is not records.streams


def test_rows_of_a_file_that_must_stay_as_it_is_are_known_to_be_valid(tmp_path):
    np.save(tmp_path / "t.npy", np.eye(6, 2))
    records = Records(NpyStream(File(tmp_path / "t.npy")), None)
    assert not records.known_valid
    require_valid(records, "raise")
    assert records.streams
    assert records.known_valid
    np.save(tmp_path / "t.npy", np.full((6, 2), np.nan))
    with pytest.raises(InvalidFileError, match="changed"):
        Space(records, IsotropicCovariance(1.0)).sum_over(lambda rows: np.array([len(rows)]), 1)


@pytest.mark.parametrize("rule", ["complete-case", "available-case", "raise"])
def test_what_was_known_of_a_table_is_forgotten_when_it_is_asked_again(rule):
    """Its owner may have written to it since."""
    table = np.zeros((5, 2))
    records = open_records(table)
    table[3, 1] = np.nan
    if rule == "raise":
        with pytest.raises(InvalidDataError):
            require_valid(records, rule)
    else:
        require_valid(records, rule)
    assert not records.known_valid


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_totals_of_valid_rows_are_not_known_to_be_valid(form):
    """A person's total may lie beyond the range of floats."""
    rows = open_records(form(np.full((2, 1), 1.7e308)))
    totals = person_records(rows, open_keys(["a", "a"]), 2, "raise")
    assert rows.known_valid
    assert not totals.known_valid
    with pytest.raises(InvalidDataError):
        require_valid(totals, "raise")
