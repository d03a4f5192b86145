"""U1 and G1: the form of a key is a function of its own entry, and nothing is said about one."""

import io
import json
import pickle
import warnings
from collections import deque
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from streams import read_keyed_table

from dimfree.data.people.keys import encode_keys, normalize_key, open_keys
from dimfree.data.people.labels import NO_GROUP, label_rows
from dimfree.errors import InvalidDataError, InvalidParameterError

polars = pytest.importorskip("polars")

SECRET = "secret-271828"
NAN = float("nan")
DAY = pd.Timestamp("2020-01-02")


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


def objects(entries):
    column = np.empty(len(entries), dtype=object)
    column[:] = entries
    return column


ONE_KEY = {
    "a whole number": [7, 7.0, "7", " 7 ", b"7", np.int8(7), np.float16(7), 7 + 0j, Decimal("7.00"), np.str_("7")],
    "other ways to write it": ["007", "007 ", b"007"],
    "a number with a point": ["7.0", " 7.0"],
    "truth": [1, True, np.True_, "1", 1.0],
    "truth in words": ["True", " True"],
    "zero": [0, -0.0, False, "0", 0j, complex(0, -0.0)],
    "the largest of floats": [2**53 - 1, float(2**53 - 1), "9007199254740991"],
    "many digits": [123456789012345678, "123456789012345678", np.int64(123456789012345678)],
    "one more": [123456789012345679, "123456789012345679"],
    "text with an exponent": ["12E7"],
    "what it is not": [120000000, "120000000", 12e7],
    "a day": [date(2020, 1, 2), datetime(2020, 1, 2), DAY, np.datetime64("2020-01-02"), "2020-01-02"]
    + [np.datetime64("2020-01-02T00:00:00", "ns")],
    "a moment": [pd.Timestamp("2020-01-02 03:04:05.123456789"), "2020-01-02T03:04:05.123456"]
    + [np.datetime64("2020-01-02T03:04:05.123456789"), datetime(2020, 1, 2, 3, 4, 5, 123456)],
    "a moment anywhere": [DAY.tz_localize("UTC"), pd.Timestamp("2020-01-02T02:00+02:00"), "2020-01-02T00:00:00+00:00"],
    "a time": [time(10), "10:00:00"],
    "text": ["ICU", " ICU", "ICU ", b"ICU", np.str_("ICU")],
    "tuples": [(7, "a"), (7.0, " a "), (np.int8(7), b"a")],
    "sets": [frozenset({1, 2}), frozenset({2.0, True})],
    "nobody": [None, NAN, pd.NA, pd.NaT, np.ma.masked, "", " ", "NA", "nan", "n/a", "NULL", "None", "#N/A", "<NA>"]
    + ["NaT", 0.5, Decimal("0.5"), 2.0**53, 1e300, float("inf"), np.float32(2**24), np.float16(2048), 10**400]
    + [Decimal("1e999999999"), np.datetime64("NaT"), (7, None), ("NA", 7), 0.5 + 0j, 1j, complex(NAN, NAN)]
    + [Decimal("NaN"), Decimal("sNaN"), [2], {SECRET: 1}, ([2],), np.array([1, 2]), Shy("hash"), Shy("ne")]
    + [Shy("class")],
}
APART = ["icu", "7a", "1_000", "1,000", "７", "+7", "7.", "7e0", "-0", "-00", "0x7", "7 7", "12:3", "10:00", "é"]
APART += [b"\xff", (7,), ("7", 7), frozenset({7}), "2020-1-2", "2020-01-02 00:00", "0.5", "inf", "1e999", "-7", -8]
APART += ["9007199254740992", "9007199254740993", timedelta(7), "true", "yes"]


def test_what_is_one_key_and_what_is_not():
    forms = []
    for name, entries in ONE_KEY.items():
        found = {normalize_key(entry) for entry in entries}
        assert len(found) == 1, name
        assert (found == {None}) == (name == "nobody")
        forms += found
    others = [normalize_key(entry) for entry in APART]
    assert None not in others
    assert len({*forms, *others}) == len(forms) + len(others)


WORDS = ["ICU", "a b", "7", "007", " 7 ", "7.0", "12E7", "0.5", "True", "FALSE", "", " ", "NA", "nan", "inf", "0x1F"]
WORDS += ["9007199254740991", "9007199254740992", "9007199254740993", "1152921504606846977", "99999999999999999999"]
WORDS += ["2020-01-02", "2020-01-02 00:00:00", "2020-01-02T02:00:00+02:00", "10:00:00", "1_000", "-0", "--1", "1e", "é"]
NUMBERS = [0, 1, 7, -7, 2**53 - 1, 2**53, 2**53 + 1, 2**60 + 1, 2**63, 10**400, 0.5, 7.0, -0.0, 2.0**53, 1e300, NAN]
OTHERS = [None, True, False, b"7", b"\xff", Decimal(7), Decimal("NaN"), pd.NA, pd.NaT, date(2020, 1, 2), DAY, time(10)]
OTHERS += [np.datetime64("2020-01-02"), np.int8(7), np.str_("7"), np.True_, (7, "a"), 1j, 7 + 0j, [7], {"a": 1}, {}]
OTHERS += [timedelta(7), np.timedelta64("NaT"), float("inf")]
TEXTS = st.sampled_from(WORDS) | st.text(max_size=4)
WHOLE = st.integers(-9, 9) | st.sampled_from([2**53 - 1, 2**53, 2**53 + 1, 2**60 + 1, -(2**62)])
ANY = st.sampled_from([*WORDS, *NUMBERS, *OTHERS]) | st.integers(-(2**70), 2**70) | st.floats() | TEXTS


@settings(max_examples=200)
@given(ANY)
@example("\x00\r")
def test_a_form_that_is_text_or_a_number_is_its_own(entry):
    form = normalize_key(entry)
    if isinstance(form, str | int):
        assert normalize_key(form) == normalize_key(str(form)) == form


SAME = {
    "tuple of tuples": (("b", 1), ("a", 1), ("b", 1), ("b", 2), ("a", 1)),
    "bytes and text": ["b", b"a", np.str_("b"), b"\xff", np.bytes_(b"a")],
    "kinds side by side": [1, "a", "1", (1,), b"a"],
    "array of floats": np.array([7.0, -0.0, 7.0, 2.0**53 - 1, 0.0]),
    "complex": np.array([7, 1, 7, 9, 1], dtype=complex),
    "dates of NumPy": np.array(["2020-01-02", "2020-01-01", "2020-01-02", "2021-01-01", "2020-01-01"], dtype="M8[ns]"),
    "any sequence": deque([7, 1, 7, 9, 1]),
    "an array of another package": Foreign(),
    "unsigned": np.array([7, 1, 7, 2**53 - 1, 1], dtype=np.uint64),
    "text array": np.array(["b", "a", "b", "c", "a"]),
    "bytes": np.array([b"b", b"a", b"b", b"c", b"a"]),
    "objects": np.array(["b", "a", "b", "c", "a"], dtype=object),
    "Series": pd.Series([7, 1, 7, 9, 1]),
    "Series of text": pd.Series(["b", "a", "b", "c", "a"]),
    "category": pd.Series(["b", "a", "b", "c", "a"], dtype="category"),
    "category of numbers": pd.Series([7, 1, 7, 9, 1], dtype="category"),
    "nullable": pd.Series([7, 1, 7, 9, 1], dtype="Int64"),
    "timestamps": pd.Series(pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-02", "2021-01-01", "2020-01-01"])),
    "Series of complex": pd.Series([7, 1, 7, 9 + 0j, 1]),
    "nullable floats": pd.Series([7.0, 1, 7, 9, 1], dtype="Float32"),
    "index": pd.Index([7, 1, 7, 9, 1]),
    "arrow floats": pa.chunked_array([[7.0, 1.0], [7.0, 9.0, 1.0]]),
    "arrow chunks": pa.chunked_array([["b", "a"], ["b", "c", "a"]]),
    "arrow dictionary": pa.array(["b", "a", "b", "c", "a"]).dictionary_encode(),
    "polars": polars.Series(["b", "a", "b", "c", "a"]),
    "polars floats": polars.Series([7.0, 1, 7, 9, 1]),
}


@pytest.mark.parametrize("values", SAME.values(), ids=SAME.keys())
def test_owners_are_numbered_by_first_appearance(values):
    keys = open_keys(values)
    assert (keys.persons.tolist(), keys.count) == ([0, 1, 0, 2, 1], 3)


BROKEN = np.array([0, 1, 2, 3, 4], dtype=np.int32), b"\xffa\xfea"  # where the four letters end, and the letters
GAPS = {
    "text": [None, "a", NAN, "a"],
    "masked": np.ma.MaskedArray([9, 5, 9, 5], mask=[True, False, True, False]),
    "nullable": pd.Series([None, 5, None, 5], dtype="Int64"),
    "array of floats": np.array([NAN, 5, np.inf, 5]),
    "no whole numbers": np.array([1.5, 5, -np.inf, 5]),
    "floats that whole numbers share": np.array([2.0**53, 5, -(2.0**63), 5]),
    "smaller floats": np.array([2.0**24, 5, 0.5, 5], dtype=np.float32),
    "long floats": np.array([2.0**53, 5, np.inf, 5], dtype=np.longdouble),
    "dates of NumPy": np.array(["NaT", "2020-01-01", "NaT", "2020-01-01"], dtype="M8[D]"),
    "years beyond dates": np.array([2**50, 5, np.datetime64("NaT"), 5], dtype="M8[s]"),
    "whole numbers that became floats": pd.Series([None, 5, NAN, 5]),
    "nullable floats": pd.Series([1.5, 5, None, 5], dtype="Float64"),
    "category of floats": pd.Series([1.5, 5, None, 5], dtype="category"),
    "whole numbers that became complex": pd.Series([0.5 + 0j, 5, None, 5]),
    "arrow floats": pa.array([None, 5.0, 0.5, 5.0]),
    "arrow, years beyond dates": pa.array([2**62, 5, None, 5], pa.timestamp("s")),
    "arrow, broken text": pa.StringArray.from_buffers(4, *map(pa.py_buffer, BROKEN)),
    "category": pd.Series([None, 5, None, 5], dtype="Int64").astype("category"),
    "arrow": pa.array([None, 5, None, 5]),
    "polars": polars.Series([None, 7.0, 7.5, 7.0]),
}


@pytest.mark.parametrize("values", GAPS.values(), ids=GAPS.keys())
def test_missing_keys_belong_to_nobody(values):
    assert open_keys(values).persons.tolist() == [-1, 0, -1, 0]


ABROAD = timezone(timedelta(hours=2))
NIGHT = datetime(2024, 11, 3, 1, 30, tzinfo=ZoneInfo("America/New_York"))  # an hour that comes twice
TWICE = [NIGHT, NIGHT.replace(fold=1), time(10, tzinfo=UTC), time(12, tzinfo=ABROAD)]
ARRAYS = {
    "whole numbers": lambda rng: rng.integers(-9, 9, 300),
    "unsigned": lambda rng: rng.integers(2**53 - 5, 2**53, 300).astype(np.uint64),
    "bytes of numbers": lambda rng: rng.integers(-100, 100, 300).astype(np.int8),
    "truth": lambda rng: rng.random(300) < 0.5,
    "floats": lambda rng: rng.choice([7, 0.5, -0.0, 0, NAN, np.inf, 2.0**53, 2.0**53 - 1], 300),
    **{
        np.dtype(kind).name: lambda rng, kind=kind, digits=digits: rng.choice(
            [2.0**10, 2.0**digits - 1, 2.0**digits, -(2.0**digits) + 1, 0.5, NAN, np.inf], 300
        ).astype(kind)
        for kind, digits in ((np.float16, 11), (np.float32, 24), (np.longdouble, 53))
    },
    "text": lambda rng: rng.choice(WORDS, 300),
    "bytes": lambda rng: rng.choice([word.encode() for word in WORDS], 300),
    "days": lambda rng: rng.choice(np.array(["2020-01-02", "NaT", "1960-01-01"], dtype="M8[ns]"), 300),
    "pandas text": lambda rng: pd.Series(rng.choice(WORDS, 300)),
    "pandas numbers": lambda rng: pd.Series(rng.choice([7, 0.5, NAN], 300)),
    "Arrow numbers": lambda rng: pa.array(rng.integers(2**53 - 5, 2**53 + 5, 300)),
    "polars text": lambda rng: polars.Series(rng.choice(WORDS, 300).tolist()),
    "moments that are equal": lambda rng: [TWICE[at] for at in rng.integers(0, 4, 300)],
    "plain entries": lambda rng: [[1, True, 1.0, "1", None, "x", NAN, b"x"][at] for at in rng.integers(0, 8, 300)],
}


@pytest.mark.parametrize("column", ARRAYS.values(), ids=ARRAYS.keys())
def test_a_column_as_a_whole_is_read_as_its_entries_are(column, rng):
    whole = column(rng)
    wanted = [normalize_key(each) for each in (whole.to_pylist() if isinstance(whole, pa.Array) else list(whole))]
    numbers, forms = encode_keys(whole, "privacy_unit", "complete-case")
    assert forms == list(dict.fromkeys(form for form in wanted if form is not None))
    assert [None if number < 0 else forms[number] for number in numbers] == wanted
    names = ("7", "ICU", "2020-01-02", "0")
    places = {normalize_key(name): place for place, name in enumerate(names)}
    assert label_rows(whole, names).tolist() == [places.get(form, NO_GROUP) for form in wanted]


LONG = [123456789012345678 + step for step in (0, 1, 0, 2, 1)]  # floats do not tell them apart
EXACT = {
    "list": list,
    "text": lambda ids: list(map(str, ids)),
    "objects": objects,
    "nullable": lambda ids: pd.Series(ids, dtype="Int64"),
    "Arrow": pa.array,
    "polars": polars.Series,
    "polars text": lambda ids: polars.Series(list(map(str, ids))),
}


@pytest.mark.parametrize("container", EXACT.values(), ids=EXACT.keys())
@pytest.mark.parametrize("rule", ["raise", "complete-case", "available-case"])
def test_ids_of_many_digits_are_what_they_say(container, rule):
    assert open_keys(container(LONG), None, rule).persons.tolist() == [0, 1, 0, 2, 1]
    if rule != "raise":
        assert open_keys(container([*LONG[:2], None, *LONG[2:]]), None, rule).persons.tolist() == [0, 1, -1, 0, 2, 1]


@pytest.mark.parametrize("container", [np.array, pd.Series, lambda ids: np.array(ids, dtype=np.uint64)])
def test_a_gap_makes_floats_of_them_in_numpy_so_that_they_are_keys_only_where_no_gap_is_left_out(container):
    assert open_keys(container(LONG), None, "raise").persons.tolist() == [0, 1, 0, 2, 1]
    for ids in ([*LONG, 5], [*LONG, 5, NAN]):
        found = encode_keys(container(ids) if ids[-1] == 5 else np.array(ids), "privacy_unit", "complete-case")
        assert (found.numbers.tolist()[:6], found.forms) == ([-1] * 5 + [0], [5])


def people_and_groups(column, left_out=()):
    """Who shares a key, who has none, and in which group each row is; without one row."""
    persons = np.delete(open_keys(column).persons, left_out)
    groups = np.delete(label_rows(column, ("7", "true", "ICU", "2020-01-02", "0")), left_out)
    return open_keys(persons[persons >= 0]).persons.tolist(), (persons < 0).tolist(), groups.tolist()


def assert_alone(container, entries, place, other):
    """One row more, or another entry in a row: the persons and groups of all other rows are the same."""
    place %= len(entries)
    changed, longer = [*entries[:place], other, *entries[place + 1 :]], [*entries[:place], other, *entries[place:]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, after, added = map(container, (entries, changed, longer))
    assert people_and_groups(before, place) == people_and_groups(after, place)
    assert people_and_groups(before) == people_and_groups(added, place)


UNTYPED = {"list": list, "objects": objects, "pandas": lambda entries: pd.Series(entries, dtype=object)}
FRACTION = st.sampled_from([NAN, 0.5, np.inf, 1e300])
TYPED = {  # a type, what it holds, and what one more entry may be
    "Arrow text": (lambda entries: pa.array(entries, pa.string()), TEXTS, st.none() | TEXTS),
    "polars text": (lambda entries: polars.Series(entries, dtype=polars.String), TEXTS, st.none() | TEXTS),
    "pandas text": (lambda entries: pd.Series(entries, dtype="str"), TEXTS, st.none() | TEXTS),
    "Arrow numbers": (lambda entries: pa.array(entries, pa.int64()), WHOLE, st.none() | WHOLE),
    "polars numbers": (lambda entries: polars.Series(entries, dtype=polars.Int64), WHOLE, st.none() | WHOLE),
    "nullable numbers": (lambda entries: pd.Series(entries, dtype="Int64"), WHOLE, st.none() | WHOLE),
    "NumPy": (np.array, WHOLE, FRACTION | WHOLE),  # whole numbers, or floats if one entry needs it
    "pandas": (pd.Series, WHOLE, st.none() | FRACTION | WHOLE),
    "truth": (pd.Series, st.booleans(), st.none() | st.booleans()),
    "days": (pd.Series, st.dates(), st.none() | st.dates() | st.datetimes()),
}


@pytest.mark.parametrize("container", UNTYPED.values(), ids=UNTYPED.keys())
@settings(max_examples=100)
@given(entries=st.lists(ANY, min_size=1, max_size=7), place=st.integers(0, 6), other=ANY)
def test_one_entry_of_any_kind_moves_nobody_else(container, entries, place, other):
    assert_alone(container, entries, place, other)


@pytest.mark.parametrize(("container", "entry", "other"), TYPED.values(), ids=TYPED.keys())
@settings(max_examples=60)
@given(data=st.data(), place=st.integers(0, 6))
def test_one_entry_of_a_typed_column_moves_nobody_else(container, entry, other, data, place):
    assert_alone(container, data.draw(st.lists(entry, min_size=1, max_size=7)), place, data.draw(other))


MIXED = [[7, "A17", 8], objects([7, "7"]), pd.Series([7, "x"], dtype=object), [7.0, b"7"], [True, "x"], [True, 1]]
MIXED += [[date(2020, 1, 2), 7], [date(2020, 1, 2), "2020-01-02"], [(1, 2), 7], objects([True, 2.5, 3])]
ALIKE = [["7", "A17", "007", b"7"], [7, 8.0, Decimal(3), None], [None, "a", NAN], [date(2020, 1, 2), DAY, pd.NaT]]


def test_under_raise_alone_a_column_that_mixes_kinds_is_an_error_with_the_remedy():
    for column in MIXED:
        with pytest.raises(InvalidDataError, match=r"column 'who' mixes kinds.*dtype.*No budget was charged") as error:
            open_keys(column, "who", "raise")
        assert "A17" not in str(error.value)
        open_keys(column, "who", "complete-case")
        open_keys([str(entry) for entry in column], "who", "raise")
    for column in ALIKE:
        open_keys(column, "who", "raise")


CELLS = st.sampled_from([word for word in WORDS if "," not in word]) | st.text("0123456789.+-eExX: Tainf", max_size=5)


def text_of(cells):
    return "x,key\n" + "".join(f"1,{cell}\n" for cell in cells)


def by_pandas(cells, folder, **given):
    return pd.read_csv(io.StringIO(text_of(cells)), **given)["key"]


def by_pandas_in_chunks(cells, folder):
    """As `low_memory=True` reads a long file: a type for each chunk, then all of them together."""
    half = len(cells) // 2
    return pd.concat([by_pandas(part, folder) for part in (cells[:half], cells[half:]) if part], ignore_index=True)


def by_polars(cells, folder, length=None):
    return polars.read_csv(io.BytesIO(text_of(cells).encode()), infer_schema_length=length)["key"]


def by_arrow(cells, folder, types=None):
    options = pa_csv.ConvertOptions(column_types=types)
    table = pa_csv.read_csv(io.BytesIO(text_of(cells).encode()), convert_options=options)
    return table.column("key").combine_chunks()


def by_csv_file(cells, folder):
    (folder / "a.csv").write_text(text_of(cells))
    return read_keyed_table(folder / "a.csv", ("key",))[1][0]


def through_a_file(reader, write, name):
    def read(cells, folder):
        column = pa.array(reader(cells, folder))
        write(pa.table({"x": np.ones(len(column)), "key": column}), folder / name)
        return read_keyed_table(folder / name, ("key",))[1][0]

    return read


AS_TEXT = {  # readers that are told that keys are text, or take them for nothing else
    "pandas": lambda cells, folder: by_pandas(cells, folder, dtype=str),
    "polars": lambda cells, folder: by_polars(cells, folder, length=0),
    "Arrow": lambda cells, folder: by_arrow(cells, folder, {"key": pa.string()}),
    "dimfree's .csv": by_csv_file,
}
INFERRED = {
    "pandas": by_pandas,
    "pandas in chunks": by_pandas_in_chunks,
    "polars": by_polars,
    "Arrow": by_arrow,
    "Arrow to .parquet": through_a_file(by_arrow, pq.write_table, "a.parquet"),
    "pandas to .feather": through_a_file(by_pandas, feather.write_feather, "a.feather"),
}
of_files = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("reader", AS_TEXT.values(), ids=AS_TEXT.keys())
@of_files
@given(cells=st.lists(CELLS, min_size=1, max_size=7), place=st.integers(0, 6), other=CELLS)
def test_one_cell_of_a_file_moves_nobody_else(reader, tmp_path, cells, place, other):
    assert_alone(lambda entries: reader(entries, tmp_path), cells, place, other)


@pytest.mark.parametrize("reader", INFERRED.values(), ids=INFERRED.keys())
@of_files
@given(data=st.data(), place=st.integers(0, 6), other=CELLS)
def test_readers_that_infer_a_type_split_and_merge_no_keys_that_are_plain_numbers_or_words(
    reader, tmp_path, data, place, other
):
    plain = data.draw(st.sampled_from([st.integers(-(2**52), 2**52).map(str), st.integers(0, 9).map("A{}".format)]))
    assert_alone(
        lambda entries: reader(entries, tmp_path), data.draw(st.lists(plain, min_size=1, max_size=7)), place, other
    )


DURATIONS = [timedelta(7), None, timedelta(1)]
REFUSED = {
    "NumPy": np.array([7, 1], dtype="m8[D]"),
    "NumPy, one entry": np.array([7, 1, np.timedelta64(7, "D")]),
    "masked": np.ma.MaskedArray(np.array([7, 1], dtype="m8[s]"), mask=[True, False]),
    "pandas": pd.Series(DURATIONS, dtype="m8[ns]"),
    "index": pd.TimedeltaIndex(DURATIONS),
    "category": pd.Series(DURATIONS, dtype="m8[ns]").astype("category"),
    "pandas of Arrow": pd.Series(DURATIONS, dtype=pd.ArrowDtype(pa.duration("s"))),
    "pandas of structs": pd.Series([{"a": 1}], dtype=pd.ArrowDtype(pa.struct([("a", pa.int64())]))),
    "polars": polars.Series(DURATIONS),
    "polars structs": polars.Series([7, {"a": 1}], strict=False),
    "polars lists": polars.Series([[7], [1]]),
    "polars arrays": polars.Series([[7], [1]], dtype=polars.Array(polars.Int64, 1)),
    "Arrow": pa.array(DURATIONS),
    "Arrow structs": pa.array([{"a": 1}, None]),
    "Arrow lists": pa.chunked_array([[[7], [1]]]),
    "Arrow maps": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    "Arrow dictionary": pa.array(DURATIONS).dictionary_encode(),
}


@pytest.mark.parametrize("column", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("read", [open_keys, lambda keys: label_rows(keys, ("7",))], ids=["privacy_unit", "groups"])
def test_types_of_durations_and_nested_values_are_refused_before_any_entry_is_read(column, read):
    for rows in (column, column[:0]):
        with pytest.raises(InvalidParameterError, match=r"durations, lists or structs; .*No budget was charged\.$"):
            read(rows)


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
@pytest.mark.parametrize("read", [open_keys, lambda keys: label_rows(keys, ("7",))], ids=["privacy_unit", "groups"])
def test_what_is_no_column_of_keys_is_refused_without_a_word_about_a_key(values, read):
    with pytest.raises(InvalidParameterError, match="one key for each row") as error:
        read(values)
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


@pytest.mark.parametrize("ending", [".jsonl", ".xlsx"])
def test_entries_of_files_with_types_keep_them(tmp_path, ending):
    entries = [7, 7.0, "7", "007", True, None, 123456789012345678, "12E7"]
    path, frame = tmp_path / f"a{ending}", pd.DataFrame({"x": 1.5, "key": pd.Series(entries, dtype=object)})
    if ending == ".xlsx":
        pytest.importorskip("openpyxl")
        entries[6] = str(entries[6])  # a sheet holds floats
        frame.assign(key=pd.Series(entries, dtype=object)).to_excel(path, index=False)
    else:
        path.write_text("".join(json.dumps({"x": 1.5, "key": entry}) + "\n" for entry in entries))
    records, [keys] = read_keyed_table(path, ("key",))
    assert records.columns == ("x",)
    assert list(map(normalize_key, keys)) == [7, 7, 7, "007", 1, None, "123456789012345678", "12E7"]
    assert label_rows(keys, ("7", "true")).tolist() == [0, 0, 0, NO_GROUP, 1, NO_GROUP, NO_GROUP, NO_GROUP]
