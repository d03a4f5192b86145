"""Columns are taken by their exact names: no library may read a name as a pattern, a path or a mask."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from streams import needs

import dimfree
from dimfree.data.formats import arrow_files as parquet
from dimfree.data.people.labels import split_groups
from dimfree.data.people.person_records import split_unit
from dimfree.data.read import open_table
from dimfree.data.records import as_records
from dimfree.data.schema import Schema
from dimfree.data.tables import select_columns
from dimfree.errors import InvalidFileError, InvalidParameterError

PATTERNS = ("*", "^s.*$", "^.*$", "a*", "a.b", "('age',)", "-age", "!age", "age:size", "age, size", '"age"', "`age`")
NAMES = ("age", *PATTERNS, "secret", "size")
ROWS = 3


def number_of(name):
    """Every column holds one number of its own, so that another one taken in its place shows."""
    return float(NAMES.index(name))


def frame():
    return pd.DataFrame({name: np.full(ROWS, number_of(name)) for name in NAMES})


def arrow():
    return pa.Table.from_pandas(frame())


def relation():
    seen = arrow()  # noqa: F841 - DuckDB finds it by its name
    return needs("duckdb").sql("select * from seen")


LIBRARIES = {
    "pandas": frame,
    "polars": lambda: needs("polars").from_arrow(arrow()),
    "polars, lazily": lambda: needs("polars").from_arrow(arrow()).lazy(),
    "pyarrow": arrow,
    "pyarrow batch": lambda: arrow().combine_chunks().to_batches()[0],
    "duckdb": relation,
    "dask": lambda: needs("dask.dataframe").from_pandas(frame(), npartitions=2),
}


def predict_bias(table):
    """The names of the coordinates, and the numbers of the columns that are under them."""
    records = as_records(table)
    rows = np.concatenate([block for block, _ in records.blocks()])
    assert (rows == rows[0]).all()
    return records.columns, [NAMES[int(number)] for number in rows[0]]


@pytest.fixture(params=LIBRARIES)
def table(request):
    return LIBRARIES[request.param]()


@pytest.mark.parametrize("name", PATTERNS)
def test_listed(table, name):
    assert predict_bias(select_columns(table, Schema.from_arguments(columns=["size", name]))) == (
        (name, "size"),
        [name, "size"],
    )


@pytest.mark.parametrize("name", PATTERNS)
def test_left_out(table, name):
    left = [each for each in NAMES if each not in (name, "secret")]
    assert predict_bias(select_columns(table, Schema.from_arguments(exclude=["secret", name]))) == (tuple(left), left)


@pytest.mark.parametrize("name", PATTERNS)
def test_keys(table, name, request):
    if "dask" in request.node.callspec.id:
        pytest.skip("keys of a Dask DataFrame are passed apart")
    chosen, left = select_columns(table, Schema()), [each for each in NAMES if each != name]
    rest, persons = split_unit(chosen, name)
    assert predict_bias(rest) == (tuple(left), left)
    assert persons.persons.tolist() == [0] * ROWS
    rest, groups, _ = split_groups(chosen, name, (int(number_of(name)), 99))
    assert predict_bias(rest) == (tuple(left), left)
    assert groups.tolist() == [0] * ROWS
    kept = select_columns(table, Schema.from_arguments(columns=["size"]), (name,))
    assert predict_bias(split_unit(kept, name)[0]) == (("size",), ["size"])


def test_repeated_names_that_are_not_asked_for():
    repeated = pd.DataFrame([[1.0, 2.0, 3.0, 4.0]] * ROWS, columns=["a", "secret", "a", "b"])
    left = as_records(select_columns(repeated, Schema.from_arguments(exclude=["secret"])))
    assert left.columns == ("a", "a", "b")
    assert left._source.table.tolist() == [[1.0, 3.0, 4.0]] * ROWS
    for choice in ({"columns": ["a"]}, {"exclude": ["a"]}):
        with pytest.raises(InvalidParameterError, match="more than one column named 'a'"):
            select_columns(repeated, Schema.from_arguments(**choice))
    with pytest.raises(InvalidParameterError, match="more than one column"):
        split_unit(repeated, "a")
    rest, _ = split_unit(repeated, "secret")
    assert as_records(rest)._source.table.tolist() == [[1.0, 3.0, 4.0]] * ROWS


def test_labels_that_dask_cannot_tell_apart():
    table = needs("dask.dataframe").from_pandas(
        pd.DataFrame([[1.0, 2.0, 3.0, 4.0]] * ROWS, columns=["a", "b", "c", "d"]), npartitions=1
    )
    for labels, choice in (
        (["a", "secret", "a", "b"], {"exclude": ["secret"]}),
        (["a", True, False, "b"], {"columns": ["True", "False"]}),
    ):
        table.columns = labels
        with pytest.raises(InvalidParameterError, match="distinct text names"):
            select_columns(table, Schema.from_arguments(**choice))


@pytest.mark.parametrize(
    "labels", [["age", True, False, "size"], ["age", 1, 2, "size"], ["age", ("b", 1), 2.5, "size"]]
)
@pytest.mark.parametrize("library", ["pandas", "dask"])
def test_labels_that_are_no_text(labels, library):
    table = pd.DataFrame([[1.0, 2.0, 3.0, 4.0]] * ROWS)
    table.columns = pd.Index(labels, dtype=object, tupleize_cols=False)
    if library == "dask":
        table = needs("dask.dataframe").from_pandas(table, npartitions=1)
    kept = as_records(select_columns(table, Schema.from_arguments(columns=[str(labels[1]), "size"])))
    assert kept.columns == (str(labels[1]), "size")
    assert np.concatenate([block for block, _ in kept.blocks()]).tolist() == [[2.0, 4.0]] * ROWS


class Pair(pa.ExtensionType):
    """One column to Arrow, two to Parquet, as GeoArrow stores points."""

    def __init__(self):
        super().__init__(pa.struct([("x", pa.float64()), ("y", pa.float64())]), "dimfree.tests.pair")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls()


@pytest.fixture
def pair():
    kind = Pair()
    pa.register_extension_type(kind)
    yield kind
    pa.unregister_extension_type(kind.extension_name)


def nested(first):
    """Columns that Parquet counts as several, before others whose names are paths into them."""
    columns = {"a": first, "a.x": [1.0] * ROWS, "x": [2.0] * ROWS, "secret": [3.0] * ROWS, "size": [4.0] * ROWS}
    return pa.table(columns)


@pytest.mark.parametrize("narrow", [128, 0])
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize("first", ["struct", "list of structs", "map", "extension"])
def test_names_that_are_paths_into_nested_columns(tmp_path, monkeypatch, pair, first, ending, large, narrow):
    monkeypatch.setattr(parquet, "NARROW", narrow)
    if large:
        monkeypatch.setattr("dimfree.data.read.LARGE", 0)
    structs = pa.array([{"x": 7.0, "y": 8.0}] * ROWS, pair.storage_type)
    table = nested(
        {
            "struct": structs,
            "list of structs": pa.array([[{"x": 7.0, "y": 8.0}]] * ROWS, pa.list_(pair.storage_type)),
            "map": pa.array([[("x", 7.0)]] * ROWS, pa.map_(pa.string(), pa.float64())),
            "extension": pa.ExtensionArray.from_storage(pair, structs),
        }[first]
    )
    path = tmp_path / f"t{ending}"
    if ending == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    for names, numbers in ((["a.x"], [1.0]), (["x", "size"], [2.0, 4.0])):
        records, [keys], _ = open_table(path, Schema(keys=("secret",), columns=tuple(names)))
        assert records.columns == tuple(names)
        assert np.concatenate([block for block, _ in records.blocks()]).tolist() == [numbers] * ROWS
        assert keys.to_pylist() == [3.0] * ROWS


def test_a_nested_column_whose_parts_cannot_be_counted(tmp_path, monkeypatch):
    """Columns after it would be read from the wrong place."""
    pq.write_table(nested(pa.array([{"x": 7.0, "y": 8.0}] * ROWS)), tmp_path / "t.parquet")
    monkeypatch.setattr("dimfree.data.formats.arrow_files._leaf_count", lambda type_: 1)
    with pytest.raises(InvalidFileError, match="nested column of an unknown type"):
        dimfree.read_table(tmp_path / "t.parquet", columns=["size"])
