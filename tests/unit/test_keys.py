"""Keys: numbers in order of first appearance, missing ones apart, floats refused, and nothing said about a key."""

import pickle
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dimfree.errors import InvalidParameter
from dimfree.keys import open_keys

SECRET = "secret-271828"
NAN = float("nan")

SAME = {  # b, a, b, c, a by first appearance
    "list of text": ["b", "a", "b", "c", "a"],
    "list of numbers": [7, -1, 7, 2**80, -1],
    "tuple of tuples": (("b", 1), ("a", 1), ("b", 1), ("b", 2), ("a", 1)),
    "dates": [date(2020, 1, 2), date(2020, 1, 1), date(2020, 1, 2), date(2021, 1, 1), date(2020, 1, 1)],
    "whole numbers": np.array([7, -1, 7, 9, -1]),
    "unsigned": np.array([7, 1, 7, 2**64 - 1, 1], dtype=np.uint64),
    "text array": np.array(["b", "a", "b", "c", "a"]),
    "bytes": np.array([b"b", b"a", b"b", b"c", b"a"]),
    "objects": np.array(["b", "a", "b", "c", "a"], dtype=object),
    "numbers of two widths": [7, np.int64(1), np.int8(7), 9, 1],
    "Series": pd.Series([7, 1, 7, 9, 1]),
    "Series of text": pd.Series(["b", "a", "b", "c", "a"]),
    "category": pd.Series(["b", "a", "b", "c", "a"], dtype="category"),
    "category of numbers": pd.Series([7, 1, 7, 9, 1], dtype="category"),
    "nullable": pd.Series([7, 1, 7, 9, 1], dtype="Int64"),
    "timestamps": pd.Series(pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-02", "2021-01-01", "2020-01-01"])),
    "arrow": pa.array([7, 1, 7, 9, 1]),
    "arrow chunks": pa.chunked_array([["b", "a"], ["b", "c", "a"]]),
    "arrow dictionary": pa.array(["b", "a", "b", "c", "a"]).dictionary_encode(),
}


@pytest.mark.parametrize("values", SAME.values(), ids=SAME.keys())
def test_owners_are_numbered_by_first_appearance(values):
    keys = open_keys(values)
    assert keys.persons.tolist() == [0, 1, 0, 2, 1]
    assert keys.count == 3


GAPS = {
    "None": [None, "a", None, "a"],
    "NaN among text": [NAN, "a", np.float64("nan"), "a"],
    "NaN among numbers": [NAN, 5, NAN, 5],
    "NaT": [pd.NaT, pd.Timestamp(5), pd.NaT, pd.Timestamp(5)],
    "NA": [pd.NA, 5, pd.NA, 5],
    "decimals": [Decimal("NaN"), Decimal(5), Decimal("NaN"), Decimal(5)],
    "masked": np.ma.MaskedArray([9, 5, 9, 5], mask=[True, False, True, False]),
    "nullable": pd.Series([None, 5, None, 5], dtype="Int64"),
    "text column": pd.Series([None, "a", NAN, "a"]),
    "category": pd.Series([None, 5, None, 5], dtype="Int64").astype("category"),
    "arrow": pa.array([None, 5, None, 5]),
}


@pytest.mark.parametrize("values", GAPS.values(), ids=GAPS.keys())
def test_missing_keys_belong_to_nobody(values):
    assert open_keys(values).persons.tolist() == [-1, 0, -1, 0]


def test_polars_columns():
    polars = pytest.importorskip("polars")
    assert open_keys(polars.Series(["b", None, "b"])).persons.tolist() == [0, -1, 0]
    with pytest.raises(InvalidParameter, match="floating"):
        open_keys(polars.Series([1.0, 2.0]))


FLOATS = {
    "list": [1.5, 2.5],
    "array": np.array([1.0, 2.0]),
    "array of gaps": np.array([NAN, NAN]),
    "float32 objects": [np.float32(1.5)],
    "Series": pd.Series([1.0, None]),
    "nullable": pd.Series([1.0, None], dtype="Float64"),
    "category": pd.Series([1.5, 2.5], dtype="category"),
    "arrow": pa.array([1.0, None]),
    "complex": np.array([1j]),
}


@pytest.mark.parametrize("values", FLOATS.values(), ids=FLOATS.keys())
def test_floats_are_refused(values):
    with pytest.raises(InvalidParameter, match=r"column 'who'.*not floating-point numbers"):
        open_keys(values, "who")


WRONG = {
    "a mixture": [SECRET, 5],
    "equal but of two kinds": [1, True],
    "lists": [[SECRET], [SECRET]],
    "arrays": [np.array([SECRET, SECRET])],
    "a table": np.array([[SECRET], [SECRET]]),
    "a frame": pd.DataFrame({"a": [SECRET]}),
    "an arrow table": pa.table({"a": [SECRET]}),
    "dates of NumPy": np.array(["2020-01-01"], dtype="M8[D]"),
    "a mapping": {SECRET: 1},
    "a set": {SECRET},
    "bytes": SECRET.encode(),
    "a number": 271828,
    "an iterator": iter([SECRET]),
}


@pytest.mark.parametrize("values", WRONG.values(), ids=WRONG.keys())
def test_what_is_no_column_of_keys_is_refused_without_a_word_about_a_key(values):
    with pytest.raises(InvalidParameter, match="one key for each row") as error:
        open_keys(values)
    assert "271828" not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__ or error.value.__context__ is None


def test_keys_are_silent_and_stay_where_they_are():
    keys = open_keys([SECRET, "b"])
    assert repr(keys) == str(keys) == "<Keys>"
    with pytest.raises(TypeError, match="private"):
        pickle.dumps(keys)
    with pytest.raises(ValueError, match="read-only"):
        keys.persons[0] = 5
