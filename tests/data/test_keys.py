"""Keys: numbers in order of first appearance, each by its own entry, missing ones apart, and nothing said about one."""

import pickle
from collections import deque
from datetime import date
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dimfree.data.people.keys import open_keys
from dimfree.errors import InvalidParameter

SECRET = "secret-271828"
NAN = float("nan")


class Foreign:
    """An array of a package that dimfree does not know."""

    def __len__(self):
        return 5

    def __array__(self, dtype=None, copy=None):
        return np.array([7, 1, 7, 9, 1])


class Shy:
    """Quotes itself at every look: where it is hashed, compared, or asked for its class."""

    def __init__(self, *at):
        self._at = at

    def _raise(self, at):
        if at in object.__getattribute__(self, "_at"):
            raise ValueError(SECRET)

    def __hash__(self):
        self._raise("hash")
        return hash("a")

    def __eq__(self, other):
        self._raise("eq")
        return self is other

    def __ne__(self, other):
        self._raise("ne")
        return self is not other

    @property
    def __class__(self):
        self._raise("class")
        return Shy


SAME = {  # b, a, b, c, a by first appearance
    "list of text": ["b", "a", "b", "c", "a"],
    "list of numbers": [7, -1, 7, 2**53 - 1, -1],
    "tuple of tuples": (("b", 1), ("a", 1), ("b", 1), ("b", 2), ("a", 1)),
    "bytes and text": ["b", b"a", np.str_("b"), b"\xff", np.bytes_(b"a")],
    "kinds side by side": [1, "a", "01", (1,), b"a"],
    "whole floats and numbers": [7.0, "6", 7, 9, np.str_("6")],
    "floats": [7.0, -0.0, np.float32(7), 9.0, 0.0],
    "array of floats": np.array([7.0, -0.0, 7.0, 2.0**53 - 1, 0.0]),
    "complex": np.array([7, 1, 7, 9, 1], dtype=complex),
    "dates of NumPy": np.array(["2020-01-02", "2020-01-01", "2020-01-02", "2021-01-01", "2020-01-01"], dtype="M8[ns]"),
    "sets": [frozenset({1, 2}), frozenset({3, 2}), frozenset({2.0, True}), frozenset(), frozenset({2, "3"})],
    "tuples of kinds": [(1, "x"), (2, "x"), (True, "x"), ("1", "y"), (2.0, np.str_("x"))],
    "any sequence": deque([7, 1, 7, 9, 1]),
    "an array of another package": Foreign(),
    "dates": [date(2020, 1, 2), date(2020, 1, 1), date(2020, 1, 2), date(2021, 1, 1), date(2020, 1, 1)],
    "whole numbers": np.array([7, -1, 7, 9, -1]),
    "unsigned": np.array([7, 1, 7, 2**53 - 1, 1], dtype=np.uint64),
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
    "Series of floats": pd.Series([7.0, 1, 7, 9, 1]),
    "Series of complex": pd.Series([7, 1, 7, 9 + 0j, 1]),
    "nullable floats": pd.Series([7.0, 1, 7, 9, 1], dtype="Float32"),
    "index": pd.Index([7, 1, 7, 9, 1]),
    "arrow": pa.array([7, 1, 7, 9, 1]),
    "arrow floats": pa.chunked_array([[7.0, 1.0], [7.0, 9.0, 1.0]]),
    "arrow chunks": pa.chunked_array([["b", "a"], ["b", "c", "a"]]),
    "arrow dictionary": pa.array(["b", "a", "b", "c", "a"]).dictionary_encode(),
}


@pytest.mark.parametrize("values", SAME.values(), ids=SAME.keys())
def test_owners_are_numbered_by_first_appearance(values):
    keys = open_keys(values)
    assert keys.persons.tolist() == [0, 1, 0, 2, 1]
    assert keys.count == 3


TEXT = np.array([0, 1, 2, 3, 4], dtype=np.int32), b"\xffa\xfea"  # where the four letters end, and the letters

GAPS = {
    "None": [None, "a", None, "a"],
    "NaN among text": [NAN, "a", np.float64("nan"), "a"],
    "NaN among numbers": [NAN, 5, NAN, 5],
    "NaT": [pd.NaT, pd.Timestamp(5), pd.NaT, pd.Timestamp(5)],
    "NA": [pd.NA, 5, pd.NA, 5],
    "decimals": [Decimal("NaN"), Decimal(5), Decimal("NaN"), Decimal(5)],
    "masked": np.ma.MaskedArray([9, 5, 9, 5], mask=[True, False, True, False]),
    "nullable": pd.Series([None, 5, None, 5], dtype="Int64"),
    "masked floats": np.ma.MaskedArray([9.0, 5, 9, 5], mask=[True, False, True, False]),
    "masked constants": [np.ma.masked, 5, np.ma.masked, 5],
    "array of floats": np.array([NAN, 5, np.inf, 5]),
    "no whole numbers": np.array([1.5, 5, -np.inf, 5]),
    "floats that whole numbers share": np.array([2.0**53, 5, -(2.0**63), 5]),
    "the same in a list": [2.0**53, 5, -(2.0**63), 5],
    "smaller floats": np.array([2.0**24, 5, 0.5, 5], dtype=np.float32),
    "small floats": [np.float32(2.0**24), 5, np.float16(2048), 5],
    "long floats": np.array([2.0**53, 5, np.inf, 5], dtype=np.longdouble),
    "complex": [0.5 + 0j, 5, complex("nan"), 5],
    "tuples with a gap": [("a", None), ("a", 1), (NAN, "a"), ("a", 1)],
    "unhashable": [[2], 5, {SECRET: 1}, 5],
    "unhashable inside": [([2],), 5, (np.array([1, 2]),), 5],
    "arrays": [np.array([SECRET, SECRET]), 5, np.array([]), 5],
    "shy": [Shy("hash"), "a", Shy("ne"), "a"],
    "very shy": [Shy("class"), "a", Decimal("sNaN"), "a"],
    "dates of NumPy": np.array(["NaT", "2020-01-01", "NaT", "2020-01-01"], dtype="M8[D]"),
    "whole numbers that became floats": pd.Series([None, 5, NAN, 5]),
    "nullable floats": pd.Series([1.5, 5, None, 5], dtype="Float64"),
    "category of floats": pd.Series([1.5, 5, None, 5], dtype="category"),
    "whole numbers that became complex": pd.Series([0.5 + 0j, 5, None, 5]),
    "arrow floats": pa.array([None, 5.0, 0.5, 5.0]),
    "arrow, years beyond dates": pa.array([2**62, 5, None, 5], pa.timestamp("s")),
    "arrow, broken text": pa.StringArray.from_buffers(4, *map(pa.py_buffer, TEXT)),
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
    assert open_keys(polars.Series([7.0, None, 7.5, 7.0])).persons.tolist() == [0, -1, -1, 0]


STRANGE = {
    "a number": 271828,
    "a float": 271828.5,
    "a whole float": 7.0,
    "a gap": None,
    "text": SECRET,
    "bytes": SECRET.encode(),
    "a list": [SECRET],
    "an array": np.array([271828, 1]),
    "complex": 271828j,
    "beyond the floats": 10**400,
    "a date": date(2020, 1, 1),
    "shy at hashing": Shy("hash"),
    "shy at comparing": Shy("eq"),
    "shy at differing": Shy("ne"),
    "shy at its class": Shy("class"),
}
CROWDS = {"numbers": [3, 1, 3, 2**40, 1], "text": ["a", "1", "a", "b", "1"], "truth": [True, False, True, True, False]}


def objects(keys):
    found = np.empty(len(keys), dtype=object)
    found[:] = keys
    return found


CONTAINERS = (list, pd.Series, objects)


@pytest.mark.parametrize("strange", STRANGE)
def test_one_strange_key_leaves_all_other_persons_as_they_are(strange):
    """First, inside or last: pandas may turn the column into floats, complex numbers or objects."""
    for crowd, container, place in product(CROWDS.values(), CONTAINERS, (0, 2, 5)):
        column = with_key(crowd, STRANGE[strange], container, place)
        if column is not None:
            persons = open_keys(column).persons
            others = np.delete(persons, place)
            assert (others >= 0).all()
            assert persons[place] == -1 or persons[place] not in others
            assert open_keys(others).persons.tolist() == open_keys(container(crowd)).persons.tolist()


def with_key(crowd, key, container, place):
    """The column, or None where the container itself looks at the key and fails."""
    try:
        return container([*crowd[:place], key, *crowd[place:]])
    except ValueError:
        assert container is pd.Series


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
def test_arrays_of_floats_are_read_as_their_entries_are(kind, rng):
    exact = np.finfo(kind).nmant + 1
    edges = np.array([2.0**power + step for power in (10, min(exact, 53)) for step in (-1, 0, 1)])
    keys = rng.permutation(np.concatenate([edges, -edges, rng.integers(-9, 9, 40) / 2, [NAN, np.inf, -np.inf]])).astype(
        kind
    )
    assert open_keys(keys).persons.tolist() == open_keys(list(keys)).persons.tolist()


WRONG = {
    "a table": np.array([[SECRET], [SECRET]]),
    "a frame": pd.DataFrame({"a": [SECRET]}),
    "an arrow table": pa.table({"a": [SECRET]}),
    "a masked table": np.ma.MaskedArray([[SECRET], [SECRET]]),
    "one entry": np.array(SECRET),
    "fields": np.array([(SECRET, 1)], dtype=[("who", "U20"), ("row", int)]),
    "one value of arrow": pa.scalar(271828),
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
