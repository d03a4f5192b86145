"""Every line after the names is one record, whatever is written in it: no line adds, removes or changes another.

A line feed at the end of a file begins no further line.
"""

import gzip
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from streams import needs, write_sheet

from dimfree.data import read as read_module
from dimfree.data.formats import delimited
from dimfree.data.formats.delimited import _split
from dimfree.data.read import open_table, read_table
from dimfree.data.schema import Schema
from dimfree.errors import InvalidFileError

NAN = np.nan
in_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)


def written(path, content):
    content = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.fixture(params=["loaded", "loaded by arrow", "streamed by arrow", "in parts"])
def rows_of(request, monkeypatch):
    """The records of a file, NaN where an entry is missing."""
    monkeypatch.setattr(delimited, "MIN_ARROW_SIZE", 0 if "arrow" in request.param else 2**60)
    monkeypatch.setattr(delimited, "PART_SIZE", 5)
    monkeypatch.setattr(read_module, "LARGE", 0 if "streamed" in request.param else 2**28)
    monkeypatch.setattr("dimfree.data.partitions._PART_ENTRIES", 3)
    workers = 2 if request.param == "in parts" else 0

    def rows(path, **how):
        with needs("dask").config.set(scheduler="synchronous") if workers else nullcontext():
            records = read_table(path, workers=workers, **how)
            blocks = [np.asarray(block) for block, _ in records.read_raw_blocks(None if workers else 2)]
            return np.concatenate([np.empty((0, records.dimension)), *blocks])

    return rows


BLANK = {
    "one column": ("a\n1\n\n3\n", [[1], [NAN], [3]]),
    "one column, first": ("a\n\n2\n3\n", [[NAN], [2], [3]]),
    "one column, last": ("a\n1\n2\n\n", [[1], [2], [NAN]]),
    "one column, no line feed at the end": ("a\n1\n2", [[1], [2]]),
    "one column, no names": ("1\n\n3\n", [[1], [NAN], [3]]),
    "one column, no names, first": ("\n2\n3\n", [[NAN], [2], [3]]),
    "one column, no names, first two": ("\n\n3\n", [[NAN], [NAN], [3]]),
    "one column, no names, last": ("1\n2\n\n", [[1], [2], [NAN]]),
    "one column, no names, all": ("\n\n\n", [[NAN]] * 3),
    "two columns": ("a,b\n1,2\n\n3,4\n", [[1, 2], [NAN] * 2, [3, 4]]),
    "two columns, first": ("a,b\n\n1,2\n3,4\n", [[NAN] * 2, [1, 2], [3, 4]]),
    "two columns, last": ("a,b\n1,2\n3,4\n\n", [[1, 2], [3, 4], [NAN] * 2]),
    "two columns, several": ("a,b\n\n\n\n1,2\n\n\n\n\n", [[NAN] * 2] * 3 + [[1, 2]] + [[NAN] * 2] * 4),
    "two columns, no names": ("\n1,2\n\n3,4\n", [[NAN] * 2, [1, 2], [NAN] * 2, [3, 4]]),
    "two columns, CRLF": ("a,b\r\n1,2\r\n\r\n3,4\r\n", [[1, 2], [NAN] * 2, [3, 4]]),
    "two columns, no line feed at the end": ("a,b\n1,2\n3,4", [[1, 2], [3, 4]]),
    "blank lines above the names": ("\n\na,b\n1,2\n", [[1, 2]]),
    "names alone": ("a,b\n", np.empty((0, 2))),
}


@pytest.mark.parametrize("case", BLANK)
@pytest.mark.parametrize("ending", [".csv", ".tsv.gz"])
def test_a_blank_line_is_a_record(tmp_path, rows_of, ending, case):
    content, expected = BLANK[case]
    content = content.replace(",", "\t") if "tsv" in ending else content
    np.testing.assert_array_equal(rows_of(written(tmp_path / f"t{ending}", content)), expected)


@pytest.mark.parametrize("place", [0, 300, 599])
@pytest.mark.parametrize("header", ["", "a\n", "a,b\n", "a,b,c\n"])
def test_blanking_one_of_many_records_keeps_the_number_of_records(tmp_path, rows_of, header, place):
    width = max(1, len(header) // 2)
    table = np.arange(600.0 * width).reshape(600, width)
    lines = [",".join(map(repr, row)) for row in table.tolist()]
    lines[place], table[place] = "", NAN
    found = rows_of(written(tmp_path / "t.csv", header + "\n".join([*lines, ""])))
    np.testing.assert_array_equal(found, table)


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz"])
def test_a_blank_line_of_a_jsonl_is_a_record(tmp_path, rows_of, ending):
    content = '\n{"a": 1, "b": 2}\n \n{"b": 4}\r\n\r\n{"c": 5}\n\n'
    found = rows_of(written(tmp_path / f"t{ending}", content), columns=["a", "b"])
    np.testing.assert_array_equal(found, [[NAN] * 2, [1, 2], [NAN] * 2, [NAN, 4], [NAN] * 2, [NAN] * 2, [NAN] * 2])


def test_an_empty_row_of_a_sheet_is_a_record(tmp_path, rows_of):
    rows = [["a", "b"], [], [1, 2], [None, None], [3, 4], [], [5, None], [None, None]]
    expected = [[NAN] * 2, [1, 2], [NAN] * 2, [3, 4], [NAN] * 2, [5, NAN], [NAN] * 2]
    np.testing.assert_array_equal(rows_of(write_sheet(tmp_path / "t.xlsx", rows)), expected)
    nameless = write_sheet(tmp_path / "n.xlsx", [[None], [], [1], [None]])
    np.testing.assert_array_equal(rows_of(nameless), [[NAN], [NAN], [1], [NAN]])
    np.testing.assert_array_equal(rows_of(write_sheet(tmp_path / "h.xlsx", [[None], [], ["a"], [1]])), [[1]])


def test_rows_below_the_size_that_a_sheet_states_are_read(tmp_path, rows_of, monkeypatch):
    """Some writers state A1 for every sheet."""
    worksheet = needs("openpyxl").worksheet.worksheet.Worksheet
    with monkeypatch.context() as patch:
        patch.setattr(worksheet, "calculate_dimension", lambda sheet: "A1:A1")
        path = write_sheet(tmp_path / "t.xlsx", [["a", "b"], [1, 2], [3, 4]])
    np.testing.assert_array_equal(rows_of(path), [[1, 2], [3, 4]])


def test_a_blank_line_has_no_key(tmp_path):
    how = Schema(keys=("who",))
    for worth in (0, 2**60):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(delimited, "MIN_ARROW_SIZE", worth)
            found, [who], _ = open_table(written(tmp_path / "t.csv", "who,a\nx,1\n\ny,2\n"), how)
        assert who == ["x", None, "y"]
        np.testing.assert_array_equal(found._source.table, [[1], [NAN], [2]])


BROKEN = [
    'a,b\n1,2\n"3,4\n5,6\n', 'a,b\n1,2\n"3,4\n5",6\n', 'a,b\n1,"2\n3",4\n', 'a,b\n1,2\n3,"4', 'a,b\n1,2\n3,"4\n',
    'a,b\n1,2\n3,"4""\n', 'a,b\n1,"\n2",3\n', 'a,b\n1,"2\r\n",3\n', 'a,b\r\n1,2\r\n3,"4\r\n5,6"\r\n', '"a,b\n1,2\n',
    '"a\nor b",c\n1,2\n', '1,"2\n3",4\n', 'a\n"1\n2"\n', 'a\n"\n', "a,b\r1,2\r3,4\r", "a\r1\r2\r", "a,b\n1,2\r3,4\n",
    "a,b\n1,2\n\r3,4\n", 'a,b\n1,"2\r3"\n',
]  # fmt: skip


@pytest.mark.parametrize("content", BROKEN)
def test_a_cell_never_reaches_into_the_next_line(tmp_path, rows_of, content):
    with pytest.raises(InvalidFileError, match="line breaks, or quotes that are not closed in the same line"):
        rows_of(written(tmp_path / "t.csv", content))


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ('"3","4"', [3, 4]),
        ('"3",4\r', [3, 4]),
        ("3,4\r\r", [3, 4]),
        ('"3"0,"4"', [30, 4]),
        ('"",4', [NAN, 4]),
        ('" 3 ",4', [3, 4]),
        ('""', [NAN, NAN]),
    ],
)
def test_quotes_that_close_in_their_line(tmp_path, rows_of, line, row):
    found = rows_of(written(tmp_path / "t.csv", f"a,b\n1,2\n{line}\n5,6\n"))
    np.testing.assert_array_equal(found, [[1, 2], row, [5, 6]])


@pytest.mark.parametrize("note", ['"x, or ""y"""', 'x"y', "5' 6\"", '"x"y"', ' "x'])
def test_quotes_in_a_column_that_is_not_read(tmp_path, rows_of, note):
    found = rows_of(written(tmp_path / "t.csv", f"a,note,b\n1,x,2\n3,{note},4\n5,y,6\n"), exclude=["note"])
    np.testing.assert_array_equal(found, [[1, 2], [3, 4], [5, 6]])


def test_a_cell_in_quotes_may_be_of_any_length():
    assert _split(f'1,"{"x" * 200_000}"', ",") == ["1", "x" * 200_000]


line = st.lists(
    st.sampled_from(["1", "-2.5", "NA", " ", ",", ",", ",", '"', '"', '""', "\r", "x", "\x0b", "\u2028", "\x85", "é"]),
    max_size=8,
).map("".join)


@in_folder
@example(lines=['"', '"'], header="a\n")
@example(lines=["1,2", ""], header="a,b\n")
@given(lines=st.lists(line, max_size=4), header=st.sampled_from(["a\n", "a,b\n", "k,a,b\n"]))
@pytest.mark.parametrize("by_arrow", [False, True])
def test_a_record_is_a_function_of_its_own_line(tmp_path, monkeypatch, by_arrow, lines, header):
    monkeypatch.setattr(delimited, "MIN_ARROW_SIZE", 0 if by_arrow else 2**60)
    how = Schema(keys=("k",) if header.startswith("k") else ())

    def read(*some):
        try:
            records, keys, _ = open_table(written(tmp_path / "t.csv", header + "".join(f"{x}\n" for x in some)), how)
        except InvalidFileError:
            return None
        return records._source.table.tolist(), keys

    alone, together = list(map(read, lines)), read(*lines)
    if None in alone:
        assert together is None
    else:
        assert [len(own) for own, _ in alone] == [1] * len(lines)
        rows = [row for own, _ in alone for row in own]
        keys = [[key for _, own in alone for key in own[at]] for at in range(len(how.keys))]
        assert repr(together) == repr((rows, keys))  # NaN equals NaN


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("", np.empty((0, 2))),
        ("\n", [[NAN] * 2]),
        ('{"c": 1}\n{"c": 2}\n', [[NAN] * 2] * 2),
        ('{"a": 1}\n{"c": 2}\n', [[1, NAN], [NAN] * 2]),
        ('{"a": 1}\n{"c": 2, "b": 3}\n', [[1, NAN], [NAN, 3]]),
    ],
)
def test_listed_columns_are_there_whether_or_not_a_record_has_them(tmp_path, rows_of, content, rows):
    path = written(tmp_path / "t.jsonl", content)
    np.testing.assert_array_equal(rows_of(path, columns=["a", "b"]), rows)


def test_a_lone_carriage_return_ends_no_line_of_a_jsonl(tmp_path, rows_of):
    path = written(tmp_path / "t.jsonl", '{"a": 1,\r"b": 2}\n{"a": 3, "b": 4}\r\n')
    np.testing.assert_array_equal(rows_of(path), [[1, 2], [3, 4]])
    with pytest.raises(InvalidFileError, match="not a JSON object"):
        rows_of(written(path, '{"a": 1}\r{"a": 2}\n'))


def test_keys_that_no_line_has(tmp_path):
    path = written(tmp_path / "t.jsonl", '{"a": 1}\n\n')
    how = Schema(keys=("who",), columns=("a",))
    found, [who], _ = open_table(path, how)
    assert (found._source.table[0].tolist(), who) == ([1], [None, None])
