"""One reader of .csv: whether Arrow or Python splits a part of a file, the same bits or the same sentence."""

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dimfree.data.formats import cells, delimited
from dimfree.data.formats.delimited import CsvStream
from dimfree.data.formats.file_stream import File
from dimfree.data.read import open_table
from dimfree.data.schema import Schema
from dimfree.errors import InvalidFileError

in_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)

CELLS = [
    *("1", "-0", "+5", "0", "01", "1e5", "1E+05", "1e-3", ".5", "5.", "-.5", "9007199254740993", "1" * 40, "0.1"),
    *("1e400", "-1e400", "1e-400", "4.9e-324", "2.4e-324", "0e999"),
    *("2.2250738585072011e-308", "1.7976931348623159e308"),
    *("1." + "1" * 300, "0." + "0" * 320 + "1", "123456789012345678901234567890e-15"),
    *("nan", "NaN", "-nan", "nan(1)", "NAN(abc)", "inf", "-Infinity", "INF", "+inf", "infinit", "snan", "1#INF"),
    *("", " ", "\t", "NA", "na", "Na", "nA", "n/a", "N/A", "N/a", "null", "NULL", "Null", "nUll", "None", "NONE", "-"),
    *(" 2 ", "\t3", "2\t", "\u00a04", "\u20034", "4\u2003", "\x0b5", "5\x0c", "6\x00", "\ufeff7", "7\x1f", "\x857"),
    *("1_000", "0x1F", "0b1", "1d5", "1f", "1L", "1,5", "1.2.3", "1 2", "--1", "+-1", "1e", "e5", "1e5.0", "1e5_0"),
    *("True", "false", "TRUE", "truE", "yes", "T", "１２", "٣", "½", "x", "'1'", "$1", "1%", "(1)", "1\\", "=1+1"),
]

FILES = [
    "a,b\n1,2\n3,4\n", "a,b\n1,2\n3,4", "1,2\n3,4\n", "a,b\n", "a,b", "", "\n\n", "\n\na,b\n\n1,2\n\n\n3,4\n\n",
    "a,b\n\n1,2\n\n\n\n", "\n1,2\n\n3,4\n", "\n1\n", "a\n1\n\n3\n", "a\n1\n3\n\n", "a\n\n\n", "\n\n1\n\n3\n",
    "a\n1\n  \n3\n", "a,b\n1,2\n  \n3,4\n", "a,b\r\n1,2\r\n\r\n3,4\r\n", "a\r\n1\r\n\r\n3\r\n", "a,b\r1,2\r3,4\r",
    "a,b\n1,2\r3,4\n", "a,b\n1,2\r\r\n3,4\n", "a,b\n1,2\n3,4\r", "a,b\n1,2\n\r3,4\n", "\ufeffa,b\n1,2\n",
    "\ufeff1,2\n3,4\n", "a,b\n\ufeff1,2\n", '"a","b"\n1,2\n3,4\n', '"a, or b",c\n1,2\n', '"a\nor b",c\n1,2\n',
    'a"b,"c\n1,2\n', '"a""b",c\n1,2\n', 'a,b\n"1",2\n3,"4"\n', 'a,b\n"1\n",2\n3,4\n', 'a,b\n1,"2\n3,4\n',
    'a,b\n1,2\n3,"4', 'a,b\n1,2""\n3,4\n', 'a,b\n1,2\n"3"4,5\n', "a,b\n1,2\n3\n", "a,b\n1,2\n3,4,5\n",
    "a,b\n1,2,\n3,4,\n", "a,b,\n1,2,\n", "a,b\n,\n1,2\n", "a;b\n1;2\n", "a b\n1\n2\n", "a\tb\n1\t2\n",
    "a,b\n1\x00,2\n", "a,b\n1,2\n\x00end\x00\n", "a\n\x00end\x00\n", "a,b\n1,2\x1a", "a,b\n1, 2\n 3,4 \n",
    "5.1,x\n1,2\n", "2001,2002\n1,2\n", "True,False\n1,0\n", "a,b\nTrue,1\n0,False\n",
]  # fmt: skip


@pytest.fixture
def read(tmp_path, monkeypatch):
    """The bits of a table, its names and its keys; or the sentence. By Python alone, or by Arrow where it can."""

    def reading(content, plain, part=2**24, **how):
        path = tmp_path / "t.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        monkeypatch.setattr(delimited, "MIN_ARROW_SIZE", 0 if plain else 2**60)
        monkeypatch.setattr(delimited, "PART_SIZE", part)
        try:
            records, keys, _ = open_table(path, Schema(**how))
        except InvalidFileError as error:
            return str(error)
        bits = np.where(
            np.isnan(records._source.table), np.nan, records._source.table
        )  # the sign of a NaN says nothing
        return bits.shape, bits.tobytes(), records.columns, keys

    return reading


def agree(read, content, **how):
    slow = read(content, plain=False, **how)
    for part in (2**24, 7, 1):
        assert read(content, plain=True, part=part, **how) == slow
    return slow


@pytest.mark.parametrize("content", FILES)
def test_a_zoo_of_files(read, content):
    agree(read, content)


@pytest.mark.parametrize("place", ["first line", "alone", "beside", "last"])
@pytest.mark.parametrize("cell", CELLS)
def test_a_zoo_of_cells(read, cell, place):
    lines = {
        "first line": f"{cell},1\n2,3\n",
        "alone": f"a\n{cell}\n2\n",
        "beside": f"a,b\n1,{cell}\n2,3\n",
        "last": f"a,b\n1,2\n3,{cell}",
    }
    agree(read, lines[place])


@pytest.mark.parametrize("cell", CELLS)
def test_a_zoo_of_cells_with_a_decimal_comma(read, cell):
    how = {"decimal": ","}
    agree(read, f"a;b\n1;{cell}\n2,5;3\n", **how)
    agree(read, f"a;b\n1;{cell.replace('.', ',')}\n2,5;3\n", **how)


@pytest.mark.parametrize("cell", CELLS)
def test_what_a_cell_of_another_column_is(read, cell):
    """In a column of keys, and in one that nobody asked for."""
    content = f"who,a,b\n{cell},1,2\nx,3,{cell}\n"
    agree(read, content, keys=("who",), columns=("a",))
    agree(read, content, exclude=("who",))


pieces = st.sampled_from([*CELLS, ",", ",", ",", "\n", "\n", "\r\n", "\r", '"', ";", "a", "1.5", "-2e10", "\n\n"])


@in_folder
@given(content=st.lists(pieces, max_size=12).map("".join), header=st.sampled_from(["", "a,b\n", "a\n", "k,a,b\n"]))
def test_whatever_is_put_together(read, content, header):
    agree(read, header + content)


@in_folder
@given(rows=st.lists(st.lists(st.floats(width=64), min_size=3, max_size=3), max_size=6), spell=st.sampled_from("rge"))
def test_numbers_as_anybody_writes_them(read, rows, spell):
    write = {"r": repr, "g": "{:.17g}".format, "e": "{:e}".format}[spell]
    content = "a,b,c\n" + "".join(",".join(map(write, row)) + "\n" for row in rows)
    shape, bits, _, _ = agree(read, content)
    expected = np.array([[float(write(x)) for x in row] for row in rows]).reshape(shape)
    assert np.where(np.isnan(expected), np.nan, expected).tobytes() == bits


@in_folder
@given(content=st.binary(max_size=60))
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "utf-16", "ascii"])
def test_arbitrary_bytes(read, content, encoding):
    agree(read, content, encoding=encoding)


def test_a_plain_file_is_read_by_arrow(tmp_path, monkeypatch):
    """Else the tests above would compare one reader with itself."""
    monkeypatch.setattr(delimited, "MIN_ARROW_SIZE", 0)
    monkeypatch.setattr(delimited, "_rows", None)
    (tmp_path / "t.csv").write_text('"a","b"\r\n1,2\r\nNA, 4e2\r\nTrue,\r\n')
    stream = CsvStream(File(tmp_path / "t.csv", ending=".csv", max_bytes=2**20))
    np.testing.assert_array_equal(stream.read_whole(), [[1, 2], [np.nan, 400], [1, np.nan]])


def test_without_pyarrow(read, monkeypatch):
    content = "a,b\n1,2\n3,4\n"
    expected = read(content, plain=True)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(delimited, "find_spec", lambda package: None)
    assert read(content, plain=True) == expected


def test_a_large_file_is_read_again_on_every_pass(tmp_path, monkeypatch):
    table = np.random.default_rng(0).standard_normal((50, 3))
    (tmp_path / "t.csv").write_text("a,b,c\n" + "".join(",".join(map(repr, row)) + "\n" for row in table.tolist()))
    monkeypatch.setattr(delimited, "PART_SIZE", 200)
    monkeypatch.setattr(cells, "PART_ENTRIES", 9)
    for worth in (0, 2**60):
        monkeypatch.setattr(delimited, "MIN_ARROW_SIZE", worth)
        stream = CsvStream(File(tmp_path / "t.csv", ending=".csv", max_bytes=100))
        assert stream._kept is None
        for rows in (1, 7, 1000):
            assert np.concatenate(list(stream.row_blocks(rows))).tobytes() == table.tobytes()
