"""The ways a table can come, as docs/reference/formats.md lists them: the same numbers give the same release, to the
last bit."""

import gzip
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sparse
from streams import lists, needs, store_h5ad, write_frame

import dimfree
from dimfree.noise import SeededNoise

NAMES = ("age", "income", "score", "smokes")
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "formats.md"


@pytest.fixture(scope="module")
def table(table):
    """Whole numbers, fractions and truth: what every format can write."""
    rows = np.array(table[:900])
    rows[:, 1] = np.round(100 * rows[:, 1])
    rows[:, 3] = rows[:, 3] > 100
    return rows


def frame(table):
    pandas = needs("pandas")
    return pandas.DataFrame(dict(zip(NAMES, table.T, strict=True)))


def arrow(table, names=NAMES):
    return pa.table([pa.array(np.ascontiguousarray(column)) for column in table.T], names=list(names))


def text(table, delimiter=",", decimal=".", names=NAMES, end="\n"):
    head = [] if names is None else [delimiter.join(names)]
    rows = (delimiter.join(repr(entry).replace(".", decimal) for entry in row) for row in table.tolist())
    return end.join([*head, *rows, ""])


class Stream:
    """What any library may hand out."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def typed(table):
    """As people have it in memory: whole numbers, fractions, truth."""
    found = frame(table)
    return found.assign(income=found["income"].astype(int), smokes=found["smokes"].astype(bool))


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def chunked(path, table):
    array = needs("zarr").create_array(str(path), shape=table.shape, chunks=(100, 2), dtype=table.dtype)
    array[:] = table
    return path


def piped(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    return "-"


def with_others(table):
    """More columns than are asked for: one of text, and the number of the row."""
    return frame(table).assign(patient_id=np.arange(len(table)), city="Zürich")


def anndata(table):
    return needs("anndata").AnnData(X=table, var=needs("pandas").DataFrame(index=list(NAMES)))


def relation(table):
    duckdb = needs("duckdb")
    seen = arrow(table)  # noqa: F841 - DuckDB finds it by its name
    return duckdb.sql("select * from seen")


def read(path, **how):
    return dimfree.read_table(path, **how)


# name in the documentation -> the table, from (folder, numbers, monkeypatch)
IN_MEMORY = {
    "NumPy array": lambda folder, table, patch: table,
    "list of lists": lambda folder, table, patch: table.tolist(),
    "SciPy sparse matrix": lambda folder, table, patch: sparse.csr_array(table),
    "PyTorch tensor": lambda folder, table, patch: needs("torch").tensor(table),
    "pandas DataFrame": lambda folder, table, patch: typed(table),
    "polars DataFrame": lambda folder, table, patch: needs("polars").from_arrow(arrow(table)),
    "polars LazyFrame": lambda folder, table, patch: needs("polars").from_arrow(arrow(table)).lazy(),
    "Arrow table": lambda folder, table, patch: arrow(table),
    "Arrow stream": lambda folder, table, patch: Stream(arrow(table)),
    "DuckDB relation": lambda folder, table, patch: relation(table),
    "Dask DataFrame": lambda folder, table, patch: needs("dask.dataframe").from_pandas(frame(table), npartitions=3),
    "AnnData": lambda folder, table, patch: anndata(table),
}
FILES = {
    ".npy": lambda folder, table, patch: (np.save(folder / "t.npy", table), read(folder / "t.npy"))[1],
    ".npz": lambda folder, table, patch: (np.savez(folder / "t.npz", X=table), read(folder / "t.npz"))[1],
    ".csv": lambda folder, table, patch: read(written(folder / "t.csv", text(table))),
    ".csv without names": lambda folder, table, patch: read(written(folder / "t.csv", text(table, names=None))),
    ".csv from Windows": lambda folder, table, patch: read(
        written(folder / "t.csv", "\ufeff" + text(table, end="\r\n"))
    ),
    ".csv.gz": lambda folder, table, patch: read(written(folder / "t.csv.gz", gzip.compress(text(table).encode()))),
    ".tsv": lambda folder, table, patch: read(written(folder / "t.tsv", text(table, "\t"))),
    ".csv with semicolons": lambda folder, table, patch: read(
        written(folder / "t.csv", text(table, ";")), delimiter=";"
    ),
    ".csv with decimal commas": lambda folder, table, patch: read(
        written(folder / "t.csv", text(table, ";", ",")), decimal=","
    ),
    ".csv in Latin-1": lambda folder, table, patch: read(
        written(folder / "t.csv", text(table, names=("größe", *NAMES[1:])).encode("latin-1")), encoding="latin-1"
    ),
    ".csv of True, False and quoted numbers": lambda folder, table, patch: read(
        written(folder / "t.csv", "".join(f'"{a!r}",{int(b)},{c!r},{bool(d)}\n' for a, b, c, d in table.tolist()))
    ),
    ".parquet of booleans and numbers as text": lambda folder, table, patch: (
        pq.write_table(
            pa.table(
                {
                    "age": [repr(entry) for entry in table[:, 0].tolist()],
                    "income": [str(int(entry)) for entry in table[:, 1]],
                    "score": table[:, 2],
                    "smokes": table[:, 3].astype(bool),
                }
            ),
            folder / "t.parquet",
        ),
        read(folder / "t.parquet"),
    )[1],
    ".jsonl": lambda folder, table, patch: read(
        written(
            folder / "t.jsonl", "".join(json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in table.tolist())
        )
    ),
    ".xlsx": lambda folder, table, patch: read(write_frame(folder, frame(table), ".xlsx")),
    ".parquet": lambda folder, table, patch: read(write_frame(folder, frame(table), ".parquet")),
    ".parquet of lists": lambda folder, table, patch: (
        pq.write_table(lists(table), folder / "t.parquet"),
        read(folder / "t.parquet"),
    )[1],
    "folder of .parquet parts": lambda folder, table, patch: read(write_frame(folder, frame(table), "parts")),
    "pattern for .parquet parts": lambda folder, table, patch: read(write_frame(folder, frame(table), "pattern")),
    ".arrow": lambda folder, table, patch: read(write_frame(folder, frame(table), ".arrow")),
    ".feather": lambda folder, table, patch: read(write_frame(folder, frame(table), ".feather")),
    ".zarr": lambda folder, table, patch: read(chunked(folder / "t.zarr", table)),
    ".h5ad": lambda folder, table, patch: read(store_h5ad(folder / "t.h5ad", table, NAMES)),
    "standard input": lambda folder, table, patch: read(piped(patch, text(table))),
    "address": lambda folder, table, patch: read(write_frame(folder, frame(table), "address")),
}
WAYS = {**IN_MEMORY, **FILES}


def released(X, **how):
    given = {"epsilon": 4.0, "delta": 1e-6, "covariance": np.array([1.0, 4e4, 0.25, 0.25])}
    release = dimfree.release_mean(X, **given, **how, noise=SeededNoise(5))
    assert not release.refused
    return release


@pytest.fixture(scope="module")
def expected(table):
    return released(table)


@pytest.mark.parametrize("way", WAYS)
def test_the_release_is_that_of_the_array(tmp_path, monkeypatch, table, expected, way):
    release = released(WAYS[way](tmp_path, table, monkeypatch))
    assert release.mean.tobytes() == expected.mean.tobytes()
    assert release.noise_stddev.tobytes() == expected.noise_stddev.tobytes()


@pytest.mark.parametrize("way", IN_MEMORY)
def test_the_estimator_and_groups_take_it_too(tmp_path, monkeypatch, table, expected, way):
    given = {"epsilon": 4.0, "delta": 1e-6, "covariance": np.array([1.0, 4e4, 0.25, 0.25])}
    fitted = dimfree.PrivateMean(**given, noise=SeededNoise(5)).fit(WAYS[way](tmp_path, table, monkeypatch))
    assert fitted.location_.tobytes() == expected.mean.tobytes()
    groups = {"by": np.arange(len(table)) % 2, "groups": [0, 1]}
    found, wanted = (
        dimfree.release_group_means(X, **given, **groups, noise=SeededNoise(5))
        for X in (WAYS[way](tmp_path, table, monkeypatch), table)
    )
    assert not wanted.refused
    assert [each.mean.tobytes() for each in found.values()] == [each.mean.tobytes() for each in wanted.values()]


def test_every_row_of_the_page_is_a_way():
    sections = [part.partition("\n### ")[0] for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:3]]
    rows = re.findall(r"^\| *([^|]+?) *\|", "\n".join(sections), flags=re.MULTILINE)
    assert [row.replace("`", "") for row in rows if row not in ("X", "file") and row[0] != "-"] == list(WAYS)
    assert len(WAYS) == 36


CHOSEN = {
    "pandas": with_others,
    "polars": lambda table: needs("polars").from_pandas(with_others(table)),
    "polars, lazily": lambda table: needs("polars").from_pandas(with_others(table)).lazy(),
    "arrow": lambda table: pa.Table.from_pandas(with_others(table)),
    "arrow stream": lambda table: Stream(pa.Table.from_pandas(with_others(table))),
    "dask": lambda table: needs("dask.dataframe").from_pandas(with_others(table), npartitions=2),
}


@pytest.mark.parametrize("kind", CHOSEN)
@pytest.mark.parametrize("choice", [{"columns": NAMES[::-1]}, {"exclude": ["city", "patient_id"]}])
def test_columns_of_a_frame(table, expected, kind, choice):
    release = released(CHOSEN[kind](table), **choice)
    assert release.columns == NAMES
    assert release.mean.tobytes() == expected.mean.tobytes()


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet", ".arrow", "parts", ".xlsx"])
@pytest.mark.parametrize("choice", [{"columns": NAMES[::-1]}, {"exclude": ["city", "patient_id"]}])
def test_columns_of_a_file(tmp_path, table, expected, ending, choice):
    path = write_frame(tmp_path, with_others(table), ending)
    if ending == ".jsonl" and "columns" in choice:
        choice = {"columns": NAMES}  # no header: the order is as listed
    records = read(path, **choice)
    assert records.columns == NAMES
    assert released(records).mean.tobytes() == expected.mean.tobytes()


PEAK = """
import sys, pyarrow.dataset, pyarrow.parquet
from dimfree.data import read
def peak(): return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
read.LARGE = 0
before, rows = peak(), sum(map(lambda found: len(found[0]), read.read_table(sys.argv[1]).blocks()))
print(rows, (peak() - before) / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's account of memory")
def test_a_pass_over_a_wide_parquet_file_takes_little_memory(tmp_path):
    """13 000 x 2500 numbers in one row group are 248 MiB; whole copies, as other readers make, take twice that."""
    rows = np.random.default_rng(0).normal(size=(13_000, 2500))
    pq.write_table(arrow(rows, [f"c{place}" for place in range(2500)]), tmp_path / "wide.parquet")
    words = [sys.executable, "-c", PEAK, str(tmp_path / "wide.parquet")]
    count, peak = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert int(count) == 13_000
    assert float(peak) <= 330, f"{peak} MiB"
