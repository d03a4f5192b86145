"""Files for the tests of sources: the same table in every format, and a stream that remembers what was read."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sparse

from dimfree.data.read import open_table
from dimfree.data.schema import Schema
from dimfree.data.source import Source

NAMES = ("first", "second", "third", "fourth")


class RecordedStream(Source):
    """A table in memory that is handed out in blocks of its own choice, and remembers their sizes."""

    def __init__(self, table: np.ndarray, most: int) -> None:
        self._table, self._most, self.shape = table, most, table.shape
        self.sizes: list[int] = []
        self.passes = 0

    def row_blocks(self, rows: int) -> Iterator[np.ndarray]:
        self.passes += 1
        step = min(rows, self._most)
        for start in range(0, len(self._table), step):
            block = self._table[start : start + step].copy()
            self.sizes.append(len(block))
            yield block


def needs(package: str):
    return pytest.importorskip(package, reason=f"{package} is an optional package and not installed")


def rows_of(records, rows: int | None = None) -> np.ndarray:
    """All records, the invalid ones as NaN."""
    parts = [np.where(valid[:, None], block, np.nan) for block, valid in records.blocks(rows)]
    return np.concatenate([np.empty((0, records.dimension)), *parts])


def read_keyed_table(path: Path, keys) -> tuple:
    """The records of a file without its columns of keys, and these."""
    records, columns, _ = open_table(path, Schema(keys=tuple(keys)))
    return records, columns


def store(path: Path, table: np.ndarray, *, rows: int = 7) -> Path:
    """The table under this ending, in parts of so many rows where the format has parts."""
    match path.suffix:
        case ".npy":
            np.save(path, table)
        case ".csv":
            lines = [",".join(NAMES), *(",".join(map(repr, row)) for row in table.tolist())]
            path.write_text("\n".join(lines) + "\n")
        case ".parquet":
            pq.write_table(wide(table), path, row_group_size=rows)
        case ".arrow" | ".feather":
            with pa.ipc.new_file(path, wide(table).schema) as file:
                file.write_table(wide(table), max_chunksize=rows)
        case ".zarr":
            zarr = needs("zarr")
            array = zarr.create_array(str(path), shape=table.shape, chunks=(rows, 2), dtype=table.dtype)
            array[:] = table
        case ".h5ad":
            store_h5ad(path, table)
    return path


def wide(table: np.ndarray) -> pa.Table:
    return pa.table([pa.array(np.ascontiguousarray(column)) for column in table.T], names=NAMES[: table.shape[1]])


def lists(table: np.ndarray) -> pa.Table:
    flat = pa.array(table.ravel())
    return pa.table({"vector": pa.FixedSizeListArray.from_arrays(flat, table.shape[1])})


def store_h5ad(path: Path, table, names=NAMES) -> Path:
    """As anndata writes it: X dense, or a group of the parts of a CSR matrix."""
    h5py = needs("h5py")
    with h5py.File(path, "w") as file:
        if sparse.issparse(table):
            group = file.create_group("X")
            group.attrs.update({"encoding-type": f"{table.format}_matrix", "shape": table.shape})
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(table, part)
        else:
            file["X"] = table
        var = file.create_group("var")
        var.attrs["_index"] = "gene"
        var.create_dataset("gene", data=list(names), dtype=h5py.string_dtype())
    return path


def write_frame(folder: Path, frame, kind: str) -> Path | str:
    """A pandas frame as a file of this ending, as "parts", as the "pattern" of parts, or at an "address"."""
    path = folder / f"t{kind}"
    text = frame.to_csv(index=False, sep="\t" if kind == ".tsv" else ",")
    match kind:
        case ".csv" | ".tsv":
            path.write_text(text)
        case ".csv.gz":
            path.write_bytes(gzip.compress(text.encode()))
        case ".jsonl":
            path.write_text("".join(json.dumps(row, default=str) + "\n" for row in frame.to_dict("records")))
        case ".xlsx":
            needs("openpyxl")
            frame.to_excel(path, index=False)
        case ".parquet":
            frame.to_parquet(path, index=False, row_group_size=100)
        case ".arrow" | ".feather":
            table = pa.Table.from_pandas(frame, preserve_index=False)
            with pa.ipc.new_file(path, table.schema) as file:
                file.write_table(table)
        case "parts" | "pattern":
            path = folder / "out"
            path.mkdir()
            for at in range(3):
                some = frame[at * len(frame) // 3 : (at + 1) * len(frame) // 3]
                some.to_parquet(path / f"part-{at}.parquet", index=False)
            (path / "_SUCCESS").write_text("")
            return path / "part-*.parquet" if kind == "pattern" else path
        case "address":
            with needs("fsspec").open("memory://bucket/table.csv", "wb") as file:
                file.write(text.encode())
            return "memory://bucket/table.csv"
    return path


def write_sheet(path: Path, rows) -> Path:
    """A workbook whose first sheet has these rows."""
    book = needs("openpyxl").Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path
