"""G1: which public group a row or a person belongs to is a function of their own rows; nothing else is ever told."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from streams import rows_of

from dimfree.data.people.keys import open_keys
from dimfree.data.people.labels import (
    NO_GROUP,
    check_group_keys,
    label_rows,
    select_members,
    select_person_members,
    split_groups,
)
from dimfree.data.records import as_records
from dimfree.errors import DimfreeError, InvalidDataError, InvalidParameterError

NAN = float("nan")
KEYS = ("a", "b", "c")


@pytest.mark.parametrize(
    ("given_keys", "names"),
    [
        (["b", "a"], ("b", "a")),
        (np.array(["b", "a"]), ("b", "a")),
        (range(3), (0, 1, 2)),
        ([np.int64(7), 3], (7, 3)),
        (pd.Series(["x"]), ("x",)),
        ((name for name in "xy"), ("x", "y")),
    ],
)
def test_names_keep_their_order(given_keys, names):
    found = check_group_keys(given_keys)
    assert found == names
    assert [type(name) for name in found] == [type(name) for name in names]


BAD_KEYS = {
    "a word": "north",
    "bytes": b"ab",
    "a number": 5,
    "nothing": None,
    "no name": [],
    "a name twice": ["a", "b", "a"],
    "a number twice": [1, np.int64(1)],
    "floats": [1.0, 2.0],
    "truth": [True, False],
    "a mixture": ["a", 1],
    "a missing one": ["a", None],
    "tuples": [("a", "b")],
    "rows": np.eye(2),
}


@pytest.mark.parametrize("keys", BAD_KEYS.values(), ids=BAD_KEYS.keys())
def test_names_that_cannot_be_used(keys):
    with pytest.raises(InvalidParameterError, match=r"`groups` must be .* public names"):
        check_group_keys(keys)


@pytest.mark.parametrize("names", [["7", " 7"], ["a", " a"]])
def test_names_that_are_one_key_are_refused(names):
    with pytest.raises(InvalidParameterError, match=r"read as the same key.*letter") as error:
        check_group_keys([*names, "other"])
    assert repr(names[0]) in str(error.value)


@pytest.mark.parametrize("name", ["NA", "", "none"])
def test_a_name_that_reads_as_missing_is_refused(name):
    with pytest.raises(InvalidParameterError, match=r"`groups` must not contain .* letter"):
        check_group_keys([name])


ENTRIES = ["b", "elsewhere", None, "a", "b"]
KINDS = {
    "list": list,
    "array of objects": lambda entries: np.array(entries, dtype=object),
    "pandas": pd.Series,
    "categories": lambda entries: pd.Series(entries, dtype="category"),
    "arrow": pa.array,
    "chunks": lambda entries: pa.chunked_array([entries[:2], entries[2:]]),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_entries_have_the_place_of_their_name(kind):
    assert label_rows(kind(ENTRIES), KEYS).tolist() == [1, NO_GROUP, NO_GROUP, 0, 1]


NUMBERS = [7, 3, 5]
NUMBER_COLUMNS = {
    "list": NUMBERS,
    "array": np.array(NUMBERS),
    "small": np.array(NUMBERS, dtype=np.uint8),
    "floats": np.array(NUMBERS, dtype=np.float32),
    "Series with a gap": pd.Series([*NUMBERS, None]),
    "Series with a complex number": pd.Series([*NUMBERS, 7j]),
    "arrow": pa.array([*NUMBERS, None]),
    "arrow floats": pa.array([7.0, 3.0, 5.0, 7.5]),
    "text": list(map(str, NUMBERS)),
    "bytes": np.array([b"7", b"3", b"5"]),
}


@pytest.mark.parametrize("column", NUMBER_COLUMNS.values(), ids=NUMBER_COLUMNS.keys())
@pytest.mark.parametrize("names", [("3", "7"), (3, 7)], ids=["words", "numbers"])
def test_words_and_whole_numbers_name_each_other(column, names):
    assert label_rows(column, names).tolist() == [1, 0, NO_GROUP, NO_GROUP][: len(column)]


@pytest.mark.parametrize(
    ("column", "names", "places"),
    [
        (["007", "7", "12E7", "120000000"], ("007", "120000000"), [0, -1, -1, 1]),
        ([7], ("007",), [-1]),
        (pd.Series([True, False, None]), (0, 1), [1, 0, -1]),
        (pd.Series([True, False]), ("true", "false"), [0, 1]),
        (pa.array([True, False]), ("False", "True"), [1, 0]),
        (["TRUE", "True"], ("TRUE", "False"), [0, -1]),
        (pd.to_datetime(["2024-01-31", "2024-02-01"]), ("2024-02-01", "2024-01-31 00:00"), [1, 0]),
        (["2024-01-31", "2024-01-31 00:00"], ("2024-01-31", "2024-02-01"), [0, -1]),
        (pa.array([123456789012345678, 123456789012345679]), (123456789012345679,), [-1, 0]),
        (["A", "a ", "a", "á"], KEYS, [-1, 0, 0, -1]),  # compared letter by letter, but for spaces around them
    ],
)
def test_names_match_by_the_type_of_the_column(column, names, places):
    assert check_group_keys(names) == names
    assert label_rows(column, names).tolist() == places


def test_under_raise_a_column_that_mixes_kinds_is_an_error():
    with pytest.raises(InvalidDataError, match=r"column of groups mixes kinds.*dtype") as error:
        label_rows([1, "ICU", 2], ("1", "2"), "raise")
    assert "ICU" not in str(error.value)


FRAMES = {"pandas": pd.DataFrame, "arrow": pa.table}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_a_named_column_is_no_coordinate(frame):
    table = frame({"x": [1, 2, 3], "region": ["b", "z", "a"], "y": [4, 5, 6]})
    rest, labels, _ = split_groups(table, "region", KEYS)
    assert as_records(rest).columns == ("x", "y")
    assert labels.tolist() == [1, NO_GROUP, 0]
    with pytest.raises(InvalidParameterError, match=r"`by` must name .*nowhere"):
        split_groups(table, "nowhere", KEYS)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_members_are_the_rows_of_some_group_in_their_order(kind):
    X = np.arange(10.0).reshape(5, 2)
    rows, labels = select_members(as_records(kind(X)), label_rows(ENTRIES, KEYS))
    assert rows_of(rows).tolist() == X[[0, 3, 4]].tolist()
    assert labels.tolist() == [1, 0, 1]
    assert rows.is_sparse == (kind is sparse.csr_array)


@pytest.mark.parametrize("count", [0, 4, 6])
def test_as_many_entries_as_rows(count):
    labels, keys = np.zeros(count, dtype=np.int64), open_keys(list(range(5)))
    with pytest.raises(InvalidParameterError, match="`by` must have one entry for each row"):
        select_members(as_records(np.eye(5)), labels)
    with pytest.raises(InvalidParameterError, match="`by` must have one entry for each row"):
        select_person_members(as_records(np.eye(5)), labels, keys, None, "raise")


def test_as_many_persons_as_rows():
    with pytest.raises(InvalidParameterError, match="`privacy_unit` must have one key for each row"):
        select_person_members(as_records(np.eye(3)), np.zeros(3, dtype=np.int64), open_keys([1, 2]), None, "raise")


def of_persons(rows, entries, persons, *, most=None, rule="complete-case"):
    """The record of each person and their group."""
    X = np.reshape(rows, (-1, 1)).astype(np.float64)
    return select_person_members(as_records(X), label_rows(entries, KEYS), open_keys(persons), most, rule)


def by_hand(rows, entries, persons, most):
    """An oracle in plain Python: (record, place) of each person in the order of their first row that counts."""
    first = {}
    for entry, person in zip(entries, persons, strict=True):
        if entry in KEYS and person is not None:
            first.setdefault(person, entry)
    found = []
    for person, group in first.items():
        own = [row for row, e, p in zip(rows, entries, persons, strict=True) if p == person and e == group]
        own = [row for row in own if np.isfinite(row)][:most]
        total = sum(own[1:], own[0]) if own else NAN
        found.append((total if most or not own else total / len(own), KEYS.index(group)))
    return found


def bits(values):
    return (np.asarray(values, dtype=np.float64) + 0.0).tobytes()


crowds = st.lists(
    st.tuples(
        st.floats(-1e9, 1e9) | st.sampled_from([NAN, 0.1]),
        st.sampled_from([*KEYS, "z", None]),
        st.sampled_from(["p", "q", "r", "s", None]),
    ),
    max_size=25,
)


@settings(max_examples=200)
@given(crowds, st.sampled_from([None, 1, 2]))
def test_persons_against_plain_python(crowd, most):
    rows, entries, persons = zip(*crowd, strict=True) if crowd else ((), (), ())
    people, labels = of_persons(rows, list(entries), list(persons), most=most)
    wanted = by_hand(rows, entries, persons, most)
    assert labels.tolist() == [place for _, place in wanted]
    assert bits(rows_of(people)) == bits([[record] for record, _ in wanted])


@settings(max_examples=100)
@given(crowds, crowds, st.randoms(use_true_random=False))
def test_other_persons_move_neither_a_bit_nor_a_group(own, others, random):
    """One person's rows among others, in their order, wherever those are: the same record in the same group."""
    own = [(row, entry, "me") for row, entry, _ in own]
    mixed = list(others)
    for place, mine in zip(sorted(random.randint(0, len(mixed)) for _ in own), own, strict=True):
        mixed.insert(place, mine)
    mixed = restore_answer(mixed, own)
    alone = {record_and_group(own)}
    assert {record_and_group(mixed)} == alone


def restore_answer(mixed, own):
    """The places of the person's rows, with the rows in their order."""
    turn = iter(own)
    return [next(turn) if person == "me" else (row, entry, person) for row, entry, person in mixed]


def record_and_group(crowd):
    rows, entries, persons = zip(*crowd, strict=True) if crowd else ((), (), ())
    people, labels = of_persons(rows, list(entries), list(persons))
    counted = [person for entry, person in zip(entries, persons, strict=True) if entry in KEYS and person is not None]
    order = list(dict.fromkeys(counted))
    # A person is numbered by the first row that counts, which stands where their first row in any group does.
    if "me" not in order:
        return None
    me = order.index("me")
    return bits(rows_of(people)[me]), labels[me]


def test_rows_without_a_person():
    groups, whose = ["a", "z", "b"], ["p", None, "q"]
    people, labels = of_persons([[1], [2], [3]], groups, whose, rule="raise")  # in no group: nobody asks
    assert (rows_of(people).ravel().tolist(), labels.tolist()) == ([1, 3], [0, 1])
    with pytest.raises(InvalidDataError, match="no key"):
        of_persons([[1], [2], [3]], ["a", "b", "b"], whose, rule="raise")
    people, _ = of_persons([[1], [2], [3]], ["a", "b", "b"], whose)
    assert rows_of(people).ravel().tolist() == [1, 3]


def test_rows_that_are_not_finite_matter_where_a_group_is():
    X = np.array([[1.0], [NAN], [3.0]])
    people, _ = of_persons(X, ["a", "z", "a"], ["p", "p", "q"], rule="raise")
    assert rows_of(people).ravel().tolist() == [1, 3]
    with pytest.raises(DimfreeError, match="finite"):
        of_persons(X, ["a", "a", "a"], ["p", "p", "q"], rule="raise")
