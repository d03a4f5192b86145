"""Damage of every kind: one sentence that names the path, no number of the table, and never a partial release."""

import os
import sys
import traceback

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sparse
from streams import needs, read_keyed_table, store, store_h5ad
from typer.testing import CliRunner

import dimfree
from dimfree.cli import app
from dimfree.data import read as read_module
from dimfree.data.formats.array_files import NpyStream, rows_at_once
from dimfree.data.formats.delimited import CsvStream
from dimfree.data.formats.file_stream import File, FileStream
from dimfree.data.read_public import read_covariance
from dimfree.data.records import Records
from dimfree.errors import InvalidFileError, OutOfMemoryError
from dimfree.noise import SeededNoise

SECRET = 271828.25
pytestmark = pytest.mark.usefixtures("streaming")


@pytest.fixture(scope="module")
def table(table):
    return table[:300] + SECRET


def refusal_of(action, *args):
    with pytest.raises(InvalidFileError) as caught:
        action(*args)
    assert "271828" not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def release(records):
    return dimfree.release_mean(records, epsilon=4, delta=1e-6, covariance=np.ones(4), noise=SeededNoise(1))


def shortened(path, share=0.5):
    os.truncate(path, int(path.stat().st_size * share))
    return path


@pytest.mark.parametrize("ending", [".npy", ".csv", ".parquet", ".arrow", ".h5ad"])
def test_a_file_that_shrinks_between_two_passes(tmp_path, table, ending):
    path = store(tmp_path / f"t{ending}", table)
    records = read_module.read_table(path)
    assert sum(len(rows) for rows, _ in records.blocks()) == 300
    shortened(path)
    assert "changed since it was opened" in refusal_of(lambda: list(records.blocks()))
    path.unlink()
    assert "no longer exists" in refusal_of(lambda: list(records.blocks()))


@pytest.mark.parametrize("ending", [".npy", ".csv", ".parquet", ".arrow", ".h5ad"])
def test_a_file_that_is_replaced_between_two_passes(tmp_path, table, ending):
    path = store(tmp_path / f"t{ending}", table)
    records = read_module.read_table(path)
    store(tmp_path / f"other{ending}", table + 1).replace(path)
    assert "changed since it was opened" in refusal_of(release, records)


@pytest.mark.parametrize("within", [False, True], ids=["between two passes", "within a pass"])
def test_a_chunk_that_is_written_anew(tmp_path, table, within):
    """The folder itself does not show it."""
    path = store(tmp_path / "t.zarr", table)
    records = read_module.read_table(path)
    blocks = records.blocks(7)
    if within:
        next(blocks)
    needs("zarr").open(str(path), mode="r+")[:7] = SECRET
    assert "changed since it was opened" in refusal_of(lambda: list(blocks))
    assert "changed since it was opened" in refusal_of(release, records)


@pytest.mark.parametrize("kind", [NpyStream, CsvStream])
def test_a_file_that_shrinks_within_a_pass(tmp_path, kind):
    big = np.random.default_rng(0).standard_normal((20000, 4))
    path = store(tmp_path / ("t.npy" if kind is NpyStream else "t.csv"), big)
    blocks = kind(File(path, ending=path.suffix)).row_blocks(10)
    next(blocks)
    shortened(path)
    assert str(path) in refusal_of(lambda: list(blocks))


def test_nothing_is_released_from_a_file_that_changes_in_the_middle(tmp_path, table, monkeypatch):
    path, drawn = store(tmp_path / "t.npy", table), []
    records = read_module.read_table(path)

    class Meddling(SeededNoise):
        def gaussian(self, stddev, size):
            drawn.append(size)
            shortened(path, 0.99)
            return super().gaussian(stddev, size)

    assert "changed" in refusal_of(
        lambda: dimfree.release_mean(records, epsilon=4, delta=1e-6, covariance=np.ones(4), noise=Meddling(1))
    )
    assert drawn


def test_another_file_in_the_place_of_an_array_for_a_while(tmp_path):
    """There and back within a pass: every block is of the file that was opened."""
    path, table = tmp_path / "t.npy", np.random.default_rng(0).standard_normal((500, 4))
    np.save(path, table)
    records, seen = Records(NpyStream(File(path)), None), []

    def meddle(rows, among):
        seen.append(len(rows))
        if len(seen) == 2:
            path.rename(tmp_path / "first")
            np.save(path, np.full_like(table, SECRET))
        if len(seen) == 4:
            (tmp_path / "first").rename(path)
        return float(rows.sum())

    assert "changed since it was opened" in refusal_of(lambda: list(records.map_blocks(meddle, 50, None, 1, sum)))
    assert len(seen) == 2


class Patchwork(FileStream):
    """Parts that do not fit each other."""

    def __init__(self, path, parts, shape):
        super().__init__(path)
        self.shape, self.dtype, self._given = shape, np.dtype(np.float64), parts

    def _parts(self, rows):
        yield from self._given


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (np.full((2, 3), SECRET), "other columns"),
        (np.full((2, 2), SECRET, dtype=np.float32), "another type"),
        (np.full(2, SECRET), "other columns"),
        (np.full((3, 2), SECRET), "changed"),
        (np.full((1, 2), SECRET), "changed"),
    ],
)
def test_parts_that_do_not_fit(tmp_path, part, words):
    path = store(tmp_path / "t.npy", np.zeros((1, 1)))
    stream = Patchwork(path, [np.zeros((2, 2)), part], (4, 2))
    assert words in refusal_of(lambda: list(stream.row_blocks(2)))


def test_a_row_group_with_other_columns(tmp_path, table):
    records = read_module.read_table(store(tmp_path / "t.parquet", table))
    layout = records._source.layout
    for other in (pa.schema([("x", pa.float64())]), layout.schema.set(0, pa.field("first", pa.float32()))):
        assert "other columns or types" in refusal_of(layout.require, other)


def test_running_out_of_memory_in_a_pass_has_its_own_words(tmp_path, table, monkeypatch):
    records = read_module.read_table(store(tmp_path / "t.npy", table))

    def exhausted(*_, **__):
        raise MemoryError(f"{SECRET} rows")

    monkeypatch.setattr(NpyStream, "_read_consecutive", exhausted)
    with pytest.raises(OutOfMemoryError) as caught:
        release(records)
    assert "271828" not in "".join(traceback.format_exception(caught.value))


def with_one_byte_changed(path):
    """In the numbers of the last page, where nothing but a checksum can tell."""
    content = bytearray(path.read_bytes())
    column = pq.ParquetFile(path).metadata.row_group(0).column(3)
    content[column.data_page_offset + column.total_compressed_size - 100] ^= 1
    path.write_bytes(bytes(content))
    return path


@pytest.fixture(params=[4, 200], ids=["narrow", "wide"])
def checked(request, tmp_path):
    """A file that is read whole or in slabs of columns, with a checksum for each page and nothing compressed."""
    numbers = np.random.default_rng(3).standard_normal((300, request.param)) + SECRET
    table = pa.table([pa.array(column) for column in numbers.T], names=[f"c{at}" for at in range(request.param)])
    options = {"write_page_checksum": True, "use_dictionary": False, "compression": "none", "row_group_size": 100}
    pq.write_table(table.append_column("who", pa.array(range(300))), tmp_path / "t.parquet", **options)
    return tmp_path / "t.parquet"


@pytest.mark.parametrize("large", [0, 2**28], ids=["streamed", "loaded"])
def test_a_page_that_does_not_fit_its_checksum(checked, monkeypatch, large):
    monkeypatch.setattr(read_module, "LARGE", large)
    assert sum(len(rows) for rows, _ in read_module.read_table(checked).blocks()) == 300
    with_one_byte_changed(checked)
    for read in (read_module.read_table, lambda path: read_keyed_table(path, ["who"])[0]):
        message = refusal_of(lambda read=read: list(read(checked).blocks()))
        assert message.startswith(str(checked))
        assert "damaged" in message
    assert "damaged" in refusal_of(read_covariance, checked)


def test_a_worker_compares_checksums(checked):
    needs("dask")
    with_one_byte_changed(checked)
    assert "damaged" in refusal_of(lambda: list(read_module.read_table(checked, workers=2).blocks()))


def test_a_zarr_chunk_that_is_lost_or_damaged(tmp_path, table):
    path = store(tmp_path / "t.zarr", table, rows=100)
    records = read_module.read_table(path)
    chunk = next(part for part in sorted((path / "c").rglob("*")) if part.is_file())
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[: len(whole) // 2])
    damaged = read_module.read_table(path)
    assert "damaged" in refusal_of(lambda: list(damaged.blocks()))
    chunk.unlink()
    for opened in (records, damaged):
        assert "changed since it was opened" in refusal_of(lambda opened=opened: list(opened.blocks()))


@pytest.mark.parametrize("large", [0, 2**28], ids=["streamed", "loaded"])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("fill", [0.0, 7.5, np.nan])
@pytest.mark.parametrize("form", [2, 3, "shards"])
def test_entries_of_a_chunk_that_is_not_stored_are_the_fill_value(tmp_path, monkeypatch, form, fill, workers, large):
    """A writer leaves out a chunk when all its numbers are the fill value: one record decides whether it is stored."""
    monkeypatch.setattr(read_module, "LARGE", large)
    zarr, path = needs("zarr"), tmp_path / "t.zarr"
    shards = {"shards": (20, 2), "zarr_format": 3} if form == "shards" else {"zarr_format": form}
    array = zarr.create_array(str(path), shape=(40, 2), chunks=(10, 2), dtype="f8", fill_value=fill, **shards)
    numbers = np.full((40, 2), fill)
    for last in (fill, 3.0):
        numbers[-1] = last
        array[:] = numbers
        records = read_module.read_table(path, workers=workers)
        with needs("dask").config.set(scheduler="synchronous"):
            found = np.concatenate([block for block, _ in records.read_raw_blocks()])
        np.testing.assert_array_equal(found, numbers)
    assert array.nchunks_initialized < array.nchunks


@pytest.mark.parametrize("number", [0.0, 3.0])
def test_a_zarr_array_without_a_fill_value_is_refused_by_its_metadata(tmp_path, number):
    zarr, path = needs("zarr"), tmp_path / "t.zarr"
    zarr.create(store=str(path), shape=(4, 2), chunks=(2, 2), zarr_format=2, fill_value=None)[:] = number
    assert "declare no fill value" in refusal_of(read_module.read_table, path)


def test_what_is_no_zarr_array(tmp_path, table):
    zarr = needs("zarr")
    zarr.create_group(str(tmp_path / "g.zarr"))
    assert "it is a group" in refusal_of(read_module.read_table, tmp_path / "g.zarr")
    zarr.create_array(str(tmp_path / "r.zarr"), data=np.zeros((2, 2, 2)) + 1)
    assert "2 dimensions" in refusal_of(read_module.read_table, tmp_path / "r.zarr")
    (tmp_path / "f.zarr").write_text("x")
    assert "is a file: pass the path of a folder" in refusal_of(read_module.read_table, tmp_path / "f.zarr")
    (tmp_path / "e.zarr").mkdir()
    refusal_of(read_module.read_table, tmp_path / "e.zarr")


def test_what_is_no_csr(tmp_path):
    h5py = needs("h5py")
    counts = sparse.csr_matrix(np.eye(4))
    path = tmp_path / "t.h5ad"
    assert "write X as CSR" in refusal_of(read_module.read_table, store_h5ad(path, sparse.csc_matrix(counts)))
    for part, wrong in (("indptr", [0, 3, 2, 3, 4]), ("indptr", [0, 1]), ("data", [SECRET]), ("indices", [0, 1, 2, 9])):
        store_h5ad(path, counts)
        with h5py.File(path, "a") as file:
            del file["X"][part]
            file["X"][part] = wrong
        message = refusal_of(lambda: list(read_module.read_table(path).sparse_blocks()))
        assert "damaged" in message
    with h5py.File(path, "w") as file:
        file["obs"] = [1]
    assert "no matrix X" in refusal_of(read_module.read_table, path)


@pytest.mark.parametrize("part", ["indptr", "indices"])
@pytest.mark.parametrize("large", [0, 2**28], ids=["streamed", "loaded"])
def test_fractions_for_places(tmp_path, monkeypatch, part, large):
    """Rounded, they would move entries into other columns, or into the rows of other people."""
    monkeypatch.setattr(read_module, "LARGE", large)
    h5py = needs("h5py")
    counts = sparse.csr_matrix(np.eye(4))
    with h5py.File(store_h5ad(tmp_path / "t.h5ad", counts), "a") as file:
        places = file["X"][part][:]
        del file["X"][part]
        file["X"][part] = places + (np.arange(len(places)) == 1) * 0.7
    assert "not whole numbers" in refusal_of(read_module.read_table, tmp_path / "t.h5ad")
    parts = {"data": counts.data, "indices": counts.indices, "indptr": counts.indptr, part: places + 0.5}
    np.savez(tmp_path / "t.npz", format=b"csr", shape=counts.shape, **parts)
    assert "not whole numbers" in refusal_of(read_module.read_table, tmp_path / "t.npz")


@pytest.mark.parametrize(
    ("package", "ending", "needed"),
    [("zarr", ".zarr", "zarr"), ("h5py", ".h5ad", "anndata"), ("pyarrow", ".arrow", "pyarrow")]
    + [("pyarrow", ".parquet", "pyarrow"), ("openpyxl", ".xlsx", "openpyxl")],
)
def test_a_missing_package_is_named(tmp_path, monkeypatch, package, ending, needed):
    path = tmp_path / f"t{ending}"
    path.mkdir() if ending == ".zarr" else path.write_text("x")
    monkeypatch.setitem(sys.modules, package, None)
    assert f"pip install '{needed}>=" in refusal_of(read_module.read_table, path)


def test_the_command_leaves_nothing_behind(tmp_path, table, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store(tmp_path / "t.parquet", table)
    np.save("v.npy", np.ones(4))
    original = FileStream.row_blocks

    def cut(stream, rows):
        for place, block in enumerate(original(stream, rows)):
            if place == 2:
                shortened(stream.path, 0.9)
            yield block

    monkeypatch.setattr(FileStream, "row_blocks", cut)
    monkeypatch.setattr("dimfree.data.records._READ_ENTRIES", 40)
    budget = ["--epsilon", "4", "--delta", "1e-6", "--covariance", "v.npy"]
    result = CliRunner().invoke(app, ["mean", "t.parquet", *budget, "-o", "m.csv", "--json", "r.json"])
    assert result.exit_code == 2
    assert "t.parquet" in result.stderr
    assert "271828" not in result.output
    assert not {"m.csv", "r.json"} & set(os.listdir())


def test_rows_read_at_once_are_whole_chunks_or_few():
    assert rows_at_once(8000, 1000) == 4000
    assert rows_at_once(8000, 5000) == 5000
    assert rows_at_once(8000, 10**6) == 2**25 // 8000
    assert rows_at_once(2**30, 1) == 1
