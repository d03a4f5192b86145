"""Tables that are no arrays of numbers: one odd entry spoils its own row and changes nothing else, nor does it warn."""

import io
import traceback
import tracemalloc
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streams import needs

import dimfree
from dimfree.data.entries import parse_floats
from dimfree.data.records import open_records
from dimfree.errors import InvalidDataError
from dimfree.noise import SeededNoise

SECRET = 271828.25
NAMES = ["a", "b"]
PLAIN = [[0.1, 2.0], [3.0, -4.5], [1e300, 5e-324]]
ODD = {
    "none": None,
    "nan": float("nan"),
    "text": "ICU",
    "long text": "x" * 5000,
    "bytes": b"\xff",
    "complex": 1j,
    "beyond floats": 10**400,
    "decimal": Decimal("sNaN"),
    "masked": np.ma.masked,
    "date": np.datetime64("2020-01-01"),
    "span": np.timedelta64(1, "s"),
    "missing": pd.NA,
    "no time": pd.NaT,
    "list": [1.0],
    "dict": {"secret": SECRET},
    "object": object(),
}


@pytest.fixture(autouse=True)
def strict():
    """As a caller may have set it: every warning and every floating-point event is an exception."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        yield


def open_noise(X):
    """All entries that count, and which rows are valid, under the rule that is inside the guarantee."""
    blocks = list(open_records(X, missing="complete-case").blocks())
    return np.concatenate([values for values, _ in blocks]), np.concatenate([valid for _, valid in blocks]).tolist()


def series(column):
    return pd.Series(column, dtype=object).infer_objects()


MAKERS = {
    "lists": lambda rows: rows,
    "tuples": lambda rows: tuple(map(tuple, rows)),
    "objects": lambda rows: _objects(rows),
    "pandas": lambda rows: pd.DataFrame({name: series([row[at] for row in rows]) for at, name in enumerate(NAMES)}),
    "polars": lambda rows: needs("polars").DataFrame(
        [needs("polars").Series(name, [row[at] for row in rows], dtype=needs("polars").Object)
         for at, name in enumerate(NAMES)]
    ),
}  # fmt: skip


def _objects(rows):
    array = np.empty((len(rows), 2), dtype=object)
    for at, row in enumerate(rows):
        array[at, 0], array[at, 1] = row
    return array


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_odd_entry_spoils_its_own_row_alone(make):
    for name, odd in ODD.items():
        values, valid = open_noise(make([*PLAIN, [odd, 1.0]]))
        assert values[:3].tobytes() == np.array(PLAIN).tobytes(), name
        assert valid == [True, True, True, False], name


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_under_the_other_rule_it_is_an_error_that_quotes_nothing(make):
    for name, odd in ODD.items():
        with pytest.raises(InvalidDataError) as caught:
            open_records(make([*PLAIN, [odd, SECRET]]))
        assert "271828" not in "".join(traceback.format_exception(caught.value)), name


@pytest.mark.parametrize(
    ("entry", "number"),
    [
        (True, 1.0),
        (np.True_, 1.0),
        (np.array(2.5), 2.5),
        (np.ma.array(3), 3.0),
        ("2.5", 2.5),
        (b" 7 ", 7.0),
        (Decimal("0.1"), 0.1),
        (Fraction(1, 4), 0.25),
        (2**70, 2.0**70),
    ],
)
def test_other_kinds_of_numbers_and_text_are_numbers(entry, number):
    assert parse_floats([entry, complex(number), np.float32(0.5)]).tolist() == [number, number, 0.5]
    assert open_noise([[entry, 1.0]])[0].tolist() == [[number, 1.0]]


@pytest.mark.parametrize("make", [MAKERS["lists"], MAKERS["objects"], pd.DataFrame])
@pytest.mark.parametrize("number", [np.True_, np.float32(0.1), np.array(0.1), np.array(7), np.ma.array(0.1)])
def test_no_entry_changes_what_the_numbers_of_others_are(make, number):
    """NumPy reads these as numbers where all entries are, and keeps them as objects beside one that is none."""
    for name, odd in {"number": 1.0, **ODD}.items():
        values, valid = open_noise(make([[number, 2.0], [odd, 1.0]]))
        assert values[0].tolist() == [float(number), 2.0], name
        assert valid[0], name


def read_with_pandas(text):
    return pd.read_csv(io.StringIO(text))


def read_with_arrow(text):
    return pyarrow.csv.read_csv(io.BytesIO(text.encode()))


def read_with_polars(text):
    return needs("polars").read_csv(io.StringIO(text))


@pytest.mark.parametrize("read", [read_with_pandas, read_with_arrow, read_with_polars])
@given(
    rows=st.lists(st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 2), min_size=1, max_size=5),
    odd=st.sampled_from(["ICU", "1;2", "?", "-"]),
)
def test_one_cell_that_makes_text_of_a_column(read, rows, odd):
    """The reader decides the type of a column by all its cells."""
    lines = "a,b\n" + "".join(f"{first!r},{second!r}\n" for first, second in rows)
    values, valid = open_noise(read(f"{lines}{odd},1\n"))
    np.testing.assert_array_equal(values[:-1], rows)
    assert valid == [True] * len(rows) + [False]


@pytest.mark.parametrize("read", [read_with_pandas, read_with_arrow, read_with_polars])
def test_one_cell_that_makes_text_of_a_column_of_truth(read):
    """Without the last line the reader sees truth, which are numbers; with it, words."""
    lines = "a,b\n" + ("true,1\nfalse,2\n" if read is read_with_polars else "True,1\nFalse,2\n")
    assert open_noise(read(lines))[0].tolist() == [[1, 1], [0, 2]]
    values, valid = open_noise(read(f"{lines}maybe,3\n"))
    assert values.tolist() == [[1, 1], [0, 2], [0, 0]]
    assert valid == [True, True, False]


@pytest.mark.parametrize("odd", [b"ICU", b"\xff", b"\xed\xa0\x80"])
def test_one_cell_that_makes_text_or_bytes_of_a_column(odd):
    """Arrow makes bytes of a column with a cell that is no UTF-8, and reads hexadecimal numbers elsewhere."""
    lines = b"a,b\n0x10,1\n-2,2\n0xFFFFFFFFFFFFFFFF,3\n"
    expected = [[16, 1], [-2, 2], [-1, 3]]
    assert open_noise(pyarrow.csv.read_csv(io.BytesIO(lines)))[0].tolist() == expected
    values, valid = open_noise(pyarrow.csv.read_csv(io.BytesIO(lines + odd + b",4\n")))
    assert values.tolist() == [*expected, [0, 0]]
    assert valid == [True, True, True, False]


PRICES = [Decimal(cents) / 100 for cents in range(1, 2000)] + [Decimal("123456.78"), Decimal(2**53 + 1), Decimal(0)]
WIDE = {  # what decides on the scale of a whole column
    "a fraction": Decimal("1E-20"),
    "many digits": Decimal("1" * 22),
    "both": Decimal("1" * 16 + "." + "1" * 20),
}


def parquet_of(table, folder):
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    return dimfree.read_table(folder / "t.parquet")


DECIMALS = {
    "Arrow": lambda entries, folder: pa.table({"a": pa.array(entries)}),
    "256 bits": lambda entries, folder: pa.table({"a": pa.array(entries, pa.decimal256(76, 30))}),
    "lists": lambda entries, folder: pa.table({"a": pa.array([[entry] for entry in entries]).cast(one_each(entries))}),
    "parquet": lambda entries, folder: parquet_of(pa.table({"a": pa.array(entries)}), folder),
    "pandas": lambda entries, folder: pd.DataFrame({"a": entries}),
    "pandas of Arrow": lambda entries, folder: pd.DataFrame({"a": pd.array(entries, arrow_of(entries))}),
    "pandas of mixed types": lambda entries, folder: pd.DataFrame({"a": pd.array(entries, arrow_of(entries)), "b": 1}),
    "polars": lambda entries, folder: needs("polars").DataFrame({"a": entries}),
    "polars of mixed types": lambda entries, folder: needs("polars").DataFrame({"a": [7, *entries[1:]]}, strict=False),
    "duckdb": lambda entries, folder: relation(pa.table({"a": pa.array(entries)})),
}


def one_each(entries):
    return pa.list_(pa.array(entries).type, 1)


def arrow_of(entries):
    return pd.ArrowDtype(pa.array(entries).type)


def relation(seen):
    return needs("duckdb").sql("select * from seen")


@pytest.mark.parametrize("kind", DECIMALS)
@pytest.mark.parametrize("wide", WIDE)
def test_one_decimal_with_many_digits_changes_no_other(kind, wide, tmp_path):
    """The library writes all of them with one scale; each is rounded to the nearest float by itself."""
    entries = [Decimal(7), *PRICES, WIDE[wide]]
    if kind == "duckdb" and wide == "both":
        entries[-1] = Decimal("1" * 16 + "." + "1" * 15)
    before, after = (open_noise(DECIMALS[kind](column, tmp_path))[0][:, 0] for column in (entries[:-1], entries))
    assert after.tolist() == [float(entry) for entry in entries]
    assert before.tobytes() == after[:-1].tobytes()


def test_a_column_of_missing_entries_is_one_of_numbers():
    polars = needs("polars")
    for frame in (pa.table({"a": [1.0], "b": pa.nulls(1)}), polars.DataFrame({"a": [1.0], "b": [None]})):
        assert open_noise(frame)[1] == [False]


def test_a_release_goes_on_as_if_the_entry_were_missing():
    table = np.random.default_rng(1).normal(size=(400, 2)).tolist()
    budget = {"epsilon": 4.0, "delta": 1e-6, "covariance": np.ones(2), "missing": "complete-case"}
    missing = dimfree.release_mean([*table, [None, 1.0]], noise=SeededNoise(1), **budget)
    for odd in ("ICU", 1j, [2.0], object()):
        assert dimfree.release_mean([*table, [odd, 1.0]], noise=SeededNoise(1), **budget) == missing
    assert not missing.refused


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "longdouble", "i1", "i8", "u8", "?", "O", "U8", "S8", "c16"])
def test_what_lies_behind_a_mask_is_missing(dtype):
    hidden = {"mask": [[0, 0], [1, 0]]}
    for behind, more in ((0, {}), (1, {}), (0, {"fill_value": 1}), (1, {"fill_value": 1})):
        values, valid = open_noise(np.ma.array(np.array([[1, 1], [behind, 1]]).astype(dtype), **hidden, **more))
        assert values.tolist() == [[1, 1], [0, 0]]
        assert valid == [True, False]


def test_masks_of_rows_in_a_list_count():
    rows = [np.ma.array([1.0, 2.0], mask=[False, False]), np.ma.array([3.0, 4.0], mask=[False, True])]
    assert open_noise(rows)[1] == [True, False]


def test_a_row_with_a_mask_keeps_its_bits_beside_text():
    """NumPy makes text of all masked rows together, and text of a narrow number is another number."""
    narrow = np.ma.array(np.array([0.1, 2.0], dtype="f4"), mask=[False, False])
    for odd in ODD.values():
        values, valid = open_noise([narrow, [odd, 1.0], [1 + 0j, 5]])
        assert values.tolist() == [[float(np.float32(0.1)), 2.0], [0, 0], [1, 5]]
        assert valid == [True, False, True]


def test_an_infinite_number_behind_a_mask_warns_of_nothing():
    data = np.array([[np.inf, 1e308], [np.nan, 1.0]])
    assert open_noise(np.ma.array(data, mask=~np.isfinite(data)))[1] == [False, False]


def without_rows():
    polars = needs("polars")
    return {
        "array": np.empty((0, 2)),
        "objects": np.empty((0, 2), dtype=object),
        "masked": np.ma.array(np.empty((0, 2))),
        "pandas": pd.DataFrame(columns=NAMES),
        "pandas of text": pd.DataFrame(columns=NAMES, dtype="str"),
        "pandas read": read_with_pandas("a,b\n"),
        "polars": polars.DataFrame({"a": [], "b": []}),
        "polars read": read_with_polars("a,b\n"),
        "arrow": pa.table({"a": pa.nulls(0), "b": pa.nulls(0)}),
        "arrow of text": pa.table({"a": pa.array([], pa.string()), "b": pa.array([], pa.string())}),
    }


@pytest.mark.parametrize("kind", without_rows())
@pytest.mark.parametrize("missing", ["raise", "complete-case"])
def test_a_table_without_rows_is_released_like_any_other(kind, missing):
    """Whether a frame has a type other than object depends on whether it has records."""
    options = {"epsilon": 1.0, "delta": 1e-6, "missing": missing}
    found = dimfree.release_mean(without_rows()[kind], **options, noise=SeededNoise(1))
    numeric = pd.DataFrame(np.empty((0, 2)), columns=NAMES) if found.columns else np.empty((0, 2))
    assert found == dimfree.release_mean(numeric, **options, noise=SeededNoise(1))
    assert found.refused


@pytest.mark.parametrize("X", [[], (), [None], [1.0], np.empty(0)])
@pytest.mark.parametrize("missing", ["raise", "complete-case"])
def test_an_empty_list_says_nothing_of_its_columns(X, missing):
    with pytest.raises(InvalidDataError, match=r"numpy\.empty\(\(0, d\)\)"):
        dimfree.release_mean(X, epsilon=1.0, delta=1e-6, missing=missing)


@pytest.mark.parametrize("X", [[[SECRET, 1.0], [SECRET]], [[SECRET], 1.0], [[SECRET, 1.0], None]])
@pytest.mark.parametrize("missing", ["raise", "complete-case"])
def test_rows_of_different_lengths_are_no_table(X, missing):
    with pytest.raises(InvalidDataError, match="one row per person") as caught:
        open_records(X, missing=missing)
    assert "271828" not in "".join(traceback.format_exception(caught.value))


def test_a_long_text_in_a_list_takes_no_memory_for_the_other_rows():
    rows = [[1.5, 2.0]] * 1000 + [["x" * 2_000_000, 2.0]]
    tracemalloc.start()
    records = open_records(rows, missing="complete-case")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (records.dimension, peak < 10_000_000) == (2, True)


@pytest.mark.parametrize("rows", [[[[1, 2]]], [[[1], [2]]], [[np.zeros((2, 2)), 1.0]], [[[1], 2], [[3], 4]]])
def test_an_entry_that_is_a_list_adds_no_dimension_even_where_it_is_the_only_one(rows):
    assert open_records(rows, missing="complete-case").dimension == len(rows[0])
