"""A table in several .parquet files: in the order of their names, under one schema, sealed together."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from streams import rows_of, wide

from dimfree.data import read as read_module
from dimfree.data.read import open_table, read_table
from dimfree.data.schema import Schema
from dimfree.errors import InvalidFileError

SECRET = 271828.25


@pytest.fixture
def folder(tmp_path, table):
    """Written in another order than that of their names."""
    place = tmp_path / "out"
    place.mkdir()
    for at in (2, 0, 1):
        pq.write_table(wide(table[100 * at : 100 * (at + 1)] + SECRET), place / f"part-{at}.parquet")
    return place


def refusal_of(action, *args):
    with pytest.raises(InvalidFileError) as caught:
        action(*args)
    assert "271828" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("large", [0, 2**28], ids=["streamed", "loaded"])
@pytest.mark.parametrize("name", ["", "part-*.parquet", "part-[012].parquet"])
def test_in_the_order_of_their_names(folder, table, monkeypatch, large, name):
    monkeypatch.setattr(read_module, "LARGE", large)
    records = read_table(folder / name)
    assert records.streams == (large == 0)
    assert rows_of(records).tobytes() == (table[:300] + SECRET).tobytes()


def test_a_pattern_may_leave_parts_out(folder, table):
    np.testing.assert_array_equal(rows_of(read_table(str(folder / "*-[12].parquet"))), table[100:300] + SECRET)


def test_columns_of_keys(tmp_path):
    place = tmp_path / "out.parquet"
    place.mkdir()
    for at in range(2):
        pq.write_table(pa.table({"who": [f"p{at}", "q"], "x": [1.0 + at, 2.0]}), place / f"{at}.parquet")
    records, [who], _ = open_table(place, Schema(keys=("who",)))
    assert who.to_pylist() == ["p0", "q", "p1", "q"]
    np.testing.assert_array_equal(rows_of(records), [[1], [2], [2], [2]])


def test_parts_with_other_columns_or_types(folder):
    for other in (pa.table({"first": [SECRET]}), wide(np.full((2, 4), SECRET, dtype=np.float32))):
        pq.write_table(other, folder / "part-9.parquet")
        message = refusal_of(read_table, folder)
        assert "part-9.parquet" in message
        assert "other columns or types" in message


def test_what_is_no_part(folder):
    (folder / "_SUCCESS").write_text("")
    (folder / ".hidden.crc").write_text("")
    assert read_table(folder).dimension == 4
    (folder / "notes.csv").write_text("a\n1\n")
    assert "contains other files than" in refusal_of(read_table, folder)
    assert read_table(folder / "*.parquet").dimension == 4
    assert "it contains no .parquet file" in refusal_of(read_table, folder / "x*.parquet")
    (folder / "empty").mkdir()
    assert "it contains no .parquet file" in refusal_of(read_table, folder / "empty")
    (folder / "part-1.parquet").write_bytes(b"PAR1")
    message = refusal_of(read_table, folder / "*.parquet")
    assert "part-1.parquet cannot be read" in message


@pytest.mark.parametrize("change", ["rewritten", "added", "removed"])
@pytest.mark.parametrize("within", [False, True], ids=["between two passes", "within a pass"])
@pytest.mark.parametrize("name", ["", "*.parquet"])
def test_a_change_is_seen(folder, table, monkeypatch, change, within, name):
    monkeypatch.setattr(read_module, "LARGE", 0)
    records = read_table(folder / name)
    blocks = records.blocks(64)
    if within:
        next(blocks)
    if change == "removed":
        (folder / "part-0.parquet").unlink()
    else:
        pq.write_table(wide(table[:100]), folder / f"part-{0 if change == 'rewritten' else 3}.parquet")
    message = refusal_of(lambda: list(blocks))
    assert "changed since it was opened" in message or "no longer exists" in message


def test_the_schema_is_kept_once(folder, monkeypatch):
    monkeypatch.setattr(read_module, "LARGE", 0)
    stream = read_table(folder)._source
    assert len({id(part.layout) for part in stream.parts}) == 1
    assert len({id(part.columns) for part in stream.parts}) == 1


@pytest.mark.parametrize("narrow", [0, 128], ids=["wide", "narrow"])
def test_some_rows_of_all_parts(folder, table, monkeypatch, narrow):
    monkeypatch.setattr(read_module, "LARGE", 0)
    monkeypatch.setattr("dimfree.data.formats.arrow_files.NARROW", narrow)
    some = np.arange(300) % 3 == 1
    some[100:200] = False
    records, expected = read_table(folder), (table[:300] + SECRET)[some]
    chosen = records.select_rows(some)
    np.testing.assert_array_equal(rows_of(chosen, 8), expected)
    every_other = np.arange(len(expected)) % 2 == 0
    np.testing.assert_array_equal(rows_of(chosen.select_rows(every_other), 8), expected[every_other])
    np.testing.assert_array_equal(rows_of(records), table[:300] + SECRET)
    (folder / "part-9.parquet").write_bytes((folder / "part-0.parquet").read_bytes())
    assert "changed" in refusal_of(rows_of, chosen)
