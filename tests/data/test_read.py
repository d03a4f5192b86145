"""Reading: what is stored comes in bit for bit, and damage is refused in one sentence that quotes nothing."""

import csv
import os
import traceback
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from streams import rows_of

from dimfree.data.entries import parse_key
from dimfree.data.read import read_table
from dimfree.data.read_public import read_covariance, read_group_keys
from dimfree.data.schema import Schema
from dimfree.errors import InvalidFileError

SECRET = 271828.25
SECRET_TEXT = "271828"
KINDS = ["npy", "npz", "csv", "parquet"]

tables = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.floats(allow_nan=True, width=64)
)
names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5)
in_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)


def store(path: Path, X, header=None):
    columns = header or [f"c{i}" for i in range(X.shape[1])]
    match path.suffix:
        case ".npy":
            np.save(path, X)
        case ".npz":
            np.savez(path, X=X, other=np.zeros((2, 2)))
        case ".parquet":
            pq.write_table(pa.table([pa.array(column) for column in X.T], names=columns), path)
        case ".csv":
            with path.open("w", newline="") as file:
                csv.writer(file).writerows([*([header] if header else []), *X.tolist()])
    return path


def refusal_of(action, *args, **kwargs):
    with pytest.raises(InvalidFileError) as caught:
        action(*args, **kwargs)
    assert SECRET_TEXT not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@in_folder
@given(X=tables)
def test_a_table_round_trips_bit_for_bit(tmp_path, kind, X):
    read = rows_of(read_table(store(tmp_path / f"t.{kind}", X)))
    expected = np.where(np.isfinite(X).all(axis=1)[:, None], X, np.nan)
    np.testing.assert_array_equal(read, expected)
    np.testing.assert_array_equal(np.signbit(read), np.signbit(expected))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@in_folder
@given(header=st.lists(names, min_size=1, max_size=4, unique=True))
def test_names_are_kept(tmp_path, kind, header):
    header = [f"x{name}".strip() for name in header]
    records = read_table(store(tmp_path / f"t.{kind}", np.ones((2, len(header))), header))
    assert records.columns == tuple(header)
    assert records.count == 2


@pytest.mark.parametrize("kind", ["npy", "npz", "parquet"])
def test_rows_may_be_missing_where_the_width_is_known(tmp_path, kind):
    records = read_table(store(tmp_path / f"t.{kind}", np.zeros((0, 3))))
    assert (records.count, records.dimension) == (0, 3)


def write(path, text):
    path.write_text(text, newline="")
    return path


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("1,2\n3,4\n", None, [[1, 2], [3, 4]]),
        ("a,b\n1,2\n3,4", ("a", "b"), [[1, 2], [3, 4]]),
        ("a,b\n", ("a", "b"), np.empty((0, 2))),
        ('\ufeff"a, or b",c\r\n\r\n1e3, 2 \r\n', ("a, or b", "c"), [[np.nan] * 2, [1000, 2]]),
        ("a,b\n1,\nNA,2\nnull,None\n3,4\n", ("a", "b"), [[np.nan] * 2, [np.nan] * 2, [np.nan] * 2, [3, 4]]),
        ('a\n1\n""\n2\n', ("a",), [[1], [np.nan], [2]]),
        ("nan,1\n2,3\n", None, [[np.nan] * 2, [2, 3]]),
    ],
)
def test_csv_dialect(tmp_path, text, columns, rows):
    records = read_table(write(tmp_path / "t.csv", text))
    assert records.columns == columns
    np.testing.assert_array_equal(rows_of(records), rows)


def test_an_ending_may_be_in_capitals(tmp_path):
    assert read_table(write(tmp_path / "T.CSV", "1,2\n")).dimension == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is empty"),
        (f"a,b\n{SECRET},1\n{SECRET}\n", "differ in their number of cells"),
        (f"{SECRET},1\n{SECRET},1,2\n", "differ in their number of cells"),
        (f"a,b\n1,x{SECRET}\n", "column 'b'"),
        (f"1,2\n1,x{SECRET}\n", "column 2 "),
        (f"1,{SECRET}x\n1,2\n", "mixes names with numbers"),
        (f",a\n0,{SECRET}\n", "no index"),
        (f"a;b\n1;{SECRET}\n", "--delimiter ';'"),
        (f"1;{SECRET}\n", "--delimiter ';'"),
        (f"a;b\n1,5;{SECRET}\n", "--delimiter ';'"),
        (f"a|b\n1|{SECRET}\n", "--delimiter '|'"),
        (f"a,b\n1,x{SECRET}\n", "--decimal ,"),
        (f'a,b\n1,"{SECRET}\n1,2\n', "closed in the same line"),
    ],
)
def test_bad_csv_names_the_path_and_the_schema_alone(tmp_path, text, words):
    path = write(tmp_path / "bad.csv", text)
    message = refusal_of(read_table, path)
    assert words in message
    assert str(path) in message


@pytest.mark.parametrize("kind", KINDS)
@in_folder
@given(content=st.binary(max_size=200))
def test_arbitrary_bytes_are_a_table_or_a_sentence(tmp_path, kind, content):
    path = tmp_path / f"t.{kind}"
    path.write_bytes(content)
    with suppress(InvalidFileError):  # no other error
        assert read_table(path).dimension > 0


def test_a_header_that_promises_more_than_memory(tmp_path):
    with (tmp_path / "t.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**9)})
    assert "cannot be read" in refusal_of(read_table, tmp_path / "t.npy")


@pytest.mark.parametrize("X", [np.full(4, SECRET), np.full((2, 2), str(SECRET)), np.zeros((0, 0))])
def test_arrays_that_are_no_table(tmp_path, X):
    np.save(tmp_path / "t.npy", X)
    assert str(tmp_path / "t.npy") in refusal_of(read_table, tmp_path / "t.npy")


def test_npz_by_name_by_rank_or_sparse(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, labels=np.arange(3), anything=np.eye(3))
    np.testing.assert_array_equal(rows_of(read_table(path)), np.eye(3))
    sparse.save_npz(path, sparse.csr_matrix(2 * np.eye(3)))
    np.testing.assert_array_equal(rows_of(read_table(path)), 2 * np.eye(3))
    for arrays in ({"a": np.eye(2), "b": np.eye(2)}, {"a": np.arange(3)}, {}):
        np.savez(path, **arrays)
        assert "named 'X'" in refusal_of(read_table, path)


def test_parquet_lists_and_bad_columns(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"v": pa.array([[1.0, 2.0], None], pa.list_(pa.float64(), 2))}), path)
    np.testing.assert_array_equal(rows_of(read_table(path)), [[1, 2], [np.nan] * 2])
    pd.DataFrame({"good": [1], "bad": [f"x{SECRET}"]}).to_parquet(path)
    assert "column 'bad'" in refusal_of(read_table, path)
    pd.DataFrame({"good": [1], "bad": [pd.Timestamp(0)]}).to_parquet(path)
    assert "Column 'bad'" in refusal_of(read_table, path)
    pd.DataFrame({"good": [1.0]}, index=[SECRET]).to_parquet(path)
    assert "index=False" in refusal_of(read_table, path)


def test_paths_that_are_no_files(tmp_path):
    assert "does not exist" in refusal_of(read_table, tmp_path / "none.npy")
    (tmp_path / "folder.csv").mkdir()
    assert "is a folder" in refusal_of(read_table, tmp_path / "folder.csv")
    assert ".npy or .npz or .csv or .parquet" in refusal_of(read_table, tmp_path / "t.docx")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_permission_denied(tmp_path):
    store(tmp_path / "t.npy", np.eye(2)).chmod(0)
    assert "permission" in refusal_of(read_table, tmp_path / "t.npy")


@pytest.mark.parametrize("kind", KINDS)
def test_covariance_in_every_shape(tmp_path, kind):
    path = tmp_path / f"c.{kind}"
    for matrix, expected in (
        (np.diag([1.0, 2.0]), np.diag([1.0, 2.0])),
        (np.array([[1.0, 2.0, 3.0]]), np.array([1.0, 2.0, 3.0])),
        (np.array([[1.0], [2.0]]), np.array([1.0, 2.0])),
        (np.array([[4.0]]), np.array([4.0])),
    ):
        path.unlink(missing_ok=True)
        if kind == "npz":
            np.savez(path, covariance=matrix, other=np.eye(2))
        else:
            store(path, matrix)
        np.testing.assert_array_equal(read_covariance(path), expected)


def test_covariance_keeps_its_missing_entries_for_the_shape_to_refuse(tmp_path):
    np.testing.assert_array_equal(read_covariance(write(tmp_path / "c.csv", "a,b\n1,\n")), [1, np.nan])


def test_variances_from_a_flat_array(tmp_path):
    np.save(tmp_path / "c.npy", np.array([1, 2], dtype=np.int32))
    assert read_covariance(tmp_path / "c.npy").dtype == np.float64
    np.savez(tmp_path / "c.npz", np.array([1.0, 2.0]))
    np.testing.assert_array_equal(read_covariance(tmp_path / "c.npz"), [1, 2])


@pytest.mark.parametrize("matrix", [np.ones((2, 2, 2)), np.ones((2, 2)) * 1j, np.array("a"), np.zeros((0, 3))])
def test_what_is_no_covariance(tmp_path, matrix):
    np.save(tmp_path / "c.npy", matrix)
    assert "(d, d)" in refusal_of(read_covariance, tmp_path / "c.npy")


def test_columns_in_another_order_are_refused(tmp_path):
    path = write(tmp_path / "c.csv", "b,a\n1,2\n")
    assert "another order" in refusal_of(read_covariance, path, ("a", "b"))
    for columns in (("b", "a"), ("x", "y"), None):
        np.testing.assert_array_equal(read_covariance(path, columns), [1, 2])


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("north\nsouth\n", ("north", "south")),
        ("\ufeffnorth\r\n\r\n  south east \t\r\n", ("north", "south east")),
        ("3\n007\n7", ("3", "007", "7")),
        ("Zürich\nNA\n", ("Zürich", "NA")),
    ],
)
def test_group_keys_are_lines(tmp_path, content, names):
    (tmp_path / "k.txt").write_bytes(content.encode())
    assert read_group_keys(tmp_path / "k.txt") == names


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (f"a\n{SECRET}\n\n {SECRET} \n".encode(), "line 4 repeats line 2"),
        (b" \n\n", "it is empty"),
        (b"caf\xe9\n", "UTF-8"),
    ],
)
def test_group_keys_that_cannot_be_used(tmp_path, content, words):
    path = tmp_path / "k.txt"
    path.write_bytes(content)
    message = refusal_of(read_group_keys, path)
    assert words in message
    assert str(path) in message


def test_cells_that_hold_no_key():
    assert not any(map(parse_key, ("", " ", "NA", "n/a", "Null", "none", "NaN ")))
    assert all(map(parse_key, ("0", "-", "nano", "naa", "?")))


@pytest.mark.parametrize("ending", [".npy", ".npz"])
def test_an_array_file_that_has_changed_is_not_read_again(tmp_path, ending):
    path, save = tmp_path / f"x{ending}", np.save if ending == ".npy" else np.savez
    save(path, np.zeros((30, 2)))
    table = read_table(path)
    save(path, np.ones((40, 2)))
    with pytest.raises(InvalidFileError, match="changed"):
        table.select(Schema.from_arguments(bounds={0: (0.0, 2.0)}))
