"""U1 and G1 across column types: one entry may change the type of a whole column, and nobody else's person or group."""

import io
import warnings
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from streams import read_keyed_table

from dimfree.data.people.canonical import canonical
from dimfree.data.people.keys import coded, open_keys
from dimfree.data.people.labels import NOBODY, check_group_keys, labelled
from dimfree.errors import InvalidParameter

polars = pytest.importorskip("polars")

NAN = float("nan")
NAMES = ("7", "True", "ICU", "2020-01-02", "0")


def people_and_groups(column, left_out):
    """Who shares a key, who has none, and in which group each row is; without one row. None: the type is refused."""
    if is_refused(column):
        return None
    persons = np.delete(open_keys(column).persons, left_out)
    groups = np.delete(labelled(column, NAMES), left_out)
    return open_keys(persons[persons >= 0]).persons.tolist(), (persons < 0).tolist(), groups.tolist()


def is_refused(column):
    """Whether the type of a column is refused: as it is without rows, too."""
    try:
        open_keys(column)
    except InvalidParameter:
        with pytest.raises(InvalidParameter, match="type of durations, lists or structs"):
            open_keys(column[:0])
        return True
    return False


# ------------------------------------------------------------------------------------------------ objects


WORDS = ["ICU", "A17", "a b", "7", "007", " 7 ", "+7", "-0", "7.0", "7e0", "0.5", "1e3", "True", "FALSE", "true"]
WORDS += ["", " ", "NA", "n/a", "nan", "NaN", "None", "null", "<NA>", "#N/A", "-inf", "inf", "Infinity", "0x1F", "31"]
WORDS += ["nan(ind)", "-NaN(0)"]
WORDS += ["9007199254740991", "9007199254740992", "9007199254740993", "1152921504606846977", "99999999999999999999"]
WORDS += ["2020-01-02", "2020-01-02 00:00:00", "2020-01-02T03:04:05", "2020-13-45", "10:00", "10:00:00", "1_000"]
WORDS += [
    "2020-01-02T00:00:00Z",
    "2020-01-02T02:00:00+02:00",
    "12:3",
    "1:2:3",
    "é",
    "７",
    "1,5",
    "--1",
    "1e",
    "0x",
    ".",
]
NUMBERS = [0, 1, 7, 31, -7, 1000, 2**53 - 1, 2**53, 2**53 + 1, 2**60 + 1, 2**63, 2**64, 10**400, 0.5, 7.0, -0.0, 1e3]
NUMBERS += [2.0**53, 1e300, NAN, float("inf"), True, False]
OTHERS = [None, b"7", b"ICU", b"\xff", Decimal(7), Decimal("0.5"), Decimal("NaN"), pd.NA, pd.NaT]
OTHERS += [date(2020, 1, 2), datetime(2020, 1, 2), datetime(2020, 1, 2, 3, 4, 5), time(10), pd.Timestamp("2020-01-02")]
OTHERS += [np.datetime64("2020-01-02"), np.int8(7), np.float64(7), np.str_("7"), np.True_, (7, "a")]
ANY = st.sampled_from([*WORDS, *NUMBERS, *OTHERS]) | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=4)
COMPLEX = st.sampled_from([1j, 7 + 0j, 0j, complex(-0.0, 0), complex(0, -0.0), 0.5 + 0j, complex("nan"), 2 - 1e16j])
NESTED = st.sampled_from([np.timedelta64(7, "D"), np.timedelta64("NaT"), timedelta(7), {"a": 1}, {}, [7], ["7"]])
KINDS = [st.sampled_from(WORDS), st.integers(-3, 9), st.integers(2**53 - 2, 2**53 + 2), st.booleans(), ANY]
KINDS += [ANY | COMPLEX]
COLUMNS = st.one_of(st.lists(kind, min_size=1, max_size=7) for kind in KINDS)


def objects(entries):
    column = np.empty(len(entries), dtype=object)
    column[:] = entries
    return column


def undated(make):
    """Arrow and polars make dates of the whole numbers in a list that has both, or the reverse; nobody can undo it."""

    def made(entries):
        if any(isinstance(day, date | time) for day in entries) and any(isinstance(e, int | float) for e in entries):
            raise TypeError
        return make(entries)

    return made


def untupled(make):
    """polars makes text of a tuple beside something else: the same."""

    def made(entries):
        if len({isinstance(entry, tuple) for entry in entries}) > 1:
            raise TypeError
        return make(entries)

    return made


def kept(make):
    """polars fits entries to the type that it chose, before we see them.

    [np.int8(7), "ICU"] is [7, None], and [np.True_, -1] is [True, True].
    """

    def made(entries):
        column = make(entries)
        if any(after is None for after, entry in zip(column.to_list(), entries, strict=True) if entry is not None):
            raise TypeError
        if column.dtype == polars.Boolean and not all(isinstance(entry, bool | np.bool_ | None) for entry in entries):
            raise TypeError
        return column

    return made


CONTAINERS = {
    "list": list,
    "NumPy": np.array,
    "objects": objects,
    "pandas": pd.Series,
    "category": lambda entries: pd.Series(entries).astype("category"),
    "polars": undated(untupled(kept(lambda entries: polars.Series(entries, strict=False)))),
    "Arrow": undated(pa.array),
}


def contained(container, entries):
    """The column, if the library makes one of these entries; a library that refuses them leaves nothing to read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            column = container(entries)
    except (Exception, polars.exceptions.PanicException):  # noqa: BLE001 - of the library, before dimfree
        assume(False)
    assume(not isinstance(column, np.ndarray) or column.ndim == 1)
    return column


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
@settings(max_examples=100, suppress_health_check=[HealthCheck.filter_too_much])
@given(entries=COLUMNS, place=st.integers(0, 6), other=ANY | COMPLEX | NESTED)
@example(entries=[7 + 0j, 0j, 8], place=2, other="ICU")
@example(entries=[1j, 7, 2], place=2, other="ICU")
def test_one_entry_of_any_kind_moves_nobody_else(container, entries, place, other):
    place %= len(entries)
    changed, longer = [*entries[:place], other, *entries[place + 1 :]], [*entries[:place], other, *entries[place:]]
    before, after, added = (contained(container, column) for column in (entries, changed, longer))
    for columns, left_out in (((before, after), (place, place)), ((before, added), ([], place))):
        first, second = map(people_and_groups, columns, left_out)
        assert first == second or None in (first, second)


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
    "Arrow, one entry": pa.array([timedelta(7), 7]),
    "Arrow structs": pa.array([{"a": 1}, None]),
    "Arrow lists": pa.chunked_array([[[7], [1]]]),
    "Arrow maps": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    "Arrow dictionary": pa.array(DURATIONS).dictionary_encode(),
}


@pytest.mark.parametrize("column", REFUSED.values(), ids=REFUSED.keys())
def test_types_that_change_other_keys_are_refused_before_any_entry_is_read(column):
    for rows in (column, column[:0]):
        for read in (open_keys, lambda keys: labelled(keys, ("7",))):
            with pytest.raises(InvalidParameter, match=r"durations, lists or structs; .*No budget was charged\.$"):
                read(rows)


def test_entries_of_such_types_in_a_column_of_objects_are_keys_or_missing():
    entries = [7, timedelta(7), {"a": 1}, [7], "ICU", timedelta(7)]
    for column in (entries, objects(entries), pd.Series(entries, dtype=object)):
        assert open_keys(column).persons.tolist() == [0, 1, -1, -1, 2, 1]


# ------------------------------------------------------------------------------------------------ files


CELLS = st.sampled_from([word for word in WORDS if "," not in word]) | st.text("0123456789.+-eExX: Tainf", max_size=5)
FILES = st.lists(CELLS, min_size=1, max_size=7)


def text_of(cells):
    return "x,key\n" + "".join(f"1,{cell}\n" for cell in cells)


def by_pandas(cells, folder):
    return pd.read_csv(io.StringIO(text_of(cells)))["key"]


def by_pandas_in_chunks(cells, folder):
    """As `low_memory=True` reads a long file: a type for each chunk, then all of them together."""
    half = len(cells) // 2
    return pd.concat([by_pandas(part, folder) for part in (cells[:half], cells[half:]) if part], ignore_index=True)


def by_polars(cells, folder, dates=False):
    text = text_of(cells).encode()
    return polars.read_csv(io.BytesIO(text), infer_schema_length=None, try_parse_dates=dates)["key"]


def by_arrow(cells, folder):
    return pa_csv.read_csv(io.BytesIO(text_of(cells).encode())).column("key")


def by_arrow_in_one(cells, folder):
    return by_arrow(cells, folder).combine_chunks()


def by_csv_file(cells, folder):
    (folder / "a.csv").write_text(text_of(cells))
    return read_keyed_table(folder / "a.csv", ("key",))[1][0]


def through_a_file(reader, write, name):
    def read(cells, folder):
        column = pa.array(reader(cells, folder))
        write(pa.table({"x": np.ones(len(column)), "key": column}), folder / name)
        return read_keyed_table(folder / name, ("key",))[1][0]

    return read


READERS = {
    "pandas": by_pandas,
    "pandas in chunks": by_pandas_in_chunks,
    "polars": by_polars,
    "polars with dates": lambda cells, folder: by_polars(cells, folder, dates=True),
    "Arrow": by_arrow,
    "dimfree's .csv": by_csv_file,
    "pandas to .parquet": through_a_file(by_pandas, pq.write_table, "a.parquet"),
    "Arrow to .parquet": through_a_file(by_arrow_in_one, pq.write_table, "a.parquet"),
    "Arrow to .feather": through_a_file(by_arrow_in_one, feather.write_feather, "a.feather"),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=FILES, place=st.integers(0, 6), other=CELLS)
def test_one_cell_of_a_file_moves_nobody_else(reader, tmp_path, cells, place, other):
    place %= len(cells)
    changed, longer = [*cells[:place], other, *cells[place + 1 :]], [*cells[:place], other, *cells[place:]]
    before, after, added = (contained(lambda c: reader(c, tmp_path), column) for column in (cells, changed, longer))
    assert people_and_groups(before, place) == people_and_groups(after, place)
    assert people_and_groups(before, []) == people_and_groups(added, place)


def test_a_long_file_that_pandas_reads_in_chunks(tmp_path):
    """One key "A17" among numbers: the chunk that holds it is text, the others are numbers."""
    cells = [str(row % 1000) for row in range(600_000)]
    (tmp_path / "a.csv").write_text(text_of([*cells[:-1], "A17"]))
    with pytest.warns(pd.errors.DtypeWarning):
        mixed = pd.read_csv(tmp_path / "a.csv")["key"]
    assert {type(entry) for entry in mixed} == {int, str}
    assert open_keys(mixed).persons[:-1].tolist() == open_keys(list(map(int, cells[:-1]))).persons.tolist()
    assert open_keys(mixed).count == 1001
    assert labelled(mixed, (1, 2)).tolist() == [{"1": 0, "2": 1}.get(cell, NOBODY) for cell in [*cells[:-1], "A17"]]


# ------------------------------------------------------------------------------------------------ the normal form


SAME = {
    "a whole number": [7, 7.0, "7", "007", " 7 ", "+7", "7.0", "7.", "70e-1", b"7", np.int8(7), np.float16(7), 7 + 0j]
    + [Decimal(7), Decimal("7.00"), np.str_("7"), np.bytes_(b"07"), "0x7", "7\0", "(7+0j)", b"(7-0j)", "(7.0+nanj)"],
    "truth": [1, True, "True", "TRUE", "true", "tRue", np.True_, "1", b"True"],
    "zero": [0, -0.0, "-0", False, "false", "0e5", "-0.0", 0j, "0j", complex(0, -0.0), "-0j", "(-0+0j)"],
    "a complex number": [1j, "1j", np.complex64(1j), b"1j"],
    "the largest": [2**53 - 1, float(2**53 - 1), "9007199254740991", "9007199254740991.0"],
    "bits with a sign": [-1, "0xFFFFFFFFFFFFFFFF", "-1", "-1.0"],
    "a day": [date(2020, 1, 2), datetime(2020, 1, 2), "2020-01-02", "2020-01-02 00:00", "2020-01-02T00:00:00.000"]
    + [pd.Timestamp("2020-01-02"), np.datetime64("2020-01-02"), np.datetime64("2020-01-02T00:00:00", "ns")],
    "a moment": [pd.Timestamp("2020-01-02 03:04:05.123456789"), "2020-01-02T03:04:05.123456"]
    + [np.datetime64("2020-01-02T03:04:05.123456789"), datetime(2020, 1, 2, 3, 4, 5, 123456)],
    "a moment anywhere": ["2020-01-02T00:00:00Z", "2020-01-02 02:00+02:00", pd.Timestamp("2020-01-02", tz="UTC")],
    "a time": [time(10), "10:00", "10:00:00"],
    "text": ["ICU", " ICU", "ICU ", b"ICU", np.str_("ICU"), "ICU\0"],
    "tuples": [(7, "a"), ("007", b"a"), (7.0, " a ")],
    "nobody": [
        None,
        NAN,
        pd.NA,
        pd.NaT,
        np.ma.masked,
        "",
        " ",
        "NA",
        "nan",
        "-NaN",
        "n/a",
        "NULL",
        "None",
        "#N/A",
        "<NA>",
    ]
    + ["NaT", "inf", "-Infinity", 0.5, "0.5", ".5", Decimal("0.5"), 2**53, 2.0**53, "9007199254740992", -(2**53)]
    + [2**63, "1e16", "99999999999999999999", "1e999", 10**400, Decimal("1e999999999"), "0x7FFFFFFFFFFFFFFF"]
    + [np.datetime64("NaT"), np.float32(2**24), (7, None), ("NA", 7)]
    + ["(0.5+0j)", 0.5 + 0j, complex("nan"), "(nan+0j)", complex(NAN, NAN), "(nan+nanj)", "(1e+16+0j)", "(-inf+0j)"],
}
APART = ["icu", "7a", "1_000", "1,000", "７", "0x", "0x12345678901234567", "7 7", "12:3", "2020-13-45", "20-01-02", "é"]
APART += [b"\xff", (7,), frozenset({7}), "2020-1-2", "A7", "-", "1e", "--1", "1.2.3", "yes", "t", "E10"]
APART += ["(7)", "(ICU+0j)", "12j", "7+0j", "0J"]


def test_what_is_one_key_and_what_is_not():
    forms = []
    for name, entries in SAME.items():
        found = {canonical(entry) for entry in entries}
        assert len(found) == 1, name
        assert (found == {None}) == (name == "nobody")
        forms += found
    others = [canonical(entry) for entry in APART]
    assert None not in others
    assert len({*forms, *others}) == len(forms) + len(others)


@settings(max_examples=200)
@given(ANY)
@example("\x00\r")
@example(" a\x00 \x00\n")
def test_a_normal_form_in_text_or_number_is_its_own(entry):
    form = canonical(entry)
    if isinstance(form, str | int):
        assert canonical(form) == form


ARRAYS = {
    "whole numbers": lambda rng: rng.integers(-9, 9, 500),
    "large ones": lambda rng: rng.integers(2**53 - 5, 2**53 + 5, 500),
    "unsigned": lambda rng: rng.integers(2**53 - 5, 2**53 + 5, 500).astype(np.uint64),
    "bytes of numbers": lambda rng: rng.integers(-100, 100, 500).astype(np.int8),
    "truth": lambda rng: rng.random(500) < 0.5,
    "floats": lambda rng: rng.choice([7, 0.5, -0.0, 0, NAN, np.inf, 2.0**53, 2.0**53 - 1], 500),
    "text": lambda rng: rng.choice(WORDS, 500),
    "bytes": lambda rng: rng.choice([word.encode() for word in WORDS], 500),
    "days": lambda rng: rng.choice(np.array(["2020-01-02", "NaT", "1960-01-01"], dtype="M8[ns]"), 500),
    "pandas text": lambda rng: pd.Series(rng.choice(WORDS, 500)),
    "pandas numbers": lambda rng: pd.Series(rng.choice([7, 0.5, NAN], 500)),
    "Arrow numbers": lambda rng: pa.array(rng.integers(-9, 9, 500)),
    "polars text": lambda rng: polars.Series(rng.choice(WORDS, 500).tolist()),
}


@pytest.mark.parametrize("column", ARRAYS.values(), ids=ARRAYS.keys())
def test_a_column_as_a_whole_is_read_as_its_entries_are(column, rng):
    whole = column(rng)
    entries = whole.to_pylist() if isinstance(whole, pa.Array) else list(whole)
    wanted = [canonical(entry) for entry in entries]
    numbers, forms = coded(whole, "unit")[:2]
    assert forms == list(dict.fromkeys(form for form in wanted if form is not None))
    assert [None if number < 0 else forms[number] for number in numbers] == wanted
    names = ("7", "ICU", "2020-01-02", "0")
    places = {canonical(name): place for place, name in enumerate(names)}
    assert labelled(whole, names).tolist() == [places.get(form, NOBODY) for form in wanted]


# ------------------------------------------------------------------------------------------------ names of groups


@pytest.mark.parametrize("names", [["7", "007"], ["1", "True"], ["a", " a"], ["2020-01-02", "2020-01-02 00:00"]])
def test_names_that_are_one_key_are_refused(names):
    with pytest.raises(InvalidParameter, match="read as the same key") as error:
        check_group_keys([*names, "other"])
    assert repr(names[0]) in str(error.value)
    assert "letter" in str(error.value)


@pytest.mark.parametrize("name", ["NA", "", "none", "0.5", "1e16", 2**53, "9007199254740993"])
def test_a_name_that_tells_nobody_is_refused(name):
    with pytest.raises(InvalidParameter, match=r"Expected keys without .* letter"):
        check_group_keys([name])
