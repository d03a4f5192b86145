"""Text, dates and categories: one error names all such columns and says what to do. Levels must be public."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from streams import needs, write_frame

import dimfree
from dimfree.data import read as read_module
from dimfree.errors import InvalidDataError, InvalidFileError
from dimfree.noise import SeededNoise

ROWS = 30
AGES = np.random.default_rng(2).normal(50, 9, size=ROWS)
SEXES = ["m", "f", "x-secret"] * (ROWS // 3)
WARDS = ["north-secret", "south", "west"] * (ROWS // 3)
DAYS = [datetime.date(2020, 1, 1 + row) for row in range(ROWS)]
WRONG = ("sex", "born", "ward")


def arrow():
    wards = pa.array(WARDS).dictionary_encode()
    return pa.table({"age": AGES, "sex": SEXES, "born": pa.array(DAYS), "ward": wards, "weight": AGES})


def polars():
    pl = needs("polars")
    frame = pl.DataFrame({"age": AGES, "sex": SEXES, "born": DAYS, "ward": WARDS, "weight": AGES})
    return frame.with_columns(pl.col("ward").cast(pl.Enum(sorted(set(WARDS)))))


FRAMES = {
    "pandas": lambda: arrow().to_pandas().assign(born=pd.to_datetime(DAYS)),
    "pandas, Arrow types": lambda: arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "polars": polars,
    "Arrow": arrow,
    "Dask": lambda: needs("dask.dataframe").from_pandas(
        arrow().to_pandas().assign(born=pd.to_datetime(DAYS)), npartitions=2
    ),
}


def error_of(call):
    with pytest.raises((InvalidDataError, InvalidFileError)) as caught:
        call()
    text = str(caught.value)
    assert "secret" not in text
    assert str(ROWS) not in text
    assert "dummies" not in text
    return text


def release(X, **options):
    return dimfree.release_mean(X, epsilon=4, delta=1e-6, **options, noise=SeededNoise(1))


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_names_all_columns_in_one_error(kind):
    text = error_of(lambda: release(FRAMES[kind]()))
    assert "exclude=['sex', 'born', 'ward']" in text
    assert "'age'" not in text
    assert "public list" in text
    assert "No budget was charged." in text


@pytest.mark.parametrize("kind", FRAMES)
def test_what_the_error_advises_works(kind):
    found = release(FRAMES[kind](), exclude=list(WRONG))
    assert found.columns == ("age", "weight")


@pytest.mark.parametrize("kind", ["pandas", "polars", "Arrow"])
def test_under_drop_the_types_that_no_entry_makes(kind):
    """Text is read entry by entry then; dates and categories are refused by their types, together."""
    text = error_of(lambda: release(FRAMES[kind](), missing="complete-case"))
    assert "exclude=['born', 'ward']" in text
    assert "missing" not in text


def test_where_the_schema_says_which_columns_have_missing_cells():
    declared = pa.schema([field.with_nullable(field.name != "age") for field in arrow().schema])
    text = error_of(lambda: release(arrow().cast(declared)))
    assert "type allows it for column 'weight'" in text
    none = pa.schema([field.with_nullable(False) for field in declared])
    assert "missing" not in error_of(lambda: release(arrow().cast(none)))


def test_the_same_words_whether_cells_are_missing_or_not():
    """Which cells are missing is no matter of schema."""
    gap = arrow().set_column(0, "age", pa.array([None, *AGES[1:]]))
    assert error_of(lambda: release(gap)) == error_of(lambda: release(arrow()))


@pytest.mark.parametrize("large", [0, 2**28], ids=["streamed", "loaded"])
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".xlsx"])
def test_a_file_of_cells_names_all_columns_in_one_error(tmp_path, monkeypatch, ending, large):
    monkeypatch.setattr(read_module, "LARGE", large)
    path = write_frame(tmp_path, arrow().to_pandas(), ending)
    text = error_of(lambda: dimfree.read_table(path))
    assert "exclude=['sex', 'born', 'ward']" in text
    assert "missing='available-case'" in text
    assert "public list" in text
    assert dimfree.read_table(path, exclude=WRONG).columns == ("age", "weight")


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_a_file_with_declared_types_names_all_columns_in_one_error(tmp_path, ending):
    path = write_frame(tmp_path, arrow().to_pandas(), ending)
    text = error_of(lambda: dimfree.read_table(path))
    assert "exclude=['born', 'ward']" in text
    assert "Stored as text: 'sex';" in text
    assert "public list" in text


@pytest.mark.parametrize("width", [3, 200], ids=["narrow", "wide"])
def test_a_file_of_text_columns_names_all_of_them(tmp_path, width):
    """A wide table is read some columns at a time."""
    table = pa.table({f"c{at}": WARDS if at % 2 else AGES for at in range(width)})
    pq.write_table(table, tmp_path / "t.parquet")
    text = error_of(lambda: dimfree.read_table(tmp_path / "t.parquet"))
    assert [f"c{at}" for at in range(width) if f"'c{at}'" in text] == [f"c{at}" for at in range(1, width, 2)]


def test_a_file_without_names_counts_its_columns(tmp_path):
    (tmp_path / "t.csv").write_text("1,2,3\n4,x-secret,y-secret\n")
    text = error_of(lambda: dimfree.read_table(tmp_path / "t.csv"))
    assert "columns 2 and 3 contain" in text
    assert "exclude" not in text


def test_a_single_column_is_spoken_of_as_one():
    text = error_of(lambda: release(pd.DataFrame({"age": AGES, "sex": SEXES})))
    assert text.startswith("Column 'sex' has type str; only")
    assert "exclude=['sex']" in text


def test_a_bad_line_behind_a_bad_cell_is_not_what_is_said(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,x-secret\n1,2,3\n")
    assert "column 'b' contains" in error_of(lambda: dimfree.read_table(tmp_path / "t.csv"))


def test_a_large_file_is_not_read_to_its_end_for_the_error(tmp_path, monkeypatch):
    monkeypatch.setattr("dimfree.data.formats.cells.PART_ENTRIES", 8)
    (tmp_path / "t.csv").write_text("a,b\n" + "x-secret,1\n" * 4 + "1,2\n" * 100 + "1,2,3\n")
    assert "column 'a' contains" in error_of(lambda: dimfree.read_table(tmp_path / "t.csv"))
