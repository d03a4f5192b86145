"""A file in parts, as the workers of a cluster read it: the rows of the file in order, whatever the parts."""

import pickle
from itertools import chain

import numpy as np
import pytest
import scipy.sparse as sparse
from streams import lists, needs, rows_of, store, store_h5ad

from dimfree.data import partitions as file_parts
from dimfree.data import read as read_module
from dimfree.data.formats import arrow_files as parquet
from dimfree.errors import InvalidFileError

dask, pq = needs("dask"), needs("pyarrow.parquet")

ROWS = 500
ENDINGS = [".npy", ".csv", ".parquet", ".arrow", ".feather", ".zarr", ".h5ad"]


@pytest.fixture(scope="module")
def table(table):
    return table[:ROWS]


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("ending", ENDINGS)
def test_parts_are_the_rows_of_the_file(tmp_path, table, monkeypatch, ending, threads):
    path = store(tmp_path / f"t{ending}", table, rows=37)
    whole = read_module.read_table(path)
    for entries in (2**22, 4 * 41, 4):
        monkeypatch.setattr(file_parts, "_PART_ENTRIES", entries)
        records = read_module.read_table(path, workers=threads)
        assert records.columns == whole.columns
        assert rows_of(records).tobytes() == table.tobytes()


def test_a_file_is_cut_where_it_can_be_read_from(tmp_path, table):
    def ends(name, threads=2, **options):
        ending = "." + name.partition(".")[2]
        stream = read_module._STREAMS[ending](read_module.File(store(tmp_path / name, table, **options), ending=ending))
        return file_parts._list_ends(stream, threads)

    assert ends("t.npy") == [0, 63, 126, 189, 252, 315, 378, 441, 500]
    assert ends("t.zarr", rows=37) == [0, 74, 148, 222, 296, 370, 444, 500]  # whole chunks
    assert ends("many.parquet", rows=37) == [0, 74, 148, 222, 296, 370, 444, 500]  # whole row groups
    assert ends("one.parquet", rows=500) == [0, 250, 500]  # a row group that two have to share
    assert ends("t.csv") == [0, 250, 500]  # nobody can begin in the middle


def test_row_groups_of_others_are_not_read(tmp_path, table, monkeypatch):
    path, read = store(tmp_path / "t.parquet", table, rows=50), []
    whole = parquet.batches
    monkeypatch.setattr(parquet, "batches", lambda *given: read.append(given[-1]) or whole(*given))
    rows_of(read_module.read_table(path, workers=1))
    assert sorted(chain(*read)) == list(range(10))


@pytest.mark.parametrize("rows", [37, 500])
def test_wide_and_nested_parquet(tmp_path, table, monkeypatch, rows):
    pq.write_table(lists(table), tmp_path / "lists.parquet", row_group_size=rows)
    assert rows_of(read_module.read_table(tmp_path / "lists.parquet", workers=2)).tobytes() == table.tobytes()
    monkeypatch.setattr(parquet, "NARROW", 1)
    path = store(tmp_path / "wide.parquet", table, rows=rows)
    assert rows_of(read_module.read_table(path, workers=2)).tobytes() == table.tobytes()


def test_what_travels_to_a_worker_holds_no_rows(tmp_path, table):
    records = read_module.read_table(store(tmp_path / "t.npy", table), workers=2)
    part = pickle.dumps(records._source._places[0].partition)
    assert len(part) < 2000
    assert table[0].tobytes() not in part
    assert b"".join(block.tobytes() for block in pickle.loads(part).row_blocks(9)) == table[:63].tobytes()


def test_a_file_that_has_changed(tmp_path, table):
    path = store(tmp_path / "t.npy", table)
    records = read_module.read_table(path, workers=2)
    store(path, table[:-1])
    with pytest.raises(InvalidFileError, match="has changed"):
        rows_of(records)
    path.unlink()
    with pytest.raises(InvalidFileError, match=r"not exist on a worker.*same path"):
        rows_of(records)


def test_what_cannot_be_read_in_parts(tmp_path, table):
    np.savez(tmp_path / "t.npz", X=table)
    store_h5ad(tmp_path / "t.h5ad", sparse.csr_array(table))
    for name, words in (("t.npz", "cannot be read in parts"), ("t.h5ad", "its rows are sparse")):
        with pytest.raises(InvalidFileError, match=words):
            read_module.read_table(tmp_path / name, workers=2)
