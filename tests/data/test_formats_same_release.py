"""Streamed or loaded, in whatever blocks: the same release to the last bit, and never more than a block in memory."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sparse
from routes import with_options
from streams import NAMES, RecordedStream, lists, needs, read_keyed_table, rows_of, store, store_h5ad, wide

import dimfree
from dimfree.data import read as read_module
from dimfree.data import records as records_module
from dimfree.data import source as source_module
from dimfree.data.formats import array_files as npy
from dimfree.data.formats import arrow_files as parquet
from dimfree.data.records import Records
from dimfree.errors import InvalidDataError, InvalidFileError
from dimfree.kernel.rows import space as space_module
from dimfree.noise import SeededNoise
from dimfree.progress import during, report_progress, report_to

ROWS = 900
ENDINGS = [".npy", ".csv", ".parquet", ".arrow", ".feather", ".zarr", ".h5ad"]
BUDGET = {"epsilon": 4.0, "delta": 1e-6}
KNOWN = {"covariance": np.array([1.0, 4.0, 0.25, 1.0])}


@pytest.fixture(scope="module")
def table(table):
    """As formats store it: single precision."""
    return table[:ROWS].astype(np.float32)


def released(X, **options) -> dict:
    release = dimfree.release_mean(X, **with_options(**BUDGET, **options, noise=SeededNoise(5)))
    assert not release.refused
    return json.loads(release.to_json())


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_streamed_file_gives_the_release_of_the_array(tmp_path, streaming, monkeypatch, table, ending):
    records = read_module.read_table(store(tmp_path / f"t{ending}", table, rows=211))
    assert records.streams
    with_names = records.columns is not None
    expected = released(wide(table) if with_names else table, **KNOWN)
    for entries in (2**22, 4 * 100, 4 * 37):
        monkeypatch.setattr(records_module, "_BLOCK_ENTRIES", entries)
        if hasattr(space_module, "_BLOCK_ENTRIES"):
            monkeypatch.setattr(space_module, "_BLOCK_ENTRIES", entries)
        assert released(records, **KNOWN) == expected


@pytest.mark.parametrize("ending", [".npy", ".parquet"])
def test_also_where_everything_is_learned(tmp_path, streaming, monkeypatch, table, ending):
    expected = released(wide(table) if ending == ".parquet" else table)
    assert released(read_module.read_table(store(tmp_path / f"t{ending}", table)), window=(1e-6, 1e6)) == expected


@pytest.mark.parametrize("ending", ENDINGS)
def test_blocks_are_never_longer_than_asked(tmp_path, streaming, table, ending):
    records = read_module.read_table(store(tmp_path / f"t{ending}", table[:50], rows=7))
    for rows in (1, 5, 7, 1000):
        blocks = [block for block, _ in records.blocks(rows)]
        assert all(len(block) <= rows and block.dtype == np.float64 for block in blocks)
        np.testing.assert_array_equal(np.concatenate(blocks), table[:50].astype(float))


@pytest.mark.parametrize("limit", [1, 4 * 4 * 10, 2**28])
def test_wide_parts_are_put_together_from_columns(tmp_path, streaming, monkeypatch, table, limit):
    monkeypatch.setattr(parquet, "SLAB_BYTES", limit)
    monkeypatch.setattr("dimfree.data.formats.arrow_files._READ_BYTES", 1)
    monkeypatch.setattr(parquet, "NARROW", 0)
    monkeypatch.setattr(parquet, "_WIDTH", 3)
    for ending in (".parquet", ".arrow"):
        records = read_module.read_table(store(tmp_path / f"t{ending}", table[:60], rows=25))
        np.testing.assert_array_equal(rows_of(records, 8), table[:60])


def test_a_block_that_waits_holds_its_own_rows_alone(tmp_path, streaming, monkeypatch, table):
    """Threads keep some blocks: as views they would keep the table that they were cut from, beside the next one."""
    monkeypatch.setattr(parquet, "NARROW", 0)
    stream = read_module.read_table(store(tmp_path / "t.parquet", table[:60], rows=30))._source
    assert all(block.base is None for block in stream.row_blocks(8))
    assert [len(block) for block in stream.row_blocks(30)] == [30, 30]


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int16])
def test_lists_of_fixed_size(tmp_path, streaming, table, kind):
    numbers = table[:30].astype(kind)
    pq.write_table(lists(numbers), tmp_path / "t.parquet", row_group_size=7)
    with pa.ipc.new_file(tmp_path / "t.arrow", lists(numbers).schema) as file:
        file.write_table(lists(numbers), max_chunksize=7)
    for name in ("t.parquet", "t.arrow"):
        records = read_module.read_table(tmp_path / name)
        assert records.streams
        assert records.columns is None
        np.testing.assert_array_equal(rows_of(records, 4), numbers)


def test_missing_entries_and_columns_of_several_types(tmp_path, streaming):
    mixed = pa.table({"a": pa.array([1.5, None, 3.0], pa.float32()), "b": [1, 2, 2**60], "c": [True, False, True]})
    pq.write_table(mixed, tmp_path / "t.parquet")
    blocks = list(read_module.read_table(tmp_path / "t.parquet").blocks())
    np.testing.assert_array_equal(np.concatenate([valid for _, valid in blocks]), [True, False, True])
    np.testing.assert_array_equal(np.concatenate([block for block, _ in blocks])[2], [3.0, 2.0**60, 1.0])
    gaps = pa.table({"v": pa.array([[1.0, 2.0], None, [3.0, None]], pa.list_(pa.float32(), 2))})
    pq.write_table(gaps, tmp_path / "g.parquet")
    valid = np.concatenate([mask for _, mask in read_module.read_table(tmp_path / "g.parquet").blocks()])
    np.testing.assert_array_equal(valid, [True, False, False])


def test_an_array_by_column(tmp_path, streaming, table):
    np.save(tmp_path / "t.npy", np.asfortranarray(table.astype(">f8")))
    np.testing.assert_array_equal(rows_of(read_module.read_table(tmp_path / "t.npy"), 13), table)


def test_keyed_columns_are_taken_out_of_a_stream(tmp_path, streaming, table):
    keyed = wide(table[:40]).append_column("who", pa.array([f"p{i % 9}" for i in range(40)]))
    pq.write_table(keyed.select([4, 0, 1, 2, 3]), tmp_path / "t.parquet", row_group_size=7)
    with pa.ipc.new_file(tmp_path / "t.arrow", keyed.schema) as file:
        file.write_table(keyed, max_chunksize=7)
    for name in ("t.parquet", "t.arrow"):
        records, [who] = read_keyed_table(tmp_path / name, ("who",))
        assert records.streams
        assert records.columns == NAMES
        assert who.to_pylist()[8:10] == ["p8", "p0"]
        np.testing.assert_array_equal(rows_of(records), table[:40])


def test_some_rows_of_a_wide_stream(tmp_path, streaming, monkeypatch, table):
    monkeypatch.setattr(parquet, "NARROW", 0)
    monkeypatch.setattr(parquet, "SLAB_BYTES", 4 * 4 * 10)
    records = read_module.read_table(store(tmp_path / "t.parquet", table[:120], rows=37))
    some = np.arange(120) % 3 == 1
    some[37:74] = False
    chosen = records.select_rows(some)
    np.testing.assert_array_equal(rows_of(chosen, 8), table[:120][some])
    every_other = np.arange(int(some.sum())) % 2 == 0
    np.testing.assert_array_equal(rows_of(chosen.select_rows(every_other), 8), table[:120][some][every_other])
    np.testing.assert_array_equal(rows_of(records), table[:120])
    assert released(read_module.read_table(store(tmp_path / "w.parquet", table)), **KNOWN) == released(
        wide(table), **KNOWN
    )


@pytest.fixture
def read(monkeypatch):
    """What is read of .npy files: where it begins, and how many bytes."""
    told, fill = [], npy.NpyStream._fill

    def telling(stream, file, place, block):
        told.append((place, block.nbytes))
        fill(stream, file, place, block)

    monkeypatch.setattr(npy.NpyStream, "_fill", telling)
    return told


orders = pytest.mark.parametrize("order", ["C", "F"])


@orders
@pytest.mark.parametrize(("near", "window"), [(0, 2**20), (0, 50), (2**60, 2**20)], ids=["far", "windows", "near"])
def test_some_rows_of_an_array(tmp_path, streaming, monkeypatch, table, read, order, near, window):
    monkeypatch.setattr(npy, "_NEAR", near)
    monkeypatch.setattr(npy, "_WINDOW_ROWS", window)
    np.save(tmp_path / "t.npy", np.asarray(table[:200].astype(">f4"), order=order))
    records = read_module.read_table(tmp_path / "t.npy")
    some = np.isin(np.arange(200), [0, 1, 2, 49, 50, 99, 150, 151, 199])
    chosen = records.select_rows(some)
    for rows in (1, 4, 200):
        read.clear()
        blocks = [block for block, _ in chosen.blocks(rows)]
        assert max(map(len, blocks)) <= rows
        np.testing.assert_array_equal(np.concatenate(blocks), table[:200][some])
        whole = sum(len(block) for block in np.split(some, range(rows, 200, rows)) if block.any())
        assert sum(size for _, size in read) == 4 * 4 * (whole if near else 9)
    again = np.arange(9) % 2 == 1
    np.testing.assert_array_equal(rows_of(chosen.select_rows(again), 3), table[:200][some][again])
    nobody = chosen.select_rows(np.zeros(9, dtype=bool))
    assert (nobody.count, list(nobody.blocks(5))) == (0, [])
    np.testing.assert_array_equal(rows_of(records, 70), table[:200])


def test_an_array_is_read_where_the_chosen_rows_are_whatever_they_hold(tmp_path, streaming, table, read):
    """Few rows among many: only these; most of them: all, in blocks. Values have no part in it."""
    some = {"few": np.arange(ROWS) % 290 == 7, "most": np.arange(ROWS) % 290 != 7}
    found = []
    for values in (np.tile(table, 64), np.full((ROWS, 256), np.nan, dtype=np.float32)):
        np.save(tmp_path / "t.npy", values)
        for mask in some.values():
            read.clear()
            for _ in read_module.read_table(tmp_path / "t.npy").select_rows(mask).blocks(100):
                pass
            found.append(read.copy())
    assert found[0] == [(256 * row, 1024) for row in (7, 297, 587, 877)]
    assert found[1] == [(256 * row, 1024 * 100) for row in range(0, 900, 100)]
    assert found[:2] == found[2:]


@orders
def test_of_an_array_the_core_reads_its_sample_alone(tmp_path, streaming, monkeypatch, table, read, order):
    np.save(tmp_path / "t.npy", np.asarray(table, order=order))
    given, taken = {**KNOWN, "core_sample": 300}, []
    for near in (0, 2**60):
        monkeypatch.setattr(npy, "_NEAR", near)
        read.clear()
        assert released(read_module.read_table(tmp_path / "t.npy"), **given) == released(table, **given)
        taken.append(sum(size for _, size in read) / table.nbytes)
    skipping, whole = taken
    assert whole == round(whole)
    assert 0.5 < whole - skipping < 0.8  # about two thirds of one pass


def test_chosen_rows_of_an_array_that_has_changed(tmp_path, streaming, table):
    np.save(tmp_path / "t.npy", table)
    chosen = read_module.read_table(tmp_path / "t.npy").select_rows(np.arange(ROWS) < 3)
    np.save(tmp_path / "t.npy", table[:500])
    with pytest.raises(InvalidFileError, match="has changed since it was opened"):
        list(chosen.blocks())


def test_no_block_is_larger_than_asked_and_none_is_kept(table):
    stream = RecordedStream(table, most=64)
    released(Records(stream, None), **KNOWN)
    assert stream.passes > 2
    assert max(stream.sizes) <= 64
    assert sum(stream.sizes) >= stream.passes * ROWS - ROWS


def test_an_invalid_row_in_a_stream_is_found(table):
    damaged = table.copy()
    damaged[-1, 2] = np.inf
    with pytest.raises(InvalidDataError, match="not a finite number"):
        released(Records(RecordedStream(damaged, 64), None), **KNOWN)
    assert released(Records(RecordedStream(damaged, 64), None), **KNOWN, missing="complete-case") == released(
        damaged, **KNOWN, missing="complete-case"
    )


@pytest.fixture
def counts():
    rng = np.random.default_rng(1)
    return sparse.csr_matrix(rng.poisson(0.7, size=(ROWS, 4)).astype(np.float32))


@pytest.mark.parametrize("options", [{"covariance": np.full(4, 0.7)}, {"objective": "total"}], ids=["known", "learned"])
def test_sparse_h5ad(tmp_path, streaming, monkeypatch, counts, options):
    needs("h5py")
    monkeypatch.setattr(source_module, "SPARSE_BLOCK_ENTRIES", 300)
    records = read_module.read_table(store_h5ad(tmp_path / "t.h5ad", counts))
    assert (records.streams, records.is_sparse, records.columns) == (True, True, NAMES)
    assert len(list(records.sparse_blocks())) > 5
    assert released(records, **options)["mean"] == released(counts, **options)["mean"]
    np.testing.assert_array_equal(rows_of(records), counts.toarray())


def test_sparse_h5ad_that_is_small_or_stores_an_entry_twice(tmp_path, monkeypatch, counts):
    needs("h5py")
    twice = sparse.csr_matrix((np.array([1.0, 2.0, 4.0]), [3, 3, 0], [0, 2, 3]), shape=(2, 4))
    path = store_h5ad(tmp_path / "t.h5ad", twice)
    for large in (0, 2**28):
        monkeypatch.setattr(read_module, "LARGE", large)
        records = read_module.read_table(path)
        assert records.streams == (large == 0)
        np.testing.assert_array_equal(rows_of(records), [[0, 0, 0, 3], [4, 0, 0, 0]])


def test_a_listener_hears_rows_alone_and_changes_nothing(table):
    told = []
    with report_to(lambda *words: told.append(words)):
        with_bar = released(Records(RecordedStream(table, 300), None), **KNOWN)
    assert with_bar == released(table, **KNOWN)
    assert {total for _, _, total in told} <= set(range(ROWS + 1))
    assert told[:3] == [("checking the rows", done, ROWS) for done in (300, 600, 900)]
    assert {"checking the rows", "distances in the core's sample", "refinement step 1"} <= {
        stage for stage, _, _ in told
    }
    assert all(isinstance(number, int) for _, *numbers in told for number in numbers)


def test_nobody_listens_outside():
    told = []
    with report_to(lambda *words: told.append(words)), during("a"):
        report_progress(1, 2)
    report_progress(2, 2)
    assert told == [("a", 1, 2)]
