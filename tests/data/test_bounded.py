"""Public bounds: every format, in memory, in blocks or in parts, gives the release of an array held by hand."""

import gzip
import json
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sparse
from streams import NAMES, lists, needs, store, store_h5ad, wide, write_sheet

import dimfree
from dimfree.data import read as read_module
from dimfree.data.people.keys import open_keys
from dimfree.data.people.person_records import split_unit
from dimfree.data.read import open_table
from dimfree.data.records import Records, as_records
from dimfree.data.schema import Bounds, Schema
from dimfree.data.tables import select_columns
from dimfree.errors import InvalidFileError, InvalidParameterError
from dimfree.noise import SeededNoise

ROWS = 900
BOUNDS = {"first": (2.1, 4), "fourth": (99.5, 1e9)}  # 2.1 is no number of single precision
ENDINGS = [".csv", ".csv.gz", ".jsonl", ".xlsx", ".parquet", "parts", ".arrow", ".feather", ".h5ad"]


@pytest.fixture(scope="module")
def table(table):
    """As every format can store it: single precision, few digits."""
    return (np.round(64 * table[:ROWS]) / 64).astype(np.float32)


def by_hand(table):
    """The same table with the entries beyond a bound at the bound."""
    held = table.astype(float)
    held[:, 0] = [x if not np.isfinite(x) else min(max(x, 2.1), 4.0) for x in held[:, 0].tolist()]
    held[:, 3] = [x if not np.isfinite(x) else min(max(x, 99.5), 1e9) for x in held[:, 3].tolist()]
    return held


def stored(folder, table, ending):
    path = folder / f"t{ending}"
    match ending:
        case ".csv.gz":
            path.write_bytes(gzip.compress(store(folder / "t.csv", table).read_bytes()))
        case ".jsonl":
            path.write_text("\n".join(json.dumps(dict(zip(NAMES, row, strict=True))) for row in table.tolist()))
        case ".xlsx":
            write_sheet(path, [NAMES, *table.tolist()])
        case "parts":
            path.mkdir()
            for at, rows in enumerate(np.array_split(table, 3)):
                pq.write_table(wide(rows), path / f"{at}.parquet", row_group_size=97)
        case _:
            store(path, table, rows=211)
    return path


def released(X, **options):
    known = {} if isinstance(X, Records) else {"bounds": BOUNDS}
    release = dimfree.release_mean(X, epsilon=4, delta=1e-6, noise=SeededNoise(5), **known, **options)
    assert not release.refused
    return release.to_json()


def rows_of(records, rows=None):
    return np.concatenate([block for block, _ in records.read_raw_blocks(rows)])


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_gives_the_release_of_the_array_held_by_hand(tmp_path, monkeypatch, table, ending):
    path, wanted = stored(tmp_path, table, ending), by_hand(table)
    assert (wanted != table).any(axis=0).tolist() == [True, False, False, True]
    small = read_module.read_table(path, bounds=BOUNDS)
    assert not small.streams
    np.testing.assert_array_equal(rows_of(small), wanted)
    expected = released(wide(wanted))
    assert released(small) == expected
    monkeypatch.setattr(read_module, "LARGE", 0)
    large = read_module.read_table(path, bounds=BOUNDS)
    assert large.streams
    np.testing.assert_array_equal(rows_of(large, 37), wanted)
    some = np.arange(ROWS) % 3 == 1
    np.testing.assert_array_equal(rows_of(large.select_rows(some), 11), wanted[some])
    assert released(large) == expected


@pytest.mark.parametrize("ending", [".csv", ".parquet", "parts", ".arrow", ".h5ad"])
def test_workers_hold_what_they_read(tmp_path, table, ending):
    dask = needs("dask")
    with dask.config.set(scheduler="synchronous"):
        records = read_module.read_table(stored(tmp_path, table, ending), bounds=BOUNDS, workers=3)
        np.testing.assert_array_equal(rows_of(records, 64), by_hand(table))
        assert released(records) == released(wide(by_hand(table)))
    part = records._source._places[0].partition
    sent = pickle.loads(pickle.dumps(part))
    assert [block.tobytes() for block in sent.row_blocks(64)] == [block.tobytes() for block in part.row_blocks(64)]


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".h5ad"])
def test_what_is_not_finite_stays_missing(tmp_path, monkeypatch, table, ending, large):
    monkeypatch.setattr(read_module, "LARGE", 0 if large else 2**28)
    odd = table.copy()
    odd[:4, 0] = np.nan, np.inf, -np.inf, 1e30
    odd[4, 1] = np.inf
    rows = rows_of(read_module.read_table(stored(tmp_path, odd, ending), bounds=BOUNDS))
    np.testing.assert_array_equal(rows[:4, 0], [np.nan, np.inf, -np.inf, 4.0])
    np.testing.assert_array_equal(rows, by_hand(odd))
    for rule in ("complete-case", "available-case"):
        records = read_module.read_table(stored(tmp_path, odd, ending), bounds=BOUNDS)
        assert released(records, missing=rule) == released(wide(by_hand(odd)), missing=rule)
    with pytest.raises(dimfree.InvalidDataError, match="not a finite number"):
        released(read_module.read_table(stored(tmp_path, odd, ending), bounds=BOUNDS))


def test_each_entry_is_held_by_itself():
    limits = Bounds.from_arguments({"b": (0, 1)}).limits(("a", "b"), ("a", "b"))
    whole = np.random.default_rng(0).normal(size=(64, 2))
    whole[::7, 1] = -0.0
    whole.flags.writeable = False
    alone = np.concatenate([limits.clip(whole[at : at + 1]) for at in range(64)])
    assert limits.clip(whole).tobytes() == alone.tobytes()  # -0.0 included, wherever a row stands
    assert limits.clip(np.array([[2**60, 5]])).tolist() == [[2.0**60, 1.0]]
    assert Bounds.from_arguments({"c": (0, 1)}).limits(("a",), None) is None


def test_rows_are_held_before_those_of_a_person_are_averaged(tmp_path, table):
    who = [f"p{at // 2}" for at in range(ROWS)]
    pq.write_table(wide(table).append_column("who", pa.array(who)), tmp_path / "t.parquet")
    how = Schema(keys=("who",), bounds=Bounds.from_arguments({**BOUNDS, "who": (0, 1)}))
    records, [keys], _ = open_table(tmp_path / "t.parquet", how)
    wanted = wide(by_hand(table)).append_column("who", pa.array(who))
    assert released(records, privacy_unit=open_keys(keys, "who")) == released(wanted, privacy_unit="who")


def test_columns_that_are_not_released_and_names_that_are_not_there(tmp_path, table):
    for ending in (".csv", ".jsonl", ".parquet", "parts"):
        path = stored(tmp_path, table, ending)
        some = read_module.read_table(path, columns=["first", "second"], bounds=BOUNDS)
        np.testing.assert_array_equal(rows_of(some), by_hand(table)[:, :2])
        rest = read_module.read_table(path, exclude=["first", "fourth"], bounds=BOUNDS)
        np.testing.assert_array_equal(rows_of(rest), table[:, 1:3])
        with pytest.raises(InvalidFileError, match=r"no column named 'forth'. Did you mean 'fourth'"):
            read_module.read_table(path, bounds={"forth": (0, 1)})


@pytest.mark.parametrize("name", ["t.npy", "t.zarr", "t.npz", "list.parquet", "bare.csv"])
def test_tables_without_names(tmp_path, table, name):
    path = store(tmp_path / name, table[:9])
    if name == "t.npz":
        np.savez(path, X=table)
    if name == "list.parquet":
        pq.write_table(lists(table[:9]), path)
    if name == "bare.csv":
        np.savetxt(path, table[:9], delimiter=",")
    with pytest.raises(InvalidFileError, match="`bounds` names columns"):
        read_module.read_table(path, bounds=BOUNDS)


def test_sparse_rows(tmp_path, table):
    path = store_h5ad(tmp_path / "s.h5ad", sparse.csr_matrix(table[:9]))
    with pytest.raises(InvalidFileError, match="exclude 0"):
        read_module.read_table(path, bounds=BOUNDS)


@pytest.mark.parametrize(
    "bounds",
    [3, [("age", 0, 1)], {"age": 3}, {"age": (0,)}, {"age": (0, 1, 2)}, {"age": (1, 0)}, {"age": (0, 0)}]
    + [{"age": (0, np.inf)}, {"age": (np.nan, 1)}, {"age": (False, 1)}, {"age": ("0", 1)}, {"age": "01"}]
    + [{1.0: (0, 1)}, {1: (0, 1), "1": (0, 2)}],
)
def test_what_are_no_bounds(bounds):
    with pytest.raises(InvalidParameterError, match=r"`bounds`.* must"):
        read_module.read_table("nowhere.csv", bounds=bounds)


HELD = {"a": (0, 10), "c": (-1, 3.5)}
PLACES = {0: (0, 10), 2: (-1, 3.5)}
ENTRIES = np.array([[1.0, 200, 3], [12, -5, 4], [0, 50, -7], [np.nan, 1, np.inf], [-0.5, 2, 0]])
CLIPPED = np.array([[1.0, 200, 3], [10, -5, 3.5], [0, 50, -1], [np.nan, 1, np.inf], [0, 2, 0]])


def in_dask(frame):
    return needs("dask.dataframe").from_pandas(frame, npartitions=2)


def in_anndata(frame):
    """A stand-in of the same name: tables are told apart by it."""
    parts = {"X": sparse.csr_array(frame.to_numpy()), "isbacked": False, "var_names": list(frame.columns)}
    return type("AnnData", (), {**parts, "__module__": "anndata"})()


IN_MEMORY = {
    "pandas": (lambda frame: frame, HELD),
    "polars": (lambda frame: needs("polars").from_pandas(frame), HELD),
    "polars, lazily": (lambda frame: needs("polars").from_pandas(frame).lazy(), HELD),
    "arrow": (pa.Table.from_pandas, HELD),
    "arrow stream": (lambda frame: pa.Table.from_pandas(frame).to_reader(), HELD),
    "dask": (in_dask, HELD),
    "anndata": (in_anndata, HELD),
    "numbered pandas": (lambda frame: frame.set_axis(range(3), axis=1), PLACES),
    "array": (lambda frame: frame.to_numpy(), PLACES),
    "array, places as text": (lambda frame: frame.to_numpy(), {str(at): ends for at, ends in PLACES.items()}),
    "list": (lambda frame: frame.to_numpy().tolist(), PLACES),
    "sparse": (lambda frame: sparse.csr_array(frame.to_numpy()), PLACES),
    "records": (lambda frame: as_records(frame, missing="complete-case"), HELD),
}


def open_noise(X, bounds, **choice):
    schema = Schema.from_arguments(bounds=bounds, **choice)
    return as_records(select_columns(X, schema), missing="complete-case", bounds=schema.bounds)


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_a_table_in_memory_is_clipped_as_it_is_read(kind):
    make, bounds = IN_MEMORY[kind]
    frame = pd.DataFrame(ENTRIES, columns=["a", "b", "c"])
    before = frame.copy()
    records = open_noise(make(frame), bounds)
    np.testing.assert_array_equal(rows_of(records), CLIPPED)
    some = np.array([False, True, True, False, True])
    for part in (records.select_rows(some), records.load_rows(some, 4)):
        np.testing.assert_array_equal(rows_of(part), CLIPPED[some])
        assert part.bounds == records.bounds == Bounds.from_arguments(bounds)
    pd.testing.assert_frame_equal(frame, before)  # the caller's table is never written to


def test_bounds_of_columns_of_a_frame_that_are_not_coordinates_change_nothing():
    frame = pd.DataFrame(ENTRIES, columns=["a", "b", "c"])
    assert open_noise(frame, HELD, exclude=["c"]).bounds == Bounds({"a": (0.0, 10.0)})
    assert open_noise(frame, {"c": (0, 1)}, exclude=["c"]).bounds is None
    rest, _ = split_unit(select_columns(frame, Schema.from_arguments(bounds=HELD), ("b",)), "b")
    np.testing.assert_array_equal(
        rows_of(as_records(rest, missing="complete-case", bounds=Bounds(HELD))), CLIPPED[:, [0, 2]]
    )


@pytest.mark.parametrize(
    ("X", "bounds", "words"),
    [
        (pd.DataFrame(ENTRIES, columns=["age", "b", "c"]), {"agee": (0, 1)}, "Did you mean 'age'"),
        (pd.DataFrame(ENTRIES, columns=["age", "b", "c"]), {0: (0, 1)}, "no column"),
        (ENTRIES, {"age": (0, 1)}, "`bounds` names columns"),
        (ENTRIES, {3: (0, 1)}, "positions from 0 to 2"),
        (sparse.csr_array(ENTRIES), {0: (1, 2)}, "exclude 0"),
    ],
)
def test_bounds_that_do_not_fit_a_table_in_memory(X, bounds, words):
    with pytest.raises(InvalidParameterError, match=words):
        open_noise(X, bounds)


def test_two_declarations_hold_together(tmp_path, table):
    path = store(tmp_path / "t.csv", table[:99])
    once = read_module.read_table(path, bounds={"first": (2.1, 9), "fourth": (99.5, 1e9)})
    twice = once.select(Schema.from_arguments(bounds={"first": (0, 4)}))
    np.testing.assert_array_equal(rows_of(twice), by_hand(table[:99]))
    assert twice.bounds == Bounds({name: (float(low), float(high)) for name, (low, high) in BOUNDS.items()})
    with pytest.raises(InvalidParameterError, match="low below high"):
        once.select(Schema.from_arguments(bounds={"first": (0, 1)}))
