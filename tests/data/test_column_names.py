"""A record that a reader took for the header is refused before its numbers are published as names."""

import io
import traceback

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from streams import needs, read_keyed_table, store_h5ad
from typer.testing import CliRunner

import dimfree
import dimfree.paper
from dimfree._validate.column_names import check_names
from dimfree.cli import app
from dimfree.data.read import read_table
from dimfree.data.records import open_records
from dimfree.errors import InvalidDataError, InvalidFileError
from dimfree.noise import SeededNoise

SECRET = "271828.25"
REST = "\n1,2,3\n4,5,6\n"
BUDGET = {"epsilon": 1.0, "delta": 1e-6, "noise": SeededNoise(1)}


def with_polars(text, **options):
    return needs("polars").read_csv(io.StringIO(text), **options)


def with_arrow(text):
    return pyarrow.csv.read_csv(io.BytesIO(text.encode()))


def with_dask(text):
    return needs("dask.dataframe").from_pandas(pd.read_csv(io.StringIO(text)), npartitions=1)


READERS = {
    "pandas": lambda text: pd.read_csv(io.StringIO(text)),
    "polars": with_polars,
    "arrow": with_arrow,
    "dask": with_dask,
}


def refusal_of(action, *args, error=InvalidDataError, **options):
    with pytest.raises(error, match="letter") as caught:
        action(*args, **options)
    assert "271828" not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def open_neutral(X):
    return open_records(X, missing="complete-case")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "first",
    [
        f"{SECRET},0,1",
        f"{SECRET},{SECRET},{SECRET}",  # readers tell names apart that repeat
        f"{SECRET},0,0",
        f"{SECRET},,",  # and name what is empty
        "0,0,0",
        "1,2,3",
        "5,1e-05,-2.7e+20",
        "1e-05,1e-05,1e-05",
        f"{SECRET},nan,-inf",
        f"{SECRET},NA,null",
        f"{SECRET},True,false",
        f'"{SECRET}","1,5","?"',  # decimal commas, thousands and marks for what is missing are no names either
        f" {SECRET}, 0 , 1 ",
    ],
)
def test_a_first_record_is_no_header(reader, first):
    frame = READERS[reader](first + REST)
    assert frame.shape[1] == 3
    assert refusal_of(open_records, frame) == refusal_of(open_neutral, frame)


@pytest.mark.parametrize("kind", [dimfree.release_mean, dimfree.paper.variance_profile])
def test_every_release_refuses_it(kind):
    frame = READERS["pandas"](f"{SECRET},0,1{REST}")
    refusal_of(kind, frame, **BUDGET)


@pytest.mark.parametrize("names", [["1", "2", "3"], [SECRET, "0.5"], ["2001", "2002"], ["1", "1.1", "Unnamed: 2"]])
def test_every_kind_of_release_has_the_same_rule(tmp_path, names):
    table = pa.table([pa.array([0.0, 1.0])] * len(names), names=names)
    expected = refusal_of(open_records, table)
    pq.write_table(table, tmp_path / "t.parquet")
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    for path in (tmp_path / "t.parquet", tmp_path / "t.arrow"):
        assert expected in refusal_of(read_table, path, error=InvalidFileError)


def test_names_in_an_h5ad_file(tmp_path):
    needs("h5py")
    path = store_h5ad(tmp_path / "t.h5ad", np.eye(3), names=["7157", "672", "1956"])
    refusal_of(read_table, path, error=InvalidFileError)
    assert read_table(store_h5ad(path, np.eye(3), names=["0", "1", "2"])).columns == ("0", "1", "2")


def test_names_of_the_variables_of_an_anndata():
    """A stand-in of the same name: tables are told apart by it."""
    parts = {"X": np.eye(2), "isbacked": False, "var_names": [SECRET, "672"]}
    cells = type("AnnData", (), {**parts, "__module__": "anndata"})()
    refusal_of(open_records, cells)
    cells.var_names = ["TP53", "672"]
    assert open_records(cells).columns == ("TP53", "672")


def test_a_csv_whose_names_another_reader_made_of_a_record(tmp_path):
    """Not all of them are numbers, so the line is no record; but none is a name."""
    path = tmp_path / "t.csv"
    path.write_text("2001-01,2001-02\n1,2\n")
    refusal_of(read_table, path, error=InvalidFileError)


def test_a_first_record_whose_key_is_split_off():
    text = f"A17,{SECRET},0\nA18,2,3\nA19,4,5\n"
    frame = pd.read_csv(io.StringIO(text))
    refusal_of(dimfree.release_mean, frame, privacy_unit="A17", **BUDGET)
    refusal_of(dimfree.release_mean, frame.iloc[:, 1:], privacy_unit=list("abc")[: len(frame)], **BUDGET)
    refusal_of(dimfree.release_group_means, frame, by="A17", groups=["A18"], **BUDGET)
    refusal_of(open_records, pd.read_csv(io.StringIO(text), index_col=0))


@pytest.mark.parametrize("reader", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("opened", [open_records, open_neutral])
def test_a_column_of_text_neither_hides_nor_quotes_the_record(reader, opened):
    """The error about the column of text would quote the record's own entry there."""
    refusal_of(opened, READERS[reader](f"72,A{SECRET},180\n70,F,160\n71,F,170\n"))


@pytest.mark.parametrize("reader", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("names", ["2019,2020,age", "0,1,age", "age,1,weight", "age,height,weight"])
def test_under_neutral_no_entry_decides_about_the_names(reader, names):
    """One cell of text takes its column out of those that hold numbers; whether the names pass must not change."""

    def outcome(cell):
        try:
            return open_neutral(READERS[reader](f"{names}\n1,2,3\n4,5,{cell}\n")).columns
        except InvalidDataError as error:
            return str(error)

    assert outcome("6") == outcome("ICU") == outcome("")
    assert isinstance(outcome("6"), str) == any(map(str.isdigit, names))


def test_a_key_column_of_a_file_that_counts_its_columns(tmp_path):
    pq.write_table(pa.table([pa.array([1.0, 2.0])] * 3, names=["0", "1", "2"]), tmp_path / "t.parquet")
    records, _ = read_keyed_table(tmp_path / "t.parquet", ["0"])
    assert records.columns == ("1", "2")


@pytest.mark.parametrize(
    "columns",
    [
        None,  # pandas counts them
        ["0", "1", "2"],
        ["age", "1", "2.5"],
        ["age", 7, 2001],
        ["y2001", "y2002", "y2003"],
        ["e5", "x", "y"],
        pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
        ["身長", "体重", "年齢"],
    ],
)
def test_names_stay_names(columns):
    frame = pd.DataFrame(np.eye(3), columns=columns)
    assert open_records(frame).columns == tuple(str(name) for name in frame.columns)


@pytest.mark.parametrize(("columns", "passes"), [([0], True), (["0"], True), (["5.1"], False), ([2001], False)])
def test_a_single_column(columns, passes):
    frame = pd.DataFrame(np.eye(1), columns=columns)
    if passes:
        assert open_records(frame).columns == ("0",)
    else:
        refusal_of(open_records, frame)


def test_a_frame_that_pandas_counted_may_lose_the_columns_of_keys():
    frame = pd.DataFrame(np.eye(5))
    assert open_records(frame.drop(columns=[0])).columns == ("1", "2", "3", "4")
    assert open_records(frame.drop(columns=[1, 3])).columns == ("0", "2", "4")
    for others in ([1, 0, 2], [2001, 2002, 2003], [0.0, 1.0, 2.0], [-1, 0, 1], [0, 0, 1]):
        refusal_of(open_records, pd.DataFrame(np.eye(3), columns=others))


def test_several_header_lines_are_several_records():
    refusal_of(open_records, pd.read_csv(io.StringIO(f"{SECRET},0\n4.5,\n1,2\n"), header=[0, 1]))


@given(st.lists(st.floats() | st.integers() | st.booleans() | st.none(), min_size=1, max_size=5))
def test_whatever_record_pandas_takes_for_names_is_refused_or_counts_the_columns(record):
    text = ",".join("" if value is None else str(value) for value in record)
    frame = pd.read_csv(io.StringIO(f"{text}\n{','.join('1' * len(record))}\n"), skip_blank_lines=False)
    names = [str(name) for name in frame.columns]
    assume(names)  # of a blank line pandas makes no column
    if names == [str(place) for place in range(len(record))]:
        check_names(names)
    else:
        with pytest.raises(InvalidDataError):
            check_names(names)


def test_scikit_learn_neither_keeps_nor_quotes_it():
    bad = READERS["pandas"](f"{SECRET},0,1{REST}")
    model = dimfree.PrivateMean(**BUDGET)
    refusal_of(model.fit, bad)
    assert not hasattr(model, "feature_names_in_")
    good = pd.DataFrame(np.random.default_rng(0).normal(size=(3000, 3)), columns=list("abc"))
    scaler = dimfree.PrivateStandardScaler(epsilon=8.0, delta=1e-5, noise=SeededNoise(1)).fit(good)
    refusal_of(scaler.transform, bad)


def test_the_command_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    READERS["pandas"](f"{SECRET},0,1{REST}").to_parquet("t.parquet")
    result = CliRunner().invoke(app, ["mean", "t.parquet", "--epsilon", "1", "--delta", "1e-6", "-o", "m.csv"])
    assert result.exit_code == 2
    assert "271828" not in result.output + result.stderr
    assert not (tmp_path / "m.csv").exists()


def test_a_name_has_no_null_character():
    with pytest.raises(InvalidDataError, match="null character"):
        check_names(["age", "weight\0"])


def test_a_name_that_cannot_be_written_is_refused_before_anything_is_spent(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a\\ud800b": 1}\n')
    with pytest.raises(InvalidFileError, match="valid UTF-8"):
        read_table(tmp_path / "t.jsonl")
