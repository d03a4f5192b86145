"""Files of cells beside .csv: .jsonl, .xlsx, packed files, text in Parquet, standard input and addresses."""

import gzip
import io
import json
import os
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from streams import needs, write_sheet

from dimfree.data import read as read_module
from dimfree.data.endings import redact_address
from dimfree.data.formats import cells, delimited
from dimfree.data.read import open_table, read_table
from dimfree.data.schema import Schema
from dimfree.errors import InvalidFileError, InvalidParameterError

SECRET = 271828.25


def refusal_of(path, kind=InvalidFileError, **how):
    with pytest.raises(kind) as caught:
        read_table(path, **how)
    message = str(caught.value).replace(str(path), "t")
    assert "271828" not in message
    return message


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def values_of(records):
    return records._source.table if not records.streams else np.concatenate([block for block, _ in records.blocks(2)])


@pytest.mark.parametrize("large", [0, 2**28], ids=["streamed", "loaded"])
def test_jsonl(tmp_path, monkeypatch, large):
    monkeypatch.setattr(read_module, "LARGE", large)
    monkeypatch.setattr(cells, "PART_ENTRIES", 2)
    lines = [
        '{"a": 1, "b": 2.5}',
        '{"a": "3", "b": true}',
        ' {"a": 9007199254740993, "b": 1e400}',
        '{"a": null, "b": 1}',
    ]
    records = read_table(written(tmp_path / "t.jsonl", "\n".join(lines)))
    assert records.columns == ("a", "b")
    found = open_table(tmp_path / "t.jsonl")[0]
    expected = [[1, 2.5], [3, 1], [2**53, np.inf], [np.nan, 1]]
    finite = np.isfinite(expected).all(axis=1)
    np.testing.assert_array_equal(np.asarray(values_of(found))[finite], np.asarray(expected)[finite])
    assert found.count == 4


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "it is empty"),
        ("\n \n", "it is empty"),
        (f"[{SECRET}]\n", "not a JSON object"),
        (f'{{"a": {SECRET}', "not a JSON object"),
        (f'{{"a": 1}}\n{{"a": {SECRET}, "b": 2}}\n', "same names in the same order"),
        (f'{{"a": 1}}\n{{"b": {SECRET}}}\n', "same names in the same order"),
        ('{"a": 1, "b": 2}\n{"b": 2, "a": 1}\n', "in the same order"),  # the first line would decide that of the mean
        (f'{{"a": 1}}\n{{"a": [{SECRET}]}}\n', "column 'a'"),
        (f'{{"a": 1}}\n{{"a": "x{SECRET}"}}\n', "column 'a'"),
        (f'{{"{SECRET}": 1}}\n', "column name must have a letter"),
        (b'{"a": "\xff"}\n', "--encoding latin-1"),
    ],
)
def test_bad_jsonl(tmp_path, content, words):
    refusal = refusal_of(written(tmp_path / "t.jsonl", content))
    assert words in refusal
    assert "--decimal" not in refusal  # which is for .csv


def test_jsonl_with_listed_columns(tmp_path):
    """Names beside them may differ from line to line; one that a line lacks is a missing entry. Order: as listed."""
    path = written(tmp_path / "t.jsonl", '{"who": 7, "a": 1, "b": 2}\n{"a": 3, "note": "x"}\n')
    records = read_table(path, columns=["b", "a"])
    np.testing.assert_array_equal(records._source.table, [[2, 1], [np.nan, 3]])
    _, [who], _ = open_table(written(path, '{"who": "p", "a": 1}\n{"who": 7, "a": 3}\n'), Schema(keys=("who",)))
    assert who == ["p", 7]


def test_xlsx(tmp_path):
    rows = [["a", "b", None], [1, 2.5], [], [True, "3"], [None, 0.1], [None, None, None]]
    records = read_table(write_sheet(tmp_path / "t.xlsx", rows))
    assert records.columns == ("a", "b")
    blank = [np.nan, np.nan]
    np.testing.assert_array_equal(records._source.table, [[1, 2.5], blank, [1, 3], [np.nan, 0.1], blank])
    np.testing.assert_array_equal(
        read_table(write_sheet(tmp_path / "n.xlsx", [[1, 2], [3, 4]]))._source.table, [[1, 2], [3, 4]]
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "first sheet is empty"),
        ([["a", "b"], [1, f"x{SECRET}"]], "column 'b'"),
        ([["a", "b"], [1, 2, SECRET]], "differ in their number of cells"),
        ([["a", SECRET], [1, 2]], "mixes names with numbers"),
    ],
)
def test_bad_xlsx(tmp_path, rows, words):
    assert words in refusal_of(write_sheet(tmp_path / "t.xlsx", rows))


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    assert "pip install 'fsspec>=" in refusal_of("s3://bucket/t.csv")


def test_a_gz_with_another_checksum(tmp_path):
    broken = bytearray(gzip.compress(b"a,b\n1,2\n"))
    broken[-6] ^= 1
    assert "truncated, damaged" in refusal_of(written(tmp_path / "t.csv.gz", bytes(broken)))


@pytest.mark.filterwarnings("ignore::dimfree.errors.IdentifierWarning")
@pytest.mark.parametrize("large", [0, 2**28], ids=["streamed", "loaded"])
def test_text_in_parquet_is_judged_when_it_is_opened(tmp_path, monkeypatch, large):
    monkeypatch.setattr(read_module, "LARGE", large)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": ["1", " 2 ", None, "NA", "true"], "b": [1, 2, 3, 4, 5]}), path, row_group_size=2)
    found = np.concatenate([block[valid] for block, valid in read_table(path).blocks(2)])
    np.testing.assert_array_equal(found, [[1, 1], [2, 2], [1, 5]])
    pq.write_table(pa.table({"a": ["1", f"x{SECRET}"], "b": [1, 2]}), path)
    assert "column 'a' contains a cell that is not a number" in refusal_of(path)


@pytest.mark.parametrize("option", [{"delimiter": ";"}, {"decimal": ","}, {"encoding": "latin-1"}])
def test_options_of_text_elsewhere(tmp_path, option):
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "t.parquet")
    assert "leave" in refusal_of(tmp_path / "t.parquet", **option)


def test_a_format_that_the_ending_does_not_say(tmp_path):
    path = written(tmp_path / "table.txt", "a\tb\n1\t2\n")
    assert "--format" in refusal_of(path)
    for form in ("tsv", ".tsv"):
        assert read_table(path, format=form).columns == ("a", "b")


@pytest.mark.parametrize("typed", ["\t", "\\t", "tab"])
def test_a_tab_as_it_is_typed(tmp_path, typed):
    assert read_table(written(tmp_path / "t.csv", "a\tb\n1\t2\n"), delimiter=typed).columns == ("a", "b")


def piped(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize("form", ["npy", "npz", "parquet", "arrow", "csv.gz", "jsonl"])
def test_standard_input_in_other_formats(monkeypatch, form):
    file, table = io.BytesIO(), pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    match form:
        case "npy":
            np.save(file, np.array([[1.0, 3], [2, 4]]))
        case "npz":
            np.savez(file, X=np.array([[1.0, 3], [2, 4]]))
        case "parquet":
            pq.write_table(table, file)
        case "arrow":
            with pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
        case "csv.gz":
            file.write(gzip.compress(b"a,b\n1,3\n2,4\n"))
        case "jsonl":
            file.write("\n".join(map(json.dumps, table.to_pylist())).encode())
    piped(monkeypatch, file.getvalue())
    records = read_table("-", format=form)
    assert not records.streams
    np.testing.assert_array_equal(records._source.table, [[1, 3], [2, 4]])


def test_standard_input_that_cannot_be_used(monkeypatch):
    piped(monkeypatch, f"a,b\n{SECRET},x\n".encode())
    assert refusal_of("-").startswith("standard input cannot be used: column 'b'")
    assert "cannot be read as .zarr" in refusal_of("-", format="zarr")
    monkeypatch.setattr(sys, "stdin", None)
    assert "pipe a table" in refusal_of("-")


@pytest.mark.parametrize("cell", ["3", '"3"'])
def test_a_pipe_is_read_once(tmp_path, monkeypatch, cell):
    """As of <(command) in a shell: what one reader has taken, another cannot read."""
    monkeypatch.setattr(delimited, "MIN_ARROW_SIZE", 0)
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(f"a,b\n1,{cell}\n2,4\n",), daemon=True)
    writer.start()
    records = read_table(tmp_path / "pipe", format="csv")
    writer.join(10)
    np.testing.assert_array_equal(records._source.table, [[1, 3], [2, 4]])


def test_a_comma_where_another_sign_was_said(tmp_path):
    """The first line is not told as the name of one column."""
    path = written(tmp_path / "t.csv", "age,income\n1,2\n")
    for how in ({"delimiter": ";"}, {"decimal": ","}, {"decimal": ",", "exclude": "age"}):
        said = refusal_of(path, **how)
        assert "--delimiter ','" in said
        assert "income" not in said
    quoted = written(tmp_path / "u.csv", '"age, in years"\n1,5\n')
    assert read_table(quoted, decimal=",", delimiter=";").columns == ("age, in years",)
    numbers = read_table(written(tmp_path / "v.csv", "1,5\n2,5\n"), decimal=",")
    np.testing.assert_array_equal(numbers._source.table, [[1.5], [2.5]])


def test_the_other_decimal_sign_is_proposed_where_there_is_one(tmp_path):
    assert "--decimal ." in refusal_of(written(tmp_path / "t.tsv", "a\tb\n1.5\t2\n"), decimal=",")
    assert "--decimal ," in refusal_of(written(tmp_path / "u.tsv", "a\tb\n1,5\t2\n"))
    pyarrow, parquet = needs("pyarrow"), needs("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"a": ["x"], "b": [1.0]}), tmp_path / "t.parquet")
    assert "--decimal" not in refusal_of(tmp_path / "t.parquet")


def test_addresses(monkeypatch):
    fsspec = needs("fsspec")
    with fsspec.open("memory://b/t.csv.gz", "wb") as file:
        file.write(gzip.compress(b"a,b\n1,3\n2,4\n"))
    np.testing.assert_array_equal(read_table("memory://b/t.csv.gz", columns=["b"])._source.table, [[3], [4]])
    assert "does not exist" in refusal_of("memory://b/none.csv")
    assert refusal_of("memory://b/none.docx").startswith("t has an unknown ending")
    assert "(--format)" in refusal_of("s3://bucket")
    with fsspec.open("memory://t.csv", "wb") as file:
        file.write(b"a,b\n1,3\n")
    np.testing.assert_array_equal(read_table("memory://t.csv")._source.table, [[1, 3]])
    assert "Install s3fs for s3://" in refusal_of("nowhere://b/none.csv")
    with pytest.raises(InvalidFileError, match="cannot be read in parts"):
        read_table("memory://b/t.csv.gz", workers=2)


def test_no_secret_of_an_address_is_told(monkeypatch):
    fsspec = needs("fsspec")

    def denied(*_):
        raise PermissionError("token 271828")

    monkeypatch.setattr(fsspec, "open", denied)
    with pytest.raises(InvalidFileError) as caught:
        read_table("https://me:271828@host/t.csv?signature=271828")
    assert "271828" not in str(caught.value)
    assert str(caught.value).startswith("https://host/t.csv cannot be fetched (PermissionError)")
    assert redact_address("s3://bucket/a/b.parquet") == "s3://bucket/a/b.parquet"


@pytest.mark.parametrize("form", ["docx", 5, None, np.eye(2)])
def test_formats_are_words(tmp_path, form):
    if form is not None:
        assert "`format` must be" in refusal_of(tmp_path / "t.csv", InvalidParameterError, format=form)
