"""Whatever a reader or a conversion of another library raises or warns: none of it reaches a caller.

Every reader x {bytes that are no text, a file cut short, one wrong cell}: the whole chain of the error is ours, and
neither it nor a warning shows the cell.
"""

import gzip
import io
import pickle
import sys
import threading
import warnings
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sparse
from chains import call_quietly, chain, words
from streams import needs, read_keyed_table, store_h5ad

import dimfree
from dimfree.data import read as read_module
from dimfree.data.read_public import read_covariance
from dimfree.data.records import Records
from dimfree.errors import DimfreeError, InvalidDataError, InvalidFileError
from dimfree.noise import SeededNoise

SECRET = "Meier71828"
SECRETS = (SECRET, "71828")
BAD = SECRET.encode() + b"\xff"
ROWS = 40
NUMBERS = np.random.default_rng(5).normal(size=(ROWS, 2)) + 3
LINES = [f"{a},{b}" for a, b in NUMBERS.tolist()]


def lines(cell: bytes, copies: int = 1, between: bytes = b",") -> bytes:
    """A file of text, one of whose cells is this."""
    numbers = "\n".join(LINES * copies).encode()
    return b"a,b\n".replace(b",", between) + (numbers + b"\n1," + cell + b"\n").replace(b",", between)


def objects(cell: bytes) -> bytes:
    rows = "".join(f'{{"a": {a}, "b": {b}}}\n' for a, b in NUMBERS.tolist())
    return rows.encode() + b'{"a": 1, "b": "' + cell + b'"}\n'


def text_column(cell: bytes) -> pa.Array:
    """Text as Arrow keeps it, whatever its bytes."""
    cells = [str(number).encode() for number in NUMBERS[:, 1]]
    return pa.array([*cells[:-1], cell]).view(pa.string())


def arrow(cell: bytes) -> pa.Table:
    return pa.table({"a": NUMBERS[:, 0], "b": text_column(cell)})


def feather(path, table):
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=7)


def parts(path, table):
    path.mkdir()
    pq.write_table(table.slice(0, 20), path / "0.parquet")
    pq.write_table(table.slice(20), path / "1.parquet")


def workbook(path, cell, how="text"):
    openpyxl = needs("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    for row in NUMBERS.tolist():
        book.active.append(row)
    book.active.append([1.0, cell])
    if how == "date":
        book.active.cell(ROWS + 2, 2).number_format = "yyyy-mm-dd"
    book.save(path)


def rezipped(path, change):
    """A workbook whose sheet has other bytes."""
    with zipfile.ZipFile(path) as book:
        inside = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for name, content in inside.items():
            book.writestr(name, change(content) if name.startswith("xl/") else content)


def workbook_of_bytes(path):
    workbook(path, SECRET)
    rezipped(path, lambda content: content.replace(SECRET.encode(), BAD))


def chunked(path, table):
    zarr = needs("zarr")
    array = zarr.create_array(str(path), shape=table.shape, chunks=(7, 2), dtype=table.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array[:] = table


def texts() -> np.ndarray:
    table = NUMBERS.astype(object)
    table[3, 1] = SECRET
    return table


def h5ad(path, names):
    h5py = needs("h5py")
    store_h5ad(path, NUMBERS, names=["a", "b"])
    with h5py.File(path, "a") as file:
        del file["var"]["gene"]
        file["var"].create_dataset("gene", data=np.array(names, dtype=object), dtype=h5py.string_dtype())


def h5ad_of_text(path):
    h5py = needs("h5py")
    store_h5ad(path, NUMBERS, names=["a", "b"])
    with h5py.File(path, "a") as file:
        del file["X"]
        file.create_dataset("X", data=texts().astype(str).astype(object), dtype=h5py.string_dtype())


def h5ad_of_wrong_places(path):
    h5py = needs("h5py")
    with h5py.File(store_h5ad(path, sparse.csr_matrix(NUMBERS), names=["a", "b"]), "a") as file:
        file["X"]["indices"][3] = 71828


def pack_mask(content: bytes) -> bytes:
    return gzip.compress(content)


LARGE_COPIES = 2**20 // sum(len(line) + 1 for line in LINES) + 2  # read by Arrow
WRONG = {  # file name, what is wrong with it -> what writes it
    (".csv", "bytes"): lambda path: path.write_bytes(lines(BAD)),
    (".csv", "cell"): lambda path: path.write_bytes(lines(SECRET.encode())),
    ("large.csv", "bytes"): lambda path: path.write_bytes(lines(BAD, LARGE_COPIES)),
    ("large.csv", "cell"): lambda path: path.write_bytes(lines(SECRET.encode(), LARGE_COPIES)),
    ("large.csv", "line"): lambda path: path.write_bytes(lines(b"2," + SECRET.encode(), LARGE_COPIES)),
    (".csv.gz", "bytes"): lambda path: path.write_bytes(pack_mask(lines(BAD))),
    (".csv.gz", "cell"): lambda path: path.write_bytes(pack_mask(lines(SECRET.encode()))),
    (".tsv", "bytes"): lambda path: path.write_bytes(lines(BAD, between=b"\t")),
    (".tsv", "cell"): lambda path: path.write_bytes(lines(SECRET.encode(), between=b"\t")),
    (".jsonl", "bytes"): lambda path: path.write_bytes(objects(BAD)),
    (".jsonl", "cell"): lambda path: path.write_bytes(objects(SECRET.encode())),
    (".jsonl", "line"): lambda path: path.write_bytes(objects(SECRET.encode() + b'" "')),
    (".xlsx", "bytes"): workbook_of_bytes,
    (".xlsx", "cell"): lambda path: workbook(path, SECRET),
    (".xlsx", "date"): lambda path: workbook(path, 7182871828.0, "date"),
    (".parquet", "bytes"): lambda path: pq.write_table(arrow(BAD), path, row_group_size=7),
    (".parquet", "cell"): lambda path: pq.write_table(arrow(SECRET.encode()), path, row_group_size=7),
    ("parts", "bytes"): lambda path: parts(path, arrow(BAD)),
    ("parts", "cell"): lambda path: parts(path, arrow(SECRET.encode())),
    (".arrow", "bytes"): lambda path: feather(path, arrow(BAD)),
    (".arrow", "cell"): lambda path: feather(path, arrow(SECRET.encode())),
    (".feather", "bytes"): lambda path: feather(path, arrow(BAD)),
    (".npy", "cell"): lambda path: np.save(path, texts(), allow_pickle=True),
    (".npy", "bytes"): lambda path: np.save(path, np.array([[b"1", BAD]])),
    (".npz", "cell"): lambda path: np.savez(path, X=texts()),
    (".npz", "bytes"): lambda path: np.savez(path, X=np.array([[b"1", BAD]])),
    (".zarr", "cell"): lambda path: chunked(path, texts().astype("U32")),
    (".h5ad", "bytes"): lambda path: h5ad(path, [b"a", BAD]),
    (".h5ad", "cell"): h5ad_of_text,
    (".h5ad", "places"): h5ad_of_wrong_places,
}
RIGHT = {  # to be cut short
    ".csv.gz": lambda path: path.write_bytes(pack_mask(lines(b"2.5", 100))),
    ".jsonl.gz": lambda path: path.write_bytes(pack_mask(objects(b"2.5") * 100)),
    ".xlsx": lambda path: workbook(path, 7182.8),
    ".parquet": lambda path: pq.write_table(arrow(b"7182.8"), path, row_group_size=7),
    ".arrow": lambda path: feather(path, arrow(b"7182.8")),
    ".feather": lambda path: feather(path, arrow(b"7182.8")),
    ".npy": lambda path: np.save(path, NUMBERS),
    ".npz": lambda path: np.savez_compressed(path, X=NUMBERS),
    ".h5ad": lambda path: store_h5ad(path, NUMBERS, names=["a", "b"]),
    "parts": lambda path: parts(path, arrow(b"7182.8")),
    ".zarr": lambda path: chunked(path, NUMBERS),
}


def file_in(folder, name):
    return folder / (name if not name.startswith(".") else f"t{name}")


def release(X, **options):
    wanted = {"covariance": np.ones(2)} | options
    return dimfree.release_mean(X, epsilon=4, delta=1e-6, **wanted, noise=SeededNoise(1))


def read_and_release(path, **how):
    return release(dimfree.read_table(path, **how))


def passes(path):
    """Every pass over the rows, and over the keys."""
    return [
        lambda: read_and_release(path),
        lambda: list(dimfree.read_table(path).blocks(5)),
        lambda: read_keyed_table(path, ["b"]),
        lambda: release(dimfree.read_table(path), missing="complete-case"),
        lambda: read_covariance(path),
    ]


@pytest.fixture(params=[0, 2**28], ids=["streamed", "loaded"])
def way(request, monkeypatch):
    monkeypatch.setattr(read_module, "LARGE", request.param)


@pytest.mark.parametrize(("name", "damage"), WRONG, ids=[f"{name}-{what}" for name, what in WRONG])
def test_a_wrong_cell_in_a_file(tmp_path, way, name, damage):
    path = file_in(tmp_path, name)
    WRONG[name, damage](path)
    for action in passes(path):
        call_quietly(action, *SECRETS)
    assert isinstance(call_quietly(lambda: read_and_release(path), *SECRETS), InvalidFileError)


@pytest.mark.parametrize(("name", "damage"), WRONG, ids=[f"{name}-{what}" for name, what in WRONG])
def test_a_wrong_cell_in_a_file_that_workers_read(tmp_path, name, damage):
    needs("dask")
    path = file_in(tmp_path, name)
    WRONG[name, damage](path)
    found = call_quietly(lambda: read_and_release(path, workers=2), *SECRETS)
    assert isinstance(found, DimfreeError)


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("share", [0.97, 0.5, 0.02])
def test_a_file_that_is_cut_short(tmp_path, way, name, share):
    path = file_in(tmp_path, name)
    RIGHT[name](path)
    for file in [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]:
        file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])
    for action in passes(path):
        call_quietly(action, *SECRETS)
    assert isinstance(call_quietly(lambda: read_and_release(path)), InvalidFileError)


@pytest.mark.parametrize(
    "content",
    [lines(BAD), lines(SECRET.encode()), pack_mask(lines(BAD))[:60]],
    ids=["bad bytes", "a word", "cut short"],
)
@pytest.mark.parametrize("place", ["standard input", "address"])
def test_a_table_from_elsewhere(monkeypatch, content, place):
    if place == "address":
        with needs("fsspec").open("memory://bucket/wrong.csv", "wb") as file:
            file.write(content)
    else:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    path = "-" if place == "standard input" else "memory://bucket/wrong.csv"
    assert isinstance(call_quietly(lambda: read_and_release(path), *SECRETS), InvalidFileError)


def test_a_pipe_that_breaks(monkeypatch):
    class Broken(io.BytesIO):
        def isatty(self):
            return False

        @property
        def buffer(self):
            return self

        def read(self, *_):
            raise OSError(f"after {SECRET}")

    monkeypatch.setattr(sys, "stdin", Broken())
    assert isinstance(call_quietly(lambda: dimfree.read_table("-"), *SECRETS), InvalidFileError)


class Shouting:
    """An entry that quotes itself, whatever is asked of it; and a handler that raises on top."""

    def raises(self, *_, **__):
        try:
            raise KeyError(SECRET)
        except KeyError as error:
            error.add_note(SECRET)
            warnings.warn(SECRET, stacklevel=1)
            raise RuntimeError(SECRET) from error

    __float__ = __array__ = __len__ = __iter__ = __eq__ = __hash__ = __bool__ = __str__ = __repr__ = raises


class Murmuring:
    """An entry that warns."""

    def __float__(self):
        warnings.warn(f"{SECRET} is read", stacklevel=1)
        return 1.0

    def __array__(self, *_, **__):
        warnings.warn(f"{SECRET} is read", stacklevel=1)
        return np.array(1.0)


class ArrowStream:
    def __init__(self, table, fails=False):
        self._table, self._fails = table, fails

    def __arrow_c_stream__(self, requested_schema=None):
        def batches():
            yield from self._table.to_batches()
            if self._fails:
                raise ValueError(SECRET)

        return pa.RecordBatchReader.from_batches(self._table.schema, batches()).__arrow_c_stream__(requested_schema)


def lazy(expression):
    polars = needs("polars")
    frame = polars.DataFrame({"a": NUMBERS[:, 0], "b": [*map(str, NUMBERS[:-1, 1]), SECRET]}).lazy()
    return frame.with_columns(expression(polars))


def relation():
    duckdb = needs("duckdb")
    seen = pa.table({"a": NUMBERS[:, 0], "b": [*map(str, NUMBERS[:-1, 1]), SECRET]})  # noqa: F841 - found by its name
    return duckdb.sql("select a, b::double as b from seen")


def dask_frame(broken):
    frame = pd.DataFrame({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1]})

    def spoil(part):
        if broken == "raises":
            raise ValueError(SECRET) from KeyError(SECRET)
        warnings.warn(SECRET, stacklevel=1)
        return part.assign(b=SECRET) if broken == "text" else part

    return needs("dask.dataframe").from_pandas(frame, npartitions=3).map_partitions(spoil, meta=frame.iloc[:0])


def dask_array():
    def spoil(block):
        raise ValueError(SECRET)

    return needs("dask.array").from_array(NUMBERS, chunks=(7, 2)).map_blocks(spoil, dtype=float)


def with_entry(entry):
    table = NUMBERS.astype(object)
    table[3, 1] = entry
    return table


def foreign_column():
    """A column of an extension of pandas whose conversion raises."""

    class Column(pd.arrays.FloatingArray):
        def to_numpy(self, *_, **__):
            raise ValueError(SECRET) from KeyError(SECRET)

    numbers = Column(NUMBERS[:, 1].copy(), np.zeros(ROWS, dtype=bool))
    return pd.DataFrame({"a": NUMBERS[:, 0], "b": pd.Series(numbers)})


def names_of_bytes():
    """Arrow takes any bytes for the name of a column."""
    schema = pa.schema([pa.field("a", pa.float64()), pa.field(BAD, pa.float64())])
    return pa.Table.from_arrays([pa.array(NUMBERS[:, 0]), pa.array(NUMBERS[:, 1])], schema=schema)


IN_MEMORY = {
    "objects": lambda: with_entry(Shouting()),
    "an entry that warns": lambda: with_entry(Murmuring()),
    "bytes": lambda: with_entry(BAD),
    "text": lambda: with_entry(SECRET).astype(str),
    "list": lambda: with_entry(Shouting()).tolist(),
    "list of lists": lambda: [*NUMBERS.tolist(), [1.0, SECRET]],
    "ragged list": lambda: [*NUMBERS.tolist(), [71828.0]],
    "masked rows": lambda: [np.ma.array(row, mask=[False, row[1] > 3]) for row in NUMBERS],
    "pandas objects": lambda: pd.DataFrame(with_entry(Shouting()), columns=["a", "b"]),
    "pandas text": lambda: pd.DataFrame({"a": NUMBERS[:, 0], "b": [*map(str, NUMBERS[:-1, 1]), SECRET]}),
    "pandas, Arrow text": lambda: arrow(BAD).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, a foreign column": foreign_column,
    "Arrow text": lambda: arrow(BAD),
    "Arrow names": names_of_bytes,
    "Arrow batch": lambda: arrow(BAD).to_batches()[0],
    "Arrow stream": lambda: ArrowStream(arrow(BAD)),
    "Arrow stream that breaks": lambda: ArrowStream(arrow(b"1.5"), fails=True),
    "polars objects": lambda: needs("polars").DataFrame(
        {"a": NUMBERS[:, 0], "b": needs("polars").Series([*NUMBERS[:-1, 1], Murmuring()], dtype=needs("polars").Object)}
    ),
    "polars query": lambda: lazy(lambda polars: polars.col("b").cast(polars.Float64)),
    "polars function": lambda: lazy(
        lambda polars: polars.col("b").map_elements(lambda entry: float(entry), return_dtype=polars.Float64)
    ),
    "DuckDB": relation,
    "dask that raises": lambda: dask_frame("raises"),
    "dask with other types": lambda: dask_frame("text"),
    "dask that warns": lambda: dask_frame("warns"),
    "dask array": dask_array,
}


def made(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library, about how the test makes the table
        return IN_MEMORY[name]()


@pytest.mark.parametrize("missing", ["raise", "complete-case"])
@pytest.mark.parametrize("name", IN_MEMORY)
def test_a_wrong_entry_in_memory(name, missing):
    X, again = made(name), made(name)
    found = call_quietly(lambda: release(X, missing=missing), *SECRETS)
    assert isinstance(found, DimfreeError | dimfree.Release)
    call_quietly(lambda: release(again, missing=missing, exclude=["a"], covariance=[1.0]), *SECRETS)


@pytest.mark.parametrize("missing", ["raise", "complete-case"])
@pytest.mark.parametrize("name", IN_MEMORY)
def test_a_wrong_entry_among_the_keys(name, missing):
    given = {"epsilon": 4, "delta": 1e-6, "noise": SeededNoise(1), "missing": missing, "covariance": np.ones(2)}
    one = given | {"covariance": [1.0]}
    groups = {"groups": ["v", "w"]}
    for call in (
        lambda X: dimfree.release_mean(X, privacy_unit="b", **one),
        lambda X: dimfree.release_mean(NUMBERS, privacy_unit=X, **given),
        lambda X: dimfree.release_group_means(X, by="b", **groups, **one),
        lambda X: dimfree.release_group_means(NUMBERS, by=X, **groups, **given),
    ):
        X = made(name)
        call_quietly(lambda call=call, X=X: call(X), *SECRETS)


@pytest.mark.parametrize("missing", ["raise", "complete-case"])
@pytest.mark.parametrize("name", IN_MEMORY)
def test_a_wrong_entry_for_the_estimator(name, missing):
    needs("sklearn")
    X, given = made(name), {"epsilon": 4, "delta": 1e-6, "covariance": np.ones(2), "missing": missing}
    call_quietly(lambda: dimfree.PrivateMean(**given, noise=SeededNoise(1)).fit(X), *SECRETS)


def test_the_estimator_takes_a_dask_frame():
    """It asked for the length that such a frame does not know."""
    needs("sklearn")
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(900, 2)), columns=["a", "b"])
    tables = (frame, needs("dask.dataframe").from_pandas(frame, npartitions=3))
    given = {"epsilon": 4, "delta": 1e-6, "covariance": np.ones(2)}
    one, other = (dimfree.PrivateMean(**given, noise=SeededNoise(1)).fit(table).location_ for table in tables)
    np.testing.assert_array_equal(one, other)


def as_pandas(table):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


@pytest.mark.parametrize(
    ("kind", "whole"),
    [
        (pa.string(), pa.table),
        (pa.large_string(), pa.table),
        (pa.string_view(), pa.table),
        (pa.string(), as_pandas),
        (pa.large_string(), as_pandas),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_text_that_is_not_utf8_is_one_missing_entry(kind, whole):
    """Beside it the others count: the release is that of a table with a null in its place."""
    bad = arrow(BAD)
    column = pa.chunked_array([bad["b"].chunk(0).cast(kind)]) if kind != pa.string() else bad["b"]
    table = whole(bad.set_column(1, "b", column))
    null = arrow(b"").set_column(1, "b", pa.array([*text_column(b"")[:-1].to_pylist(), None], kind))
    one, other = (release(each, missing="complete-case") for each in (table, null))
    assert one.to_json() == other.to_json()


def test_bytes_beside_text_in_polars_are_one_entry():
    """polars makes bytes of the whole column; one of them must not decide between an error and a release."""
    polars = needs("polars")
    numbers = [str(number) for number in NUMBERS[:, 1].tolist()]
    one, other = (
        polars.DataFrame({"a": NUMBERS[:, 0], "b": polars.Series([*numbers[:-1], last], strict=False)})
        for last in (b"\xff", None)
    )
    assert (one["b"].dtype, other["b"].dtype) == (polars.Binary, polars.String)
    assert release(one, missing="complete-case").to_json() == release(other, missing="complete-case").to_json()


def test_a_key_that_is_not_utf8_is_one_missing_key():
    keys = pa.array([b"v", b"w"] * (ROWS // 2 - 1) + [b"v", BAD]).view(pa.string())
    null = pa.array(["v", "w"] * (ROWS // 2 - 1) + ["v", None])
    for asked in ({"privacy_unit": "who"}, {"by": "who", "groups": ["v", "w"]}):
        found = []
        for column in (keys, null):
            table = pa.table({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1], "who": column})
            call = dimfree.release_mean if "privacy_unit" in asked else dimfree.release_group_means
            given = {"epsilon": 4, "delta": 1e-6, "covariance": np.ones(2), "missing": "complete-case"}
            found.append(call(table, **asked, **given, noise=SeededNoise(1)).to_json())
        assert found[0] == found[1]
    assert isinstance(
        call_quietly(lambda: release(table.set_column(2, "who", keys), privacy_unit="who")), InvalidDataError
    )


def test_a_date_beyond_the_calendar_in_a_workbook_is_a_cell_that_is_not_a_number(tmp_path):
    """openpyxl warns of it; where warnings are errors, the file is not damaged."""
    workbook(tmp_path / "t.xlsx", 7182871828.0, "date")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidFileError, match="column 'b'"):
            dimfree.read_table(tmp_path / "t.xlsx")


def boundary():
    from dimfree.data.boundary import boundary

    return boundary(lambda error: InvalidDataError("The table cannot be read."))


def raise_in_a_chain(error):
    try:
        raise KeyError(SECRET)
    except KeyError:
        raise error from OSError(SECRET)


def test_an_error_leaves_alone():
    for raised in (ValueError(SECRET), ExceptionGroup(SECRET, [ValueError(SECRET)]), InvalidDataError("ours")):
        raised.add_note(SECRET)
        with pytest.raises(InvalidDataError) as caught, boundary():
            raise_in_a_chain(raised)
        assert [type(each) for each in chain(caught.value)] == [InvalidDataError]
        assert SECRET not in words(caught.value)


def test_a_panic_of_rust_is_an_error():
    panic = type("PanicException", (BaseException,), {})
    with pytest.raises(InvalidDataError), boundary():
        raise panic(SECRET)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_passes_and_takes_nothing_along(kind):
    with pytest.raises(kind) as caught, boundary():
        raise_in_a_chain(kind())
    assert len(list(chain(caught.value))) == 1


def test_the_memory_error_of_another_library_says_nothing():
    with pytest.raises(dimfree.errors.OutOfMemoryError) as caught, boundary():
        raise MemoryError(f"{ROWS} rows")
    assert [str(ROWS) in words(each) for each in chain(caught.value)] == [False]


def test_no_warning_while_any_thread_reads_and_all_of_them_afterwards():
    """Threads that come and go in another order than stacks do."""
    inside, leave = threading.Event(), threading.Event()

    def reader():
        with boundary():
            inside.set()
            leave.wait(10)
            warnings.warn(SECRET, stacklevel=1)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        filters = list(warnings.filters)
        other = threading.Thread(target=reader)
        with boundary():
            other.start()
            assert inside.wait(10)
        leave.set()
        other.join()
        assert not caught
        assert list(warnings.filters) == filters
        warnings.warn("of somebody else", stacklevel=1)
        assert len(caught) == 1


def test_a_caller_that_leaves_a_pass_has_its_warnings(tmp_path):
    """Between two blocks nothing is kept quiet."""
    np.save(tmp_path / "t.npy", NUMBERS)
    stream = read_module.NpyStream(read_module.File(tmp_path / "t.npy"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        blocks = Records(stream, None).blocks(5)
        next(blocks)
        warnings.warn("of somebody else", stacklevel=1)
        assert len(caught) == 1


def test_floating_point_errors_that_a_caller_asks_for_do_not_depend_on_a_record(tmp_path):
    table = pa.table({"a": pa.array(NUMBERS[:, 0]), "b": pa.array(np.full(ROWS, 1e300))})
    pq.write_table(table, tmp_path / "t.parquet")
    with np.errstate(all="raise"):
        assert isinstance(call_quietly(lambda: read_and_release(tmp_path / "t.parquet")), dimfree.Release)


def test_the_walk_sees_what_hangs_in_a_chain():
    """Otherwise the matrix would pass whatever is raised."""

    def hidden():
        try:
            raise ValueError(SECRET)
        except ValueError:
            raise InvalidFileError("one sentence") from None

    def note_outcome():
        error = InvalidFileError("one sentence")
        error.add_note(SECRET)
        raise error

    for call in (hidden, note_outcome, lambda: warnings.warn(SECRET, stacklevel=1)):
        with pytest.raises(AssertionError):
            call_quietly(call, *SECRETS)


def test_errors_travel_between_processes_alone():
    with pytest.raises(InvalidDataError) as caught, boundary():
        raise ValueError(SECRET)
    assert SECRET.encode() not in pickle.dumps(caught.value)
