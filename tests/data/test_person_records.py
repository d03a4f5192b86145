"""U1: the record of a person is a function of that person's own rows in their own order, to the last bit."""

import sys
from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from streams import rows_of

from dimfree.data import records as records_module
from dimfree.data import source as source_module
from dimfree.data.people.keys import open_keys
from dimfree.data.people.person_records import person_records, split_unit
from dimfree.data.records import as_records
from dimfree.errors import InvalidDataError, InvalidParameterError

NAN, INF = float("nan"), float("inf")
ROUGH = st.floats(-1e9, 1e9).map(lambda x: x if abs(x) > 1e-9 else 0.0)  # sums that round at every step
KINDS = {"dense": np.asarray, "sparse": sparse.csr_array}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def grouped(rows, keys, *, most=None, rule="complete-case", kind=np.asarray):
    records = person_records(
        as_records(kind(np.asarray(rows, dtype=np.float64))), open_keys(keys, None, rule), most, rule
    )
    assert records.is_sparse == (kind is not np.asarray)
    return rows_of(records)


def one_by_one(rows, most=None):
    """The record of one person, computed with Python's own floats."""
    own = [row for row in rows if all(map(np.isfinite, row))][:most]
    if not own:
        return [NAN] * len(rows[0])
    totals = [reduce(add, column) for column in zip(*(map(float, row) for row in own), strict=True)]
    return [total if most else total / len(own) for total in totals]


def bits(values):
    return (np.asarray(values, dtype=np.float64) + 0.0).tobytes()  # -0.0 and 0.0 are the same number


@st.composite
def crowds(draw):
    """Rows of several people in mixed order, some not finite, some without a key."""
    count, width = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    entry = ROUGH | st.sampled_from([NAN, INF, 0.1, -0.0])
    rows = draw(st.lists(st.lists(entry, min_size=width, max_size=width), min_size=count, max_size=count))
    keys = draw(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=count, max_size=count))
    return rows, keys


@settings(max_examples=150)
@given(crowds(), st.sampled_from([None, 1, 2, 5]), st.sampled_from(list(KINDS.values())), st.integers(1, 7))
def test_every_person_alone_gives_the_same_bits_as_in_the_crowd(crowd, most, kind, block):
    rows, keys = crowd
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records_module, "_BLOCK_ENTRIES", block * len(rows[0]))
        patch.setattr(source_module, "SPARSE_BLOCK_ENTRIES", block)
        found = grouped(rows, keys, most=most, kind=kind)
    people = list(dict.fromkeys(key for key in keys if key is not None))
    assert len(found) == len(people)
    for record, person in zip(found, people, strict=True):
        own = [row for row, key in zip(rows, keys, strict=True) if key == person]
        assert bits(record) == bits(one_by_one(own, most))
        assert bits(record) == bits(grouped(own, [person] * len(own), most=most, kind=kind)[0])


@every_kind
def test_a_total_beyond_the_floats_is_an_invalid_record_without_a_warning(kind, recwarn):
    found = grouped([[1.7e308], [1.7e308], [2.0]], ["a", "a", "b"], kind=kind)
    assert np.isnan(found[0]).all()
    assert found[1] == 2.0
    assert not recwarn.list


@every_kind
def test_raise_stops_at_any_bad_row_also_past_the_cap(kind):
    with pytest.raises(InvalidDataError, match="not a finite number"):
        grouped([[1], [2], [NAN]], [0, 0, 0], most=1, rule="raise", kind=kind)
    with pytest.raises(InvalidDataError, match="has no key"):
        grouped([[1], [2], [3]], [0, None, 0], rule="raise", kind=kind)
    assert grouped([[1], [2], [6]], [0, 0, 0], rule="raise", kind=kind).tolist() == [[3.0]]


@every_kind
@pytest.mark.parametrize("keys", [[], [None, None]])
def test_nobody_is_no_record(kind, keys):
    assert grouped(np.ones((len(keys), 3)), keys, kind=kind).shape == (0, 3)


class Shy:
    """Quotes itself where it is hashed."""

    def __hash__(self):
        raise ValueError("secret")


MISSING = [None, 1.5, [2], 0.5 + 0j, Shy(), 2.0**60, "", "NA"]


@pytest.mark.parametrize("key", MISSING, ids=[type(key).__name__ + str(at) for at, key in enumerate(MISSING)])
def test_under_raise_a_missing_key_is_an_error_with_the_remedy(key):
    crowd = [3, key, 4] if not isinstance(key, str) else ["3", key, "4"]
    with pytest.raises(InvalidDataError, match=r"has no key.*2\*\*53.*text") as error:
        grouped(np.ones((3, 1)), crowd, rule="raise")
    assert "secret" not in str(error.value)
    assert grouped(np.ones((3, 1)), crowd).shape == (2, 1)


FRAMES = {
    "pandas": pd.DataFrame,
    "pyarrow": pa.table,
    "batch": lambda columns: pa.RecordBatch.from_pydict(columns),
    "polars": lambda columns: pytest.importorskip("polars").DataFrame(columns),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_the_column_of_the_unit_is_taken_out(frame):
    X = frame({"a": [1.0, 2.0, 3.0], "who": ["x", "y", "x"], "b": [0.0, 1.0, 4.0]})
    table, keys = split_unit(X, "who")
    records = person_records(as_records(table), keys, None, "raise")
    assert records.columns == ("a", "b")
    assert keys.column == "who"
    assert rows_of(records).tolist() == [[2.0, 2.0], [2.0, 1.0]]


@pytest.mark.parametrize("X", [np.ones((2, 2)), [[1.0]], sparse.csr_array(np.eye(2)), pd.Series([1.0])])
def test_a_name_needs_a_table_with_names(X):
    with pytest.raises(InvalidParameterError, match="who' needs a DataFrame"):
        split_unit(X, "who")


def test_a_name_that_is_not_there_or_twice():
    X = pd.DataFrame(np.ones((2, 3)), columns=["a", "who", "who"])
    with pytest.raises(InvalidParameterError, match="more than one column"):
        split_unit(X, "who")
    with pytest.raises(InvalidParameterError, match="no column"):
        split_unit(X, "patient")


@pytest.mark.parametrize("keys", [[0], [0] * 138])
def test_one_key_for_each_row_without_telling_how_many(keys):
    with pytest.raises(InvalidParameterError, match="one key for each row") as error:
        grouped(np.ones((137, 1)), keys)
    assert "137" not in str(error.value)


@every_kind
def test_the_table_of_the_caller_is_left_alone(kind):
    X = kind(np.array([[1.0, 2.0], [3.0, 0.0], [5.0, 6.0]]))
    before = X.copy()
    person_records(as_records(X), open_keys([0, 1, 0]), None, "raise")
    assert np.array_equal(
        X.toarray() if sparse.issparse(X) else X, np.asarray(before.todense() if sparse.issparse(before) else before)
    )


def added_one_by_one(rows, keys):
    """The totals of all persons in plain Python, bit for bit: one addition after another, from the zero -0.0."""
    totals = {key: [-0.0] * len(rows[0]) for key in dict.fromkeys(keys)}
    for row, key in zip(rows, keys, strict=True):
        totals[key] = [total + float(entry) for total, entry in zip(totals[key], row, strict=True)]
    return np.array(list(totals.values()))


@every_kind
@pytest.mark.parametrize("people", [1, 2, 40, 3000])
def test_totals_have_the_bits_of_an_explicit_loop(kind, people, rng):
    rows = rng.normal(size=(3000, 3)) * 10.0 ** rng.integers(-9, 9, size=(3000, 3))
    rows[rng.random(rows.shape) < 0.2] = -0.0
    keys = rng.integers(0, people, size=3000)
    wanted = added_one_by_one(rows.tolist(), keys.tolist())
    found = grouped(rows, keys, most=10**6, kind=kind)
    assert bits(found) == bits(wanted)
    if kind is np.asarray:
        assert found.tobytes() == wanted.tobytes()  # the sign of zero as well


def python_lines(action):
    """How many lines of Python ran."""
    lines = 0

    def trace(frame, event, argument):
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return lines


@every_kind
@pytest.mark.parametrize("most", [None, 3])
def test_steps_do_not_grow_with_the_rows_of_one_person(kind, most):
    rows = as_records(kind(np.ones((900, 2))))
    even, heavy = (open_keys(keys) for keys in (np.arange(900) % 300, np.minimum(np.arange(900), 299)))
    steps = [
        python_lines(lambda keys=keys: person_records(rows, keys, most, "complete-case")) for keys in (even, heavy)
    ]
    assert steps[0] == steps[1]  # 3 rows each, or 601 rows for the last of 300 persons
    assert steps[0] > 20


def own_means(rows):
    """The record of one person by columns, computed with Python's own floats."""
    columns = ([float(v) for v in column if np.isfinite(v)] for column in zip(*rows, strict=True))
    return [reduce(add, own) / len(own) if own else NAN for own in columns]


@settings(max_examples=60)
@given(crowds(), st.sampled_from(list(KINDS.values())), st.integers(1, 7))
def test_every_column_of_a_person_is_the_mean_of_their_rows_that_have_it(crowd, kind, block):
    rows, keys = crowd
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records_module, "_BLOCK_ENTRIES", block * len(rows[0]))
        patch.setattr(source_module, "SPARSE_BLOCK_ENTRIES", block)
        records = person_records(
            as_records(kind(np.asarray(rows, dtype=np.float64))), open_keys(keys), None, "available-case"
        )
    found = np.concatenate([np.empty((0, len(rows[0]))), *(each for each, _ in records.read_raw_blocks())])
    people = list(dict.fromkeys(key for key in keys if key is not None))
    for record, person in zip(found, people, strict=True):
        own = [row for row, key in zip(rows, keys, strict=True) if key == person]
        assert bits(record) == bits(own_means(own))
